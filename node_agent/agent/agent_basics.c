/* node_agent/agent/agent_basics.c - what all files of the agent use */
#include "agent/agent_private.h"

#include "base/clock.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define DONE "done"             // the note that records whether DONE was said
#define QUIET_AFTER_END_NS (500 * NS_PER_MS)    // by then its writer is gone

void agent_note (struct agent *a, enum log_level level, const char *event,
                 const char *fmt, ...)
{
    char text[MESSAGE_TEXT_MAX];
    size_t n = (size_t)snprintf (text, sizeof (text), "host %s: ",
                                 a->self.host);
    va_list ap;

    va_start (ap, fmt);
    (void)vsnprintf (text + n, sizeof (text) - n, fmt, ap);
    va_end (ap);
    log_text (level, event, "%s", text);
    (void)ship_note (a->ship, text);
}

void agent_stop (struct agent *a, int status, const char *why)
{
    if (life_take (&a->life, LIFE_STOP, why))
        a->end.status = status;
}

bool agent_is_draining (const struct agent *a)
{
    return a->end.commands_ns > 0 || a->opt->once;
}

/* With what nobody has looked at so far (agent_look_whether_deaf). */
static int64_t deaf_until (const struct agent *a, int64_t now)
{
    int64_t asked_ns = a->end.asked_ns;

    return a->end.deaf_ns + clock_missed_ns (&asked_ns, now, AGENT_LOOK_NS);
}

int64_t agent_ended_for_ns (const struct agent *a)
{
    int64_t now = clock_mono_ns ();

    return now - a->end.commands_ns -
           (deaf_until (a, now) - a->end.commands_deaf_ns);
}

int64_t agent_began_for_ns (const struct agent *a)
{
    int64_t now = clock_mono_ns ();

    return now - a->life.began_ns - deaf_until (a, now);
}

bool agent_is_past_deadline (const struct agent *a, int part)
{
    return a->end.commands_ns > 0 &&
           agent_ended_for_ns (a) > a->opt->deadline_ns / part;
}

int64_t agent_quiet_ns (const struct agent *a)
{
    if (a->opt->once)
        return 0;
    if (a->end.commands_ns > 0 && a->opt->quiet_ns > QUIET_AFTER_END_NS)
        return QUIET_AFTER_END_NS;
    return a->opt->quiet_ns;
}

bool agent_gives_raw (const struct agent *a)
{
    return a->opt->raw && !a->wants.on_demand;
}

bool agent_awaits_policy (const struct agent *a)
{
    int64_t limit_ns = a->opt->once ? AGENT_POLICY_ONCE_NS : AGENT_POLICY_NS;

    return a->opt->raw && !a->wants.known &&
           agent_began_for_ns (a) < limit_ns;
}

bool agent_awaits_wants (const struct agent *a)
{
    int64_t since_ns = ship_acked_ns (a->ship);

    // what was acknowledged later may have changed the decision
    if (!a->opt->raw || !a->wants.on_demand || a->wants.decided_ns > since_ns)
        return false;
    if (a->wants.undecided_ns > since_ns)
        since_ns = a->wants.undecided_ns;
    return clock_mono_ns () - since_ns < AGENT_DECISION_NS;
}

int agent_name_dir (const struct agent *a, const char *name,
                    char out[PATH_MAX], struct err *err)
{
    const struct agent_options *o = a->opt;
    int n = o->run_dir ? snprintf (out, PATH_MAX, "%s/%s", o->run_dir, name)
                       : snprintf (out, PATH_MAX, "%s/%s-%s", o->state, name,
                                   o->job);

    return n < 0 || n >= PATH_MAX
               ? err_set (err, ENAMETOOLONG, "path is too long: %s", o->state)
               : 0;
}

bool agent_is_below (const char *path, const char *dir)
{
    size_t n = strlen (dir);

    return n > 0 && strncmp (path, dir, n) == 0 && path[n] == '/';
}

void agent_set_done (struct agent *a, bool done)
{
    struct err err = { "" };

    if (a->end.was_done == done)
        return;
    a->end.was_done = done;
    if (spool_keep_note (a->spool, DONE, done ? "1" : "0", &err) < 0)
        log_error ("note-failed", "%s", err.text);
}

void agent_recall_done (struct agent *a)
{
    char done[8];

    a->end.was_done = spool_note (a->spool, DONE, done, sizeof (done)) &&
                      strcmp (done, "1") == 0;
}
