/* node_agent/agent/agent_second.c - the second copy, if two are needed and only one
 * aggregator is there
 *
 * It is what that aggregator has in its object store.  What it acknowledges is
 * delivered, but stays here, and so do its captures, until it says that its store
 * has it.  When another one is there again, it gets what is still here.
 */
#include "agent/agent_private.h"

#include "agent/agent_delivery.h"
#include "base/clock.h"
#include "base/units.h"

#include <stdio.h>

uint64_t agent_count_kept (const struct agent *a)
{
    return a->targets.copies > 1 ? spool_kept (a->spool) : 0;
}

static bool keeps (const struct agent *a, unsigned copy)
{
    return ship_keeper (a->ship, ITEM_ROWS) == copy ||
           ship_keeper (a->ship, ITEM_RAW) == copy;
}

static bool is_away (const struct agent *a, unsigned copy)
{
    const struct choice *c = &a->targets.choice;

    return c->of[c->copy[copy].at].away;
}

/* The first one that is away, or NULL. */
static const char *find_away (const struct agent *a)
{
    for EACH_CHOSEN (i, &a->targets.choice) {
        if (is_away (a, i))
            return agent_endpoint (a, i);
    }
    return NULL;
}

/* Why the store of this copy's aggregator has none. */
static bool lacks_second (const struct agent *a, unsigned copy,
                          char out[MESSAGE_TEXT_MAX])
{
    const char *at = agent_endpoint (a, copy), *away = find_away (a);
    const char *why = ship_store_waits (a->ship, copy);

    if (is_away (a, copy))
        return false;           // nobody knows
    if (keeps (a, copy) && *why)
        (void)snprintf (out, MESSAGE_TEXT_MAX, "the second copy does not get "
                        "into the object store of %.200s: %.600s", at, why);
    else if (ship_store (a->ship, copy) != SHIP_STORE_NONE)
        return false;
    else if (keeps (a, copy))
        (void)snprintf (out, MESSAGE_TEXT_MAX, "%.200s has no object store (its "
                        "--store) for the second copy", at);
    else if (away)
        (void)snprintf (out, MESSAGE_TEXT_MAX, "%.200s is away, and %.200s has "
                        "no object store (its --store) for the second copy: "
                        "nothing is delivered before two aggregators have it",
                        away, at);
    else
        return false;
    return true;
}

const char *agent_lacks_second (const struct agent *a,
                                char out[MESSAGE_TEXT_MAX])
{
    out[0] = '\0';
    for EACH_CHOSEN (i, &a->targets.choice) {
        if (a->targets.copies > 1 && lacks_second (a, i, out))
            break;
    }
    return out;
}

void agent_tell_second (struct agent *a)
{
    char why[MESSAGE_TEXT_MAX];
    bool lacks = *agent_lacks_second (a, why) &&
                 spool_undelivered (a->spool) + agent_count_kept (a) > 0;

    if (lacks && !a->targets.no_second)
        log_warn ("no-second-copy", "%s; all stays here", why);
    else if (!lacks && a->targets.no_second)
        log_info ("second-copy", "nothing waits for a second copy any more, or "
                  "it is made again");
    a->targets.no_second = lacks;
}

/* ---- the end ---- */

/* For so long as a run waits. */
bool agent_awaits_store (struct agent *a)
{
    if (agent_count_kept (a) == 0)
        return false;
    for EACH_CHOSEN (i, &a->targets.choice) {
        if (keeps (a, i) && ship_store (a->ship, i) == SHIP_STORE_NONE)
            return false;       // it never has
    }
    ship_hurry (a->ship, true);
    return clock_mono_ns () - a->life.state.since_ns < a->opt->deadline_ns;
}

const char *agent_acknowledging (const struct agent *a,
                                 char out[MESSAGE_TEXT_MAX])
{
    int n = 0;

    out[0] = '\0';
    for EACH_CHOSEN (i, &a->targets.choice) {
        if (keeps (a, i) && n < MESSAGE_TEXT_MAX / 2)
            n += snprintf (out + n, MESSAGE_TEXT_MAX - (size_t)n, "%s%.300s",
                           n ? ", " : "", agent_endpoint (a, i));
    }
    return *out ? out : agent_endpoints (a, out);
}

void agent_name_kept (const struct agent *a, char *out, size_t size)
{
    unsigned long long n = agent_count_kept (a);
    char at[MESSAGE_TEXT_MAX], why[MESSAGE_TEXT_MAX];

    *out = '\0';
    if (n == 0)
        return;
    (void)agent_acknowledging (a, at);
    if (!*agent_lacks_second (a, why))
        PRINT (why, "it has not said that they are in its object store");
    (void)snprintf (out, size, "host %s: %llu item%s %s acknowledged by %.300s "
                    "only, and %.500s: with --copies 2 %s here until the object "
                    "store has %s, for the next agent to ask", a->self.host, n,
                    units_s (n), units_are (n), at, why,
                    n == 1 ? "it stays" : "they stay", n == 1 ? "it" : "them");
}

/* ---- when it changes ---- */

void agent_tell_keeper (struct agent *a)
{
    const char *away = find_away (a);
    // until it is known what is wanted, a kind may have less than two takers
    bool stands_in = away &&
                     (ship_keeper (a->ship, ITEM_ROWS) != SPOOL_NO_COPY ||
                      ship_keeper (a->ship, ITEM_RAW) != SPOOL_NO_COPY);
    char at[MESSAGE_TEXT_MAX];

    if (a->targets.endpoints.n == 1 || a->targets.stands_in == stands_in)
        return;
    a->targets.stands_in = stands_in;
    if (stands_in)
        log_warn ("store-stands-in", "%s is away, and no other aggregator is "
                  "there: what %s acknowledges is delivered, and stays here "
                  "until its object store has it", away,
                  agent_acknowledging (a, at));
    else
        log_info ("store-stood-in", "no object store stands in for an aggregator "
                  "any more: two of them acknowledge again, and get what is "
                  "here of what one has alone");
}
