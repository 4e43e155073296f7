/* tests/unit/aggregator/fsck/test_check_root.c - whatever is damaged is found
 * and mended */
#include "aggregator/fsck/fsck_check.h"

#include "archive/archive_items.h"

#include <errno.h>
#include <fcntl.h>

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

static void test_good (void **state)
{
    struct fixture *f = *state;
    struct check_report r = fsck_check (f, f->root, false);

    assert_string_equal (f->said, "");
    assert_int_equal (r.damaged + r.leftovers, 0);
    assert_int_equal (r.items, ITEMS);
    assert_int_equal (r.contents, ITEMS);
    fsck_copy (f);
    fsck_mended (f, "0123");
}

/* Rows of rank 0 come, into a root that is there. */
static void deliver (const char *root, const char *capture, const char *bytes,
                     int64_t newest_ns)
{
    struct ledger *l = NULL;
    struct store *s = NULL;
    struct ledger_item item = { .kind = ITEM_ROWS, .received_ns = 6,
                                .newest_ns = newest_ns };
    struct ledger_place place;
    char path[PATH_MAX];

    (void)snprintf (path, sizeof (path), "%s/ledger.db", root);
    assert_int_equal (ledger_open (path, &l, NULL), 0);
    assert_int_equal (store_open (root, l, &s, NULL), 0);
    (void)snprintf (item.job, sizeof (item.job), "j");
    (void)snprintf (item.capture, sizeof (item.capture), "%s", capture);
    fsck_put (s, &item, bytes);
    assert_int_equal (ledger_find_content (l, &item.content, &place, NULL),
                      0);
    assert_int_equal (store_sync (s, NULL), 0);
    assert_int_equal (ledger_begin (l, NULL), 0);
    assert_int_equal (ledger_add_content (l, &item.content, &item.place,
                                          NULL), 0);
    assert_true (ledger_add_item (l, &item, NULL) >= 0);
    assert_int_equal (store_account (s, l, NULL), 0);
    assert_int_equal (ledger_commit (l, NULL), 0);
    store_committed (s);
    store_close (s);
    ledger_close (l);
}

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

/* Item 0 once more, into the root that a check has mended. */
static void deliver_again (const char *root)
{
    deliver (root, "c0", "the bytes of item 0", 0);
}

/* The last place in a file where a text stands. */
static off_t last_of (const char *path, const char *text)
{
    static char bytes[65536];
    int fd = open (path, O_RDONLY);
    ssize_t n = pread (fd, bytes, sizeof (bytes), 0);
    off_t at = -1;

    (void)close (fd);
    for (ssize_t i = 0; i + (ssize_t)strlen (text) <= n; i++) {
        if (memcmp (bytes + i, text, strlen (text)) == 0)
            at = i;
    }
    return at;
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
    fsck_flip (path, last_of (path, "the bytes of item 0"));
    assert_true (fsck_check (f, f->copy, false).damaged > 0);
    assert_non_null (strstr (f->said, "the record of that is damaged"));
    assert_null (strstr (f->said, "its stored data is damaged"));
    assert_null (strstr (f->said, "the ledger does not have it"));
    fsck_mended (f, "123");
}

/* What was set aside once is looked at again when it has come again: neither
 * is it said that it has not, nor is damage to the second copy overlooked.
 */
static void test_damaged_twice (void **state)
{
    struct fixture *f = *state;
    char path[PATH_MAX];
    struct check_report r;

    fsck_copy (f);
    store_segment_path (f->copy, 1, path);
    fsck_flip (path, last_of (path, "bytes of item 0"));
    fsck_mended (f, "123");
    assert_non_null (strstr (f->said, "was not delivered again"));
    deliver_again (f->copy);
    r = fsck_check (f, f->copy, false);
    assert_int_equal (r.damaged, 0);
    assert_string_equal (f->said, "");
    for (int n = 3; last_of (path, "bytes of item 0") < 0 && n > 1; n--)
        store_segment_path (f->copy, n, path);
    fsck_flip (path, last_of (path, "bytes of item 0"));
    r = fsck_check (f, f->copy, false);
    assert_int_equal (r.damaged, 1);
    assert_non_null (strstr (f->said, "rank 0 c0: its stored data is damaged"));
    fsck_mended (f, "123");
    deliver_again (f->copy);
    fsck_mended (f, "1203");           // the newest of the rows
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
    deliver (f->copy, "v", "the oldest version", 2);
    deliver (f->copy, "v", "an older version", 3);
    deliver (f->copy, "v", "the newest version", 4);
    check_versions (f, "v", "2 3 4* ");
    store_segment_path (f->copy, 1, path);
    fsck_flip (path, last_of (path, "an older version") + 60);
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
    deliver (f->copy, "c0", "another version", 0);
    check_versions (f, "c0", "0 0* ");
    store_segment_path (f->copy, 1, path);
    fsck_flip (path, last_of (path, "bytes of item 0") + 60);
    fsck_mended (f, NULL);
    check_versions (f, "c0", "0* ");
    (void)fsck_check (f, f->copy, false);
    assert_string_equal (f->said, "");
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
        fsck_flip (path, last_of (path, "bytes of item 0"));
        fsck_flip (path, last_of (path, "c2"));
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
    fsck_flip (path, last_of (path, "bytes of item 0"));
    fsck_mended (f, "123");
    fsck_flip (path, last_of (path, "bytes of item 1"));
    fsck_mended (f, "23");
    (void)snprintf (path, sizeof (path), "%s/quarantine/ledger.db", f->copy);
    assert_int_equal (access (path, F_OK), 0);
    (void)snprintf (path, sizeof (path), "%s/quarantine/ledger-2.db", f->copy);
    assert_int_equal (access (path, F_OK), 0);
}

