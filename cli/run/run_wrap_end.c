/* cli/run/run_wrap_end.c - how a wrapper ends: its messages and status */
#include "run/run_wrap.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/units.h"
#include "model/capture.h"
#include "options/shell.h"
#include "store/fileio.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define AWAY_DEFAULT_NS (30 * NS_PER_S) // of agents: their --away

static bool has_given_up (const struct wrap *w)
{
    return w->state.now == WRAP_GIVEN_UP;
}

static long agent_pid (const struct wrap *w)
{
    struct ucred peer = { .pid = 0 };
    socklen_t size = sizeof (peer);

    (void)getsockopt (w->control, SOL_SOCKET, SO_PEERCRED, &peer, &size);
    return (long)peer.pid;
}

/* "the agent (pid 1) and the aggregator (pid 2) of host a do not answer",
 * whichever it is; false if there is nothing to blame them for.
 */
static bool name_silent (const struct wrap *w, char *out, size_t max)
{
    bool agent = has_given_up (w) && w->control >= 0;
    bool aggregator = w->aggregator >= 0 && !run_aggregator_answers (w->r);
    char a[48] = "", b[48] = "";

    if (agent)
        PRINT (a, "the agent (pid %ld)", agent_pid (w));
    if (aggregator)
        PRINT (b, "the aggregator (pid %ld)", (long)w->r->aggregator);
    (void)snprintf (out, max, "%s%s%s of host %s %s not answer", a,
                    agent && aggregator ? " and " : "", b, w->r->host,
                    agent && aggregator ? "do" : "does");
    return agent || aggregator;
}

/* Explain that the run is not over, and that nobody is left to wait for. */
static int no_result (const struct wrap *w, int status)
{
    const struct run *r = w->r;
    char who[HOST_NAME_MAX_BYTES + 160], state[RUN_STATE_OPTION];

    if (name_silent (w, who, sizeof (who)))
        return RUN_FAIL (status, "job %s has no result yet: %s, %lld s after "
                         "COMMAND ended (stopped, or stuck?); captures are "
                         "safe on the nodes' disks (below %s/captures here); "
                         "when it continues (kill -CONT), rollcall wait "
                         "%s%s there prints the result", r->job, who,
                         (long long)((clock_mono_ns () - w->ended_ns) /
                                     NS_PER_S), r->dir, r->job,
                         run_state_option (r, state));
    return RUN_FAIL (status, "job %s has no result yet: captures are safe on "
                     "the nodes' disks (below %s here); on host %s, rollcall "
                     "wait %s%s looks again, and finishes it if need be",
                     r->job, r->dir, r->host, r->job,
                     run_state_option (r, state));
}

/* " --OPTION VALUE" as a shell reads it; nothing without a value. */
static void add_word (struct buf *b, const char *option, const char *value)
{
    char *word = value && *value ? malloc (SHELL_WORD (strlen (value))) : NULL;

    if (word)
        buf_printf (b, " %s%s%s", option, *option ? " " : "",
                    shell_word (value, word));
    free (word);
}

/* How the list is meant, where it is not meant as agents mean it by themselves. */
static void add_choice (const struct run_options *o, struct buf *b)
{
    char away[UNITS_DURATION_TEXT];

    if (o->copies > 1)
        add_word (b, "--copies", "2");
    if (o->spread > 0)
        buf_printf (b, " --spread %lld", (long long)o->spread);
    units_duration_text (o->away_ns, away);
    if (o->away_ns != AWAY_DEFAULT_NS)
        add_word (b, "--away", away);
}

