/* tests/unit/aggregator/archive/test_archive_verify.c - all that is stored is
 * read once, and what it hurts is named */
#include "aggregator/ledger/ledger_check.h"
#include "archive/archive_verify.h"

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
};

static int name_item (void *arg, const struct ledger_item *item,
                      const struct err *why)
{
    struct named *n = arg;

    (void)strcat (strcat (n->paths, item->path), " ");
    (void)snprintf (n->why, sizeof (n->why), "%s", why->text);
    return 0;
}

/* The items that are named, with the last reason. */
static struct named verify (const struct root *r, struct archive_verified *sums)
{
    struct named n = { "", "" };
    struct archive a;

    assert_int_equal (archive_open (r->dir, &a, NULL), 0);
    assert_int_equal (archive_verify (&a, name_item, &n, sums, NULL), 0);
    archive_close (&a);
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

/* Change a byte of a content. */
static void spoil (const struct root *r, const struct digest *id)
{
    struct ledger_place place;
    char path[PATH_MAX];
    int fd;

    assert_int_equal (ledger_find_content (r->l, id, &place, NULL), 1);
    store_segment_path (r->dir, place.segment, path);
    assert_true ((fd = open (path, O_WRONLY)) >= 0);
    assert_int_equal (pwrite (fd, "?", 1, (off_t)place.offset), 1);
    (void)close (fd);
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
    assert_string_equal (n.why, "its hash is wrong");
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
    assert_string_equal (n.why, "the list of its chunks is damaged");
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
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
