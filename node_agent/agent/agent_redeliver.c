/* node_agent/agent/agent_redeliver.c - an aggregator lacks what was acknowledged
 *
 * Its root was replaced, restored from a backup or repaired, or files in it
 * were removed.  Captures that still exist here are sealed again; the
 * aggregator requests only what it lacks.  Captures that no longer exist are
 * offered without their bytes: what it requests of them is lost until they are
 * delivered again.
 *
 * The same is done if one of several aggregators stands in for another one, or
 * is back: it gets what is here, and may have the rest or not.
 *
 * This is also done once if items were acknowledged without a mark, because
 * nobody knows whether the aggregator still has them.
 */
#include "agent/agent_private.h"

#include "agent/agent_captures.h"
#include "agent/agent_delivery.h"
#include "base/clock.h"
#include "base/units.h"
#include "spool/release_rows.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ONE_COPY "one copy"     // a note of the spool
#define ASK_GONE_NS (3600 * NS_PER_S)   // between questions after what one of two
                                // aggregators lacks
#define AGAIN_NS NS_PER_S       // when the spool failed, as on a full disk, or
                                // an aggregator was not heard yet

static void tell_doubt (const struct spool_redelivery *r)
{
    log_info ("redelivery", "%llu capture%s %s offered again: it is not noted "
              "that this aggregator has acknowledged them (one of an older "
              "version did, or another one, or the note is damaged)",
              (unsigned long long)r->captures, units_s (r->captures),
              units_are (r->captures));
}

static void tell_other (struct agent *a, const struct spool_redelivery *r)
{
    if (r->captures > 0)
        agent_note (a, LOG_LEVEL_WARN, "redelivery", "%llu capture%s that other "
                    "aggregators have acknowledged %s delivered to %.255s, too",
                    (unsigned long long)r->captures, units_s (r->captures),
                    units_are (r->captures), a->redelivery.to);
}

static void agent_redeliver_tell (struct agent *a)
{
    const struct spool_redelivery *r = &a->redelivery.spool;

    if (r->only_gone)
        ;                       // nothing new is known
    else if (*a->redelivery.to)
        tell_other (a, r);
    else if (r->in_doubt)
        tell_doubt (r);
    else
        agent_note (a, LOG_LEVEL_ERROR, "redelivery", "the aggregator has lost "
                    "data that it had acknowledged: its root was replaced, "
                    "restored from a backup or repaired, or files in it were "
                    "removed.  %llu capture%s that %s here %s delivered again",
                    (unsigned long long)r->captures, units_s (r->captures),
                    units_are (r->captures), units_are (r->captures));
    if (r->gone > 0)
        log_info ("redelivery", "%llu capture%s that it had acknowledged %s no "
                  "longer here: it is asked what it still has of them",
                  (unsigned long long)r->gone, units_s (r->gone),
                  units_are (r->gone));
}

/* ---- captures that no longer exist here ---- */

struct losses {
    struct agent *a;
    uint64_t n;
    char first[SPOOL_LOSS_MAX];
};

/* It may have appeared again while it was asked about; what is left of a
 * removed one is never read.
 */
static void name_loss (void *arg, const char *path, bool again,
                       const char *text)
{
    struct losses *l = arg;

    (void)again;
    if ((access (path, F_OK) == 0 || errno != ENOENT) &&
        !spool_has_release (l->a->spool, path)) {
        watch_hand_on_again (l->a->watch, path);
        return;
    }
    watch_hand_on_if_back (l->a->watch, path);
    if (l->n++ == 0)
        PRINT (l->first, "%s", path);
    agent_note (l->a, LOG_LEVEL_ERROR, "lost", "%s", text);
}

/* ---- what one of two aggregators lacks ---- */

static void agent_redeliver_begin (struct agent *a);

