/* tests/unit/aggregator/fsck/test_check_root.c - whatever is damaged is found
 * and mended */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "archive/archive.h"
#include "fsck/check_root.h"
#include "store/fileio.h"
#include "store/root.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ITEMS 4

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

struct fixture {
    char dir[PATH_MAX / 4], root[PATH_MAX / 2], copy[PATH_MAX / 2];
    char said[65536];
};

/* The bytes as a chunk, and the item. */
static void put_item (struct store *s, struct ledger_item *item,
                      const char *bytes)
{
    assert_int_equal (digest_of (bytes, strlen (bytes), &item->content), 0);
    assert_int_equal (store_put_chunk (s, &item->content, strlen (bytes),
                                       CODEC_PLAIN, bytes, strlen (bytes),
                                       &item->place, NULL), 0);
    assert_int_equal (store_put_item (s, item, NULL), 0);
}

/* Items of one chunk. */
static void fill (const char *root)
{
    const struct size_claim word = { .by = CLAIM_NODE, .host = "h",
                                     .world_size = 8 };
    const struct ledger_fact fact = { .job = "j", .key = FACT_TAG,
                                      .value = "kept", .at_ns = 5 };
    struct ledger *l = NULL;
    struct store *s = NULL;
    char path[PATH_MAX];

    (void)snprintf (path, sizeof (path), "%s/ledger.db", root);
    assert_int_equal (ledger_open (path, &l, NULL), 0);
    assert_int_equal (store_open (root, l, &s, NULL), 0);
    assert_int_equal (store_note_claim (s, "j", &word, NULL), 0);
    assert_int_equal (store_note_fact (s, &fact, NULL), 0);
    assert_int_equal (ledger_begin (l, NULL), 0);
    assert_int_equal (ledger_set_claim (l, "j", &word, NULL), 0);
    assert_int_equal (ledger_set_fact (l, &fact, NULL), 1);
    for (int i = 0; i < ITEMS; i++) {
        struct ledger_item item = { .kind = i == 3 ? ITEM_RAW : ITEM_ROWS,
                                    .rank = i, .received_ns = 5 };
        char bytes[64];

        (void)snprintf (bytes, sizeof (bytes), "the bytes of item %d", i);
        (void)snprintf (item.job, sizeof (item.job), "j");
        (void)snprintf (item.capture, sizeof (item.capture), "c%d", i);
        (void)snprintf (item.path, sizeof (item.path), i == 3 ? "f" : "");
        put_item (s, &item, bytes);
        assert_int_equal (ledger_add_content (l, &item.content, &item.place,
                                              NULL), 0);
        assert_int_equal (ledger_add_item (l, &item, NULL), 1);
    }
    assert_int_equal (store_sync (s, NULL), 0);
    assert_int_equal (store_account (s, l, NULL), 0);
    assert_int_equal (ledger_commit (l, NULL), 0);
    store_committed (s);
    store_close (s);
    ledger_close (l);
}

static int setup (void **state)
{
    const char *tmp = getenv ("TMPDIR");
    struct fixture *f = calloc (1, sizeof (*f));

    (void)snprintf (f->dir, sizeof (f->dir), "%s/rollcall-check-XXXXXX",
                    tmp && *tmp ? tmp : "/tmp");
    assert_non_null (mkdtemp (f->dir));
    (void)snprintf (f->root, sizeof (f->root), "%s/root", f->dir);
    (void)snprintf (f->copy, sizeof (f->copy), "%s/copy", f->dir);
    assert_int_equal (fileio_mkdirs (f->root, 0700, NULL), 0);
    fill (f->root);
    *state = f;
    return 0;
}

static int teardown (void **state)
{
    struct fixture *f = *state;

    (void)fileio_remove_tree (f->dir, NULL);
    free (f);
    return 0;
}

static void say (void *arg, const char *sentence)
{
    struct fixture *f = arg;
    size_t used = strlen (f->said);

    (void)snprintf (f->said + used, sizeof (f->said) - used, "%s\n",
                    sentence);
}

static struct check_report check (struct fixture *f, const char *root,
                                  bool repair)
{
    struct check_report r = { .say = say, .arg = f };
    struct err err = { "" };

    f->said[0] = '\0';
    if (store_check (root, repair, &r, &err) < 0)
        fail_msg ("%s", err.text);
    return r;
}

