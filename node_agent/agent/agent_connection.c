/* node_agent/agent/agent_connection.c - whether the aggregator is there, and
 * why not
 *
 * Logged when it begins, and once a minute while it lasts; rollcall status
 * shows it at any time.
 */
#include "agent/agent_private.h"

#include "agent/agent_delivery.h"
#include "agent/agent_local.h"
#include "base/clock.h"

#include <stdio.h>
#include <string.h>
#include <sysexits.h>

#define CLOSED_LIMIT_NS (30 * NS_PER_S) // a backend that starts again, too,
                                        // closes connections for a while
#define SAID_NS (60 * NS_PER_S)         // one line of each kind in this time
#define STALE_NS (90 * NS_PER_S)        // it is met again before, if it lasts:
                                        // tried once a minute, and a quarter

/* A refusal lasts until the aggregator is heard; any other problem is forgotten
 * when it does not occur again.
 */
static const char *copy_not_connected (const struct agent *a, unsigned copy,
                                       char why[MESSAGE_TEXT_MAX])
{
    const struct connection *c = &a->connection[copy];
    int64_t heard_ns = ship_copy_heard_ns (a->ship, copy);
    bool met = c->met_ns > heard_ns &&
               (c->refused || clock_mono_ns () - c->met_ns < STALE_NS);

    why[0] = '\0';
    if (met)
        (void)snprintf (why, MESSAGE_TEXT_MAX, "%s", c->met);
    else if (ship_is_heard (a->ship, copy))
        return NULL;
    else if (ship_is_silent (a->ship, copy))
        (void)snprintf (why, MESSAGE_TEXT_MAX, "%s does not answer (timed "
                        "out): is it at work, is a firewall in between?",
                        agent_endpoint (a, copy));
    return met && c->refused ? "refused" : "not-connected";
}

const char *agent_not_connected (const struct agent *a,
                                 char why[MESSAGE_TEXT_MAX])
{
    const char *event = NULL;

    why[0] = '\0';
    for EACH_CHOSEN (i, &a->targets.choice) {
        if ((event = copy_not_connected (a, i, why)))
            break;
    }
    return event;
}

static void agent_connection_say (struct agent *a, unsigned copy)
{
    struct connection *c = &a->connection[copy];
    char why[MESSAGE_TEXT_MAX];
    const char *event = copy_not_connected (a, copy, why);
    int64_t now = clock_mono_ns (), *said_ns;
    bool refused;

    if (!event && c->missed)
        agent_on_connected (a, copy);
    if (!event || !*why || life_is_over (&a->life))
        return;
    refused = strcmp (event, "refused") == 0;
    said_ns = &c->said_ns[refused];
    if (*said_ns > 0 && now - *said_ns < SAID_NS)
        return;
    *said_ns = now;
    c->missed = true;
    log_text (refused ? LOG_LEVEL_ERROR : LOG_LEVEL_WARN, event, "%s", why);
}

void agent_look_at_connection (void *arg)
{
    struct agent *a = arg;

    agent_look_whether_deaf (a);        // also of a service with one aggregator
    for EACH_CHOSEN (i, &a->targets.choice)
        agent_connection_say (a, i);
    agent_tell_second (a);
    (void)loop_add_timer (a->loop, AGENT_LOOK_NS, agent_look_at_connection, a);
}

void agent_on_connected (struct agent *a, unsigned copy)
{
    a->connection[copy].missed = false;
    log_info ("connected", "%s", agent_endpoint (a, copy));
}

void agent_explain_end (struct agent *a, const char *end,
                        char text[MESSAGE_TEXT_MAX])
{
    char why[MESSAGE_TEXT_MAX], names[MESSAGE_TEXT_MAX];
    bool several = agent_missing (a, names) > 1;

    (void)agent_not_connected (a, why);
    if (several)
        (void)snprintf (text, MESSAGE_TEXT_MAX, "%.200s: %.350s%s%.400s", end,
                        names, *why ? "; the last problem: " : "", why);
    else
        (void)snprintf (text, MESSAGE_TEXT_MAX,
                        *why ? "%.200s (%.700s)" : "%s", end, why);
}

/* ---- problems ---- */

/* Whether to go on after a refusal: somebody may enrol our key, another agent
 * may end, or another aggregator accept us.
 */
static bool keeps_trying (const struct agent *a)
{
    return (!a->opt->once && !a->opt->run_dir) || a->targets.endpoints.n > 1;
}

static void meet (struct agent *a, unsigned copy, bool refused,
                  const char *text)
{
    struct connection *c = &a->connection[copy];

    c->refused = refused;
    c->met_ns = clock_mono_ns ();
    PRINT (c->met, "%s", text);
    agent_connection_say (a, copy);
}

/* The aggregator refuses this agent for good: end. */
static void give_up (struct agent *a, int status, const char *why)
{
    log_error ("refused", "%s", why);
    agent_tell_wrappers (a, "roll", why, false);
    agent_stop (a, status, "refused");
}

void agent_on_refused (void *arg, unsigned copy, enum refusal reason,
                       const char *why)
{
    struct agent *a = arg;
    char text[MESSAGE_TEXT_MAX];

    PRINT (text, "%s refuses this agent: %.700s", agent_endpoint (a, copy), why);
    if (reason == REFUSAL_VERSION &&
        !choice_refused (&a->targets.choice, copy, clock_mono_ns ()))
        give_up (a, EX_PROTOCOL, text);
    else if (reason == REFUSAL_VERSION)
        meet (a, copy, true, text);     // agent_choice.c moves it
    else if (keeps_trying (a))
        meet (a, copy, true, text);
    else
        give_up (a, reason == REFUSAL_KEY ? EX_NOPERM : EX_TEMPFAIL, text);
}

/* Whether connections have ended in the handshake, and nothing else has
 * happened, for too long.
 */
static bool closed_for_good (struct agent *a, unsigned copy)
{
    struct connection *c = &a->connection[copy];
    int64_t now = clock_mono_ns ();

    if (c->closed_ns == 0 || ship_copy_heard_ns (a->ship, copy) > c->closed_ns)
        c->closed_ns = now;
    return now - c->closed_ns > CLOSED_LIMIT_NS;
}

void agent_on_problem (void *arg, unsigned copy, enum net_problem what,
                       const char *text)
{
    struct agent *a = arg;
    bool refused;

    agent_look_whether_deaf (a);
    refused = what == NET_KEY_REFUSED || what == NET_NOT_ALIKE ||
              (what == NET_CLOSED && closed_for_good (a, copy));
    if (what == NET_UNREACHED)
        a->connection[copy].closed_ns = 0;
    if (!refused || keeps_trying (a))
        meet (a, copy, refused, text);
    else
        give_up (a, what == NET_CLOSED ? EX_UNAVAILABLE : EX_NOPERM, text);
}
