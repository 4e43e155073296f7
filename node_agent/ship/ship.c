/* node_agent/ship/ship.c - deliver what the spool holds */
#include "ship/ship.h"

#include "base/clock.h"
#include "base/counter.h"
#include "base/fault.h"
#include "base/log.h"
#include "base/pack.h"
#include "guard/bucket.h"
#include "ship/offer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define OFFERS_MAX 16           // offered and not yet acknowledged
#define RAW_OFFERS_MAX 8        // of them: rows that come later find room
#define HELLO_NS (100 * NS_PER_MS)      // until welcomed, at first; doubled
#define REPEAT_NS (2 * NS_PER_S)        // what may be lost is said again
#define ACKS_NS (2 * NS_PER_MS) // acknowledgements that share a transaction
#define RETRY_NS (10 * NS_PER_MS)       // when the socket has no room
#define SPOOL_NS NS_PER_S       // when the spool failed, of a full disk say
#define FAILURE_NS (60 * NS_PER_S)      // one line about it in so long
#define HOLD_NS (250 * NS_PER_MS)       // between looks whether it is over
#define QUEUE_MAX 256           // answers that found no room in the socket
#define NOTE_CHUNKS 64          // how far an item is, is written so often
#define PACKED_MAX (CONTENT_CHUNK + 65536)      // LZ4F_compressFrameBound

struct get {
    uint64_t item, offset;
    uint32_t length;
};

struct ship {
    struct loop *loop;
    struct spool *spool;
    struct net *net;
    struct ship_events events;
    struct message hello;
    struct message done;
    struct message left;        // PING
    bool is_done, welcomed, over;
    bool recounted;             // once is enough
    bool failing;               // the spool has, since it was last tried
    int64_t failure_ns;         // when that was logged, 0: never
    unsigned peer_version;
    int64_t hello_ns;           // between HELLOs
    uint64_t random;            // state; for jitter only
    struct clock_sync clock;
    bool clock_told, clock_off;
    struct offer offers[OFFERS_MAX];
    uint64_t last[ITEM_RAW + 1];        // ids offered, by kind
    struct message **said;      // RANKs and NOTEs, repeated
    size_t nsaid, nnotes;
    struct get *queue;          // GETs to be answered
    size_t nqueue;
    void *chunk;
    struct buf packed;
    struct bucket rate;
    bool held;                  // no raw files are sent meanwhile
    int64_t heard_ns;
    int64_t done_ns;            // DONE was said first, 0: not yet
    int64_t wanted_ns;          // see offers_ignored
};

static void repeat_all (void *arg);
static void retry_spool (void *arg);

static int say (struct ship *s, const struct message *m)
{
    return net_send (s->net, NULL, m);
}

/* A thousand agents whose aggregator comes back do not all speak at once. */
static int64_t jittered (struct ship *s, int64_t ns)
{
    s->random ^= s->random << 13;
    s->random ^= s->random >> 7;
    s->random ^= s->random << 17;
    return ns - ns / 4 + (int64_t)(s->random % (uint64_t)(ns / 2));
}

/* ---- offering ---- */

static void say_offer (struct ship *s, struct offer *o)
{
    struct message m;

    if (o->said)
        counter_add (COUNTER_OFFERS_REPEATED, 1);
    o->said = true;
    offer_message (o, &m);
    (void)say (s, &m);
}

static size_t count_offers (const struct ship *s, enum item_kind kind)
{
    size_t n = 0;

    for (size_t i = 0; i < OFFERS_MAX; i++)
        n += s->offers[i].used && s->offers[i].item.kind == kind;
    return n;
}

static struct offer *find_offer (struct ship *s, uint64_t id)
{
    for (size_t i = 0; i < OFFERS_MAX; i++) {
        if (s->offers[i].used && s->offers[i].item.id == id)
            return &s->offers[i];
    }
    return NULL;
}

