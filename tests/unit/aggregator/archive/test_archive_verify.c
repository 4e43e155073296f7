/* tests/unit/aggregator/archive/test_archive_verify.c - all that is stored is
 * read once, and what it hurts is named */
#include "aggregator/ledger/ledger_check.h"
#include "archive/archive_verify.h"
#include "fsck/check_root.h"

#include <fcntl.h>

#define SIZE (CONTENT_CHUNK + 6)        // of the item "l": a chunk, and "others"

static struct ledger_item raw_item (const char *path, const char *bytes)
{
    struct ledger_item item = true_item ("c", bytes);

    item.kind = ITEM_RAW;
    (void)snprintf (item.path, sizeof (item.path), "%s", path);
    return item;
}

/* An item of two chunks, the second of which is there. */
static void enter_list (struct root *r)
{
    struct ledger_item item = raw_item ("l", "");
    struct ledger_place first, list;
    struct digest ids[2];
    char *chunk = malloc (CONTENT_CHUNK);

    assert_non_null (chunk);
    memset (chunk, 'a', CONTENT_CHUNK);
    assert_int_equal (digest_of (chunk, CONTENT_CHUNK, &ids[0]), 0);
    ids[1] = root_digest ("others");
    assert_int_equal (content_list_id (ids, 2, &item.content), 0);
    assert_int_equal (store_put_chunk (r->s, &ids[0], CONTENT_CHUNK,
                                       CODEC_PLAIN, chunk, CONTENT_CHUNK,
                                       &first, NULL), 0);
    assert_int_equal (store_put_list (r->s, &item.content, SIZE, ids, 2, &list,
                                      NULL), 0);
    assert_int_equal (store_put_item (r->s, &item, NULL), 0);
    assert_int_equal (store_sync (r->s, NULL), 0);
    assert_int_equal (ledger_begin (r->l, NULL), 0);
    assert_int_equal (ledger_add_content (r->l, &ids[0], &first, NULL), 0);
    assert_int_equal (ledger_add_content (r->l, &item.content, &list, NULL), 0);
    assert_int_equal (ledger_add_item (r->l, &item, NULL), 1);
    assert_int_equal (store_account (r->s, r->l, NULL), 0);
    assert_int_equal (ledger_commit (r->l, NULL), 0);
    store_committed (r->s);
    free (chunk);
}

struct named {
    char paths[64], why[ERR_TEXT_MAX];
    unsigned n;                 // also what is no item
};

static int name_item (void *arg, const struct ledger_item *item,
                      const struct err *why)
{
    struct named *n = arg;

    n->n++;
    if (item)
        (void)strcat (strcat (n->paths, item->path), " ");
    (void)snprintf (n->why, sizeof (n->why), "%s", why->text);
    return 0;
}

/* The items that are named, with the last reason. */
static struct named verify_as (const struct root *r, bool deep,
                               struct archive_verified *sums)
{
    struct named n = { "", "", 0 };
    struct archive a;

    assert_int_equal (archive_open (r->dir, &a, NULL), 0);
    a.deep = deep;
    assert_int_equal (archive_verify (&a, name_item, &n, sums, NULL), 0);
    archive_close (&a);
    return n;
}

static struct named verify (const struct root *r, struct archive_verified *sums)
{
    struct named n = verify_as (r, false, sums);

    assert_string_equal (verify_as (r, true, sums).paths, n.paths);
    return n;
}

static void fill (struct root *r)
{
    (void)enter (r, raw_item ("x", "the same bytes"), "the same bytes");
    (void)enter (r, raw_item ("z", "others"), "others");
    // the same content, which the ledger has once
    (void)enter (r, raw_item ("y", "the same bytes"), "the same bytes");
    enter_list (r);
}

