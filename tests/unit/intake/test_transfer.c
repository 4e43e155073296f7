/* tests/unit/intake/test_transfer.c - who is asked for what, and which items a
 * commit speaks of
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/counter.h"
#include "base/fileio.h"
#include "base/pack.h"
#include "intake/record.h"
#include "intake/transfer.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MIB (1u << 20)
#define SENT_MAX 512

struct fixture {
    char dir[PATH_MAX / 2];
    struct ledger *ledger;
    struct store *store;
    struct transfers *transfers;
    struct net_peer agent;
    uint64_t offers;
    struct message sent[SENT_MAX];      // GETs and ACKs, and to whom
    uint8_t to[SENT_MAX];
    size_t nsent;
    char entered[256];          // "job capture, " of each
    uint8_t dead;               // its connection is no more; 0: nobody's
};

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

static void open_all (struct fixture *f)
{
    char path[PATH_MAX];

    (void)snprintf (path, sizeof (path), "%s/ledger.db", f->dir);
    assert_int_equal (ledger_open (path, &f->ledger, NULL), 0);
    assert_int_equal (store_open (f->dir, f->ledger, &f->store, NULL), 0);
    f->transfers = transfers_create (on_send, f, f->ledger, f->store);
    assert_non_null (f->transfers);
}

static void close_all (struct fixture *f)
{
    transfers_destroy (f->transfers);
    store_close (f->store);
    ledger_close (f->ledger);
}

static int setup (void **state)
{
    const char *tmp = getenv ("TMPDIR");
    struct fixture *f = calloc (1, sizeof (*f));

    (void)snprintf (f->dir, sizeof (f->dir), "%s/rollcall-transfer-XXXXXX",
                    tmp && *tmp ? tmp : "/tmp");
    assert_non_null (mkdtemp (f->dir));
    open_all (f);
    f->agent = (struct net_peer){ .id = { 1, 2, 3, 4, 5 }, .size = 5 };
    *state = f;
    return 0;
}

static int teardown (void **state)
{
    struct fixture *f = *state;

    close_all (f);
    (void)fileio_remove_tree (f->dir, NULL);
    free (f);
    return 0;
}

static struct net_peer peer (uint8_t n)
{
    return (struct net_peer){ .id = { n, 2, 3, 4, 5 }, .size = 5 };
}

/* Content that is here already, so that an offer is all that it takes. */
static void have_content (struct fixture *f, uint8_t content)
{
    struct ledger_item item = { .kind = ITEM_ROWS };

    memset (item.content.bytes, content, DIGEST_SIZE);
    assert_int_equal (store_append (f->store, &item, &content, 1, NULL), 0);
    assert_int_equal (ledger_add_content (f->ledger, &item.content,
                                          &item.place, NULL), 0);
}

static void offer (struct fixture *f, const char *job, const char *capture,
                   uint8_t content)
{
    struct message m = { .type = MESSAGE_OFFER, .item = ++f->offers,
                         .kind = ITEM_ROWS, .rank = 0, .size = 1 };

    (void)snprintf (m.capture, sizeof (m.capture), "%s", capture);
    memset (m.content.bytes, content, DIGEST_SIZE);
    assert_int_equal (transfers_offer (f->transfers, &f->agent, job, "n0", &m,
                                       NULL), 0);
}

/* Bytes of a capture that is real: byte i is that of its chunk, and 'seed'. */
struct data {
    uint8_t *bytes;
    size_t size;
    struct digest id;
};

static struct data data_of (size_t size, uint8_t seed)
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

static void offer_data (struct fixture *f, uint8_t who, uint64_t item,
                        const struct data *d)
{
    struct net_peer p = peer (who);
    struct message m = { .type = MESSAGE_OFFER, .item = item, .kind = ITEM_RAW,
                         .rank = who, .size = d->size, .content = d->id };

    (void)snprintf (m.capture, sizeof (m.capture), "c%u", (unsigned)who);
    (void)snprintf (m.path, sizeof (m.path), "%u", (unsigned)item);
    assert_int_equal (transfers_offer (f->transfers, &p, "j", "n0", &m, NULL),
                      0);
}

