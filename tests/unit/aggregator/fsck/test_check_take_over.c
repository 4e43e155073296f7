/* tests/unit/aggregator/fsck/test_check_take_over.c - what only the ledger knows is
 * not lost
 */
#include "aggregator/fsck/fsck_check.h"

#include "archive/archive_items.h"

/* A job is pinned and unpinned in turn, the first time pinned, and collecting
 * has left the records that say the last of it: nothing is missing.
 */
static void pins_collected (struct fixture *f, int times)
{
    struct ledger *l = NULL;
    struct store *s = NULL;
    char path[PATH_MAX];

    (void)snprintf (path, sizeof (path), "%s/ledger.db", f->root);
    assert_int_equal (ledger_open (path, &l, NULL), 0);
    assert_int_equal (store_open (f->root, l, &s, NULL), 0);
    assert_int_equal (ledger_begin (l, NULL), 0);
    for (int i = 0; i < times; i++) {
        const struct ledger_fact pin = { .job = "j", .key = FACT_PIN,
                                         .value = "1", .at_ns = 6 + i,
                                         .gone = i % 2 == 1 };

        if (i % 2 == (times - 1) % 2)
            assert_int_equal (store_note_fact (s, &pin, NULL), 0);
        assert_int_equal (ledger_set_fact (l, &pin, NULL), 1);
    }
    fsck_end (s, l);
    assert_int_equal (fsck_check (f, f->root, false).damaged, 0);
    assert_string_equal (f->said, "");
}

static void test_pinned_again (void **state)
{
    pins_collected (*state, 3);
}

static void test_unpinned (void **state)
{
    pins_collected (*state, 2);
}

/* What was removed is not missed, also if only the ledger knows of that. */
static void test_removed (void **state)
{
    struct fixture *f = *state;
    struct ledger_item item = { .kind = ITEM_ROWS };
    struct ledger_deletion d;
    struct ledger *l = NULL;
    char path[PATH_MAX];

    fsck_copy (f);
    (void)snprintf (item.job, sizeof (item.job), "j");
    (void)snprintf (item.capture, sizeof (item.capture), "c0");
    ledger_deletion_of (&item, &d);
    d.at_ns = INT64_MAX / 2;
    (void)snprintf (path, sizeof (path), "%s/ledger.db", f->copy);
    assert_int_equal (ledger_open (path, &l, NULL), 0);
    assert_int_equal (ledger_delete (l, &d, NULL), 1);
    ledger_close (l);
    (void)snprintf (path, sizeof (path), "%s/segments/00000001", f->copy);
    fsck_flip (path, fsck_last_of (path, "the bytes of item 0"));
    assert_true (fsck_check (f, f->copy, false).damaged > 0);
    assert_non_null (strstr (f->said, "the record of that is damaged"));
    assert_null (strstr (f->said, "its stored data is damaged"));
    assert_null (strstr (f->said, "the ledger does not have it"));
    fsck_mended (f, "123");
}

/* The dates of all versions of a capture that are whole, in the order in which
 * they are listed, and with a * what counts.
 */
static void check_versions (struct fixture *f, const char *capture,
                            const char *want)
{
    struct archive a;
    struct archive_items list;
    struct ledger_item item;
    char got[64] = "";

    assert_int_equal (archive_open (f->copy, &a, NULL), 0);
    assert_int_equal (archive_list (&a, "j", NULL, &list, NULL), 0);
    for (size_t i = 0; i < list.n; i++) {
        size_t used = strlen (got);

        archive_item (&list, i, &item);
        if (strcmp (item.capture, capture) == 0 &&
            archive_check (&a, &item, NULL) == 0)
            (void)snprintf (got + used, sizeof (got) - used, "%lld%s",
                            (long long)item.newest_ns,
                            item.superseded ? " " : "* ");
    }
    assert_string_equal (got, want);
    archive_items_fini (&list);
    archive_close (&a);
}

/* The record of a version that was superseded is damaged: it stays, and stays
 * superseded, also when the ledger is made of nothing but the records.
 */
static void test_superseded (void **state)
{
    struct fixture *f = *state;
    char path[PATH_MAX], db[PATH_MAX];

    fsck_copy (f);
    fsck_deliver (f->copy, "v", "the oldest version", 2);
    fsck_deliver (f->copy, "v", "an older version", 3);
    fsck_deliver (f->copy, "v", "the newest version", 4);
    check_versions (f, "v", "2 3 4* ");
    store_segment_path (f->copy, 1, path);
    fsck_flip (path, fsck_last_of (path, "an older version") + 60);
    (void)fsck_check (f, f->copy, false);
    assert_non_null (strstr (f->said, "superseded version is damaged"));
    fsck_mended (f, NULL);
    check_versions (f, "v", "2 4* 3 ");
    (void)snprintf (db, sizeof (db), "%s/ledger.db", f->copy);
    assert_int_equal (unlink (db), 0);
    fsck_mended (f, NULL);
    check_versions (f, "v", "2 4* 3 ");
}

/* The same of agents that gave no dates: it would be taken for the one that
 * counts.  That it is forgotten is said.
 */
static void test_superseded_undated (void **state)
{
    struct fixture *f = *state;
    char path[PATH_MAX];

    fsck_copy (f);
    fsck_deliver (f->copy, "c0", "another version", 0);
    check_versions (f, "c0", "0 0* ");
    store_segment_path (f->copy, 1, path);
    fsck_flip (path, fsck_last_of (path, "bytes of item 0") + 60);
    fsck_mended (f, NULL);
    check_versions (f, "c0", "0* ");
    (void)fsck_check (f, f->copy, false);
    assert_string_equal (f->said, "");
}

int main (void)
{
#define TEST(name) \
    cmocka_unit_test_setup_teardown (name, fsck_setup, fsck_teardown)
    const struct CMUnitTest tests[] = {
        TEST (test_pinned_again), TEST (test_unpinned), TEST (test_removed),
        TEST (test_superseded), TEST (test_superseded_undated),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
