/* node_agent/ship/ship_offers.c - what is on offer, until it is acknowledged */
#include "ship/ship_private.h"

#include "base/clock.h"
#include "base/counter.h"
#include "base/fault.h"
#include "base/log.h"

#include <errno.h>
#include <string.h>

#define ACKS_NS (2 * NS_PER_MS) // answers that share a transaction
#define GETS_NS (50 * NS_PER_MS)        // the same for lost items: an agent
                                // that sends no chunk is asked for one item
                                // after the other
#define SPOOL_NS NS_PER_S       // when the spool failed, as on a full disk
#define FAILURE_NS (60 * NS_PER_S)      // one line about it in this time

static void retry_spool (void *arg);

static size_t count_offers (const struct ship *s, enum item_kind kind)
{
    return s->noffers[kind][0] + s->noffers[kind][1];
}

static bool is_small (const struct spool_item *item)
{
    return item->size <= CONTENT_SMALL;
}

struct offer *ship_find_offer (const struct ship *s, uint64_t id)
{
    struct offer *o;

    LIST_FOREACH (o, &s->by_id[id % OFFER_BUCKETS], same_bucket) {
        if (o->item.id == id)
            return o;
    }
    return NULL;
}

static void begin_offer (struct ship *s, struct offer *o,
                         const struct spool_item *item)
{
    offer_begin (o, item);
    LIST_INSERT_HEAD (&s->by_id[item->id % OFFER_BUCKETS], o, same_bucket);
    s->noffers[item->kind][is_small (item)]++;
}

void ship_end_offer (struct ship *s, struct offer *o)
{
    LIST_REMOVE (o, same_bucket);
    s->noffers[o->item.kind][is_small (&o->item)]--;
    offer_end (o);
}

void ship_end_all (struct ship *s, uint64_t item, const char *why)
{
    for EACH_COPY (c, s) {
        struct offer *o = ship_find_offer (c, item);

        if (!o)
            continue;
        // if it fails, a GET is answered so
        if (o->state.now == OFFER_SAID || o->state.now == OFFER_AGAIN)
            (void)ship_say_gone (c, item, why);
        ship_end_offer (c, o);
    }
}

/* Whether a copy of it is not acknowledged yet. */
static bool is_open_anywhere (const struct ship *s, uint64_t item)
{
    for EACH_COPY (c, s) {
        const struct offer *o = ship_find_offer (c, item);

        if (o && offer_is_open (o))
            return true;
    }
    return false;
}

void ship_withdraw (struct ship *s, uint64_t item)
{
    if (is_open_anywhere (s, item))
        ship_end_all (s, item, "raw files are wanted on demand only");
}

/* The spool failed: try again later.  A damaged ledger is the end, which the
 * agent learns from spool_damage.
 */
void ship_spool_failed (struct ship *s, int rc, const struct err *err)
{
    if (rc == -EBADMSG)
        return;
    s->failing = true;
    (void)loop_add_timer (s->loop, SPOOL_NS, retry_spool, s);
    if (s->failure_ns > 0 && clock_mono_ns () - s->failure_ns < FAILURE_NS)
        return;
    s->failure_ns = clock_mono_ns ();
    log_error ("spool-failed", "%s: it is tried again every second", err->text);
}

/* Whether an item is for this copy: what is asked for may be at any. */
static bool takes (const struct ship *s, const struct spool_item *item)
{
    return item->state == SPOOL_ASKED || s->kinds >> item->kind & 1;
}

/* Get the next item of a kind that is not offered yet: 1, 0 none now, or -errno
 * of the spool.  One that cannot be set aside does not block those after it.
 */
static int next_of (struct ship *s, enum item_kind kind,
                    struct spool_item *ret)
{
    if (!(s->kinds >> kind & 1) &&
        spool_tally (s->spool, kind, SPOOL_ASKED).items == 0)
        return 0;
    for (;;) {
        struct err err = { "" };
        int rc = spool_next (s->spool, kind, s->last[kind], ret, &err);

        if (rc < 0)
            ship_spool_failed (s, rc, &err);
        if (rc == 0 || rc == -EBADMSG || (rc < 0 && ret->id == 0))
            return rc;
        s->last[kind] = ret->id;
        if (rc > 0 && takes (s, ret) && !ship_find_offer (s, ret->id))
            return 1;
    }
}

