/* tests/unit/aggregator/fsck/test_check_unfinished.c - what a killed aggregator
 * leaves behind its last commit is no damage
 */
#include "aggregator/fsck/fsck_check.h"

#include <fcntl.h>

/* An item is written and synced, and then the aggregator is killed.  Its bytes
 * are those of item 0, so only the place of its record says that no commit had
 * it.
 */
static void write_uncommitted (const char *root)
{
    struct ledger_item item = { .kind = ITEM_ROWS, .rank = 9, .job = "j",
                                .capture = "late", .received_ns = 7 };
    struct ledger *l = NULL;
    struct store *s = NULL;
    char path[PATH_MAX];

    (void)snprintf (path, sizeof (path), "%s/ledger.db", root);
    assert_int_equal (ledger_open (path, &l, NULL), 0);
    assert_int_equal (store_open (root, l, &s, NULL), 0);
    assert_int_equal (digest_of ("the bytes of item 0", 19, &item.content), 0);
    assert_int_equal (store_put_item (s, &item, NULL), 0);
    assert_int_equal (store_sync (s, NULL), 0);
    store_close (s);
    ledger_close (l);
}

static void test_known_content (void **state)
{
    struct fixture *f = *state;
    struct check_report r;

    write_uncommitted (f->root);
    r = fsck_check (f, f->root, false);
    assert_int_equal (r.damaged, 0);
    assert_int_equal (r.leftovers, 1);
    assert_non_null (strstr (f->said, "not acknowledged"));
}

/* A new segment was begun: its place in that is before the end of the last
 * commit in the other one.
 */
static void test_next_segment (void **state)
{
    struct fixture *f = *state;
    struct check_report r;
    char path[PATH_MAX];
    int fd;

    (void)snprintf (path, sizeof (path), "%s/segments/00000002", f->root);
    fd = open (path, O_WRONLY | O_CREAT, 0600);
    assert_int_equal (write (fd, "RCR1 and no more", 16), 16);
    (void)close (fd);
    r = fsck_check (f, f->root, false);
    assert_int_equal (r.damaged, 0);
    assert_int_equal (r.leftovers, 1);
    assert_non_null (strstr (f->said, "unfinished commit"));
}

/* The same bytes before the end of the last commit are damage. */
static void test_committed (void **state)
{
    struct fixture *f = *state;
    char path[PATH_MAX];

    (void)snprintf (path, sizeof (path), "%s/segments/00000001", f->root);
    fsck_flip (path, fsck_size (path) - 20);
    assert_true (fsck_check (f, f->root, false).damaged > 0);
}

int main (void)
{
#define TEST(name) \
    cmocka_unit_test_setup_teardown (name, fsck_setup, fsck_teardown)
    const struct CMUnitTest tests[] = {
        TEST (test_known_content), TEST (test_next_segment),
        TEST (test_committed),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
