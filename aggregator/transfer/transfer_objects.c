/* aggregator/transfer/transfer_objects.c - create, queue and end senders,
 * bodies and items
 */
#include "transfer/transfer_private.h"

#include "base/clock.h"

#include <stdlib.h>
#include <string.h>

/* ---- states ---- */

bool transfer_change (struct transfer *x, enum item_event event)
{
    static const struct states_owner owner = { .table = &item_states,
                                               .level = LOG_LEVEL_DEBUG };

    return state_take (&x->state, &owner, event, NULL, "capture",
                       x->item.capture);
}

bool transfer_change_content (struct body *b, enum content_event event)
{
    static const struct states_owner owner = { .table = &content_states,
                                               .level = LOG_LEVEL_DEBUG };
    const struct transfer *x = TAILQ_FIRST (&b->offers);

    return state_take (&b->state, &owner, event, NULL, "capture",
                       x ? x->item.capture : NULL);
}

static size_t bucket_of (const uint8_t *bytes, size_t n)
{
    uint32_t h = 2166136261u;   // FNV-1a

    for (size_t i = 0; i < n; i++)
        h = (h ^ bytes[i]) * 16777619u;
    return h % TRANSFER_BUCKETS;
}

/* Find or make the entry of a key, and count one more sender; NULL: no memory.
 */
static struct sharer *join_key (struct transfers *t, const char *who)
{
    struct sharer *k = LIST_FIRST (&t->keys);

    while (k && strcmp (k->who, who) != 0)
        k = LIST_NEXT (k, all);
    if (!k && (k = calloc (1, sizeof (*k)))) {
        memcpy (k->who, who, sizeof (k->who));
        TAILQ_INIT (&k->parked);
        LIST_INSERT_HEAD (&t->keys, k, all);
    }
    if (k)
        k->nsenders++;
    return k;
}

void transfer_leave_key (struct sharer *k)
{
    if (k->nsenders + k->nlists > 0)
        return;
    LIST_REMOVE (k, all);
    free (k);
}

static void transfer_forget_sender (struct sender *s)
{
    LIST_REMOVE (s, same_bucket);
    LIST_REMOVE (s, all);
    s->key->nsenders--;
    transfer_leave_key (s->key);
    free (s);
}

struct sender *transfer_sender (struct transfers *t,
                                const struct net_peer *peer, bool make)
{
    size_t at = bucket_of (peer->id, peer->size);
    struct sender *s;

    LIST_FOREACH (s, &t->senders[at], same_bucket) {
        if (net_peer_is (&s->peer, peer))
            return s;
    }
    if (!make || !(s = calloc (1, sizeof (*s))))
        return NULL;
    if (!(s->key = join_key (t, peer->who))) {
        free (s);
        return NULL;
    }
    s->peer = *peer;
    s->limit = 1;
    s->pace = PACE_NEW;
    LIST_INSERT_HEAD (&t->senders[at], s, same_bucket);
    LIST_INSERT_HEAD (&t->all_senders, s, all);
    return s;
}

struct body *transfer_body (struct transfers *t, const struct digest *id,
                            uint64_t size)
{
    struct body *b;

    LIST_FOREACH (b, &t->bodies[bucket_of (id->bytes, DIGEST_SIZE)],
                  same_bucket) {
        if (digest_is (&b->id, id) && b->size == size)
            return b;
    }
    if (!(b = calloc (1, sizeof (*b))))
        return NULL;
    b->id = *id;
    b->size = size;
    b->n = b->missing = (size_t)content_chunks (size);
    if (b->n == 1) {            // its id is the content's
        b->ids = &b->id;
        b->parts_came = UINT64_MAX;
        b->chunks = &b->only;
        b->listed = 1;
    }
    TAILQ_INIT (&b->offers);
    state_begin (&b->state, CONTENT_IDLE);
    LIST_INSERT_HEAD (&t->bodies[bucket_of (id->bytes, DIGEST_SIZE)], b,
                      same_bucket);
    return b;
}

void transfer_give_back (struct transfers *t, struct sender *s,
                       const struct body *b, unsigned chunks)
{
    unsigned n = chunks * transfer_parts_of (b);

    t->small -= transfer_parts_of (b) == 1 ? chunks : 0;
    s->parts -= n;
    t->held[s->pace] -= n;
    if (s->pace == PACE_NEW)
        s->key->fresh -= n;
}

void transfer_release (struct transfers *t, struct body *b)
{
    struct transfer *source = TAILQ_FIRST (&b->offers);

    if (source && b->flying > 0)
        transfer_give_back (t, source->sender, b, b->flying);
    transfer_unask (b);
}

/* ---- queues ---- */