static int count_kept (void *arg, const struct ledger_fact *f)
{
    *(unsigned *)arg += !f->gone && strcmp (f->value, "kept") == 0;
    return 0;
}

/* The items that are whole, in the order of their ranks: "0123"; and the job
 * has its tag.
 */
static void whole_items (const char *root, char out[16])
{
    struct archive a;
    struct archive_items list;
    struct err err = { "" };
    size_t n = 0;
    unsigned kept = 0;

    if (archive_open (root, &a, &err) < 0)
        fail_msg ("%s", err.text);
    assert_int_equal (archive_list (&a, "j", &list, NULL), 0);
    for (size_t i = 0; i < list.n; i++) {
        if (archive_check (&a, &list.items[i], NULL) == 0)
            out[n++] = (char)('0' + list.items[i].rank);
    }
    out[n] = '\0';
    assert_true (ledger_world_size (a.ledger, "j") == 8);
    assert_int_equal (ledger_each_fact (a.ledger, "j", 0, count_kept, &kept,
                                        NULL), 0);
    assert_int_equal (kept, 1);
    free (list.items);
    archive_close (&a);
}

static void copy_root (struct fixture *f)
{
    char command[PATH_MAX * 2];

    (void)fileio_remove_tree (f->copy, NULL);
    (void)snprintf (command, sizeof (command), "cp -r '%s' '%s'", f->root,
                    f->copy);
    assert_int_equal (system (command), 0);
}

static void flip (const char *path, off_t at)
{
    int fd = open (path, O_RDWR);
    uint8_t byte;

    assert_true (fd >= 0);
    assert_int_equal (pread (fd, &byte, 1, at), 1);
    byte ^= 0x10;
    assert_int_equal (pwrite (fd, &byte, 1, at), 1);
    (void)close (fd);
}

static off_t size_of (const char *path)
{
    struct stat st;

    assert_int_equal (stat (path, &st), 0);
    return st.st_size;
}

/* After a repair an aggregator can serve the root, and there is nothing more
 * to be found.
 */
static void check_mended (struct fixture *f, const char *whole)
{
    struct ledger *l = NULL;
    struct store *s = NULL;
    char path[PATH_MAX], got[16];
    struct check_report r = check (f, f->copy, true);
    struct err err = { "" };

    assert_true (r.repaired == r.damaged);
    r = check (f, f->copy, false);
    if (r.damaged > 0)
        fail_msg ("after the repair: %s", f->said);
    whole_items (f->copy, got);
    if (whole)
        assert_string_equal (got, whole);
    (void)snprintf (path, sizeof (path), "%s/ledger.db", f->copy);
    if (ledger_open (path, &l, &err) < 0 ||
        store_open (f->copy, l, &s, &err) < 0)
        fail_msg ("%s", err.text);
    store_close (s);
    ledger_close (l);
}

