/* aggregator/service/aggregator_run.c - when a run ends, and what it leaves
 * behind
 */
#include "service/aggregator_private.h"

#include "base/log.h"
#include "base/utf8.h"
#include "store/fileio.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

#define HELLO_LIMIT_NS (60 * NS_PER_S)  // a run that nobody joins ends
#define SILENCE_LIMIT_NS (60 * NS_PER_S)        // an agent this silent is lost
#define STRAGGLER_NS (10 * NS_PER_S)    // for ranks that never reported
#define REJOIN_NS (30 * NS_PER_S)       // for agents of a former aggregator:
                                        // they reconnect after about 10 s
#define FAREWELL_NS (3 * NS_PER_S)      // for agents to hear that it is over
#define FAREWELL_REPEAT_NS (50 * NS_PER_MS)
#define RESULT_NAME "result.json"
#define TURN_NS NS_PER_S        // between turns at most, mostly

/* From here on offers are not answered, and agents keep their items.  Chunks
 * that were requested before may still arrive.
 */
static void close_intake (struct aggregator *a)
{
    a->closed = true;
    transfers_hold (a->transfers, true);
}

/* Whether everything that the run can expect has arrived, or time is up. */
static bool run_is_over (struct aggregator *a, struct served *s, int64_t now)
{
    int64_t waited;

    if (!job_ended (&s->job)) {
        s->ended_ns = 0;
        return false;
    }
    if (s->ended_ns == 0)
        s->ended_ns = now;
    waited = now - s->ended_ns;
    if (waited >= a->opt->deadline_ns) {
        if (!a->closed)
            log_warn ("deadline", "not everything had arrived when the "
                      "deadline passed");
        close_intake (a);
        return true;
    }
    if (!job_delivered (&s->job) || transfers_pending (a->transfers))
        return false;
    return job_all_reported (&s->job) ||
           waited >= (a->resumed ? REJOIN_NS : STRAGGLER_NS);
}

/* Whether there is a launcher that may still start ranks. */
static bool is_launching (const struct aggregator *a)
{
    struct pollfd p = { .fd = (int)a->opt->launch_fd };

    return p.fd >= 0 && poll (&p, 1, 0) == 0;
}

/* Whether no rank has reported, and for too long none could: there was no
 * launcher, and no agent was heard.
 */
static bool nobody_comes (struct aggregator *a, const struct job *j,
                          int64_t now)
{
    if (is_launching (a))
        a->last_peer_ns = now;
    for (size_t i = 0; i < j->nagents; i++) {
        if (j->agents[i].heard_ns > a->last_peer_ns)
            a->last_peer_ns = j->agents[i].heard_ns;
    }
    return j->nranks == 0 && now - a->last_peer_ns > HELLO_LIMIT_NS &&
           (j->nagents == 0 || job_delivered (j));
}

static void log_nobody (const struct aggregator *a, const struct job *j)
{
    if (j->nagents == 0)
        log_error ("no-agents", "no agent has said hello for %d s on %s: is a "
                   "firewall in between?", (int)(HELLO_LIMIT_NS / NS_PER_S),
                   a->opt->listen);
    else
        log_error ("no-agents", "no rank has reported, and the agents have "
                   "been gone for %d s: did the wrappers die at once?",
                   (int)(HELLO_LIMIT_NS / NS_PER_S));
}

/* A run that is over tells its agents so, and they end: it must not seem to be
 * over because this process, or the whole machine, stood still.
 */
static void look_whether_deaf (struct aggregator *a, struct served *s,
                               int64_t now)
{
    int64_t ns = clock_missed_ns (&a->last_turn_ns, now, TURN_NS);

    if (ns == 0)
        return;
    a->last_peer_ns += ns;
    if (!s)
        return;
    job_was_deaf (&s->job, ns, now);
    s->ended_ns += s->ended_ns > 0 ? ns : 0;
}