void transfer_unqueue (struct transfers *t, struct body *b)
{
    if (b->state.now == CONTENT_PARKED) {
        struct sharer *k = TAILQ_FIRST (&b->offers)->sender->key;

        TAILQ_REMOVE (&k->parked, b, in_turn);
        if (TAILQ_EMPTY (&k->parked))
            LIST_REMOVE (k, crowded);
    } else if (b->state.now == CONTENT_QUEUED) {
        TAILQ_REMOVE (&t->turns[b->pace][b->kind != ITEM_ROWS], b, in_turn);
    }
    (void)transfer_change_content (b, CONTENT_TAKEN);
}

bool transfer_can_ask (const struct transfers *t, const struct body *b)
{
    const struct transfer *source = TAILQ_FIRST (&b->offers);

    if (!source || b->flying >= TRANSFER_WINDOW ||
        source->sender->parts >= source->sender->limit * TRANSFER_PARTS)
        return false;
    return transfer_is_listed (b)
               ? b->next < b->n
               : b->flying == 0 && (b->ids || transfer_has_memory (t, b));
}

void transfer_queue (struct transfers *t, struct body *b)
{
    struct sender *s;

    if (transfer_is_waiting (b) || !transfer_can_ask (t, b))
        return;
    s = TAILQ_FIRST (&b->offers)->sender;
    b->pace = s->pace;
    if (transfer_is_over (t, s)) {
        (void)transfer_change_content (b, CONTENT_CROWDED);
        if (TAILQ_EMPTY (&s->key->parked))
            LIST_INSERT_HEAD (&t->crowded, s->key, crowded);
        TAILQ_INSERT_TAIL (&s->key->parked, b, in_turn);
        return;
    }
    (void)transfer_change_content (b, CONTENT_ASKABLE);
    TAILQ_INSERT_TAIL (&t->turns[b->pace][b->kind != ITEM_ROWS], b, in_turn);
}

void transfer_queue_all (struct transfers *t, struct sender *s)
{
    struct transfer *x;

    LIST_FOREACH (x, &s->items, of_sender) {
        if (x->body && TAILQ_FIRST (&x->body->offers) == x)
            transfer_queue (t, x->body);
    }
}

/* ---- room ---- */

uint64_t transfer_missing (const struct body *b)
{
    uint64_t most = (uint64_t)b->missing * CONTENT_CHUNK;

    return most < b->size ? most : b->size;
}

void transfer_settle (struct transfers *t, struct body *b)
{
    bool open = !TAILQ_EMPTY (&b->offers) && b->state.now != CONTENT_WHOLE;
    uint64_t is = open ? transfer_missing (b) : 0;

    if (b->promise > 0 && is != b->promised)
        t->room.change (t->room.arg, b->promise,
                        (int64_t)is - (int64_t)b->promised);
    b->promised = is;
    if (!open)
        b->promise = 0;
}

/* ---- ends ---- */

void transfer_end_body (struct transfers *t, struct body *b)
{
    transfer_unqueue (t, b);
    if (b->state.now == CONTENT_WHOLE)
        LIST_REMOVE (b, all_whole);
    (void)transfer_change_content (b, CONTENT_OVER);
    transfer_settle (t, b);
    LIST_REMOVE (b, same_bucket);
    transfer_end_list (t, b);
    free (b);
}

static void leave_body (struct transfers *t, struct transfer *x)
{
    struct body *b = x->body;
    bool source = TAILQ_FIRST (&b->offers) == x;

    if (source) {
        transfer_unqueue (t, b);
        transfer_release (t, b);
    }
    TAILQ_REMOVE (&b->offers, x, of_body);
    x->body = NULL;
    if (TAILQ_EMPTY (&b->offers))
        b->unoffered_ns = clock_mono_ns ();
    else if (source)
        transfer_queue (t, b);
    transfer_settle (t, b);
}

static void leave_sender (struct transfer *x)
{
    LIST_REMOVE (x, of_sender);
    LIST_REMOVE (x, same_bucket);
    x->sender->nitems--;
    x->sender->key->nitems--;
    x->sender = NULL;
}

void transfer_drop (struct transfers *t, struct transfer *x,
                    enum item_event event)
{
    if (x->body) {
        leave_body (t, x);
    } else if (x->state.now != ITEM_OFFERED) {
        TAILQ_REMOVE (&t->complete, x, of_body);
        t->ncomplete--;
    }
    (void)transfer_change (x, event);
    if (x->sender)
        leave_sender (x);
    t->nitems--;
    free (x);
}

void transfer_end_sender (struct transfers *t, struct sender *s)
{
    while (!LIST_EMPTY (&s->items)) {
        struct transfer *x = LIST_FIRST (&s->items);

        if (x->body)
            transfer_drop (t, x, ITEM_AGENT_LEFT);
        else                    // complete: entered, but the agent is not
            leave_sender (x);   // told
    }
    transfer_forget_sender (s);
}