static void spoil_at (const struct root *r, int64_t segment, uint64_t at)
{
    char path[PATH_MAX];
    int fd;

    store_segment_path (r->dir, segment, path);
    assert_true ((fd = open (path, O_WRONLY)) >= 0);
    assert_int_equal (pwrite (fd, "?", 1, (off_t)at), 1);
    (void)close (fd);
}

/* Change a byte of a content. */
static void spoil (const struct root *r, const struct digest *id)
{
    struct ledger_place place;

    assert_int_equal (ledger_find_content (r->l, id, &place, NULL), 1);
    spoil_at (r, place.segment, place.offset);
}

static void test_whole (void **state)
{
    struct archive_verified sums;
    struct root *r = *state;

    assert_string_equal (verify (r, &sums).paths, "");
    assert_int_equal (sums.items, 0);
    fill (r);
    assert_string_equal (verify (r, &sums).paths, "");
    assert_int_equal (sums.items, 4);
    assert_int_equal (sums.bytes, 14 + 6 + 14 + SIZE);
    assert_int_equal (sums.stored, 14 + SIZE + 2 * DIGEST_SIZE);
}

static void test_chunk (void **state)
{
    struct digest id = root_digest ("others");
    struct archive_verified sums;
    struct root *r = *state;
    struct named n;

    fill (r);
    spoil (r, &id);
    n = verify (r, &sums);
    assert_string_equal (n.paths, "z l ");
    assert_string_equal (n.why, "it is not stored as it was written");
    assert_int_equal (sums.items, 4);
    id = root_digest ("the same bytes");
    spoil (r, &id);
    assert_string_equal (verify (r, &sums).paths, "x z y l ");
}

static void test_list (void **state)
{
    struct archive_verified sums;
    struct digest ids[2], id;
    struct root *r = *state;
    char *chunk = malloc (CONTENT_CHUNK);
    struct named n;

    fill (r);
    memset (chunk, 'a', CONTENT_CHUNK);
    assert_int_equal (digest_of (chunk, CONTENT_CHUNK, &ids[0]), 0);
    free (chunk);
    ids[1] = root_digest ("others");
    assert_int_equal (content_list_id (ids, 2, &id), 0);
    spoil (r, &id);
    n = verify (r, &sums);
    assert_string_equal (n.paths, "l ");
    assert_string_equal (n.why, "it is not stored as it was written");
}

/* No byte of a segment can be another one: of a chunk, a list, or any record.
 * Of a chunk that stays whole, its record is a part.
 */
static void test_each_byte (void **state)
{
    struct archive_verified sums;
    struct root *r = *state;
    char path[PATH_MAX], byte;
    struct named n;
    struct stat st;
    int fd;

    (void)enter (r, raw_item ("x", "the same bytes"), "the same bytes");
    (void)enter (r, raw_item ("z", "others"), "others");
    store_segment_path (r->dir, 1, path);
    assert_true ((fd = open (path, O_RDWR)) >= 0);
    assert_int_equal (fstat (fd, &st), 0);
    assert_int_equal (verify (r, &sums).n, 0);
    for (off_t at = 0; at < st.st_size; at++) {
        assert_int_equal (pread (fd, &byte, 1, at), 1);
        byte = (char)(byte ^ 1 << at % 8);
        assert_int_equal (pwrite (fd, &byte, 1, at), 1);
        n = verify_as (r, false, &sums);
        assert_int_equal (n.n, 1);
        if (at < RECORD_CONTENT_SIZE + 14)
            assert_string_equal (n.paths, "x ");
        else
            assert_true (!*n.paths || strcmp (n.paths, "z ") == 0);
        byte = (char)(byte ^ 1 << at % 8);
        assert_int_equal (pwrite (fd, &byte, 1, at), 1);
    }
    (void)close (fd);
    assert_int_equal (verify (r, &sums).n, 0);
}

