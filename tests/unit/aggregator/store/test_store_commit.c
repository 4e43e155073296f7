/* tests/unit/aggregator/store/test_store_commit.c - in which order a change is
 * committed, and what is there after each failure
 */
#include "aggregator/ledger/ledger_check.h"
#include "base/pack.h"
#include "store/store_commit.h"

#include <fcntl.h>
#include <sys/stat.h>

static int data_syncs;          // of files
static int data_error;          // 0: none
static int commit_error;        // of the ledger; 0: none

int __real_fdatasync (int fd);
int __wrap_fdatasync (int fd);

int __wrap_fdatasync (int fd)
{
    data_syncs++;
    errno = data_error;
    return data_error ? -1 : __real_fdatasync (fd);
}

int __real_ledger_finish (struct ledger *l, int rc, struct err *err);
int __wrap_ledger_finish (struct ledger *l, int rc, struct err *err);

int __wrap_ledger_finish (struct ledger *l, int rc, struct err *err)
{
    return __real_ledger_finish (l, commit_error ? -commit_error : rc, err);
}

/* An item that is put, whether that fails, and what was seen meanwhile. */
struct one {
    struct root *r;
    struct ledger_item item;
    int append_rc, enter_rc;
    int appended, entered;      // calls
};

static off_t segment_size (const struct root *r)
{
    char path[PATH_MAX];
    struct stat st;

    store_segment_path (r->dir, 1, path);
    assert_int_equal (stat (path, &st), 0);
    return st.st_size;
}

static int append (void *arg, struct store *s, struct err *err)
{
    struct one *one = arg;

    assert_ptr_equal (s, one->r->s);
    one->appended++;
    assert_int_equal (data_syncs, 0);
    assert_int_equal (put_item (one->r, &one->item, "bytes", err), 0);
    return one->append_rc;
}

static int enter_row (void *arg, struct ledger *l, struct err *err)
{
    struct one *one = arg;

    one->entered++;
    assert_int_equal (data_syncs, 1);           // the record is on the disk
    assert_int_equal (ledger_enter_epoch (l, err), 0);
    assert_int_equal (ledger_add_content (l, &one->item.content,
                                          &one->item.place, err), 0);
    assert_true (ledger_add_item (l, &one->item, err) >= 0);
    return one->enter_rc;
}

static int commit (struct one *one, struct err *err)
{
    const struct store_change change = { append, enter_row, one };

    data_syncs = 0;
    one->appended = one->entered = 0;
    one->item = true_item ("a", "bytes");
    return store_commit (one->r->s, one->r->l, &change, err);
}

/* The record, then the row, and the ledger knows how far the segment goes: the
 * next start has nothing to recover.  A positive word of 'enter' is no failure.
 */
static void test_order (void **state)
{
    struct root *r = *state;
    struct one one = { .r = r, .enter_rc = 1 };

    assert_int_equal (commit (&one, NULL), 0);
    assert_int_equal (one.appended, 1);
    assert_int_equal (one.entered, 1);
    root_close (r);
    root_open (r);
    assert_int_equal (store_recovered (r->s).records, 0);
    assert_int_equal (count_all (r).n, 1);
    check_bytes (r, &one.item.content, "bytes");
}

/* Nothing is left of it, neither at once nor after a restart; and what is committed
 * next counts.
 */
static void check_dropped (struct one *one, int rc, int entered)
{
    struct err err = { "" };

    assert_int_equal (commit (one, &err), rc);
    assert_int_equal (one->entered, entered);
    assert_int_equal (count_all (one->r).n, 0);
    assert_int_equal (segment_size (one->r), 0);
    data_error = commit_error = 0;
    root_close (one->r);
    root_open (one->r);
    assert_int_equal (count_all (one->r).n, 0);
    one->append_rc = one->enter_rc = 0;
    assert_int_equal (commit (one, NULL), 0);
    assert_int_equal (count_all (one->r).n, 1);
    check_bytes (one->r, &one->item.content, "bytes");
}

static void test_append_fails (void **state)
{
    struct one one = { .r = *state, .append_rc = -ENOSPC };

    check_dropped (&one, -ENOSPC, 0);
}

static void test_sync_fails (void **state)
{
    struct one one = { .r = *state };

    data_error = EIO;
    check_dropped (&one, -EIO, 0);
}

static void test_enter_fails (void **state)
{
    struct one one = { .r = *state, .enter_rc = -EINVAL };

    check_dropped (&one, -EINVAL, 1);
}

static void test_ledger_fails (void **state)
{
    struct one one = { .r = *state };

    commit_error = ENOSPC;
    check_dropped (&one, -ENOSPC, 1);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        ROOT_TEST (test_order),
        ROOT_TEST (test_append_fails),
        ROOT_TEST (test_sync_fails),
        ROOT_TEST (test_enter_fails),
        ROOT_TEST (test_ledger_fails),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
