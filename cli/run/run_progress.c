/* cli/run/run_progress.c - show progress after COMMAND's end, on a terminal;
 * elsewhere say once what is waited for
 *
 * The run's daemons write down what they are doing, for rollcall status.
 */
#include "run/run.h"

#include "base/clock.h"
#include "base/units.h"
#include "json/json.h"
#include "shared/progress.h"

#include <stdio.h>
#include <string.h>

#define SAY_AFTER_NS (5 * NS_PER_S)     // most runs have ended by then

/* What the agent of this host still has. */
static void name_agent (const struct json *agent, char *out, size_t size)
{
    int64_t unread = cli_number (agent, "unsettled") +
                     cli_number (agent, "sealing") +
                     cli_number (agent, "analysing");
    int64_t undelivered = cli_number (agent, "undelivered");
    const char *why = json_text (json_get (agent, "why"), "");

    if (*why)
        (void)snprintf (out, size, "%.200s", why);
    else if (unread > 0)
        (void)snprintf (out, size, "%lld capture%s of this host to be read",
                        (long long)unread, units_s ((uint64_t)unread));
    else if (undelivered > 0)
        (void)snprintf (out, size, "%lld item%s of this host to be delivered",
                        (long long)undelivered,
                        units_s ((uint64_t)undelivered));
    else
        (void)snprintf (out, size, "waiting for the captures of all ranks");
}

void run_show_end (const struct run *r, int64_t ended_ns)
{
    struct json *root, *agent;
    struct cli_progress p;
    char text[320], what[256];

    cli_progress_begin (&p);
    if (!p.shown)
        return;
    root = run_read_object (r->dir, "root/status.json");
    agent = run_read_object (r->dir, "spool/status.json");
    if (strcmp (json_text (json_get (root, "state"), ""), "building") == 0)
        PRINT (what, "making the result");
    else if (run_has_result (r->dir))
        PRINT (what, "the result is made");
    else
        name_agent (agent, what, sizeof (what));
    PRINT (text, "COMMAND has ended: %s, for %lld s", what,
           (long long)((p.began_ns - ended_ns) / NS_PER_S));
    cli_progress_phase (&p, text);
    json_free (root);
    json_free (agent);
}

void run_say_wait (const struct run *r, int64_t ended_ns, bool *said)
{
    struct cli_progress p;
    struct json *agent;
    char what[256];

    if (*said || clock_mono_ns () - ended_ns < SAY_AFTER_NS ||
        r->opt->deadline_ns <= SAY_AFTER_NS)
        return;
    *said = true;
    cli_progress_begin (&p);
    if (p.shown)
        return;
    agent = run_read_object (r->dir, "spool/status.json");
    name_agent (agent, what, sizeof (what));
    (void)RUN_FAIL (0, "job %s: COMMAND has ended; waiting until at most "
                    "%lld s after the last COMMAND of this host "
                    "(--deadline): %s", r->job,
                    (long long)(r->opt->deadline_ns / NS_PER_S), what);
    json_free (agent);
}

void run_hide_end (void)
{
    struct cli_progress p;

    cli_progress_begin (&p);
    cli_progress_phase (&p, "");
}