/* Whether there is room for another one like this. */
static bool has_place (const struct ship *s, const struct spool_item *item)
{
    bool small = is_small (item), raw = item->kind == ITEM_RAW;
    size_t n = s->noffers[ITEM_ROWS][small] + s->noffers[ITEM_RAW][small];

    return n < (small ? raw ? SMALL_RAW_MAX : SMALL_MAX
                      : raw ? LARGE_RAW_MAX : LARGE_MAX);
}

static int next_item (struct ship *s, struct spool_item *ret)
{
    int rc = next_of (s, ITEM_ROWS, ret);

    if (rc == 0 && count_offers (s, ITEM_ROWS) == 0)
        rc = next_of (s, ITEM_RAW, ret);
    if (rc > 0 && !has_place (s, ret)) {
        s->last[ret->kind] = ret->id - 1;       // it will be the next one again
        rc = 0;
    }
    return rc;
}

static void fill_offers (struct ship *s)
{
    struct spool_item item;

    for (size_t i = 0; i < OFFERS_MAX; i++) {
        struct offer *o = &s->offers[i];

        if (o->state.now != OFFER_FREE)
            continue;
        if (next_item (s, &item) <= 0)
            break;
        begin_offer (s, o, &item);
        if (item.state != SPOOL_ASKED)
            spool_offered (s->spool, item.id);
    }
    ship_say_offers (s);
}

static bool all_delivered (const struct ship *s)
{
    return count_offers (s, ITEM_ROWS) == 0 && count_offers (s, ITEM_RAW) == 0;
}

/* Nothing can be offered although items are open: an index or a row is damaged,
 * and the spool might seem full for ever.
 */
static bool miscounted (const struct ship *s)
{
    bool rows = s->kinds >> ITEM_ROWS & 1, raw = s->kinds >> ITEM_RAW & 1;

    return all_delivered (s) && !s->failing && !s->first->put_off &&
           ((rows && (spool_undelivered_of (s->spool, ITEM_ROWS) > 0 ||
                      spool_bytes (s->spool) > 0)) ||
            (raw && spool_undelivered_of (s->spool, ITEM_RAW) > 0));
}

static void recount (struct ship *s)
{
    struct err err = { "" };
    int rc = spool_recount (s->spool, &err);

    if (rc < 0) {
        s->recount_inconclusive = rc == -EBADMSG;
        ship_spool_failed (s, rc, &err);
        return;
    }
    memset (s->last, 0, sizeof (s->last));
    fill_offers (s);
    s->recount_inconclusive = miscounted (s);
}

void ship_offer_more (void *arg)
{
    struct ship *s = arg;

    fill_offers (s);
    if (!s->recount_inconclusive && miscounted (s))
        recount (s);
}

void ship_kick (struct ship *s)
{
    for EACH_COPY (c, s)
        ship_offer_more (c);
}

void ship_next_items (struct ship *s)
{
    bool all = true;

    ship_kick (s);
    for EACH_COPY (c, s)
        all = all && all_delivered (c);
    if (all && s->events.delivered)
        s->events.delivered (s->events.arg);
}

void ship_ask (struct ship *s)
{
    s->first->put_off = false;
    for EACH_COPY (c, s)
        memset (c->last, 0, sizeof (c->last));
    ship_next_items (s);
}

static void retry_spool (void *arg)
{
    struct ship *s = arg;

    s->failing = false;
    ship_ask (s);
}

/* ---- acknowledged, or lost ---- */

typedef int settle_fn (struct spool *s, const uint64_t *ids, size_t n,
                       struct err *err);

/* Whether an item does not wait for this copy. */
static bool lags (const struct ship *s, const struct spool_item *item)
{
    return item->state == SPOOL_ASKED ? s->lags != 0
                                      : s->lags >> item->kind & 1;
}

/* What all copies together say of an item: OFFER_LOST if all have lost it, also
 * those that are away; OFFER_AGAIN if only these have not; OFFER_DURABLE if all
 * that are awaited have answered otherwise; else OFFER_SAID.
 */