/* The command that delivers what a run left: its spool knows where that is. */
static void add_delivery (const struct run *r, struct buf *b)
{
    char list[PATH_MAX];

    buf_printf (b, "rollcall-agent --once%s%s%s", r->opt->raw ? " --raw" : "",
                r->opt->owner ? " --owner" : "",
                r->opt->insecure ? " --insecure" : "");
    add_word (b, "--run-dir", r->dir);
    add_word (b, "--job", r->job);
    add_word (b, "--aggregator", r->targets.n > 0 ? NULL : r->endpoint);
    add_word (b, "--aggregators", run_list_for_agent (r, list));
    if (r->targets.n > 0)
        add_choice (r->opt, b);
    buf_printf (b, " --world-size %lld", (long long)r->world.size);
    if (r->opt->max_ranks != CAPTURE_WORLD_DEFAULT)
        buf_printf (b, " --max-ranks %lld", (long long)r->opt->max_ranks);
    add_word (b, "--key", getenv ("ROLLCALL_KEY"));
    add_word (b, "--server-key", getenv ("ROLLCALL_SERVER_KEY"));
}

/* If all agents have died, what is made from now on is not this run's: the last
 * wrapper's date counts.
 */
static void mark_left (const struct run *r)
{
    char path[PATH_MAX];

    if (fileio_join (path, sizeof (path), r->dir, RUN_LEFT))
        (void)fileio_replace (path, "", 0, FILEIO_FILE_MODE, NULL);
}

/* The aggregator is a service, so each wrapper returns the status of its own
 * COMMAND.  Another rank's status would make the launcher kill COMMANDs that
 * are still running on other hosts.
 */
static int served_status (const struct wrap *w)
{
    const struct run *r = w->r;
    int status = w->stopped ? 0 : w->status;
    struct buf command;

    if (w->undelivered[0])
        mark_left (r);
    if (!w->undelivered[0] || r->world.local_rank > 0)
        return status;
    buf_init (&command, 8 * PATH_MAX);
    add_delivery (r, &command);
    (void)RUN_FAIL (0, "job %s: %s; captures that are still here stay, "
                    "below %s/captures, or where COMMAND wrote them. When %s "
                    "can be reached, this delivers all that is left: %s", r->job,
                    w->undelivered, r->dir,
                    r->targets.n > 0 ? "the aggregators" : r->endpoint,
                    buf_text (&command));
    buf_fini (&command);
    return status == 0 && r->world.local_size == r->world.size
               ? EX_UNAVAILABLE : status;
}

/* After an interrupt the user wants the prompt back; the run is still being
 * ended.
 */
static int goes_on (const struct wrap *w, int status)
{
    const struct run *r = w->r;
    char state[RUN_STATE_OPTION];

    if (w->aggregator < 0)
        return no_result (w, status);
    return RUN_FAIL (status, "job %s was interrupted. What it captured is "
                     "still being collected (process %ld of host %s). To see "
                     "the result, call on %s: rollcall wait %s%s", r->job,
                     (long)r->aggregator, r->host, r->host, r->job,
                     run_state_option (r, state));
}

/* The launcher ended COMMAND, and will soon end this process, too. */
static int ended_by_launcher (const struct wrap *w)
{
    const struct run *r = w->r;
    int status = w->status ? w->status : 128 + SIGTERM, command;

    if (run_is_served (r))
        (void)served_status (w);
    else if (r->owns_aggregator &&
             run_print_result (&run_command, r->dir, r->job, r->opt->json,
                               &command) == -ENOENT)
        (void)goes_on (w, status);
    return status;
}

int wrap_end (const struct wrap *w)
{
    const struct run *r = w->r;
    int command = 0, roll;

    if (w->launcher_ended)
        return ended_by_launcher (w);
    if (run_is_served (r) && !has_given_up (w))
        return served_status (w);
    if (!r->owns_aggregator && has_given_up (w) && r->world.local_rank == 0)
        (void)no_result (w, 0);         // one of this host tells
    if (!r->owns_aggregator) {
        // rank 0 or the front end returns the status of the one that failed;
        // without either, each returns its own
        return r->opt->aggregator && !w->stopped ? w->status : 0;
    }
    roll = run_print_result (&run_command, r->dir, r->job, r->opt->json,
                             &command);
    if (roll == -ENOENT)
        return no_result (w, w->status ? w->status : EX_UNAVAILABLE);
    return command > 0 ? command : w->status && !w->stopped ? w->status : roll;
}