/* Answer a GET as an agent does; 'spoil' is added to the first byte. */
static int answer (struct fixture *f, const struct message *get, uint8_t who,
                   const struct data *d, enum chunk_codec codec, uint8_t spoil)
{
    struct net_peer p = peer (who);
    struct message m = { .type = MESSAGE_CHUNK, .item = get->item,
                         .offset = get->offset, .codec = codec };
    struct buf frame;
    int rc;

    buf_init (&frame, 2 * MIB);
    if (codec == CODEC_LZ4)
        assert_int_equal (pack_frame (d->bytes + get->offset, get->length,
                                      &frame, NULL), 0);
    else
        buf_put (&frame, d->bytes + get->offset, get->length);
    frame.data[frame.size / 2] = (uint8_t)(frame.data[frame.size / 2] + spoil);
    m.data = frame.data;
    m.data_size = frame.size;
    rc = transfers_chunk (f->transfers, &p, &m, NULL);
    buf_fini (&frame);
    return rc;
}

/* Answer every GET to this agent from 'from' on, also those that come of it;
 * how many there were.
 */
static size_t answer_all (struct fixture *f, size_t from, uint8_t who,
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

static size_t count_sent (const struct fixture *f, enum message_type type,
                          uint8_t who)
{
    size_t n = 0;

    for (size_t i = 0; i < f->nsent; i++)
        n += f->sent[i].type == type && f->to[i] == who;
    return n;
}

static void check_stored (struct fixture *f, const struct data *d)
{
    struct ledger_place place;
    int fd;

    assert_int_equal (ledger_find_content (f->ledger, &d->id, &place, NULL),
                      1);
    assert_int_equal (place.size, d->size);
    fd = store_read (f->store, &d->id, &place, NULL);
    assert_true (fd >= 0);
    assert_int_equal (record_check_content (fd, &d->id, &place, NULL), 0);
    (void)close (fd);
}

static void on_entered (void *arg, const struct ledger_item *item)
{
    struct fixture *f = arg;
    size_t used = strlen (f->entered);

    (void)snprintf (f->entered + used, sizeof (f->entered) - used, "%s %s, ",
                    item->job, item->capture);
}

static void check_commit (struct fixture *f, const char *entered)
{
    f->entered[0] = '\0';
    assert_true (transfers_pending (f->transfers));
    assert_int_equal (transfers_commit (f->transfers, on_entered, f, NULL),
                      0);
    assert_string_equal (f->entered, entered);
    assert_false (transfers_pending (f->transfers));
}

/* Of each job what is new to it, and nothing that came before: whoever is not
 * named here need not be built.
 */
static void test_entered (void **state)
{
    struct fixture *f = *state;

    have_content (f, 1);
    have_content (f, 2);
    offer (f, "a", "x", 1);
    check_commit (f, "a x, ");
    offer (f, "a", "x", 1);
    check_commit (f, "");
    offer (f, "a", "x", 1);
    offer (f, "b", "x", 1);
    offer (f, "b", "y", 2);
    offer (f, "b", "y", 2);     // two agents see one shared directory
    check_commit (f, "b x, b y, ");
    offer (f, "a", "x", 2);     // analysed again
    check_commit (f, "a x, ");
}

/* An item of one chunk and one of several, plain and packed. */
static void test_chunks (void **state)
{
    struct fixture *f = *state;
    struct data small = data_of (1000, 1), large = data_of (9 * MIB + 7, 2);

    for (enum chunk_codec codec = CODEC_PLAIN; codec <= CODEC_LZ4; codec++) {
        close_all (f);
        (void)fileio_remove_tree (f->dir, NULL);
        assert_int_equal (fileio_mkdirs (f->dir, 0700, NULL), 0);
        f->nsent = 0;
        open_all (f);
        offer_data (f, 1, 1, &small);
        assert_int_equal (answer_all (f, 0, 1, &small, codec), 1);
        check_commit (f, "j c1, ");
        offer_data (f, 1, 2, &large);
        assert_int_equal (answer_all (f, 1, 1, &large, codec), 10);
        check_commit (f, "j c1, ");
        assert_int_equal (count_sent (f, MESSAGE_ACK, 1), 2);
        assert_int_equal (transfers_credits (f->transfers), TRANSFER_CREDITS);
        check_stored (f, &small);
        check_stored (f, &large);
    }
    free (small.bytes);
    free (large.bytes);
}

/* A frame that was damaged on its way is asked for again, and nothing of it is
 * kept.
 */
static void test_damaged (void **state)
{
    struct fixture *f = *state;
    struct data d = data_of (2 * MIB, 3);
    struct message first;

    offer_data (f, 1, 1, &d);
    assert_int_equal (f->nsent, 1);
    first = f->sent[0];
    assert_int_equal (answer (f, &first, 1, &d, CODEC_LZ4, 1), -EBADMSG);
    assert_int_equal (f->nsent, 2);
    assert_int_equal (f->sent[1].offset, 0);
    assert_int_equal (answer_all (f, 1, 1, &d, CODEC_LZ4), 2);
    // plain bytes are found out at the end, and all of it thrown away
    check_commit (f, "j c1, ");
    check_stored (f, &d);
    free (d.bytes);
    d = data_of (2 * MIB, 4);
    f->nsent = 0;
    offer_data (f, 1, 2, &d);
    first = f->sent[0];
    assert_int_equal (answer (f, &first, 1, &d, CODEC_PLAIN, 1), 0);
    assert_int_equal (answer (f, &f->sent[1], 1, &d, CODEC_PLAIN, 0),
                      -EBADMSG);
    assert_false (transfers_pending (f->transfers));
    assert_int_equal (transfers_credits (f->transfers), TRANSFER_CREDITS);
    f->nsent = 0;
    offer_data (f, 1, 2, &d);
    assert_int_equal (answer_all (f, 0, 1, &d, CODEC_PLAIN), 2);
    check_commit (f, "j c1, ");
    check_stored (f, &d);
    free (d.bytes);
}

/* A chunk that was not asked for, or comes twice, changes nothing. */
static void test_ignored (void **state)
{
    struct fixture *f = *state;
    struct data d = data_of (3 * MIB, 5);
    struct message get = { .type = MESSAGE_GET, .item = 1, .offset = MIB,
                           .length = MIB };

    offer_data (f, 1, 1, &d);
    assert_int_equal (answer (f, &get, 1, &d, CODEC_PLAIN, 0), 0);
    get = f->sent[0];
    assert_int_equal (answer (f, &get, 1, &d, CODEC_PLAIN, 0), 0);
    assert_int_equal (answer (f, &get, 1, &d, CODEC_PLAIN, 0), 0);
    assert_int_equal (answer_all (f, 1, 1, &d, CODEC_PLAIN), 2);
    check_commit (f, "j c1, ");
    check_stored (f, &d);
    free (d.bytes);
}

/* A restart in the middle: it goes on where the ledger stood. */
static void test_resume (void **state)
{
    struct fixture *f = *state;
    struct data d = data_of (40 * MIB, 6);

    offer_data (f, 1, 1, &d);
    for (size_t i = 0; i < 20; i++) {
        struct message get = f->sent[i];

        assert_int_equal (answer (f, &get, 1, &d, CODEC_PLAIN, 0), 0);
    }
    // 20 MiB are more than it takes to be noted
    check_commit (f, "");
    close_all (f);
    open_all (f);
    f->nsent = 0;
    offer_data (f, 1, 7, &d);
    assert_int_equal (f->sent[0].offset, 20 * MIB);
    assert_int_equal (answer_all (f, 0, 1, &d, CODEC_PLAIN), 20);
    check_commit (f, "j c1, ");
    check_stored (f, &d);
    assert_false (ledger_knows_incoming (f->ledger, &d.id));
    free (d.bytes);
}

/* What two have is asked of one, and acknowledged to both. */
static void test_same_content (void **state)
{
    struct fixture *f = *state;
    struct data d = data_of (3 * MIB, 7);

    offer_data (f, 1, 1, &d);
    offer_data (f, 2, 9, &d);
    assert_int_equal (answer_all (f, 0, 1, &d, CODEC_PLAIN), 3);
    assert_int_equal (count_sent (f, MESSAGE_GET, 2), 0);
    check_commit (f, "j c1, j c2, ");
    assert_int_equal (count_sent (f, MESSAGE_ACK, 1), 1);
    assert_int_equal (count_sent (f, MESSAGE_ACK, 2), 1);
    check_stored (f, &d);
    free (d.bytes);
}

/* The one that was asked goes away: the other is asked for the rest. */
static void test_source_gone (void **state)
{
    struct fixture *f = *state;
    struct data d = data_of (3 * MIB, 8);
    struct net_peer first = peer (1);

    offer_data (f, 1, 1, &d);
    offer_data (f, 2, 9, &d);
    assert_int_equal (answer (f, &f->sent[0], 1, &d, CODEC_PLAIN, 0), 0);
    transfers_forget (f->transfers, &first);
    assert_int_equal (answer_all (f, 0, 2, &d, CODEC_PLAIN), 2);
    check_commit (f, "j c2, ");
    check_stored (f, &d);
    assert_int_equal (transfers_credits (f->transfers), TRANSFER_CREDITS);
    free (d.bytes);
}

/* It died, and nobody says so: a node that was started again is another host
 * to us.  What it offered first is asked of whoever has it now.
 */
static void test_source_dead (void **state)
{
    struct fixture *f = *state;
    struct data d = data_of (3 * MIB, 8);
    int64_t now = clock_mono_ns ();

    offer_data (f, 1, 1, &d);
    f->dead = 1;
    transfers_tick (f->transfers, now + 2 * TRANSFER_STALL_NS);
    offer_data (f, 2, 9, &d);
    assert_int_equal (answer_all (f, 0, 2, &d, CODEC_PLAIN), 3);
    check_commit (f, "j c2, ");
    check_stored (f, &d);
    assert_int_equal (transfers_credits (f->transfers), TRANSFER_CREDITS);
    free (d.bytes);
}

/* Offered between the last chunk and the commit: it is neither asked for again
 * nor written over what is there.
 */
static void test_whole_before_commit (void **state)
{
    struct fixture *f = *state;
    struct data d = data_of (20 * MIB, 9);
    size_t before;

    offer_data (f, 1, 1, &d);
    for (size_t i = 0; i < f->nsent; i++) {
        struct message get = f->sent[i];

        assert_int_equal (answer (f, &get, 1, &d, CODEC_PLAIN, 0), 0);
        if (get.offset == 17 * MIB)     // it could be resumed from here
            check_commit (f, "");
    }
    before = f->nsent;
    offer_data (f, 2, 9, &d);
    transfers_tick (f->transfers, clock_mono_ns () + 10 * TRANSFER_ORPHAN_NS);
    offer_data (f, 3, 9, &d);
    assert_int_equal (f->nsent, before);
    check_commit (f, "j c1, j c2, j c3, ");
    assert_int_equal (f->nsent, before + 3);    // ACKs
    check_stored (f, &d);
    free (d.bytes);
}

/* Somebody removes what had come: it is not gone on behind a hole. */
static void test_incoming_lost (void **state)
{
    struct fixture *f = *state;
    struct data d = data_of (4 * MIB, 11);
    struct message get;

    offer_data (f, 1, 1, &d);
    get = f->sent[0];
    assert_int_equal (answer (f, &get, 1, &d, CODEC_PLAIN, 0), 0);
    store_discard (f->store, &d.id);
    get = f->sent[1];
    assert_int_equal (answer (f, &get, 1, &d, CODEC_PLAIN, 0), -ESTALE);
    f->nsent = 0;
    offer_data (f, 1, 1, &d);
    assert_int_equal (answer_all (f, 0, 1, &d, CODEC_PLAIN), 4);
    check_commit (f, "j c1, ");
    check_stored (f, &d);
    free (d.bytes);
}

/* What it has does not wait until nobody has anything else any more. */
static void test_stalled_is_probed (void **state)
{
    struct fixture *f = *state;
    struct data d = data_of (3 * MIB, 77);
    struct digest id = d.id;
    int64_t after;

    offer_data (f, 1, 1, &d);
    after = clock_mono_ns () + 1;
    while (clock_mono_ns () <= after)
        ;                       // what follows is later
    for (uint8_t i = 2; i < TRANSFER_CREDITS + 30; i++) {
        d.id.bytes[0] = i;      // each has something of its own
        offer_data (f, i, 1, &d);
    }
    assert_int_equal (transfers_credits (f->transfers), 0);
    assert_int_equal (count_sent (f, MESSAGE_GET, 1), 1);
    transfers_tick (f->transfers, after + TRANSFER_STALL_NS);
    assert_int_equal (count_sent (f, MESSAGE_GET, 1), 2);
    d.id = id;
    free (d.bytes);
}

/* An agent that does not answer holds one credit at first, and none after a
 * while; whoever answers is not held up.  What comes late is taken.
 */
static void test_stalled (void **state)
{
    struct fixture *f = *state;
    struct data d = data_of (3 * MIB, 9), e = data_of (3 * MIB, 20);
    struct data g = data_of (3 * MIB, 30);
    int64_t now = clock_mono_ns ();

    offer_data (f, 1, 1, &d);
    offer_data (f, 1, 2, &e);
    assert_int_equal (count_sent (f, MESSAGE_GET, 1), 1);
    offer_data (f, 2, 1, &g);
    assert_int_equal (answer_all (f, 0, 2, &g, CODEC_PLAIN), 3);
    assert_int_equal (transfers_credits (f->transfers), TRANSFER_CREDITS - 1);
    transfers_tick (f->transfers, now + TRANSFER_STALL_NS / 2);
    assert_int_equal (count_sent (f, MESSAGE_GET, 1), 1);
    // it is probed, with one credit
    transfers_tick (f->transfers, now + 2 * TRANSFER_STALL_NS);
    assert_int_equal (count_sent (f, MESSAGE_GET, 1), 2);
    assert_int_equal (transfers_credits (f->transfers), TRANSFER_CREDITS - 1);
    // the other one has it, too
    offer_data (f, 2, 2, &d);
    offer_data (f, 2, 3, &e);
    transfers_tick (f->transfers, now + 4 * TRANSFER_STALL_NS);
    transfers_tick (f->transfers, now + 6 * TRANSFER_STALL_NS);
    assert_true (count_sent (f, MESSAGE_GET, 2) > 3);
    free (d.bytes);
    free (e.bytes);
    free (g.bytes);
}

static void test_late (void **state)
{
    struct fixture *f = *state;
    struct data d = data_of (2 * MIB, 40);
    int64_t now = clock_mono_ns ();
    struct message get;

    offer_data (f, 1, 1, &d);
    get = f->sent[0];
    transfers_hold (f->transfers, true);
    transfers_tick (f->transfers, now + 2 * TRANSFER_STALL_NS);
    assert_int_equal (transfers_credits (f->transfers), TRANSFER_CREDITS);
    assert_int_equal (answer (f, &get, 1, &d, CODEC_PLAIN, 0), 0);
    assert_int_equal (f->nsent, 1);
    transfers_hold (f->transfers, false);
    assert_int_equal (f->sent[1].offset, MIB);
    assert_int_equal (answer_all (f, 1, 1, &d, CODEC_PLAIN), 1);
    check_commit (f, "j c1, ");
    free (d.bytes);
}

/* However many do not answer, there are credits for one that does. */
static void test_many_stalled (void **state)
{
    struct fixture *f = *state;
    struct data d = data_of (3 * MIB, 50), g = data_of (3 * MIB, 60);
    int64_t now = clock_mono_ns ();
    struct digest id = d.id;

    for (uint8_t i = 0; i < 200; i++) {
        d.id.bytes[0] = i;      // each has something of its own
        offer_data (f, (uint8_t)(i + 1), 1, &d);
    }
    assert_int_equal (transfers_credits (f->transfers), 0);
    for (int i = 1; i < 8; i++)
        transfers_tick (f->transfers, now + 2 * i * TRANSFER_STALL_NS);
    assert_true (transfers_credits (f->transfers) >=
                 TRANSFER_CREDITS - TRANSFER_PROBES);
    offer_data (f, 250, 1, &g);
    assert_int_equal (answer_all (f, 0, 250, &g, CODEC_PLAIN), 3);
    d.id = id;
    free (d.bytes);
    free (g.bytes);
}

/* What a check has set aside is asked for again, and its job built again. */
static void test_again (void **state)
{
    struct fixture *f = *state;
    struct data d = data_of (3000, 70);

    offer_data (f, 1, 1, &d);
    assert_int_equal (answer_all (f, 0, 1, &d, CODEC_LZ4), 1);
    check_commit (f, "j c1, ");
    assert_int_equal (ledger_drop_content (f->ledger, &d.id, NULL), 0);
    f->nsent = 0;
    offer_data (f, 1, 1, &d);
    assert_int_equal (answer_all (f, 0, 1, &d, CODEC_LZ4), 1);
    check_commit (f, "j c1, ");
    check_stored (f, &d);
    free (d.bytes);
}

static void offer_quietly (struct fixture *f, uint8_t who, uint64_t item,
                           const struct data *d)
{
    struct net_peer p = peer (who);
    struct message m = { .type = MESSAGE_OFFER, .item = item, .kind = ITEM_RAW,
                         .rank = who, .size = d->size, .content = d->id };

    (void)snprintf (m.capture, sizeof (m.capture), "c%u", (unsigned)who);
    (void)snprintf (m.path, sizeof (m.path), "%u", (unsigned)item);
    (void)transfers_offer (f->transfers, &p, "j", "n0", &m, NULL);
}

/* All GETs to 'who' so far, with other bytes; then they are forgotten. */
static void answer_wrong (struct fixture *f, uint8_t who, const struct data *d)
{
    for (size_t i = 0; i < f->nsent; i++) {
        struct message get = f->sent[i];

        if (get.type == MESSAGE_GET && f->to[i] == who)
            (void)answer (f, &get, who, d, CODEC_PLAIN, 1);
    }
}

/* One that sends other bytes than it offers does not keep another from being
 * asked, however often it comes back.
 */
static void test_wrong_bytes (void **state)
{
    struct fixture *f = *state;
    struct data d = data_of (3 * MIB, 80), small = data_of (100, 81);

    offer_data (f, 1, 1, &d);
    offer_data (f, 2, 2, &d);
    answer_wrong (f, 1, &d);
    offer_data (f, 1, 1, &d);
    assert_int_equal (answer_all (f, 0, 2, &d, CODEC_PLAIN), 3);
    check_commit (f, "j c2, j c1, ");
    check_stored (f, &d);
    // alone it had been first: whoever comes then is asked
    f->nsent = 0;
    offer_data (f, 1, 3, &small);
    answer_wrong (f, 1, &small);
    offer_data (f, 1, 3, &small);
    offer_data (f, 2, 4, &small);
    assert_int_equal (answer_all (f, 0, 2, &small, CODEC_PLAIN), 1);
    assert_int_equal (transfers_commit (f->transfers, on_entered, f, NULL), 0);
    check_stored (f, &small);
    assert_int_equal (transfers_credits (f->transfers), TRANSFER_CREDITS);
    free (d.bytes);
    free (small.bytes);
}

/* It began with other bytes, and somebody else went on: nobody is blamed, and
 * all of it is asked of one.
 */
static void test_wrong_beginning (void **state)
{
    struct fixture *f = *state;
    struct data d = data_of (3 * MIB, 90);
    int64_t now = clock_mono_ns ();

    offer_data (f, 1, 1, &d);
    offer_data (f, 2, 2, &d);
    assert_int_equal (answer (f, &f->sent[0], 1, &d, CODEC_PLAIN, 1), 0);
    transfers_tick (f->transfers, now + 2 * TRANSFER_STALL_NS);
    for (size_t i = 0; i < f->nsent; i++) {
        struct message get = f->sent[i];

        if (f->to[i] == 2)
            (void)answer (f, &get, 2, &d, CODEC_PLAIN, 0);
    }
    check_commit (f, "j c2, j c1, ");
    check_stored (f, &d);
    assert_int_equal (transfers_credits (f->transfers), TRANSFER_CREDITS);
    free (d.bytes);
}

/* A wrong size, of one that does not answer, does not keep another away. */
static void test_wrong_size (void **state)
{
    struct fixture *f = *state;
    struct data d = data_of (3 * MIB, 100), lie = d;
    int64_t now = clock_mono_ns ();

    lie.size = 40 * MIB;
    offer_quietly (f, 1, 1, &lie);
    offer_quietly (f, 2, 2, &d);
    transfers_tick (f->transfers, now + 2 * TRANSFER_STALL_NS);
    offer_quietly (f, 1, 1, &lie);
    offer_quietly (f, 2, 2, &d);
    assert_int_equal (answer_all (f, 0, 2, &d, CODEC_PLAIN), 3);
    check_commit (f, "j c2, ");
    check_stored (f, &d);
    assert_int_equal (transfers_credits (f->transfers), TRANSFER_CREDITS);
    free (d.bytes);
}

/* More than its share is not taken now. */
static void test_too_many (void **state)
{
    struct fixture *f = *state;
    uint64_t before = counter_get (COUNTER_OFFERS_DEFERRED);

    for (unsigned i = 0; i < TRANSFER_AGENT_ITEMS + 3; i++)
        offer (f, "j", "x", (uint8_t)i);
    assert_true (counter_get (COUNTER_OFFERS_DEFERRED) == before + 3);
}

int main (void)
{
#define TEST(name) cmocka_unit_test_setup_teardown (name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST (test_entered), TEST (test_chunks), TEST (test_damaged),
        TEST (test_ignored), TEST (test_resume), TEST (test_same_content),
        TEST (test_source_gone), TEST (test_source_dead),
        TEST (test_whole_before_commit), TEST (test_incoming_lost),
        TEST (test_stalled), TEST (test_stalled_is_probed), TEST (test_late),
        TEST (test_many_stalled), TEST (test_too_many),
        TEST (test_again), TEST (test_wrong_bytes),
        TEST (test_wrong_beginning), TEST (test_wrong_size),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