static void test_good (void **state)
{
    struct fixture *f = *state;
    struct check_report r = check (f, f->root, false);

    assert_string_equal (f->said, "");
    assert_int_equal (r.damaged + r.leftovers, 0);
    assert_int_equal (r.items, ITEMS);
    assert_int_equal (r.contents, ITEMS);
    copy_root (f);
    check_mended (f, "0123");
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
    put_item (s, &item, bytes);
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

/* What was set aside once is looked at again when it has come again: neither
 * is it said that it has not, nor is damage to the second copy overlooked.
 */
static void test_damaged_twice (void **state)
{
    struct fixture *f = *state;
    char path[PATH_MAX];
    struct check_report r;

    copy_root (f);
    store_segment_path (f->copy, 1, path);
    flip (path, last_of (path, "bytes of item 0"));
    check_mended (f, "123");
    assert_non_null (strstr (f->said, "was not delivered again"));
    deliver_again (f->copy);
    r = check (f, f->copy, false);
    assert_int_equal (r.damaged, 0);
    assert_string_equal (f->said, "");
    for (int n = 3; last_of (path, "bytes of item 0") < 0 && n > 1; n--)
        store_segment_path (f->copy, n, path);
    flip (path, last_of (path, "bytes of item 0"));
    r = check (f, f->copy, false);
    assert_int_equal (r.damaged, 1);
    assert_non_null (strstr (f->said, "rank 0 c0: its stored data is damaged"));
    check_mended (f, "123");
    deliver_again (f->copy);
    check_mended (f, "1203");           // the newest of the rows
}

/* The dates of all versions of a capture that are whole, in the order in which
 * they are listed, and with a * what counts.
 */
static void check_versions (struct fixture *f, const char *capture,
                            const char *want)
{
    struct archive a;
    struct archive_items list;
    char got[64] = "";

    assert_int_equal (archive_open (f->copy, &a, NULL), 0);
    assert_int_equal (archive_list (&a, "j", &list, NULL), 0);
    for (size_t i = 0; i < list.n; i++) {
        size_t used = strlen (got);

        if (strcmp (list.items[i].capture, capture) == 0 &&
            archive_check (&a, &list.items[i], NULL) == 0)
            (void)snprintf (got + used, sizeof (got) - used, "%lld%s",
                            (long long)list.items[i].newest_ns,
                            list.items[i].superseded ? " " : "* ");
    }
    assert_string_equal (got, want);
    free (list.items);
    archive_close (&a);
}

/* The record of a version that was superseded is damaged: it stays, and stays
 * superseded, also when the ledger is made of nothing but the records.
 */
static void test_superseded (void **state)
{
    struct fixture *f = *state;
    char path[PATH_MAX], db[PATH_MAX];

    copy_root (f);
    deliver (f->copy, "v", "the oldest version", 2);
    deliver (f->copy, "v", "an older version", 3);
    deliver (f->copy, "v", "the newest version", 4);
    check_versions (f, "v", "2 3 4* ");
    store_segment_path (f->copy, 1, path);
    flip (path, last_of (path, "an older version") + 60);
    (void)check (f, f->copy, false);
    assert_non_null (strstr (f->said, "superseded version is damaged"));
    check_mended (f, NULL);
    check_versions (f, "v", "2 4* 3 ");
    (void)snprintf (db, sizeof (db), "%s/ledger.db", f->copy);
    assert_int_equal (unlink (db), 0);
    check_mended (f, NULL);
    check_versions (f, "v", "2 4* 3 ");
}

/* The same of agents that gave no dates: it would be taken for the one that
 * counts.  That it is forgotten is said.
 */
static void test_superseded_undated (void **state)
{
    struct fixture *f = *state;
    char path[PATH_MAX];

    copy_root (f);
    deliver (f->copy, "c0", "another version", 0);
    check_versions (f, "c0", "0 0* ");
    store_segment_path (f->copy, 1, path);
    flip (path, last_of (path, "bytes of item 0") + 60);
    check_mended (f, NULL);
    check_versions (f, "c0", "0* ");
    (void)check (f, f->copy, false);
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
    copy_root (f);
    ledger_close (l);
    (void)snprintf (path, sizeof (path), "%s/ledger.db-wal", f->copy);
    assert_true (size_of (path) > 0);
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
        flip (path, last_of (path, "bytes of item 0"));
        flip (path, last_of (path, "c2"));
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
        check_mended (f, "123");
    } while (rc < 0);
    assert_true (cut > 1);
}

/* Each ledger that was set aside stays. */
static void test_aside_twice (void **state)
{
    struct fixture *f = *state;
    char path[PATH_MAX];

    copy_root (f);
    store_segment_path (f->copy, 1, path);
    flip (path, last_of (path, "bytes of item 0"));
    check_mended (f, "123");
    flip (path, last_of (path, "bytes of item 1"));
    check_mended (f, "23");
    (void)snprintf (path, sizeof (path), "%s/quarantine/ledger.db", f->copy);
    assert_int_equal (access (path, F_OK), 0);
    (void)snprintf (path, sizeof (path), "%s/quarantine/ledger-2.db", f->copy);
    assert_int_equal (access (path, F_OK), 0);
}

/* Every byte of a segment: found; and at most the item that it belongs to is
 * lost (that of a record not even then: the ledger knows it, too).
 */
