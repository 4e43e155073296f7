/* tests/unit/aggregator/fsck/test_check_replace.c - a new ledger in the place of the
 * old one, whatever cuts that short
 */
#include "aggregator/fsck/fsck_check.h"

#include <errno.h>

static int renames_left = -1;   // until one fails, -1: none does

int __real_fileio_rename (const char *from, const char *to, struct err *err);
int __wrap_fileio_rename (const char *from, const char *to, struct err *err);

int __wrap_fileio_rename (const char *from, const char *to, struct err *err)
{
    if (renames_left == 0)
        return -EIO;
    renames_left -= renames_left > 0;
    return __real_fileio_rename (from, to, err);
}

/* A copy of the root as a crash leaves it: what was noted last is in the
 * ledger's journal only.
 */
static void copy_with_journal (struct fixture *f, int64_t built)
{
    struct ledger *l = NULL;
    char path[PATH_MAX];

    (void)snprintf (path, sizeof (path), "%s/ledger.db", f->root);
    assert_int_equal (ledger_open (path, &l, NULL), 0);
    assert_int_equal (ledger_set_built (l, "j", built, NULL, NULL), 0);
    fsck_copy (f);
    ledger_close (l);
    (void)snprintf (path, sizeof (path), "%s/ledger.db-wal", f->copy);
    assert_true (fsck_size (path) > 0);
}

static int find_built (void *arg, const struct ledger_job *j)
{
    *(int64_t *)arg = j->built;
    return 0;
}

/* A repair that is cut short at any of its renames leaves no ledger that is of
 * the past and looks good; and the next repair mends all of it, also what only
 * the ledger knows since its record is damaged.
 */
static void test_repair_cut_short (void **state)
{
    struct fixture *f = *state;
    struct check_report r = { .say = NULL };
    char path[PATH_MAX];
    int cut = 0, rc;

    do {
        struct ledger *l = NULL;
        int64_t built = 0;

        copy_with_journal (f, cut + 1);
        store_segment_path (f->copy, 1, path);
        fsck_flip (path, fsck_last_of (path, "bytes of item 0"));
        fsck_flip (path, fsck_last_of (path, "c2"));
        renames_left = cut++;
        rc = store_check (f->copy, true, &r, NULL);
        renames_left = -1;
        (void)snprintf (path, sizeof (path), "%s/ledger.db", f->copy);
        if (rc < 0 && access (path, F_OK) == 0) {
            assert_int_equal (ledger_open (path, &l, NULL), 0);
            assert_int_equal (ledger_each_job (l, ITEM_RAW, find_built, &built,
                                               NULL), 0);
            assert_int_equal (built, cut);
            ledger_close (l);
        }
        fsck_mended (f, "123");
    } while (rc < 0);
    assert_true (cut > 1);
}

/* Each ledger that was set aside stays. */
static void test_aside_twice (void **state)
{
    struct fixture *f = *state;
    char path[PATH_MAX];

    fsck_copy (f);
    store_segment_path (f->copy, 1, path);
    fsck_flip (path, fsck_last_of (path, "bytes of item 0"));
    fsck_mended (f, "123");
    fsck_flip (path, fsck_last_of (path, "bytes of item 1"));
    fsck_mended (f, "23");
    (void)snprintf (path, sizeof (path), "%s/quarantine/ledger.db", f->copy);
    assert_int_equal (access (path, F_OK), 0);
    (void)snprintf (path, sizeof (path), "%s/quarantine/ledger-2.db", f->copy);
    assert_int_equal (access (path, F_OK), 0);
}

/* Without a ledger all of it is made again, also who is expected. */
static void test_ledger_gone (void **state)
{
    struct fixture *f = *state;
    char path[PATH_MAX];

    fsck_copy (f);
    (void)snprintf (path, sizeof (path), "%s/ledger.db", f->copy);
    assert_int_equal (unlink (path), 0);
    fsck_mended (f, "0123");
}

int main (void)
{
#define TEST(name) \
    cmocka_unit_test_setup_teardown (name, fsck_setup, fsck_teardown)
    const struct CMUnitTest tests[] = {
        TEST (test_repair_cut_short), TEST (test_aside_twice),
        TEST (test_ledger_gone),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