/* What it was to do is to be done later; a damaged ledger is the end. */
static void spool_failed (struct ship *s, int rc, const struct err *err)
{
    if (rc == -EBADMSG) {
        if (s->events.failed)
            s->events.failed (s->events.arg, err->text);
        return;
    }
    s->failing = true;
    (void)loop_add_timer (s->loop, SPOOL_NS, retry_spool, s);
    if (s->failure_ns > 0 && clock_mono_ns () - s->failure_ns < FAILURE_NS)
        return;
    s->failure_ns = clock_mono_ns ();
    log_text (LOG_LEVEL_ERROR, "spool-failed", "%s: it is tried again every "
              "second", err->text);
}

/* The next item of a kind that is not offered: 1, 0 none now, or -errno of the
 * spool.  One that cannot be set aside does not hold up those behind it.
 */
static int next_of (struct ship *s, enum item_kind kind,
                    struct spool_item *ret)
{
    for (;;) {
        struct err err = { "" };
        int rc = spool_next (s->spool, kind, s->last[kind], ret, &err);

        if (rc < 0)
            spool_failed (s, rc, &err);
        if (rc == 0 || rc == -EBADMSG || (rc < 0 && ret->id == 0))
            return rc;
        s->last[kind] = ret->id;
        if (rc > 0 && !find_offer (s, ret->id))
            return 1;
    }
}

static int next_item (struct ship *s, struct spool_item *ret)
{
    int rc = next_of (s, ITEM_ROWS, ret);

    if (rc == 0 && count_offers (s, ITEM_ROWS) == 0 &&
        count_offers (s, ITEM_RAW) < RAW_OFFERS_MAX)
        rc = next_of (s, ITEM_RAW, ret);
    return rc;
}

/* Take items from the spool while there is room. */
static void offer_more (struct ship *s)
{
    struct spool_item item;

    for (size_t i = 0; i < OFFERS_MAX; i++) {
        struct offer *o = &s->offers[i];

        if (o->used)
            continue;
        if (next_item (s, &item) <= 0)
            return;
        offer_begin (o, &item);
        spool_offered (s->spool, item.id);
        if (s->welcomed)
            say_offer (s, o);
    }
}

static bool all_delivered (const struct ship *s)
{
    return count_offers (s, ITEM_ROWS) == 0 && count_offers (s, ITEM_RAW) == 0;
}

/* Nothing can be offered although something is open: an index is damaged. */
static void recount (struct ship *s)
{
    struct err err = { "" };
    int rc = spool_recount (s->spool, &err);

    if (rc < 0) {
        spool_failed (s, rc, &err);
        return;
    }
    s->recounted = true;
    memset (s->last, 0, sizeof (s->last));
    offer_more (s);
}

static void next_items (struct ship *s)
{
    offer_more (s);
    if (all_delivered (s) && spool_undelivered (s->spool) > 0 &&
        !s->recounted && !s->failing)
        recount (s);
    if (all_delivered (s) && s->events.delivered)
        s->events.delivered (s->events.arg);
}

static void retry_spool (void *arg)
{
    struct ship *s = arg;

    s->failing = false;
    memset (s->last, 0, sizeof (s->last));
    next_items (s);
}

/* ---- answering ---- */

/* An item that the spool cannot let go of now is found out once more when it is
 * offered again.
 */
static void give_up (struct ship *s, struct offer *o, enum offer_read how)
{
    const char *why = how == OFFER_CHANGED
        ? "the file was written to after it was sealed"
        : how == OFFER_VANISHED ? "the file vanished after it was sealed"
                                : "what the spool kept of it is damaged";
    struct message m = { .type = MESSAGE_GONE, .item = o->item.id };
    struct spool_item item = o->item;
    char note[MESSAGE_TEXT_MAX];
    struct err err = { "" };
    int rc;

    (void)snprintf (m.text, sizeof (m.text), "%s", why);
    (void)say (s, &m);          // so that it is asked for when offered again
    offer_end (o);
    if (how == OFFER_DAMAGED)
        rc = spool_quarantine (s->spool, &item, why, &err);
    else
        rc = spool_gone (s->spool, item.id,
                         how == OFFER_CHANGED ? SPOOL_CHANGED : SPOOL_VANISHED,
                         why, &err);
    if (rc < 0) {
        spool_failed (s, rc, &err);
        return;
    }
    if (how != OFFER_DAMAGED) {
        (void)snprintf (note, sizeof (note), "%s/%.600s was not delivered: %s",
                        item.capture, item.path, why);
        log_text (LOG_LEVEL_WARN, "gone", "%s", note);
        (void)ship_note (s, note);
    }
    next_items (s);
}

