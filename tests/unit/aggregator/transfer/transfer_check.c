/* tests/unit/aggregator/transfer/transfer_check.c - transfers of agents that
 * are not there */
#include "aggregator/transfer/transfer_check.h"

#include "base/pack.h"
#include "transfer/transfer_private.h"

static int on_send (void *arg, const struct net_peer *to,
                    const struct message *m)
{
    struct fixture *f = arg;

    if (f->dead > 0 && to->id[0] == f->dead)
        return -EHOSTUNREACH;
    assert_true (f->nsent < SENT_MAX);
    f->to[f->nsent] = to->id[0];
    f->sent[f->nsent++] = *m;
    return 0;
}

static void create (struct fixture *f)
{
    f->transfers = transfers_create (on_send, f, f->root.l, f->root.s);
    assert_non_null (f->transfers);
}

void open_all (struct fixture *f)
{
    root_open (&f->root);
    create (f);
}

void close_all (struct fixture *f)
{
    transfers_destroy (f->transfers);
    root_close (&f->root);
}

int transfer_setup (void **state)
{
    struct fixture *f = calloc (1, sizeof (*f));

    root_make (&f->root);
    create (f);
    f->agent = peer (1);
    *state = f;
    return 0;
}

int transfer_teardown (void **state)
{
    struct fixture *f = *state;

    transfers_destroy (f->transfers);
    root_remove (&f->root);
    free (f);
    return 0;
}

struct net_peer peer (uint8_t n)
{
    return (struct net_peer){ .id = { n, 2, 3, 4, 5 }, .size = 5 };
}

void offer (struct fixture *f, const char *job, const char *capture,
            uint8_t content)
{
    struct message m = { .type = MESSAGE_OFFER, .item = ++f->offers,
                         .kind = ITEM_ROWS, .rank = 0, .size = 1 };

    (void)snprintf (m.capture, sizeof (m.capture), "%s", capture);
    memset (m.content.bytes, content, DIGEST_SIZE);
    assert_int_equal (transfers_offer (f->transfers, &f->agent, job, "n0", &m,
                                       NULL), 0);
}

struct data data_of (size_t size, uint8_t seed)
{
    struct data d = { malloc (size), size, { { 0 } } };
    struct content_hash h;

    content_hash_init (&h);
    for (size_t i = 0; i < size; i++)
        d.bytes[i] = (uint8_t)(seed + i / MIB);
    for (size_t at = 0; at < size; at += MIB)
        assert_int_equal (content_hash_add (&h, d.bytes + at, size - at < MIB
                                                ? size - at : MIB), 0);
    assert_int_equal (content_hash_end (&h, &d.id), 0);
    content_hash_fini (&h);
    return d;
}

int offer_raw (struct fixture *f, uint8_t who, uint64_t item,
               const struct data *d)
{
    struct net_peer p = peer (who);
    struct message m = { .type = MESSAGE_OFFER, .item = item, .kind = ITEM_RAW,
                         .rank = who, .size = d->size, .content = d->id };

    (void)snprintf (m.capture, sizeof (m.capture), "c%u", (unsigned)who);
    (void)snprintf (m.path, sizeof (m.path), "%u", (unsigned)item);
    return transfers_offer (f->transfers, &p, "j", "n0", &m, NULL);
}

void offer_data (struct fixture *f, uint8_t who, uint64_t item,
                 const struct data *d)
{
    assert_int_equal (offer_raw (f, who, item, d), 0);
}

/* The ids of some chunks. */
static void put_ids (struct buf *out, const struct message *get,
                     const struct data *d)
{
    for (size_t i = 0; i < get->length / DIGEST_SIZE; i++) {
        size_t at = (get->offset / DIGEST_SIZE + i) * MIB;
        struct digest id;

        assert_int_equal (digest_of (d->bytes + at, d->size - at < MIB
                                         ? d->size - at : MIB, &id), 0);
        buf_put (out, id.bytes, DIGEST_SIZE);
    }
}

int answer (struct fixture *f, const struct message *get, uint8_t who,
            const struct data *d, enum chunk_codec codec, uint8_t spoil)
{
    struct net_peer p = peer (who);
    struct message m = { .type = MESSAGE_CHUNK, .item = get->item,
                         .part = get->part, .offset = get->offset,
                         .codec = get->part == PART_LIST ? CODEC_PLAIN : codec };
    struct buf frame;
    int rc;

    buf_init (&frame, 2 * MIB);
    if (get->part == PART_LIST)
        put_ids (&frame, get, d);
    else if (codec == CODEC_LZ4)
        assert_int_equal (pack_frame (d->bytes + get->offset, get->length,
                                      &frame, NULL), 0);
    if (get->part == PART_BYTES &&
        (codec == CODEC_PLAIN || frame.size >= get->length)) {
        m.codec = CODEC_PLAIN;
        buf_clear (&frame);
        buf_put (&frame, d->bytes + get->offset, get->length);
    }
    frame.data[frame.size / 2] = (uint8_t)(frame.data[frame.size / 2] + spoil);
    m.data = frame.data;
    m.data_size = frame.size;
    rc = transfers_chunk (f->transfers, &p, &m, NULL);
    buf_fini (&frame);
    return rc;
}

size_t answer_all (struct fixture *f, size_t from, uint8_t who,
                   const struct data *d, enum chunk_codec codec)
{
    size_t n = 0;

    for (size_t i = from; i < f->nsent; i++) {
        struct message get = f->sent[i];

        if (get.type != MESSAGE_GET || f->to[i] != who)
            continue;
        assert_int_equal (answer (f, &get, who, d, codec, 0), 0);
        n++;
    }
    return n;
}

size_t count_sent (const struct fixture *f, enum message_type type,
                   uint8_t who)
{
    size_t n = 0;

    for (size_t i = 0; i < f->nsent; i++)
        n += f->sent[i].type == type && f->to[i] == who;
    return n;
}

void check_stored (struct fixture *f, const struct data *d)
{
    struct ledger_place place;

    assert_int_equal (ledger_find_content (f->root.l, &d->id, &place, NULL),
                      1);
    assert_int_equal (place.size, d->size);
    assert_int_equal (store_check_content (f->root.s, f->root.l, &d->id,
                                           &place, NULL), 0);
}

void on_entered (void *arg, const struct ledger_item *item)
{
    struct fixture *f = arg;
    size_t used = strlen (f->entered);

    (void)snprintf (f->entered + used, sizeof (f->entered) - used, "%s %s, ",
                    item->job, item->capture);
}

void check_commit (struct fixture *f, const char *entered)
{
    f->entered[0] = '\0';
    assert_true (transfers_pending (f->transfers));
    assert_int_equal (transfers_commit (f->transfers, on_entered, f, NULL),
                      0);
    assert_string_equal (f->entered, entered);
    assert_false (transfers_pending (f->transfers));
}

void check_whole (struct fixture *f, const char *entered,
                  const struct data *d)
{
    check_commit (f, entered);
    check_stored (f, d);
}

void check_credits (struct fixture *f)
{
    assert_int_equal (transfers_credits (f->transfers), TRANSFER_CREDITS);
}
