/* aggregator/intake/transfer_credit.c - who is asked for chunks, and when
 *
 * Bodies that can be asked for wait in three queues: what agents have that did
 * not answer the last time (few credits, but some at any time), rows, and raw
 * files.  Credits go to the first of each queue in this order, one chunk at a
 * time.
 */
#include "intake/transfer_inside.h"

#include "base/clock.h"
#include "base/counter.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static size_t bucket_of (const uint8_t *bytes, size_t n)
{
    uint32_t h = 2166136261u;   // FNV-1a

    for (size_t i = 0; i < n; i++)
        h = (h ^ bytes[i]) * 16777619u;
    return h % TRANSFER_BUCKETS;
}

struct sender *transfer_sender (struct transfers *t,
                                const struct net_peer *peer, bool make)
{
    size_t at = bucket_of (peer->id, peer->size);
    struct sender *s;

    LIST_FOREACH (s, &t->senders[at], same_bucket) {
        if (s->peer.size == peer->size &&
            memcmp (s->peer.id, peer->id, peer->size) == 0)
            return s;
    }
    if (!make || !(s = calloc (1, sizeof (*s))))
        return NULL;
    s->peer = *peer;
    s->limit = 1;
    LIST_INSERT_HEAD (&t->senders[at], s, same_bucket);
    LIST_INSERT_HEAD (&t->all_senders, s, all);
    return s;
}

struct body *transfer_body (struct transfers *t, const struct digest *id)
{
    struct body *b;

    LIST_FOREACH (b, &t->bodies[bucket_of (id->bytes, DIGEST_SIZE)],
                  same_bucket) {
        if (memcmp (&b->id, id, sizeof (*id)) == 0)
            return b;
    }
    if (!(b = calloc (1, sizeof (*b))))
        return NULL;
    b->id = *id;
    b->turn = TURN_NONE;
    TAILQ_INIT (&b->offers);
    content_hash_init (&b->hash);
    LIST_INSERT_HEAD (&t->bodies[bucket_of (id->bytes, DIGEST_SIZE)], b,
                      same_bucket);
    return b;
}

static unsigned in_flight (const struct body *b)
{
    return b->asked <= b->received
               ? 0 : (unsigned)(content_chunks (b->asked) -
                                content_chunks (b->received));
}

static void give_back (struct transfers *t, struct sender *s, unsigned n)
{
    s->credits -= n;
    t->credits += n;
    if (s->stalled)
        t->probes -= n;
}

void transfer_release (struct transfers *t, struct body *b)
{
    struct transfer *source = TAILQ_FIRST (&b->offers);

    if (source && in_flight (b) > 0)
        give_back (t, source->sender, in_flight (b));
    b->asked = b->received;
}

/* It answers: what it has waits with the others'. */
static void recovered (struct transfers *t, struct sender *s)
{
    struct transfer *x;

    t->probes -= s->credits;
    s->stalled = false;
    LIST_FOREACH (x, &s->items, of_sender) {
        if (!x->body || x->body->turn != TURN_PROBE ||
            TAILQ_FIRST (&x->body->offers) != x)
            continue;
        transfer_unqueue (t, x->body);
        transfer_queue (t, x->body);
    }
}

void transfer_arrived (struct transfers *t, struct body *b,
                       struct sender *from)
{
    struct sender *s = TAILQ_FIRST (&b->offers)->sender;

    if (in_flight (b) > 0)
        give_back (t, s, 1);
    from->moved_ns = clock_mono_ns ();
    if (from->stalled)
        recovered (t, from);
    if (from->limit < TRANSFER_AGENT_CREDITS)
        from->limit++;
}

/* ---- waiting for one's turn ---- */

void transfer_unqueue (struct transfers *t, struct body *b)
{
    if (b->turn != TURN_NONE)
        TAILQ_REMOVE (&t->turns[b->turn], b, in_turn);
    b->turn = TURN_NONE;
}

static bool can_ask (const struct body *b)
{
    const struct transfer *source = TAILQ_FIRST (&b->offers);

    return source && b->asked < b->size && in_flight (b) < TRANSFER_WINDOW &&
           source->sender->credits < source->sender->limit;
}

void transfer_queue (struct transfers *t, struct body *b)
{
    if (b->turn != TURN_NONE || !can_ask (b))
        return;
    if (TAILQ_FIRST (&b->offers)->sender->stalled)
        b->turn = TURN_PROBE;
    else
        b->turn = b->kind == ITEM_ROWS ? TURN_ROWS : TURN_RAW;
    TAILQ_INSERT_TAIL (&t->turns[b->turn], b, in_turn);
}