/* Raw files travel packed when that makes them smaller; shipments are. */
static void pack_chunk (struct ship *s, struct offer *o, struct message *m)
{
    bool smaller;

    if (s->peer_version < 2 || !offer_may_pack (o, m->offset))
        return;
    buf_clear (&s->packed);
    smaller = pack_frame (m->data, m->data_size, &s->packed, NULL) == 0 &&
              s->packed.size < m->data_size;
    offer_packed (o, m->offset, smaller);
    if (smaller) {
        m->codec = CODEC_LZ4;
        m->data = s->packed.data;
        m->data_size = s->packed.size;
    }
}

/* True when the question has been dealt with. */
static bool answer (struct ship *s, const struct get *get)
{
    struct offer *o = find_offer (s, get->item);
    struct message m = { .type = MESSAGE_CHUNK, .item = get->item,
                         .offset = get->offset, .data = s->chunk,
                         .data_size = get->length };
    enum offer_read how;

    if (!o || o->durable)
        return true;            // acknowledged meanwhile
    how = offer_chunk (o, s->spool, get->offset, get->length, s->chunk);
    if (how == OFFER_ASTRAY) {
        counter_add (COUNTER_GETS_ASTRAY, 1);
        return true;
    }
    if (how != OFFER_READ) {
        give_up (s, o, how);
        return true;
    }
    pack_chunk (s, o, &m);
    (void)FAULT ("agent.ship.chunk");
    if (say (s, &m) < 0)
        return false;
    offer_sent (o, m.offset);
    counter_add (COUNTER_CHUNKS_SENT, 1);
    counter_add (COUNTER_BYTES_SENT, m.data_size);
    bucket_spend (&s->rate, (int64_t)m.data_size, clock_mono_ns ());
    if (get->offset >= o->noted + (uint64_t)NOTE_CHUNKS * CONTENT_CHUNK) {
        o->noted = get->offset;
        spool_transferring (s->spool, o->item.id, get->offset);
    }
    return true;
}

/* Which question is answered next: rows before raw files. */
static size_t most_urgent (struct ship *s)
{
    for (size_t i = 0; i < s->nqueue; i++) {
        const struct offer *o = find_offer (s, s->queue[i].item);

        if (!o || o->item.kind == ITEM_ROWS)
            return i;
    }
    return 0;
}

/* How long the question has to wait: for the rate, or while raw files are on
 * hold.
 */
static int64_t wait_ns (struct ship *s, const struct get *get)
{
    const struct offer *o = find_offer (s, get->item);

    if (s->held && o && o->item.kind == ITEM_RAW)
        return HOLD_NS;
    return bucket_wait_ns (&s->rate, clock_mono_ns ());
}

static void answer_queue (struct ship *s)
{
    while (s->nqueue > 0) {
        size_t i = most_urgent (s);

        if (wait_ns (s, &s->queue[i]) > 0 || !answer (s, &s->queue[i]))
            return;
        memmove (s->queue + i, s->queue + i + 1,
                 (s->nqueue - i - 1) * sizeof (*s->queue));
        s->nqueue--;
    }
}

static void retry_queue (void *arg)
{
    struct ship *s = arg;

    answer_queue (s);
    if (s->nqueue > 0) {
        int64_t wait = wait_ns (s, &s->queue[most_urgent (s)]);

        (void)loop_add_timer (s->loop, wait > RETRY_NS ? wait : RETRY_NS,
                              retry_queue, s);
    }
}