/* A content of two chunks, each packed or not, comes into a root. */
static void deliver_large (const char *root, const char *capture)
{
    struct ledger_item item = { .kind = ITEM_RAW, .received_ns = 6,
                                .job = "j", .path = "f" };
    uint8_t *bytes = calloc (1, CONTENT_CHUNK);
    struct digest ids[2];
    struct ledger *l = NULL;
    struct store *s = NULL;
    struct ledger_place place;
    char path[PATH_MAX];
    struct buf frame;

    (void)snprintf (item.capture, sizeof (item.capture), "%s", capture);
    (void)snprintf (path, sizeof (path), "%s/ledger.db", root);
    assert_int_equal (ledger_open (path, &l, NULL), 0);
    assert_int_equal (store_open (root, l, &s, NULL), 0);
    assert_int_equal (ledger_begin (l, NULL), 0);
    assert_int_equal (digest_of (bytes, CONTENT_CHUNK, &ids[0]), 0);
    assert_int_equal (digest_of ("the rest", 8, &ids[1]), 0);
    buf_init (&frame, 2 * CONTENT_CHUNK);
    assert_int_equal (pack_frame (bytes, CONTENT_CHUNK, &frame, NULL), 0);
    if (ledger_find_content (l, &ids[0], &place, NULL) == 0) {
        assert_int_equal (store_put_chunk (s, &ids[0], CONTENT_CHUNK,
                                           CODEC_LZ4, frame.data, frame.size,
                                           &place, NULL), 0);
        assert_int_equal (ledger_add_content (l, &ids[0], &place, NULL), 0);
    }
    assert_int_equal (store_put_chunk (s, &ids[1], 8, CODEC_PLAIN, "the rest",
                                       8, &place, NULL), 0);
    assert_int_equal (ledger_add_content (l, &ids[1], &place, NULL), 0);
    assert_int_equal (content_list_id (ids, 2, &item.content), 0);
    assert_int_equal (store_put_list (s, &item.content, CONTENT_CHUNK + 8, ids,
                                      2, &place, NULL), 0);
    assert_int_equal (ledger_add_content (l, &item.content, &place, NULL), 0);
    assert_int_equal (store_put_item (s, &item, NULL), 0);
    assert_true (ledger_add_item (l, &item, NULL) >= 0);
    fsck_end (s, l);
    buf_fini (&frame);
    free (bytes);
}

/* Each part of it in turn is damaged: its item is named and set aside, and is
 * whole when it has come again, of which the good chunk does not.
 */
static void test_large (void **state)
{
    struct fixture *f = *state;
    char path[PATH_MAX], command[PATH_MAX * 2];
    off_t at;

    for (int part = 0; part < 2; part++) {
        fsck_copy (f);
        store_segment_path (f->copy, 1, path);
        at = fsck_size (path);
        deliver_large (f->copy, "big");
        fsck_mended (f, "01230");
        if (part == 0)          // else a byte of the packed chunk
            at = last_of (path, "the rest");
        else
            at += 1000;
        fsck_flip (path, at);
        assert_int_equal (fsck_check (f, f->copy, false).damaged, 2);
        assert_non_null (strstr (f->said, "job j rank 0 big/f: its stored "
                                          "data is damaged"));
        assert_non_null (strstr (f->said, "segment 1: the chunk at"));
        fsck_mended (f, "0123");
        (void)snprintf (command, sizeof (command), "grep -q 'capture big' "
                        "'%s'/quarantine/*.reason", f->copy);
        assert_int_equal (system (command), 0);
        deliver_large (f->copy, "big");
        fsck_mended (f, "01230");
    }
}

/* A record is damaged and not what is behind it: that gets another one, from
 * which a ledger is made again.
 */
static void test_homeless (void **state)
{
    struct fixture *f = *state;
    char path[PATH_MAX];

    fsck_copy (f);
    store_segment_path (f->copy, 1, path);
    fsck_flip (path, last_of (path, "the bytes of item 1") - 3);
    fsck_mended (f, "0123");
    (void)snprintf (path, sizeof (path), "%s/ledger.db", f->copy);
    assert_int_equal (unlink (path), 0);
    fsck_mended (f, "0123");
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

static void test_locked (void **state)
{
    struct fixture *f = *state;
    struct check_report r = { .items = 0 };
    struct err err = { "" };
    int lock = root_lock (f->root, false, NULL);

    assert_true (lock >= 0);
    assert_int_equal (store_check (f->root, false, &r, &err), -EBUSY);
    assert_non_null (strstr (err.text, "process"));
    (void)close (lock);
}

int main (void)
{
#define TEST(name) \
    cmocka_unit_test_setup_teardown (name, fsck_setup, fsck_teardown)
    const struct CMUnitTest tests[] = {
        TEST (test_good), TEST (test_large), TEST (test_ledger_gone),
        TEST (test_homeless), TEST (test_locked), TEST (test_damaged_twice),
        TEST (test_repair_cut_short), TEST (test_aside_twice),
        TEST (test_superseded), TEST (test_superseded_undated),
        TEST (test_removed), TEST (test_pinned_again), TEST (test_unpinned),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