const char *agent_name_one_copy (const struct agent *a,
                                 char out[MESSAGE_TEXT_MAX])
{
    const struct one_copy *o = &a->redelivery.one_copy;
    char since[CLOCK_TEXT_MAX];

    out[0] = '\0';
    if (o->items == 0 || a->targets.copies < 2)
        return out;
    clock_text (o->since_ns, since);
    (void)snprintf (out, MESSAGE_TEXT_MAX, "since %s, %llu item%s of captures that "
                    "are no longer here %s at one aggregator only: %.200s does not "
                    "have %s; copy job %.200s to it: rollcall archive export at the "
                    "other one, and import at this one", since,
                    (unsigned long long)o->items, units_s (o->items),
                    units_are (o->items), o->lacks, o->items == 1 ? "it" : "them",
                    a->opt->job);
    return out;
}

/* As "SINCE ITEMS ENDPOINT". */
static void recall_one_copy (struct agent *a)
{
    struct one_copy *o = &a->redelivery.one_copy;
    char text[MESSAGE_NAME_MAX + 64], *end;

    if (!spool_note (a->spool, ONE_COPY, text, sizeof (text)) || !*text)
        return;
    o->since_ns = strtoll (text, &end, 10);
    o->items = strtoull (end, &end, 10);
    PRINT (o->lacks, "%s", *end == ' ' ? end + 1 : end);
}

static void keep_one_copy (struct agent *a, const struct one_copy *now)
{
    struct one_copy *o = &a->redelivery.one_copy;
    char text[MESSAGE_NAME_MAX + 64] = "";
    struct err err = { "" };

    if (now->items == o->items && strcmp (now->lacks, o->lacks) == 0)
        return;
    if (now->items > 0)
        PRINT (text, "%lld %llu %s", (long long)now->since_ns,
               (unsigned long long)now->items, now->lacks);
    if (spool_keep_note (a->spool, ONE_COPY, text, &err) < 0)
        log_error ("note-failed", "%s", err.text);
    if (now->items == 0)
        log_info ("two-copies", "two aggregators have again what is no longer here");
    *o = *now;
}

/* Whether each that is chosen is there to say what it has. */
static bool hears_all (const struct agent *a)
{
    const struct choice *c = &a->targets.choice;

    for EACH_CHOSEN (i, c) {
        if (!ship_is_heard (a->ship, i) || c->of[c->copy[i].at].away)
            return false;
    }
    return true;
}

void agent_ask_gone (void *arg)
{
    struct agent *a = arg;
    struct redelivery *r = &a->redelivery;

    if (!r->ask_due)
        return;
    if (!hears_all (a) || spool_redelivers (a->spool)) {
        (void)loop_add_timer (a->loop, AGAIN_NS, agent_ask_gone, a);
        return;
    }
    r->ask_due = false;
    spool_ask_gone (a->spool);
    agent_redeliver_begin (a);
    r->spool.only_gone = true;
}

/* Somebody may have copied it meanwhile.  Who is away does not say so. */
static void ask_gone (struct agent *a)
{
    a->redelivery.ask_due = true;
    agent_ask_gone (a);
}

static void ask_each_hour (void *arg)
{
    struct agent *a = arg;

    if (a->targets.choice.copies > 1 && a->redelivery.one_copy.items > 0 &&
        !spool_asks (a->spool))
        ask_gone (a);
    (void)loop_add_timer (a->loop, ASK_GONE_NS, ask_each_hour, a);
}

/* What each of them lacks: the most. */
static struct one_copy find_lacked (struct agent *a)
{
    struct one_copy most = { .items = 0 };

    for EACH_CHOSEN (i, &a->targets.choice) {
        uint64_t n = ship_take_lacked (a->ship, i);

        if (n > 0)
            log_warn ("one-copy", "%llu item%s of captures that are no longer "
                      "here %s at one aggregator only: %s does not have %s",
                      (unsigned long long)n, units_s (n), units_are (n),
                      agent_endpoint (a, i), n == 1 ? "it" : "them");
        if (n > most.items) {
            most.items = n;
            PRINT (most.lacks, "%s", agent_endpoint (a, i));
        }
    }
    return most;
}

