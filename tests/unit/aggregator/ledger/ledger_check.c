/* tests/unit/aggregator/ledger/ledger_check.c - items for a ledger and a store,
 * and what is there of them */
#include "aggregator/ledger/ledger_check.h"

struct ledger_item item_of (const char *capture, uint8_t content)
{
    struct ledger_item item = { .kind = ITEM_ROWS, .rank = 4 };

    (void)snprintf (item.job, sizeof (item.job), "j");
    (void)snprintf (item.capture, sizeof (item.capture), "%s", capture);
    (void)snprintf (item.host, sizeof (item.host), "n0");
    memset (item.content.bytes, content, DIGEST_SIZE);
    return item;
}

struct ledger_item true_item (const char *capture, const char *bytes)
{
    struct ledger_item item = item_of (capture, 0);

    item.content = root_digest (bytes);
    return item;
}

int put_item (struct root *r, struct ledger_item *item, const char *bytes,
              struct err *err)
{
    int rc = store_put_chunk (r->s, &item->content, strlen (bytes),
                              CODEC_PLAIN, bytes, strlen (bytes), &item->place,
                              err);

    return rc < 0 ? rc : store_put_item (r->s, item, err);
}

int enter (struct root *r, struct ledger_item item, const char *bytes)
{
    int rc;

    assert_int_equal (put_item (r, &item, bytes, NULL), 0);
    assert_int_equal (store_sync (r->s, NULL), 0);
    assert_int_equal (ledger_begin (r->l, NULL), 0);
    assert_int_equal (ledger_enter_epoch (r->l, NULL), 0);
    assert_int_equal (ledger_add_content (r->l, &item.content, &item.place,
                                          NULL), 0);
    rc = ledger_add_item (r->l, &item, NULL);
    assert_true (rc >= 0);
    assert_int_equal (store_account (r->s, r->l, NULL), 0);
    assert_int_equal (ledger_commit (r->l, NULL), 0);
    store_committed (r->s);
    return rc;
}

static void commit (struct root *r)
{
    assert_int_equal (store_sync (r->s, NULL), 0);
    assert_int_equal (store_account (r->s, r->l, NULL), 0);
    assert_int_equal (ledger_commit (r->l, NULL), 0);
    store_committed (r->s);
}

void enter_large (struct root *r, struct ledger_item *item, const char fill[3])
{
    static char bytes[CONTENT_CHUNK];
    const uint64_t size = 3 * (uint64_t)CONTENT_CHUNK;
    struct ledger_place place;
    struct digest ids[3];

    assert_int_equal (ledger_begin (r->l, NULL), 0);
    for (int k = 0; k < 3; k++) {
        memset (bytes, fill[k], sizeof (bytes));
        assert_int_equal (digest_of (bytes, sizeof (bytes), &ids[k]), 0);
        if (ledger_find_content (r->l, &ids[k], &place, NULL) == 1)
            continue;
        assert_int_equal (store_put_chunk (r->s, &ids[k], sizeof (bytes),
                                           CODEC_PLAIN, bytes, sizeof (bytes),
                                           &place, NULL), 0);
        assert_int_equal (ledger_add_content (r->l, &ids[k], &place, NULL), 0);
    }
    assert_int_equal (content_list_id (ids, 3, &item->content), 0);
    assert_int_equal (store_put_list (r->s, &item->content, size, ids, 3,
                                      &place, NULL), 0);
    assert_int_equal (ledger_add_content (r->l, &item->content, &place, NULL),
                      0);
    assert_int_equal (store_put_item (r->s, item, NULL), 0);
    assert_int_equal (ledger_add_item (r->l, item, NULL), 1);
    commit (r);
}

void remove_item (struct root *r, const struct ledger_item *item,
                  int64_t at_ns)
{
    struct ledger_deletion d;

    ledger_deletion_of (item, &d);
    d.at_ns = at_ns;
    assert_int_equal (store_note_deletion (r->s, &d, NULL), 0);
    assert_int_equal (ledger_begin (r->l, NULL), 0);
    assert_int_equal (ledger_delete (r->l, &d, NULL), 1);
    commit (r);
}

int deliver (struct root *r, const char *capture, uint8_t content,
             const char *bytes)
{
    return enter (r, item_of (capture, content), bytes);
}

static int count_item (void *arg, const struct ledger_item *item)
{
    struct count *c = arg;

    c->n++;
    c->superseded += item->superseded;
    return 0;
}

void say_of (struct root *r, const char *job, const char *key,
             const char *value)
{
    struct ledger_fact f = { .at_ns = 1 };

    (void)snprintf (f.job, sizeof (f.job), "%s", job);
    (void)snprintf (f.key, sizeof (f.key), "%s", key);
    (void)snprintf (f.value, sizeof (f.value), "%s", value);
    assert_int_equal (ledger_set_fact (r->l, &f, NULL), 1);
}

struct count count_all (struct root *r)
{
    struct count c = { 0, 0 };

    assert_int_equal (ledger_each (r->l, "j", ITEM_ROWS, count_item, &c, NULL),
                      0);
    return c;
}

void check_bytes (struct root *r, const struct digest *id, const char *want)
{
    struct store_reader *reader;
    struct ledger_place place;
    struct byte_source from;
    char text[64] = "";

    assert_int_equal (ledger_find_content (r->l, id, &place, NULL), 1);
    assert_int_equal (place.size, strlen (want));
    assert_int_equal (store_reader_open (r->s, r->l, id, &place, &reader,
                                         NULL), 0);
    from = store_reader_source (reader);
    assert_int_equal (from.read (&from, text, place.size, 0), 0);
    assert_string_equal (text, want);
    store_reader_destroy (reader);
}
