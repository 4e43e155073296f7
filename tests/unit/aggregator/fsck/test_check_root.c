/* tests/unit/aggregator/fsck/test_check_root.c - whatever is damaged is found
 * and mended */
#include "aggregator/fsck/fsck_check.h"

#include <errno.h>

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

/* Item 0 once more, into the root that a check has mended. */
static void deliver_again (const char *root)
{
    fsck_deliver (root, "c0", "the bytes of item 0", 0);
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
    fsck_flip (path, fsck_last_of (path, "bytes of item 0"));
    fsck_mended (f, "123");
    assert_non_null (strstr (f->said, "was not delivered again"));
    deliver_again (f->copy);
    r = fsck_check (f, f->copy, false);
    assert_int_equal (r.damaged, 0);
    assert_string_equal (f->said, "");
    for (int n = 3; fsck_last_of (path, "bytes of item 0") < 0 && n > 1; n--)
        store_segment_path (f->copy, n, path);
    fsck_flip (path, fsck_last_of (path, "bytes of item 0"));
    r = fsck_check (f, f->copy, false);
    assert_int_equal (r.damaged, 1);
    assert_non_null (strstr (f->said, "rank 0 c0: its stored data is damaged"));
    fsck_mended (f, "123");
    deliver_again (f->copy);
    fsck_mended (f, "1203");           // the newest of the rows
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
            at = fsck_last_of (path, "the rest");
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
    fsck_flip (path, fsck_last_of (path, "the bytes of item 1") - 3);
    fsck_mended (f, "0123");
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
        TEST (test_good), TEST (test_large), TEST (test_homeless),
        TEST (test_locked), TEST (test_damaged_twice),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