void aggregator_check_run (struct aggregator *a, int64_t now)
{
    struct served *s = aggregator_job (a, a->opt->job);
    char name[AGGREGATOR_NAME_MAX];
    const struct job_agent *lost;

    look_whether_deaf (a, s, now);
    if (!s || a->building || a->over)
        return;
    while ((lost = job_lose_silent (&s->job, now, SILENCE_LIMIT_NS)))
        log_warn ("agent-lost", "the agent of host %s has been silent for %d s",
                  aggregator_name (&lost->peer, lost->host, name),
                  (int)(SILENCE_LIMIT_NS / NS_PER_S));
    if (run_is_over (a, s, now)) {
        aggregator_start_build (a, s);
    } else if (nobody_comes (a, &s->job, now)) {
        log_nobody (a, &s->job);
        aggregator_start_build (a, s);     // an empty roll that says so
    }
}

/* The directory where a host keeps undelivered items.  It is the same on all
 * hosts of a run, except for the host's key, unless a user set another STATE
 * there.
 */
static void name_spool (const struct aggregator *a, const struct job_agent *g,
                        char *out, size_t size)
{
    const char *dir = a->opt->run_dir ? a->opt->run_dir : "";
    const char *slash = strrchr (dir, '/');

    (void)snprintf (out, size, "%.*s%s/spool", slash ? (int)(slash + 1 - dir)
                                                     : 0, dir, g->host_key);
}

/* " (2 items and 1 capture that was not read yet; the first that is offered is
 * big.bin of CAPTURE)"
 */
static void name_left (const struct aggregator *a, const struct job_agent *g,
                       char *out, size_t size)
{
    struct ledger_item first;
    size_t n = transfers_offered (a->transfers, &g->peer, &first);
    char offered[400] = "";

    if (n > 0)
        PRINT (offered, "; the first that is offered is %.170s of %.170s",
               *first.path ? first.path : "the rows", first.capture);
    *out = '\0';                // unknown, or it found more since then
    if (n > 0 || g->left_items > 0 || g->left_captures > 0)
        (void)snprintf (out, size, " (items: %llu; captures that were not "
                        "read yet: %llu%s)",
                        (unsigned long long)(g->left_items > n ? g->left_items
                                                               : n),
                        (unsigned long long)g->left_captures, offered);
}

/* Name undelivered data in the result, host by host. */
static void note_undelivered (struct aggregator *a, struct job *j)
{
    for (size_t i = 0; i < j->nagents; i++) {
        const struct job_agent *g = &j->agents[i];
        char text[MESSAGE_TEXT_MAX], shown[UTF8_ESCAPED (MESSAGE_TEXT_MAX)];
        char spool[300], left[480];

        if (g->done && !g->text)
            continue;
        name_spool (a, g, spool, sizeof (spool));
        name_left (a, g, left, sizeof (left));
        PRINT (text, "host %.100s: %s%s; "
               "undelivered data stays in its %s, and captures that "
               "were not read stay where they are", g->host,
               g->lost ? "its agent fell silent before it had "
                         "delivered everything"
                       : "not everything was delivered when the "
                         "deadline passed",
               left, spool);
        // the text of DONE was escaped on arrival
        (void)job_note_final (j, g->done ? g->text
                                         : utf8_escape (text, UTF8_LINES,
                                                        shown));
    }
}

/* The exit status according to the roll; a failed COMMAND does not count. */
static int roll_status (const struct aggregator *a)
{
    if (a->build_rc < 0)
        return EX_CANTCREAT;
    if (!(a->build && job_build_any_rows (a->build)) &&
        !job_has_doubtful (&a->building->job))
        return EX_DATAERR;
    return a->complete ? 0 : 1;
}