static void on_get (struct ship *s, const struct message *m)
{
    bool asked = false;

    s->wanted_ns = clock_mono_ns ();
    for (size_t i = 0; i < s->nqueue && !asked; i++)    // again, while waiting
        asked = s->queue[i].item == m->item && s->queue[i].offset == m->offset;
    if (!asked && s->nqueue < QUEUE_MAX)
        s->queue[s->nqueue++] = (struct get){ m->item, m->offset, m->length };
    else if (!asked)            // it will be asked again
        counter_add (COUNTER_GETS_ASTRAY, 1);
    retry_queue (s);
}

/* ---- acknowledged ---- */

static void commit_acks (void *arg)
{
    struct ship *s = arg;
    uint64_t ids[OFFERS_MAX];
    size_t n = 0;
    bool failed;

    for (size_t i = 0; i < OFFERS_MAX; i++) {
        if (s->offers[i].used && s->offers[i].durable)
            ids[n++] = s->offers[i].item.id;
    }
    if (n == 0)
        return;
    if ((failed = spool_durable (s->spool, ids, n, NULL) < 0))
        counter_add (COUNTER_COMMITS_FAILED, 1);
    for (size_t i = 0; i < OFFERS_MAX; i++) {
        struct offer *o = &s->offers[i];

        if (!o->used || !o->durable)
            continue;
        if (failed)             // offered again, acknowledged again
            o->durable = false;
        else
            offer_end (o);
    }
    next_items (s);
}

static void on_ack (struct ship *s, const struct message *m)
{
    struct offer *o = find_offer (s, m->item);

    if (!o || o->durable)
        return;
    (void)FAULT ("agent.ship.ack");
    o->durable = true;
    s->wanted_ns = clock_mono_ns ();
    (void)loop_add_timer (s->loop, ACKS_NS, commit_acks, s);
}

/* ---- the aggregator's words ---- */

static void measure_clock (struct ship *s, const struct message *m)
{
    bool off;

    if (m->version < 2 ||
        !clock_sync_take (&s->clock, m->sent_ns, clock_mono_ns (),
                          clock_wall_ns (), m->wall_ns))
        return;
    s->hello.clock_offset_ns = s->clock.offset_ns;
    s->hello.clock_error_ns = s->clock.error_ns;
    off = clock_sync_is_off (&s->clock);
    if (s->events.clock && (!s->clock_told || off != s->clock_off))
        s->events.clock (s->events.arg, &s->clock);
    s->clock_told = true;
    s->clock_off = off;
}

static void on_welcome (struct ship *s, const struct message *m)
{
    s->peer_version = m->version;
    measure_clock (s, m);
    // an answer to a hello that was said later: what came before it is there
    if (s->is_done && s->done_ns > 0 && m->sent_ns >= s->done_ns &&
        s->events.said)
        s->events.said (s->events.arg);
    if (s->welcomed)
        return;
    s->welcomed = true;
    repeat_all (s);
    if (s->events.welcome)
        s->events.welcome (s->events.arg);
}

static void on_message (void *arg, const struct net_peer *from,
                        const struct message *m, int bad,
                        const struct err *err)
{
    struct ship *s = arg;

    (void)from;
    if (!m) {
        counter_add (COUNTER_MESSAGES_REFUSED, 1);
        if (bad == -EPROTONOSUPPORT && s->events.refused)
            s->events.refused (s->events.arg, REFUSAL_VERSION, err->text);
        return;
    }
    s->heard_ns = clock_mono_ns ();
    switch (m->type) {
    case MESSAGE_WELCOME:
        on_welcome (s, m);
        break;
    case MESSAGE_GET:
        on_get (s, m);
        break;
    case MESSAGE_ACK:
        on_ack (s, m);
        break;
    case MESSAGE_STOP:
        s->events.stop (s->events.arg, m->text);
        break;
    case MESSAGE_ROLL:
        s->over = true;
        commit_acks (s);        // what was acknowledged before this
        s->events.roll (s->events.arg, m->complete, m->text);
        break;
    case MESSAGE_REFUSED:
        // version 1 has no reasons: its aggregators do not speak ours
        s->events.refused (s->events.arg, m->version < 2 ? REFUSAL_VERSION
                                                         : m->reason, m->text);
        break;
    default:
        break;
    }
}

