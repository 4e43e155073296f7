/* aggregator/transfer/transfer_credit.c - when to request chunks, and from whom
 *
 * Bodies that can be requested wait in queues: one for each pace, and in each
 * pace rows before raw files.  A credit goes to the first body of a queue, for
 * one chunk.  Paces whose agents hold fewer credits than are reserved for them
 * come first, so that nobody waits for slower agents; then rows, then raw
 * files, and in both slow agents last.
 */
#include "transfer/transfer_private.h"

#include "base/clock.h"
#include "base/counter.h"

#include <errno.h>

/* Move all of a sender's bodies to the queues of its new pace. */
static void set_pace (struct transfers *t, struct sender *s,
                      enum transfer_pace pace)
{
    struct transfer *x;

    if (s->pace == pace)
        return;
    t->held[s->pace] -= s->parts;
    t->held[pace] += s->parts;
    if (s->pace == PACE_NEW)    // a sender never becomes new again
        s->key->fresh -= s->parts;
    s->pace = pace;
    LIST_FOREACH (x, &s->items, of_sender) {
        if (!x->body || !transfer_is_waiting (x->body) ||
            TAILQ_FIRST (&x->body->offers) != x)
            continue;
        transfer_unqueue (t, x->body);
        transfer_queue (t, x->body);
    }
}

static void slow_down (struct transfers *t, struct sender *s,
                       enum transfer_pace pace)
{
    s->limit = 1;
    set_pace (t, s, pace);
}

void transfer_arrived (struct transfers *t, struct body *b,
                       struct sender *from, bool asked)
{
    struct sender *s = TAILQ_FIRST (&b->offers)->sender;
    int64_t now = clock_mono_ns (), took = now - from->moved_ns;

    if (asked) {
        transfer_give_back (t, s, b, 1);
        b->flying--;
    }
    from->moved_ns = now;
    if (took > TRANSFER_SLOW_NS) {
        slow_down (t, from, PACE_SLOW);
        return;
    }
    if (from->limit < TRANSFER_AGENT_CREDITS)
        from->limit++;
    set_pace (t, from, PACE_QUICK);
}

void transfer_prefer (struct transfers *t, struct transfer *x)
{
    struct body *b = x->body;

    if (TAILQ_FIRST (&b->offers) != x && !transfer_is_waiting (b) &&
        b->flying == 0 && !x->sender->wrong) {
        TAILQ_REMOVE (&b->offers, x, of_body);
        TAILQ_INSERT_HEAD (&b->offers, x, of_body);
    }
    transfer_queue (t, b);
}

/* The request for the next ids. */
static int ask_list (struct transfers *t, const struct body *b,
                     struct message *m)
{
    struct transfer *source = TAILQ_FIRST (&b->offers);
    uint64_t left = (uint64_t)(b->n - b->listed) * DIGEST_SIZE;

    m->part = PART_LIST;
    m->offset = (uint64_t)b->listed * DIGEST_SIZE;
    m->length = left < CONTENT_CHUNK ? (uint32_t)left : CONTENT_CHUNK;
    if (source->list_asked < m->offset + m->length)
        source->list_asked = m->offset + m->length;
    return t->send (t->arg, &source->sender->peer, m);
}

static int ask_chunk (struct transfers *t, struct body *b, struct message *m)
{
    struct transfer *source = TAILQ_FIRST (&b->offers);
    int rc;

    m->offset = (uint64_t)b->next * CONTENT_CHUNK;
    m->length = (uint32_t)transfer_chunk_size (b, b->next);
    if (source->ever_asked < m->offset + m->length)
        source->ever_asked = m->offset + m->length;
    if ((rc = t->send (t->arg, &source->sender->peer, m)) < 0)
        return rc;
    b->chunks[b->next++] = CHUNK_ASKED;
    b->looked = false;
    return 0;
}

static void hold_credit (struct transfers *t, struct body *b)
{
    struct sender *s = TAILQ_FIRST (&b->offers)->sender;
    unsigned parts = transfer_parts_of (b);

    if (s->parts == 0)
        s->moved_ns = clock_mono_ns ();
    b->flying++;
    t->small += parts == 1;
    s->parts += parts;
    t->held[s->pace] += parts;
    if (s->pace == PACE_NEW)
        s->key->fresh += parts;
}

static int finish (struct transfers *t, struct body *b)
{
    if (transfer_finish (t, b, NULL) < 0)
        transfer_pause (t);
    return 1;
}

/* Request what comes next from the source: 0; 1: all is here or requested, and
 * the body may be gone; or as net_send.
 */
static int transfer_credit_ask (struct transfers *t, struct body *b)
{
    struct message m = { .type = MESSAGE_GET,
                         .item = TAILQ_FIRST (&b->offers)->id };
    int rc;

    if (!transfer_is_listed (b)) {
        rc = transfer_begin_list (t, b);
        if (rc == 0)
            rc = ask_list (t, b, &m);
    } else if ((rc = transfer_skip (t, b, NULL)) == 0) {
        if (b->missing == 0)
            return finish (t, b);
        if (b->next == b->n)
            return 1;
        rc = ask_chunk (t, b, &m);
    } else if (rc == -EILSEQ) {
        counter_add (COUNTER_ITEMS_MISMATCHED, 1);
        transfer_throw_away (t, b);
        return 1;
    }
    if (rc == 0)
        hold_credit (t, b);
    return rc;
}