/* Write the result for the run's wrapper and for `rollcall wait`. */
static void leave_result (struct aggregator *a)
{
    const struct job *job = &a->building->job;
    const struct job_rank *failed = job_failed (job);
    bool good = a->build_rc >= 0;
    struct json *j = json_object ();
    struct err err = { "" };

    a->status = roll_status (a);
    json_add_text (j, "job", job->id);
    json_add_int (j, "roll_status", a->status);
    json_add_int (j, "command_status", failed ? failed->status : 0);
    json_add_text (j, "error", good ? NULL : a->build_err.text);
    json_add_text (j, "out", a->out);
    json_add_text (j, "analysis_db", good ? a->built.path : NULL);
    json_add_nonempty (j, "kept_path", a->built.kept);
    json_add_nonempty (j, "newer_job", a->built.newer);
    if (a->build && good)
        results_to_json (job_build_results (a->build), j);
    job_to_json (job, j);
    if (json_replace (j, true, a->opt->run_dir, RESULT_NAME, FILEIO_FILE_MODE,
                      &err) < 0)
        log_error ("result-failed", "%s", err.text);
}

/* Tell agents if OUT lacks any of their delivered data: then their captures
 * stay.
 */
static void name_unwritten (const struct aggregator *a, char *out, size_t size)
{
    if (a->build_rc < 0)
        (void)snprintf (out, size, "OUT could not be written: %.600s",
                        a->build_err.text);
    else if (!aggregator_raw_is_whole (a))
        (void)snprintf (out, size, "not all raw files could be put into OUT");
}

/* Tell the agents that the run is over, and repeat it until they are gone: a
 * message may get lost.
 */
static void say_farewell (void *arg)
{
    struct aggregator *a = arg;
    const struct job *j = &a->over->job;
    struct message m = { .type = MESSAGE_ROLL, .complete = a->complete };
    bool anybody = false;

    PRINT (m.text, "%s", a->unwritten);
    for (size_t i = 0; i < j->nagents; i++)
        anybody = net_send (a->net, &j->agents[i].peer, &m) !=
                      -EHOSTUNREACH || anybody;
    if (anybody && clock_mono_ns () - a->over_ns < FAREWELL_NS)
        (void)loop_add_timer (a->loop, FAREWELL_REPEAT_NS, say_farewell, a);
    else
        loop_stop (a->loop, 0);
}

/* Whether the last build saw everything that the ledger has of the job. */
bool aggregator_result_has_all (struct aggregator *a, const struct served *s)
{
    return ledger_newest (a->ledger, s->job.id, aggregator_last_kind (a)) ==
           a->build_seq;
}

/* Whether the run goes on after a build.  Data that arrived during the build
 * was acknowledged, and may be nowhere else by now; another rank, or the
 * successor of a dead agent, may not be done yet.  Then the run goes on as if
 * it had not been built.  It still ends: after the deadline nothing is accepted
 * and nobody is waited for.
 */
static bool goes_on (struct aggregator *a, const struct served *s)
{
    const char *why = NULL;

    if (a->build_rc == 0 && !aggregator_result_has_all (a, s))
        why = "more data arrived while the result was built";
    else if (a->build_rc == 0 && !a->closed && s->job.nranks > 0 &&
             !job_delivered (&s->job))
        why = "a rank joined, or an agent restarted or found more, while the "
              "result was built";
    if (why)
        log_info ("build-repeated", "%s: it is built again", why);
    return why;
}

void aggregator_on_run_built (struct aggregator *a)
{
    struct served *s = a->building;

    aggregator_commit (a);
    if (goes_on (a, s))
        return;
    close_intake (a);
    a->complete = a->build_rc == 0 && roster_complete (&a->roster) &&
                  job_is_whole (&s->job) && aggregator_raw_is_whole (a);
    note_undelivered (a, &s->job);
    if (a->opt->run_dir)
        leave_result (a);
    a->over = s;
    a->over_ns = clock_mono_ns ();
    name_unwritten (a, a->unwritten, sizeof (a->unwritten));
    say_farewell (a);
}