/* ---- saying again ---- */

static void say_hello (struct ship *s)
{
    s->hello.sent_ns = clock_mono_ns ();
    s->hello.wall_ns = clock_wall_ns ();
    (void)say (s, &s->hello);
}

static void say_done (struct ship *s)
{
    (void)say (s, &s->done);
    if (s->done_ns == 0)
        s->done_ns = clock_mono_ns ();
}

/* An aggregator whose disk is full answers, but asks for nothing. */
static void tell_ignored (struct ship *s)
{
    unsigned n = offers_ignored (s->offers, OFFERS_MAX, clock_mono_ns (),
                                 &s->wanted_ns);

    if (n > 0 && s->welcomed)
        log_text (LOG_LEVEL_WARN, "not-asked-for", "%u items are on offer, and "
                  "for a minute the aggregator has asked for none: others may "
                  "come first, or its disk be below its --disk-floor (its log "
                  "says so); they are kept, and offered again", n);
}

static void repeat_all (void *arg)
{
    struct ship *s = arg;

    if (s->over)
        return;
    tell_ignored (s);
    say_hello (s);
    for (size_t i = 0; i < s->nsaid && s->welcomed; i++)
        (void)say (s, s->said[i]);
    for (size_t i = 0; i < OFFERS_MAX && s->welcomed; i++) {
        if (s->offers[i].used && !s->offers[i].durable)
            say_offer (s, &s->offers[i]);
    }
    if (s->is_done && s->welcomed && spool_undelivered (s->spool) == 0)
        say_done (s);           // not before what was found later
    s->left.left_items = spool_undelivered (s->spool);
    if (s->left.type == MESSAGE_PING && s->welcomed && s->peer_version >= 2)
        (void)say (s, &s->left);
    if (s->welcomed)
        s->hello_ns = REPEAT_NS;
    (void)loop_add_timer (s->loop, jittered (s, s->hello_ns), repeat_all, s);
    if (s->hello_ns < REPEAT_NS)
        s->hello_ns = 2 * s->hello_ns < REPEAT_NS ? 2 * s->hello_ns
                                                  : REPEAT_NS;
}

static int keep (struct ship *s, const struct message *m)
{
    struct message **said, *one;

    for (size_t i = 0; i < s->nsaid; i++) {
        struct message *old = s->said[i];

        if (old->type != m->type)
            continue;
        if (m->type == MESSAGE_RANK ? old->rank == m->rank
                                    : strcmp (old->text, m->text) == 0) {
            *old = *m;
            return 0;
        }
    }
    if (m->type == MESSAGE_NOTE && s->nnotes == SHIP_NOTES_MAX) {
        counter_add (COUNTER_NOTES_DROPPED, 1);
        return 0;
    }
    if (!(one = malloc (sizeof (*one))))
        return -ENOMEM;
    said = realloc (s->said, (s->nsaid + 1) * sizeof (*said));
    if (!said) {
        free (one);
        return -ENOMEM;
    }
    *one = *m;
    s->said = said;
    said[s->nsaid++] = one;
    s->nnotes += m->type == MESSAGE_NOTE;
    return 0;
}

int ship_rank (struct ship *s, int64_t rank, int64_t local_rank,
               enum rank_phase phase, int64_t status, const char *text)
{
    struct message m = { .type = MESSAGE_RANK, .rank = rank,
                         .local_rank = local_rank, .phase = phase,
                         .status = status };

    if (phase == RANK_RUNNING)
        s->is_done = false;     // it joined after the others' ends
    (void)snprintf (m.text, sizeof (m.text), "%s", text);
    if (s->welcomed)
        (void)say (s, &m);
    return keep (s, &m);
}

int ship_note (struct ship *s, const char *text)
{
    struct message m = { .type = MESSAGE_NOTE };

    (void)snprintf (m.text, sizeof (m.text), "%s", text);
    if (s->welcomed)
        (void)say (s, &m);
    return keep (s, &m);
}

