/* tests/unit/aggregator/ledger/test_ledger_copy.c - a ledger as it is after its
 * last commit, elsewhere
 */
#include "aggregator/ledger/ledger_check.h"

#include <fcntl.h>
#include <sys/wait.h>

static struct ledger *open_copy (const char *path)
{
    struct ledger *l = NULL;

    assert_int_equal (ledger_open_read (path, &l, NULL), 0);
    return l;
}

static int64_t newest (const char *path)
{
    struct ledger *l = open_copy (path);
    int64_t n = ledger_newest (l, "j", ITEM_RAW);

    ledger_close (l);
    return n;
}

/* While somebody writes: what is not committed is not in it. */
static void test_committed (void **state)
{
    struct root *r = *state;
    struct ledger_item item = true_item ("b", "second");
    char path[PATH_MAX], beside[PATH_MAX + 8];
    struct ledger *reader;

    (void)snprintf (path, sizeof (path), "%s/copy", r->dir);
    assert_int_equal (enter (r, true_item ("a", "first"), "first"), 1);
    assert_int_equal (put_item (r, &item, "second", NULL), 0);
    assert_int_equal (store_sync (r->s, NULL), 0);
    assert_int_equal (ledger_begin (r->l, NULL), 0);
    assert_int_equal (ledger_add_content (r->l, &item.content, &item.place,
                                          NULL), 0);
    assert_int_equal (ledger_add_item (r->l, &item, NULL), 1);
    reader = open_copy (r->db);
    assert_int_equal (ledger_copy (reader, path, NULL), 0);
    ledger_close (reader);
    assert_int_equal (newest (path), 1);
    assert_int_equal (store_account (r->s, r->l, NULL), 0);
    assert_int_equal (ledger_commit (r->l, NULL), 0);
    store_committed (r->s);
    assert_int_equal (newest (path), 1);
    // it takes the place of an older one, and is one file
    assert_int_equal (ledger_copy (r->l, path, NULL), 0);
    (void)snprintf (beside, sizeof (beside), "%s-wal", path);
    assert_int_equal (access (beside, F_OK), -1);
    assert_int_equal (newest (path), 2);
}

static void test_nowhere (void **state)
{
    struct root *r = *state;
    struct err err = { "" };
    char path[PATH_MAX];

    (void)snprintf (path, sizeof (path), "%s/none/copy", r->dir);
    assert_true (ledger_copy (r->l, path, &err) < 0);
    assert_non_null (strstr (err.text, path));
    (void)snprintf (path, sizeof (path), "%s/directory", r->dir);
    assert_int_equal (mkdir (path, 0700), 0);
    assert_true (ledger_copy (r->l, path, NULL) < 0);
    assert_int_equal (access (path, F_OK), 0);
}

/* Whether another process sees that this one has the ledger open. */
static bool is_seen (struct root *r)
{
    struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET,
                          .l_start = 0x40000002, .l_len = 510 };
    pid_t pid = fork ();
    int status;

    if (pid == 0) {
        int fd = open (r->db, O_RDWR | O_CLOEXEC);

        _exit (fd < 0 || fcntl (fd, F_GETLK, &lock) < 0 ||
               lock.l_type == F_UNLCK);
    }
    assert_int_equal (waitpid (pid, &status, 0), pid);
    return status == 0;
}

/* Else whoever closes it elsewhere would remove the journal, and with it what is
 * committed from then on.
 */
static void test_second_reader (void **state)
{
    struct root *r = *state;
    struct ledger *l = NULL;

    assert_true (is_seen (r));
    assert_int_equal (ledger_open_quick (r->db, &l, NULL), 0);
    ledger_close (l);
    assert_true (is_seen (r));
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        ROOT_TEST (test_committed), ROOT_TEST (test_nowhere),
        ROOT_TEST (test_second_reader),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
