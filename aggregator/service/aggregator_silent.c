/* aggregator/service/aggregator_silent.c - silent agents of a service
 *
 * An agent says HELLO every two seconds, even if it has nothing to deliver, and
 * DONE when it ends with nothing left.  An agent that does neither is reported:
 * its host may be dead.  At the end of a run aggregator_run.c does this.
 */
#include "service/aggregator_private.h"

#include "base/log.h"
#include "base/units.h"

#include <stdio.h>
#include <string.h>

#define SILENT_NS (30 * NS_PER_S)
#define STALL_NS (5 * NS_PER_S) // after such a pause messages are unread yet
#define SWEEP_NS (60 * NS_PER_S)        // between sweeps of agents that left
#define NAMED 3                 // of them in one sentence

/* Name the items that the agent had begun to deliver. */
static void name_offered (struct aggregator *a, const struct job_agent *g,
                          char *out, size_t size)
{
    struct ledger_item first;
    size_t n = transfers_offered (a->transfers, &g->peer, &first);

    if (n == 0)
        (void)snprintf (out, size, "nothing that it had offered is missing "
                        "here");
    else
        (void)snprintf (out, size, "%zu item%s that it had offered %s not "
                        "here; the first is %.200s of %.200s", n, units_s (n),
                        n == 1 ? "is" : "are",
                        *first.path ? first.path : "the rows", first.capture);
}

static void tell_silent (struct aggregator *a, const struct served *s,
                         const struct job_agent *g)
{
    char heard[CLOCK_TEXT_MAX], offered[512];
    struct logline l = log_line (LOG_LEVEL_WARN, "agent-lost");

    clock_text (g->last_wall_ns, heard);
    name_offered (a, g, offered, sizeof (offered));
    log_str (&l, "job", s->job.id);
    log_str (&l, "host", g->host);
    log_str (&l, "key", *g->peer.who ? g->peer.who : NULL);
    log_str (&l, "last_heard", heard);
    log_str (&l, "text", offered);
    log_end (&l);
}

void aggregator_check_silent (struct aggregator *a, int64_t now)
{
    const struct job_agent *g;

    if (now - a->last_turn_ns > STALL_NS)
        a->awake_ns = now;
    a->last_turn_ns = now;
    if (now - a->awake_ns < SILENT_NS)
        return;
    for (struct served *s = a->jobs; s; s = s->next) {
        while ((g = job_lose_silent (&s->job, now, SILENT_NS)))
            tell_silent (a, s, g);
    }
    if (now - a->swept_ns < SWEEP_NS)
        return;
    a->swept_ns = now;
    aggregator_forget_gone (a, now);
}

static void add_silent (struct json *list, const struct served *s,
                        const struct job_agent *g)
{
    struct json *j = json_push_object (list);

    json_add_text (j, "job", s->job.id);
    json_add_text (j, "host", g->host);
    json_add_text (j, "key", g->peer.who);
    json_add_int (j, "last_heard_ns", g->last_wall_ns);
}

/* ", host a (key k) since 2026-..." */
static void append_silent (char *text, size_t size, const struct job_agent *g,
                           size_t nth)
{
    char name[AGGREGATOR_NAME_MAX], heard[CLOCK_TEXT_MAX];
    size_t used = strlen (text);

    clock_text (g->last_wall_ns, heard);
    (void)snprintf (text + used, size - used, "%shost %.200s since %s",
                    nth > 1 ? ", " : "",
                    aggregator_name (&g->peer, g->host, name), heard);
}

size_t aggregator_add_silent (const struct aggregator *a, struct json *status,
                              char *text, size_t size)
{
    struct json *list = json_add_array (status, "silent");
    size_t n = 0, used;

    (void)snprintf (text, size, "not heard: ");
    for (const struct served *s = a->jobs; s; s = s->next) {
        for (size_t i = 0; i < s->job.nagents; i++) {
            const struct job_agent *g = &s->job.agents[i];

            if (!g->lost || g->done)
                continue;
            add_silent (list, s, g);
            if (++n <= NAMED)
                append_silent (text, size, g, n);
        }
    }
    used = strlen (text);
    if (n > NAMED)
        (void)snprintf (text + used, size - used, ", and %zu more", n - NAMED);
    return n;
}