/* What a repair has set aside is not named again. */
static void test_repaired (void **state)
{
    struct check_report report = { .say = NULL };
    struct archive_verified sums;
    struct root *r = *state;
    struct ledger_place place;
    struct digest id = root_digest ("others");
    struct named n;

    fill (r);
    assert_int_equal (ledger_find_content (r->l, &id, &place, NULL), 1);
    spoil_at (r, place.segment, place.offset + place.stored);   // an item
    n = verify (r, &sums);
    assert_int_equal (n.n, 1);
    assert_non_null (strstr (n.why, "not a record"));
    root_close (r);
    assert_int_equal (store_check (r->dir, true, &report, NULL), 0);
    root_open (r);
    assert_int_equal (verify (r, &sums).n, 0);
    assert_int_equal (sums.items, 4);
}

/* The row of a content names the place of another one of its size. */
static void test_place_of_another (void **state)
{
    struct archive_verified sums;
    struct root *r = *state;
    struct ledger_place place;
    struct digest id = root_digest ("another one");

    (void)enter (r, raw_item ("x", "another one"), "another one");
    (void)enter (r, raw_item ("z", "the content"), "the content");
    assert_int_equal (ledger_find_content (r->l, &id, &place, NULL), 1);
    id = root_digest ("the content");
    assert_int_equal (ledger_begin (r->l, NULL), 0);
    assert_int_equal (ledger_drop_content (r->l, &id, NULL), 0);
    assert_int_equal (ledger_add_content (r->l, &id, &place, NULL), 0);
    assert_int_equal (ledger_commit (r->l, NULL), 0);
    assert_string_equal (verify (r, &sums).paths, "z ");
}

/* Bytes that were stored as they came, but are others: only unpacking shows it.
 */
static void test_never_right (void **state)
{
    struct archive_verified sums;
    struct root *r = *state;
    struct ledger_place place;
    struct digest id = root_digest ("what it should be");

    (void)enter (r, raw_item ("x", "what it should be"), "what it should be");
    assert_int_equal (store_put_chunk (r->s, &id, 17, CODEC_PLAIN,
                                       "what it shall be.", 17, &place, NULL),
                      0);
    assert_int_equal (ledger_begin (r->l, NULL), 0);
    assert_int_equal (ledger_add_content (r->l, &id, &place, NULL), 0);
    assert_int_equal (store_account (r->s, r->l, NULL), 0);
    assert_int_equal (ledger_commit (r->l, NULL), 0);
    assert_string_equal (verify_as (r, false, &sums).paths, "");
    assert_string_equal (verify_as (r, true, &sums).paths, "x ");
}

static void test_no_segment (void **state)
{
    struct archive_verified sums;
    struct root *r = *state;
    char path[PATH_MAX];
    struct named n;

    fill (r);
    store_segment_path (r->dir, 1, path);
    assert_int_equal (unlink (path), 0);
    n = verify (r, &sums);
    assert_string_equal (n.paths, "x z y l ");
    assert_non_null (strstr (n.why, "cannot open"));
}

static void drop_nothing (void *arg, const struct ledger_item *item)
{
    (void)arg;
    (void)item;
}

static void test_set_aside (void **state)
{
    struct digest id = root_digest ("others");
    struct archive_verified sums;
    struct root *r = *state;
    struct named n;

    fill (r);
    assert_int_equal (ledger_begin (r->l, NULL), 0);
    assert_int_equal (ledger_drop_content (r->l, &id, NULL), 0);
    (void)ledger_note_loss (r->l, drop_nothing, NULL, NULL);
    assert_int_equal (ledger_commit (r->l, NULL), 0);
    n = verify (r, &sums);
    assert_string_equal (n.paths, "z l ");
    assert_int_equal (sums.items, 4);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        ROOT_TEST (test_whole), ROOT_TEST (test_chunk), ROOT_TEST (test_list),
        ROOT_TEST (test_no_segment), ROOT_TEST (test_set_aside),
        ROOT_TEST (test_each_byte), ROOT_TEST (test_repaired),
        ROOT_TEST (test_place_of_another), ROOT_TEST (test_never_right),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