unsigned transfers_credits (const struct transfers *t)
{
    unsigned held = 0;

    for (unsigned i = 0; i < PACES; i++)
        held += t->held[i];
    return held < TRANSFER_CREDITS * TRANSFER_PARTS
               ? TRANSFER_CREDITS - (held + TRANSFER_PARTS - 1) / TRANSFER_PARTS
               : 0;
}

static struct body *next_in_turn (struct transfers *t)
{
    static const unsigned own[PACES] = {
        [PACE_STALLED] = TRANSFER_PROBES, [PACE_NEW] = TRANSFER_NEW_CREDITS,
        [PACE_QUICK] = TRANSFER_QUICK_CREDITS,
        [PACE_SLOW] = TRANSFER_SLOW_CREDITS,
    };
    struct body *b = NULL;

    for (unsigned i = 0; i < PACES && !b; i++) {
        if (t->held[i] < own[i] * TRANSFER_PARTS &&
            !(b = TAILQ_FIRST (&t->turns[i][0])))
            b = TAILQ_FIRST (&t->turns[i][1]);
    }
    for (unsigned i = 0; i < 2 && !b && transfers_credits (t) > 0; i++) {
        for (unsigned pace = PACE_NEW; pace < PACES && !b; pace++)
            b = TAILQ_FIRST (&t->turns[pace][i]);
    }
    return b;
}

/* Queue parked bodies of keys whose new agents hold fewer credits than they
 * may, as many as those credits allow; false: there are none.
 */
static bool unpark (struct transfers *t)
{
    struct sharer *k, *next;
    bool any = false;

    for (k = LIST_FIRST (&t->crowded); k; k = next) {
        unsigned most = TRANSFER_KEY_NEW_CREDITS * TRANSFER_PARTS;
        unsigned n = k->fresh < most ? most - k->fresh : 0;
        struct body *b;

        next = LIST_NEXT (k, crowded);
        while (n > 0 && (b = TAILQ_FIRST (&k->parked))) {
            transfer_unqueue (t, b);
            transfer_queue (t, b);
            if (transfer_is_waiting (b)) // else its agent is asked for another
                n -= transfer_parts_of (b) < n ? transfer_parts_of (b) : n;
            any = true;
        }
    }
    return any;
}

static void grant_turns (struct transfers *t)
{
    struct body *b;

    while ((b = next_in_turn (t))) {
        int rc;

        transfer_unqueue (t, b);
        if (!transfer_can_ask (t, b))
            continue;
        if (transfer_is_over (t, TAILQ_FIRST (&b->offers)->sender)) {
            transfer_queue (t, b);      // fewer credits were in use before
            continue;
        }
        if ((rc = transfer_credit_ask (t, b)) == 0)
            transfer_queue (t, b);
        else if (rc == -EHOSTUNREACH)   // another agent with it is asked
            transfer_end_sender (t, TAILQ_FIRST (&b->offers)->sender);
        // else an agent with it is asked when it offers it again
    }
}

/* Granting a credit can make other bodies eligible: repeat until none waits
 * without a reason.
 */
void transfer_grant (struct transfers *t)
{
    if (t->hold || clock_mono_ns () < t->paused_until_ns)
        return;
    do
        grant_turns (t);
    while (unpark (t));
}

/* ---- agents that do not answer ---- */

/* Request the content from another agent that offers it. */
static void ask_another (struct body *b)
{
    struct transfer *x = TAILQ_FIRST (&b->offers);

    if (!TAILQ_NEXT (x, of_body))
        return;
    TAILQ_REMOVE (&b->offers, x, of_body);
    TAILQ_INSERT_TAIL (&b->offers, x, of_body);
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
    slow_down (t, s, PACE_STALLED);
    counter_add (COUNTER_AGENTS_STALLED, 1);
    LIST_FOREACH (x, &s->items, of_sender) {
        if (!x->body || TAILQ_FIRST (&x->body->offers) != x)
            continue;
        ask_another (x->body);
        transfer_queue (t, x->body);
    }
}

void transfers_tick (struct transfers *t, int64_t now_ns)
{
    struct sender *s;

    LIST_FOREACH (s, &t->all_senders, all) {
        if (s->parts > 0 && now_ns - s->moved_ns > TRANSFER_STALL_NS)
            transfer_stalled (t, s);
        else if (s->parts > 0 && s->pace != PACE_STALLED &&
                 now_ns - s->moved_ns > TRANSFER_SLOW_NS)
            slow_down (t, s, PACE_SLOW);
    }
    for (size_t i = 0; i < TRANSFER_BUCKETS; i++) {
        struct body *b = LIST_FIRST (&t->bodies[i]), *next;

        for (; b; b = next) {
            next = LIST_NEXT (b, same_bucket);
            if (TAILQ_EMPTY (&b->offers) && b->state.now != CONTENT_WHOLE &&
                now_ns - b->unoffered_ns > TRANSFER_ORPHAN_NS)
                transfer_end_body (t, b);
        }
    }
    transfer_grant (t);
}

void transfer_pause (struct transfers *t)
{
    t->paused_until_ns = clock_mono_ns () + TRANSFER_PAUSE_NS;
}

void transfers_hold (struct transfers *t, bool hold)
{
    t->hold = hold;
    transfer_grant (t);
}