static enum offer_state answer_of_all (const struct ship *s,
                                       const struct spool_item *item)
{
    enum offer_state answer = OFFER_LOST;
    bool complete = true;

    for EACH_COPY (c, s) {
        const struct offer *o = ship_find_offer (c, item->id);

        if (!o && !takes (c, item))
            continue;
        if (o && o->state.now == OFFER_DURABLE)
            answer = OFFER_DURABLE;
        else if (!o || o->state.now != OFFER_LOST) {
            if (!lags (c, item))
                return OFFER_SAID;
            complete = false;
        }
    }
    return answer == OFFER_LOST && !complete ? OFFER_AGAIN : answer;
}

static void end_settled (struct ship *s, const uint64_t *ids, size_t n,
                         enum offer_state which, bool recorded)
{
    for EACH_COPY (c, s) {
        for (size_t i = 0; i < n; i++) {
            struct offer *o = ship_find_offer (c, ids[i]);

            if (o && recorded) {
                c->lacked += which == OFFER_DURABLE &&
                             o->state.now == OFFER_LOST;
                ship_end_offer (c, o);
            } else if (o)
                (void)offer_change (o, OFFER_UNRECORDED);
        }
    }
}

uint64_t ship_take_lacked (struct ship *s, unsigned copy)
{
    struct ship *c = ship_find_copy (s, copy);
    uint64_t n = c->lacked;

    c->lacked = 0;
    return n;
}

/* Commit offers that all copies have answered, or (fn NULL) only end them; if the
 * spool cannot record it, they are offered again and answered again.
 */
static bool ship_offers_settle (struct ship *s, enum offer_state which,
                                settle_fn *fn)
{
    uint64_t ids[OFFERS_MAX];
    struct err err = { "" };
    size_t n = 0;
    int rc = 0;

    for (size_t i = 0; i < OFFERS_MAX; i++) {
        const struct offer *o = &s->offers[i];

        if ((o->state.now == OFFER_DURABLE || o->state.now == OFFER_LOST) &&
            answer_of_all (s, &o->item) == which)
            ids[n++] = o->item.id;
    }
    if (n > 0 && fn && (rc = fn (s->spool, ids, n, &err)) < 0) {
        counter_add (COUNTER_COMMITS_FAILED, 1);
        ship_spool_failed (s, rc, &err);
    }
    end_settled (s, ids, n, which, rc >= 0);
    return n > 0;
}

void ship_commit (void *arg)
{
    struct ship *s = arg;
    bool durable = ship_offers_settle (s, OFFER_DURABLE, spool_durable);
    bool lost = ship_offers_settle (s, OFFER_LOST, spool_lost);
    // it takes no place of others until one that is away is back
    bool later = ship_offers_settle (s, OFFER_AGAIN, NULL);

    s->first->put_off = s->first->put_off || later;
    if (durable || lost || later)
        ship_next_items (s);
}

/* Whether only losses wait for the commit, and more of them may come. */
static bool may_wait (const struct ship *s)
{
    bool open = false;

    for (size_t i = 0; i < OFFERS_MAX; i++) {
        if (s->offers[i].state.now == OFFER_DURABLE)
            return false;
        open = open || offer_is_open (&s->offers[i]);
    }
    return open;
}

void ship_commit_soon (struct ship *s)
{
    (void)loop_add_timer (s->loop, may_wait (s) ? GETS_NS : ACKS_NS,
                          ship_commit, s);
}

void ship_on_ack (struct ship *s, const struct message *m)
{
    struct offer *o = ship_find_offer (s, m->item);

    if (!o || !offer_is_open (o))
        return;
    (void)FAULT ("agent.ship.ack");
    (void)offer_change (o, OFFER_ACKNOWLEDGED);
    if (!s->loss_unrecorded)    // else nobody would request it again
        spool_set_mark (s->spool, s->copy, &m->mark);
    s->wanted_ns = s->acked_ns = clock_mono_ns ();
    ship_commit_soon (s);
}

void ship_forget_offers (struct ship *s)
{
    for (size_t i = 0; i < OFFERS_MAX; i++) {
        if (s->offers[i].state.now != OFFER_FREE)
            ship_end_offer (s, &s->offers[i]);
    }
    memset (s->last, 0, sizeof (s->last));
}

void ship_stop_offers (struct ship *s)
{
    loop_del_timer (s->loop, retry_spool, s);
    loop_del_timer (s->loop, ship_commit, s);
    loop_del_timer (s->loop, ship_offer_more, s);
    ship_forget_offers (s);
}