/* Of captures that are no longer here: after all that was asked is answered.  If
 * one is away, it was perhaps not awaited: what was known stays.
 */
static bool tell_one_copy (struct agent *a)
{
    const struct one_copy *o = &a->redelivery.one_copy;
    struct one_copy now = find_lacked (a);

    if (a->targets.choice.copies < 2)
        return false;
    if (!hears_all (a) && o->items + now.items > 0)
        ask_gone (a);
    if (a->redelivery.ask_due && now.items <= o->items)
        return o->items > 0;
    now.since_ns = o->items > 0 ? o->since_ns : clock_wall_ns ();
    keep_one_copy (a, &now);
    return now.items > 0;
}

/* ---- reports ---- */

void agent_tell_lost (struct agent *a)
{
    struct losses l = { .a = a };
    bool one_copy;

    if (!a->redelivery.asking || spool_asks (a->spool) ||
        spool_redelivers (a->spool))
        return;
    a->redelivery.asking = false;
    (void)spool_each_lost_there (a->spool, name_loss, &l, NULL);
    one_copy = tell_one_copy (a);
    if (l.n == 0 && !one_copy)
        log_info ("redelivery", "the aggregator still has all of the captures "
                  "that are no longer here");
    if (l.n > 0)
        agent_note (a, LOG_LEVEL_ERROR, "redelivery", "%llu capture%s that the "
                    "aggregator had acknowledged %s no longer here, and it "
                    "has lost them, or a part of them; the first is %.600s",
                    (unsigned long long)l.n, units_s (l.n), units_are (l.n),
                    l.first);
}

/* ---- steps ---- */

/* Captures that an earlier agent was about to remove.  Those that exist again
 * have to be found.
 */
static int take_back (struct agent *a, struct err *err)
{
    int rc;

    while ((rc = release_take_back (a->spool, err)) > 0 || rc == -ESTALE) {
        if (rc < 0)
            agent_note (a, LOG_LEVEL_WARN, "capture-replaced", "%.700s",
                        err->text);
        agent_search_again (a, clock_mono_ns ());
    }
    return rc;
}

static void go_on (void *arg)
{
    struct agent *a = arg;
    struct redelivery *r = &a->redelivery;
    struct err err = { "" };
    // nothing is lost if only what is gone is asked
    int rc = r->spool.only_gone ? 0 : take_back (a, &err);

    if (rc == 0)
        rc = spool_redeliver (a->spool, &r->spool, &err);
    if (rc != 0) {
        if (rc < 0)
            log_error ("spool-failed", "%s: it is tried again every second",
                       err.text);
        (void)loop_add_timer (a->loop, rc < 0 ? AGAIN_NS : 0, go_on, a);
        return;
    }
    agent_redeliver_tell (a);
    r->asking = r->asking || r->spool.gone > 0;
    if (!r->spool.only_gone) {
        r->ask_due = false;     // all was asked
        watch_hand_on_again (a->watch, NULL);
    }
    ship_ask (a->ship);
    agent_hand_on (a);
    a->end.check (a);
}

static void agent_redeliver_begin (struct agent *a)
{
    memset (&a->redelivery.spool, 0, sizeof (a->redelivery.spool));
    (void)loop_add_timer (a->loop, 0, go_on, a);
}

/* Who had what this copy should have; or a copy of raw files that shares its
 * aggregator.
 */
static const char *find_former (const struct agent *a, unsigned copy,
                                char name[MESSAGE_NAME_MAX])
{
    const char *former = agent_former_holder (a, copy, name);

    for (unsigned i = SPOOL_RAW_COPY; i < SPOOL_COPIES_ALL && !former; i++) {
        if (choice_is_shared (&a->targets.choice, i))
            former = agent_former_holder (a, i, name);
        if (former && !*former)
            former = NULL;      // it never had one
    }
    return former;
}