void ship_done (struct ship *s, const char *text)
{
    s->is_done = true;
    s->done_ns = 0;
    (void)snprintf (s->done.text, sizeof (s->done.text), "%s", text);
    if (!s->welcomed)
        return;
    say_done (s);
    say_hello (s);              // its answer says that all of it has come
}

void ship_limit (struct ship *s, int64_t bytes_per_s)
{
    // at the start no more than the smallest piece that is asked for
    bucket_init (&s->rate, bytes_per_s, CONTENT_CHUNK, clock_mono_ns ());
}

void ship_hold (struct ship *s, bool held)
{
    s->held = held;
}

void ship_kick (struct ship *s)
{
    offer_more (s);
}

void ship_left (struct ship *s, uint64_t captures)
{
    s->left.type = MESSAGE_PING;
    s->left.left_captures = captures;
}

int64_t ship_heard_ns (const struct ship *s)
{
    return s->heard_ns;
}

const struct clock_sync *ship_clock (const struct ship *s)
{
    return &s->clock;
}

static void begin_offers (void *arg)
{
    offer_more (arg);
}

int ship_create (struct loop *loop, struct spool *spool, const char *endpoint,
                 const struct ship_identity *who,
                 const struct ship_events *events, struct ship **ret,
                 struct err *err)
{
    struct ship *s = calloc (1, sizeof (*s));
    int rc;

    if (s) {
        buf_init (&s->packed, PACKED_MAX);
        s->hello_ns = HELLO_NS;
        if (getrandom (&s->random, sizeof (s->random), 0) < 0)
            s->random = (uint64_t)clock_mono_ns ();
        s->random |= 1;         // a state of 0 would stay so
        s->chunk = malloc (CONTENT_CHUNK);
        s->queue = calloc (QUEUE_MAX, sizeof (*s->queue));
    }
    if (!s || !s->chunk || !s->queue) {
        ship_destroy (s);
        return err_set (err, ENOMEM, "no memory to ship");
    }
    s->loop = loop;
    s->spool = spool;
    s->events = *events;
    s->hello.type = MESSAGE_HELLO;
    s->hello.world_size = who->world_size;
    s->hello.clock_offset_ns = s->hello.clock_error_ns = MESSAGE_NO_CLOCK;
    (void)snprintf (s->hello.job, sizeof (s->hello.job), "%s", who->job);
    (void)snprintf (s->hello.host, sizeof (s->hello.host), "%s", who->host);
    (void)snprintf (s->hello.host_key, sizeof (s->hello.host_key), "%s",
                    who->host_key);
    s->done.type = MESSAGE_DONE;
    rc = net_connect (endpoint, who->security, &s->net, err);
    if (rc == 0 && net_attach (s->net, loop, on_message, s) < 0)
        rc = err_set (err, ENOMEM, "no memory to ship");
    if (rc < 0) {
        ship_destroy (s);
        return rc;
    }
    net_watch (s->net, events->problem, events->arg);
    repeat_all (s);
    // from the loop: what the events tell may need '*ret'
    (void)loop_add_timer (loop, 0, begin_offers, s);
    *ret = s;
    return 0;
}

void ship_destroy (struct ship *s)
{
    if (!s)
        return;
    if (s->loop) {
        loop_del_timer (s->loop, repeat_all, s);
        loop_del_timer (s->loop, retry_queue, s);
        loop_del_timer (s->loop, retry_spool, s);
        loop_del_timer (s->loop, commit_acks, s);
        loop_del_timer (s->loop, begin_offers, s);
    }
    net_close (s->net);
    for (size_t i = 0; i < OFFERS_MAX; i++) {
        if (s->offers[i].used)
            offer_end (&s->offers[i]);
    }
    for (size_t i = 0; i < s->nsaid; i++)
        free (s->said[i]);
    free (s->said);
    buf_fini (&s->packed);
    free (s->queue);
    free (s->chunk);
    free (s);
}