void transfer_queue_all (struct transfers *t, struct sender *s)
{
    struct transfer *x;

    LIST_FOREACH (x, &s->items, of_sender) {
        if (x->body && TAILQ_FIRST (&x->body->offers) == x)
            transfer_queue (t, x->body);
    }
}

void transfer_prefer (struct transfers *t, struct transfer *x)
{
    struct body *b = x->body;

    if (TAILQ_FIRST (&b->offers) != x && b->turn == TURN_NONE &&
        in_flight (b) == 0 && !x->sender->wrong &&
        (!b->alone || b->received == 0)) {
        TAILQ_REMOVE (&b->offers, x, of_body);
        TAILQ_INSERT_HEAD (&b->offers, x, of_body);
    }
    transfer_queue (t, b);
}

/* Ask the source for the next chunk: 0, or as net_send. */
static int ask (struct transfers *t, struct body *b)
{
    struct transfer *source = TAILQ_FIRST (&b->offers);
    struct sender *s = source->sender;
    uint64_t left = b->size - b->asked;
    struct message m = {
        .type = MESSAGE_GET, .item = source->id, .offset = b->asked,
        .length = left < CONTENT_CHUNK ? (uint32_t)left : CONTENT_CHUNK,
    };

    int rc = t->send (t->arg, &s->peer, &m);

    if (rc < 0)
        return rc;
    if (s->credits == 0)
        s->moved_ns = clock_mono_ns ();
    b->asked += m.length;
    if (b->asked > source->ever_asked)
        source->ever_asked = b->asked;
    s->credits++;
    t->credits--;
    t->probes += s->stalled;
    return 0;
}

static struct body *next_in_turn (struct transfers *t)
{
    for (unsigned i = 0; i < TURNS; i++) {
        if (!TAILQ_EMPTY (&t->turns[i]) &&
            (i != TURN_PROBE || t->probes < TRANSFER_PROBES))
            return TAILQ_FIRST (&t->turns[i]);
    }
    return NULL;
}

void transfer_grant (struct transfers *t)
{
    struct body *b;

    if (t->hold || clock_mono_ns () < t->paused_until_ns)
        return;
    while (t->credits > 0 && (b = next_in_turn (t))) {
        int rc;

        transfer_unqueue (t, b);
        if (!can_ask (b))
            continue;
        if ((rc = ask (t, b)) == 0)
            transfer_queue (t, b);
        else if (rc == -EHOSTUNREACH)   // who else has it is asked
            transfer_end_sender (t, TAILQ_FIRST (&b->offers)->sender);
        // else who has it is asked when it is offered again
    }
}

/* ---- who does not answer ---- */

/* Somebody else has it, too. */
static void ask_another (struct transfers *t, struct body *b)
{
    struct transfer *x = TAILQ_FIRST (&b->offers);

    if (!TAILQ_NEXT (x, of_body))
        return;
    TAILQ_REMOVE (&b->offers, x, of_body);
    TAILQ_INSERT_TAIL (&b->offers, x, of_body);
    if (b->alone)
        transfer_restart (t, b);
}

void transfer_stalled (struct transfers *t, struct sender *s)
{
    struct transfer *x;

    LIST_FOREACH (x, &s->items, of_sender) {
        if (!x->body || TAILQ_FIRST (&x->body->offers) != x)
            continue;
        transfer_unqueue (t, x->body);
        transfer_release (t, x->body);
    }
    s->stalled = true;
    s->limit = 1;
    counter_add (COUNTER_AGENTS_STALLED, 1);
    LIST_FOREACH (x, &s->items, of_sender) {
        if (!x->body || TAILQ_FIRST (&x->body->offers) != x)
            continue;
        ask_another (t, x->body);
        transfer_queue (t, x->body);
    }
}

void transfers_tick (struct transfers *t, int64_t now_ns)
{
    struct sender *s;

    LIST_FOREACH (s, &t->all_senders, all) {
        if (s->credits > 0 && now_ns - s->moved_ns > TRANSFER_STALL_NS)
            transfer_stalled (t, s);
    }
    for (size_t i = 0; i < TRANSFER_BUCKETS; i++) {
        struct body *b = LIST_FIRST (&t->bodies[i]), *next;

        for (; b; b = next) {
            next = LIST_NEXT (b, same_bucket);
            if (TAILQ_EMPTY (&b->offers) && !b->whole &&
                now_ns - b->orphan_ns > TRANSFER_ORPHAN_NS)
                transfer_end_body (t, b);
        }
    }
    transfer_grant (t);
}

void transfers_hold (struct transfers *t, bool hold)
{
    t->hold = hold;
    transfer_grant (t);
}

unsigned transfers_credits (const struct transfers *t)
{
    return t->credits;
}