static void test_flip_segment (void **state)
{
    struct fixture *f = *state;
    char path[PATH_MAX];
    off_t size;

    store_segment_path (f->root, 1, path);
    size = size_of (path);
    for (off_t at = 0; at < size; at++) {
        struct check_report r;
        char got[16];

        copy_root (f);
        store_segment_path (f->copy, 1, path);
        flip (path, at);
        r = check (f, f->copy, false);
        if (r.damaged == 0)
            fail_msg ("byte %lld was not noticed", (long long)at);
        if (at % 7 != 0)
            continue;           // a repair takes some syncs of the disk
        check_mended (f, NULL);
        whole_items (f->copy, got);
        if (strlen (got) < ITEMS - 1)
            fail_msg ("byte %lld: only %s are left", (long long)at, got);
    }
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
    assert_int_equal (store_sync (s, NULL), 0);
    assert_int_equal (store_account (s, l, NULL), 0);
    assert_int_equal (ledger_commit (l, NULL), 0);
    store_committed (s);
    store_close (s);
    ledger_close (l);
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
        copy_root (f);
        store_segment_path (f->copy, 1, path);
        at = size_of (path);
        deliver_large (f->copy, "big");
        check_mended (f, "01230");
        if (part == 0)          // else a byte of the packed chunk
            at = last_of (path, "the rest");
        else
            at += 1000;
        flip (path, at);
        assert_int_equal (check (f, f->copy, false).damaged, 2);
        assert_non_null (strstr (f->said, "job j rank 0 big/f: its stored "
                                          "data is damaged"));
        assert_non_null (strstr (f->said, "segment 1: the chunk at"));
        check_mended (f, "0123");
        (void)snprintf (command, sizeof (command), "grep -q 'capture big' "
                        "'%s'/quarantine/*.reason", f->copy);
        assert_int_equal (system (command), 0);
        deliver_large (f->copy, "big");
        check_mended (f, "01230");
    }
}

/* A record is damaged and not what is behind it: that gets another one, from
 * which a ledger is made again.
 */
static void test_homeless (void **state)
{
    struct fixture *f = *state;
    char path[PATH_MAX];

    copy_root (f);
    store_segment_path (f->copy, 1, path);
    flip (path, last_of (path, "the bytes of item 1") - 3);
    check_mended (f, "0123");
    (void)snprintf (path, sizeof (path), "%s/ledger.db", f->copy);
    assert_int_equal (unlink (path), 0);
    check_mended (f, "0123");
}

/* Bytes all over the ledger (with ROLLCALL_EVERY_BYTE all of them: minutes):
 * found, or without effect on what is read; and everything is there after a
 * repair.
 */
static void test_flip_ledger (void **state)
{
    struct fixture *f = *state;
    char path[PATH_MAX], got[16];
    bool every = getenv ("ROLLCALL_EVERY_BYTE") != NULL;
    unsigned found = 0, harmless = 0;
    off_t size;

    (void)snprintf (path, sizeof (path), "%s/ledger.db", f->root);
    size = size_of (path);
    (void)snprintf (path, sizeof (path), "%s/ledger.db", f->copy);
    for (off_t at = 0; at < size; at += every ? 1 : 1999) {
        struct ledger *l = NULL;

        copy_root (f);
        flip (path, at);
        if (ledger_open_read (path, &l, NULL) < 0) {
            if (!every || found % 97 == 0)
                check_mended (f, "0123");
            found++;
            continue;
        }
        ledger_close (l);
        harmless++;
        whole_items (f->copy, got);
        assert_string_equal (got, "0123");
    }
    assert_true (found > 0);
    assert_true (harmless > 0);
}

/* Without a ledger all of it is made again, also who is expected. */
static void test_ledger_gone (void **state)
{
    struct fixture *f = *state;
    char path[PATH_MAX];

    copy_root (f);
    (void)snprintf (path, sizeof (path), "%s/ledger.db", f->copy);
    assert_int_equal (unlink (path), 0);
    check_mended (f, "0123");
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
#define TEST(name) cmocka_unit_test_setup_teardown (name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST (test_good), TEST (test_flip_segment), TEST (test_large),
        TEST (test_flip_ledger), TEST (test_ledger_gone), TEST (test_homeless),
        TEST (test_locked), TEST (test_damaged_twice),
        TEST (test_repair_cut_short), TEST (test_aside_twice),
        TEST (test_superseded), TEST (test_superseded_undated),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