/* The ledger says who has acknowledged what this aggregator lacks. */
static int keep_former (struct agent *a, unsigned copy, struct err *err)
{
    char name[MESSAGE_NAME_MAX], old[MESSAGE_NAME_MAX];
    const char *former = find_former (a, copy, name);
    bool noted;

    PRINT (a->redelivery.to, "%s", former ? agent_endpoint (a, copy) : "");
    noted = spool_note (a->spool, SPOOL_FORMER, old, sizeof (old));
    if (!former && !noted)
        return 0;
    if (former && !*former)     // raw files may have been where the rows were
        former = noted && *old ? old : "another aggregator";
    return spool_keep_note (a->spool, SPOOL_FORMER, former ? former : "", err);
}

void agent_on_lost (void *arg, unsigned copy)
{
    struct agent *a = arg;
    struct err err = { "" };

    if (keep_former (a, copy, &err) < 0 ||
        spool_begin_redelivery (a->spool, copy, &err) < 0) {
        // the next answer will report it again
        log_error ("spool-failed", "%s", err.text);
        return;
    }
    agent_keep_holder (a, copy);
    for (unsigned i = SPOOL_RAW_COPY; i < SPOOL_COPIES_ALL; i++) {
        if (choice_is_shared (&a->targets.choice, i))
            agent_keep_holder (a, i);
    }
    (void)life_take (&a->life, LIFE_LOST, NULL);
    agent_redeliver_begin (a);
}

/* ---- what one aggregator alone has ---- */

/* Whether it is known who acknowledges: whoever was not heard since this agent
 * began may be away, as before.
 */
static bool knows_keepers (const struct agent *a)
{
    return a->targets.copies < 2 ||
           (ship_keeper (a->ship, ITEM_ROWS) != SPOOL_NO_COPY &&
            ship_keeper (a->ship, ITEM_RAW) != SPOOL_NO_COPY) ||
           hears_all (a);
}

static void revise (void *arg)
{
    struct agent *a = arg;
    struct err err = { "" };
    int rc;

    if (!spool_has_to_revise (a->spool))
        return;
    if (!knows_keepers (a)) {
        (void)loop_add_timer (a->loop, AGAIN_NS, revise, a);
        return;
    }
    rc = spool_revise (a->spool, &a->redelivery.revised, &err);
    if (rc < 0 && rc != -EAGAIN)
        log_error ("spool-failed", "%s: it is tried again every second",
                   err.text);
    if (rc != 0) {
        (void)loop_add_timer (a->loop, rc < 0 ? AGAIN_NS : 0, revise, a);
        return;
    }
    if (a->redelivery.revised > 0)
        log_info ("revised", "%llu capture%s that only one aggregator has "
                  "acknowledged %s offered to the other one, too",
                  (unsigned long long)a->redelivery.revised,
                  units_s (a->redelivery.revised),
                  units_are (a->redelivery.revised));
    a->redelivery.revised = 0;
    watch_hand_on_again (a->watch, NULL);
    ship_ask (a->ship);
    agent_hand_on (a);
    a->end.check (a);
}

void agent_revise (struct agent *a)
{
    (void)loop_add_timer (a->loop, 0, revise, a);
}

void agent_on_judged (void *arg)
{
    struct agent *a = arg;

    agent_tell_keeper (a);
    agent_revise (a);
    if (a->life.state.now != LIFE_STARTING)
        a->end.check (a);       // it may need no more copies
}

void agent_recall_redelivery (struct agent *a)
{
    agent_revise (a);
    recall_one_copy (a);
    a->redelivery.asking = spool_asks (a->spool);
    // who was asked may have answered, and was not counted
    if (a->targets.choice.copies > 1 &&
        (a->redelivery.asking || a->redelivery.one_copy.items > 0))
        ask_gone (a);
    if (spool_redelivers (a->spool))
        agent_redeliver_begin (a);
    (void)loop_add_timer (a->loop, ASK_GONE_NS, ask_each_hour, a);
}
