/* node_agent/ship/ship_safety.c - which copies an item needs
 *
 * It is safe when two of the aggregators that it goes to, and their object stores,
 * have it; or, if one copy is enough, when that aggregator has it.
 */
#include "ship/ship_private.h"

#include <string.h>

/* ---- who keeps ---- */

/* The only one of those for a kind that is not away, NULL: there are none or
 * several.  *all: how many there are in all.
 */
static struct ship *find_alone (const struct ship *s, enum item_kind kind,
                                unsigned *all)
{
    struct ship *alone = NULL;
    unsigned there = 0;

    *all = 0;
    for EACH_COPY (c, s) {
        if (!(c->kinds >> kind & 1))
            continue;
        ++*all;
        if (c->away)
            continue;
        alone = c;
        there++;
    }
    return there == 1 ? alone : NULL;
}

static bool all_away (const struct ship *s, enum item_kind kind)
{
    for EACH_COPY (c, s) {
        if (c->kinds >> kind & 1 && !c->away)
            return false;
    }
    return true;
}

/* While all are away, nothing changes; but who no longer gets this kind does not
 * keep it.
 */
static unsigned keep_keeper (const struct ship *s, enum item_kind kind)
{
    for EACH_COPY (c, s) {
        if (c->copy == s->first->keepers.of[kind] && c->kinds >> kind & 1)
            return c->copy;
    }
    return SPOOL_NO_COPY;
}

static unsigned find_keeper (const struct ship *s, enum item_kind kind)
{
    unsigned all;
    const struct ship *alone = find_alone (s, kind, &all);

    if (s->first->needed < 2)
        return SPOOL_NO_COPY;
    if (all > 0 && all_away (s, kind))
        return keep_keeper (s, kind);
    return alone && (all == 1 || alone->store == SHIP_STORE_THERE)
               ? alone->copy : SPOOL_NO_COPY;
}

/* Whom to ask about its store. */
static void mark_alone (struct ship *s)
{
    unsigned all;

    for EACH_SHIP (c, s)
        c->alone = false;
    for (enum item_kind kind = ITEM_ROWS; kind <= ITEM_RAW; kind++) {
        struct ship *alone = find_alone (s, kind, &all);

        if (alone && all > 1 && s->first->needed > 1)
            alone->alone = true;
    }
}

/* Kinds of which an aggregator that is away is not awaited. */
static unsigned lags_of (const struct ship *c, const struct spool_keepers *k)
{
    unsigned lags = 0;

    for (enum item_kind kind = ITEM_ROWS; kind <= ITEM_RAW; kind++) {
        if (c->away && c->kinds >> kind & 1 && k->of[kind] != SPOOL_NO_COPY &&
            k->of[kind] != c->copy)
            lags |= 1U << kind;
    }
    return lags;
}

/* Which copies are not awaited; 'more' false: only set those that are again, before
 * the spool keeps no longer.
 */
static bool set_lags (struct ship *s, const struct spool_keepers *k, bool more)
{
    bool changed = false;

    for EACH_COPY (c, s) {
        unsigned lags = lags_of (c, k);

        lags = more ? lags : lags & c->lags;
        changed = changed || lags != c->lags;
        c->lags = lags;
    }
    return changed;
}

static bool is_same (const struct spool_keepers *a,
                     const struct spool_keepers *b)
{
    return a->two == b->two && a->of[ITEM_ROWS] == b->of[ITEM_ROWS] &&
           a->of[ITEM_RAW] == b->of[ITEM_RAW];
}

static int keep (struct ship *f, const struct spool_keepers *k)
{
    struct err err = { "" };
    int rc = spool_keep (f->spool, k, &err);

    if (rc < 0) {
        ship_spool_failed (f, rc, &err);
        return rc;
    }
    f->keepers = *k;
    for EACH_SHIP (c, f)
        c->keeps = c->copy == k->of[ITEM_ROWS] || c->copy == k->of[ITEM_RAW];
    return 0;
}

int ship_judge (struct ship *s)
{
    struct ship *f = s->first;
    struct spool_keepers k = { .two = f->needed > 1,
                               .of = { SPOOL_NO_COPY, SPOOL_NO_COPY,
                                       SPOOL_NO_COPY } };
    bool changed;
    int rc;

    for (enum item_kind kind = ITEM_ROWS; kind <= ITEM_RAW; kind++)
        k.of[kind] = find_keeper (s, kind);
    mark_alone (s);
    changed = !is_same (&k, &f->keepers);
    (void)set_lags (s, &k, false);
    if (changed && (rc = keep (f, &k)) < 0)
        return rc;
    if (set_lags (s, &k, true)) {
        for EACH_COPY (c, s)    // what waited for one of these alone
            ship_commit (c);
    }
    if (changed && f->put_off)
        ship_ask (f);
    if (changed && f->events.judged)
        f->events.judged (f->events.arg);
    return 0;
}

void ship_copies (struct ship *s, unsigned n)
{
    s->first->needed = n;
}

void ship_set_away (struct ship *s, unsigned copy, bool away)
{
    ship_find_copy (s, copy)->away = away;
}

unsigned ship_keeper (const struct ship *s, enum item_kind kind)
{
    return s->first->keepers.of[kind];
}

void ship_forget_safety (struct ship *s)
{
    s->away = s->alone = false;
    s->lags = 0;
    s->store = SHIP_STORE_UNKNOWN;
    s->store_waits[0] = '\0';
}

/* ---- its store ---- */

void ship_hurry (struct ship *s, bool hurry)
{
    bool news = s->first->hurry != hurry;

    s->first->hurry = hurry;
    for EACH_COPY (c, s) {
        if (news)
            ship_say_kept (c);
    }
}

enum ship_store ship_store (const struct ship *s, unsigned copy)
{
    return ship_find_copy (s, copy)->store;
}

const char *ship_store_waits (const struct ship *s, unsigned copy)
{
    return ship_find_copy (s, copy)->store_waits;
}

/* How far it is says only who has what was acknowledged up to the last HELLO.  A
 * late answer of an aggregator that was replaced comes before the WELCOME that
 * tells.
 */
void ship_on_stored (struct ship *s, const struct message *m)
{
    enum ship_store was = s->store;
    struct err err = { "" };
    int rc;

    s->store = m->mark.epoch == 0 ? SHIP_STORE_NONE : SHIP_STORE_THERE;
    PRINT (s->store_waits, "%s", m->text);
    if (s->store != was) {
        (void)ship_judge (s);   // it is tried again
        if (s->events.judged)
            s->events.judged (s->events.arg);
    }
    if (s->store != SHIP_STORE_THERE ||
        s->confirmed_ns == 0 || s->loss_unrecorded)
        return;
    if ((rc = spool_stored (s->spool, s->copy, m->mark.seq, &err)) < 0)
        ship_spool_failed (s, rc, &err);
}
