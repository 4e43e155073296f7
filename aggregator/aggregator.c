/* aggregator/aggregator.c - the process that takes in and builds
 *
 * One loop: messages in, group commits, and for each job the question whether
 * it is time to build.  A build runs in a thread of its own, so that agents
 * are answered meanwhile.
 */
#include "aggregator.h"

#include "base/clock.h"
#include "base/fileio.h"
#include "base/log.h"
#include "intake/job.h"
#include "intake/job_build.h"
#include "intake/transfer.h"
#include "result.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sysexits.h>
#include <unistd.h>

#define TICK_NS (100 * NS_PER_MS)
#define COMMIT_NS (2 * NS_PER_MS)       // items that come close share a sync
#define HELLO_LIMIT_NS (60 * NS_PER_S)  // a run that nobody joins ends
#define SILENCE_LIMIT_NS (60 * NS_PER_S)        // an agent this silent is lost
#define STRAGGLER_NS (10 * NS_PER_S)    // for ranks that never reported
#define SETTLE_NS (2 * NS_PER_S)        // a service builds when this quiet
#define FAREWELL_NS (3 * NS_PER_S)      // for agents to hear that it is over
#define FAREWELL_REPEAT_NS (50 * NS_PER_MS)

struct served {                 // a job, and what was built of it
    struct job job;
    int64_t ended_ns;           // when all COMMANDs had ended, 0: not yet
    int64_t changed_ns;         // last new item, 0: nothing to build
    struct served *next;
};

struct aggregator {
    const struct aggregator_options *opt;
    struct loop *loop;
    struct net *net;
    struct ledger *ledger;
    struct store *store;
    struct transfers *transfers;
    struct served *jobs;
    int64_t began_ns;
    int signal_fd;
    bool commit_armed;
    // the build that is under way
    struct served *building;
    struct job_build *build;
    struct roster roster;
    struct build_result built;
    char out[PATH_MAX];
    pthread_t thread;
    bool threaded;              // there is one to be joined
    int build_fd;               // becomes readable when it has ended
    int build_rc;
    struct err build_err;
    // the end of a run
    struct served *over;        // the job whose result has been written
    bool complete;              // every rank is present, nothing is left here
    int64_t over_ns;
    int status;                 // of the program
};

static void tick (void *arg);

/* ---- jobs ---- */

static struct served *job_of (struct aggregator *a, const char *id)
{
    struct served *s;

    for (s = a->jobs; s; s = s->next) {
        if (strcmp (s->job.id, id) == 0)
            return s;
    }
    if (a->opt->job && strcmp (a->opt->job, id) != 0)
        return NULL;            // a run serves its own job only
    if (!(s = calloc (1, sizeof (*s))))
        return NULL;
    job_init (&s->job, id, a->opt->world_size);
    s->next = a->jobs;
    a->jobs = s;
    return s;
}

static struct served *served_of (struct aggregator *a,
                                 const struct net_peer *from,
                                 struct job_agent **agent)
{
    for (struct served *s = a->jobs; s; s = s->next) {
        if ((*agent = job_agent_of (&s->job, from)))
            return s;
    }
    return NULL;
}

/* ---- commits ---- */

static void commit (void *arg)
{
    struct aggregator *a = arg;
    struct err err = { "" };
    size_t added = 0;

    a->commit_armed = false;
    if (!transfers_pending (a->transfers))
        return;
    if (transfers_commit (a->transfers, &added, &err) < 0) {
        // nothing was acknowledged; agents offer everything again
        log_text (LOG_LEVEL_ERROR, "commit-failed", "%s", err.text);
        return;
    }
    for (struct served *s = a->jobs; s && added > 0; s = s->next)
        s->changed_ns = clock_mono_ns ();
}

static void commit_soon (struct aggregator *a)
{
    if (a->commit_armed || !transfers_pending (a->transfers))
        return;
    a->commit_armed = true;
    (void)loop_add_timer (a->loop, COMMIT_NS, commit, a);
}

/* ---- messages ---- */

static void reply (struct aggregator *a, const struct net_peer *to,
                   enum message_type type, const char *text)
{
    struct message m = { .type = type };

    (void)snprintf (m.text, sizeof (m.text), "%s", text);
    (void)net_send (a->net, to, &m);
}

/* When one rank has failed, the others are to be ended. */
static void say_stop (struct aggregator *a, const struct served *s,
                      const struct net_peer *to)
{
    const struct job_rank *failed = job_failed (&s->job);
    char text[MESSAGE_TEXT_MAX];

    if (!failed)
        return;
    (void)snprintf (text, sizeof (text), "rank %lld failed (%.300s)",
                    (long long)failed->rank, failed->text ? failed->text : "");
    reply (a, to, MESSAGE_STOP, text);
}

/* The front end of a launcher asks whether anybody ever came. */
static void mark_joined (struct aggregator *a)
{
    char path[PATH_MAX];

    if (a->opt->run_dir &&
        fileio_join (path, sizeof (path), a->opt->run_dir, "joined"))
        (void)fileio_replace (path, "", 0, FILEIO_FILE_MODE, NULL);
}

static void on_hello (struct aggregator *a, const struct net_peer *from,
                      const struct message *m)
{
    struct served *s = job_of (a, m->job);
    struct net_peer old;
    struct job_agent *known;

    if (!s) {
        reply (a, from, MESSAGE_REFUSED, "this aggregator serves another job");
        return;
    }
    known = job_agent_of (&s->job, from);
    if (!job_hello (&s->job, from, m, clock_mono_ns (), &old))
        return;
    if (old.size > 0)
        transfers_forget (a->transfers, &old);
    if (!known) {
        struct logline l = log_line (LOG_LEVEL_INFO, "agent");

        mark_joined (a);

        log_str (&l, "job", m->job);
        log_str (&l, "host", m->host);
        log_end (&l);
    }
    reply (a, from, MESSAGE_WELCOME, "");
    if (a->opt->job)
        say_stop (a, s, from);
}

static void on_rank (struct aggregator *a, struct served *s,
                     const struct job_agent *agent, const struct message *m)
{
    bool failed_before = job_failed (&s->job) != NULL;

    if (job_rank (&s->job, agent, m) < 0)
        return;                 // it is said again
    if (!failed_before && job_failed (&s->job)) {
        struct logline l = log_line (LOG_LEVEL_WARN, "command-failed");

        log_int (&l, "rank", m->rank);
        log_int (&l, "status", m->status);
        log_str (&l, "text", m->text);
        log_end (&l);
        for (size_t i = 0; a->opt->job && i < s->job.nagents; i++)
            say_stop (a, s, &s->job.agents[i].peer);
    }
}

static void on_known (struct aggregator *a, struct served *s,
                      struct job_agent *agent, const struct net_peer *from,
                      const struct message *m)
{
    struct err err = { "" };
    int rc = 0;

    agent->heard_ns = clock_mono_ns ();
    switch (m->type) {
    case MESSAGE_RANK:
        on_rank (a, s, agent, m);
        break;
    case MESSAGE_NOTE:
        rc = job_note (&s->job, m->text);
        break;
    case MESSAGE_DONE:
        rc = job_done (agent, m->text);
        break;
    case MESSAGE_OFFER:
        rc = transfers_offer (a->transfers, from, s->job.id, agent->host, m,
                              &err);
        break;
    case MESSAGE_CHUNK:
        rc = transfers_chunk (a->transfers, from, m, &err);
        break;
    case MESSAGE_GONE:
        transfers_gone (a->transfers, from, m->item);
        break;
    default:
        break;
    }
    if (rc < 0)
        log_text (LOG_LEVEL_ERROR, "intake-failed", "%s from %s: %s",
                  message_name (m->type), agent->host,
                  err.text[0] ? err.text : strerror (-rc));
    commit_soon (a);
}

static void on_message (void *arg, const struct net_peer *from,
                        const struct message *m, int bad,
                        const struct err *err)
{
    struct aggregator *a = arg;
    struct job_agent *agent;
    struct served *s;

    if (!m) {
        log_text (LOG_LEVEL_WARN, "refused", "a message was refused: %s",
                  err->text);
        if (bad == -EPROTONOSUPPORT)
            reply (a, from, MESSAGE_REFUSED, err->text);
        return;
    }
    if (m->type == MESSAGE_HELLO)
        on_hello (a, from, m);
    else if ((s = served_of (a, from, &agent)))
        on_known (a, s, agent, from, m);
    // whoever has not said hello repeats itself, hello first
}

/* ---- builds ---- */

static void build_ended (struct aggregator *a)
{
    uint64_t one = 1;
    ssize_t n = write (a->build_fd, &one, sizeof (one));

    (void)n;
}

static void *run_build (void *arg)
{
    struct aggregator *a = arg;

    a->build_rc = job_build_run (a->build, a->out,
                                 (unsigned)a->opt->threads, &a->roster,
                                 &a->built, &a->build_err);
    build_ended (a);
    return NULL;
}

static int prepare_roster (struct aggregator *a, const struct served *s)
{
    int rc = 0;

    if (s->job.world_size > 0)
        rc = roster_expect_world (&a->roster, s->job.world_size,
                                  a->opt->job ? "rollcall run" : "agents");
    return rc < 0 ? rc : job_fill_roster (&s->job, &a->roster);
}

static void prepare_build (struct aggregator *a, struct served *s)
{
    a->build_err.text[0] = '\0';
    memset (&a->built, 0, sizeof (a->built));
    roster_init (&a->roster);
    if (a->opt->out)
        (void)snprintf (a->out, sizeof (a->out), "%s", a->opt->out);
    else
        (void)snprintf (a->out, sizeof (a->out), "%s/jobs/%s", a->opt->root,
                        s->job.id);
    a->build = job_build_create (a->ledger, a->store, s->job.id,
                                 &a->build_err);
    if (!a->build)
        a->build_rc = -EIO;
    else if ((a->build_rc = prepare_roster (a, s)) < 0)
        (void)err_sys (&a->build_err, -a->build_rc, "cannot call the roll");
}

static void start_build (struct aggregator *a, struct served *s)
{
    a->building = s;
    s->changed_ns = 0;
    a->threaded = false;
    prepare_build (a, s);
    if (a->build_rc < 0)
        build_ended (a);
    else if (pthread_create (&a->thread, NULL, run_build, a) == 0)
        a->threaded = true;
    else
        (void)run_build (a);    // no thread to be had: agents wait
}

/* What a run leaves behind for its wrapper and for `rollcall wait`. */
static void write_result (struct aggregator *a)
{
    struct result r = {
        .job = &a->building->job, .roster = &a->roster,
        .out = a->out, .error = a->build_rc < 0 ? a->build_err.text : NULL,
        .error_code = a->build_rc, .path = a->built.path,
        .kept = a->built.kept,
        .any_rows = a->build && job_build_any_rows (a->build),
    };
    struct err err = { "" };

    if (result_write (a->opt->run_dir, &r, &a->status, &err) < 0)
        log_text (LOG_LEVEL_ERROR, "result-failed", "%s", err.text);
}

static void put_raw_tree (struct aggregator *a)
{
    char dir[PATH_MAX];
    struct err err = { "" };
    size_t n = 0;

    if (!a->opt->raw || a->build_rc < 0)
        return;
    if (!fileio_join (dir, sizeof (dir), a->out, "captures") ||
        job_build_raw_tree (a->ledger, a->store, a->building->job.id, dir, &n,
                            &err) < 0) {
        log_text (LOG_LEVEL_ERROR, "raw-failed", "%s", err.text);
        a->build_rc = -EIO;
        a->build_err = err;
        return;
    }
    log_text (LOG_LEVEL_INFO, "raw", "%zu raw files in %s", n, dir);
}

/* Tell the agents that it is over, again and again until they are gone: a
 * message that was sent need not have arrived.
 */
static void say_farewell (void *arg)
{
    struct aggregator *a = arg;
    const struct job *j = &a->over->job;
    struct message m = { .type = MESSAGE_ROLL, .complete = a->complete };
    bool anybody = false;

    for (size_t i = 0; i < j->nagents; i++)
        anybody = net_send (a->net, &j->agents[i].peer, &m) !=
                      -EHOSTUNREACH || anybody;
    if (anybody && clock_mono_ns () - a->over_ns < FAREWELL_NS)
        (void)loop_add_timer (a->loop, FAREWELL_REPEAT_NS, say_farewell, a);
    else
        loop_stop (a->loop, 0);
}

static void end_run (struct aggregator *a)
{
    a->over = a->building;
    a->over_ns = clock_mono_ns ();
    a->complete = a->build_rc == 0 && roster_complete (&a->roster) &&
                  job_delivered (&a->over->job) && !job_lost (&a->over->job);
    say_farewell (a);
}

static void log_built (const struct aggregator *a)
{
    struct logline l = log_line (a->build_rc < 0 ? LOG_LEVEL_ERROR
                                                 : LOG_LEVEL_INFO,
                                 a->build_rc < 0 ? "build-failed" : "built");

    log_str (&l, "job", a->building->job.id);
    if (a->build_rc < 0) {
        log_str (&l, "text", a->build_err.text);
    } else {
        log_str (&l, "path", a->built.path);
        log_int (&l, "rows", (int64_t)a->built.rows);
        log_int (&l, "present",
                 (int64_t)roster_count (&a->roster, ROSTER_PRESENT));
        log_int (&l, "expected", a->roster.world_size);
    }
    log_end (&l);
}

static void on_built (void *arg)
{
    struct aggregator *a = arg;
    uint64_t count;

    if (read (a->build_fd, &count, sizeof (count)) < 0)
        return;
    if (a->threaded)
        (void)pthread_join (a->thread, NULL);
    put_raw_tree (a);
    log_built (a);
    if (a->opt->run_dir)
        write_result (a);
    if (a->opt->job)
        end_run (a);
    job_build_destroy (a->build);
    roster_fini (&a->roster);
    a->build = NULL;
    a->building = NULL;
}

/* ---- time ---- */

/* Whether everything that a run can hope for has come, or time is up. */
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
        log_text (LOG_LEVEL_WARN, "deadline", "not everything had come when "
                  "the deadline passed");
        return true;
    }
    if (!job_delivered (&s->job) || transfers_pending (a->transfers))
        return false;
    return job_all_reported (&s->job) || waited >= STRAGGLER_NS;
}

static void check_run (struct aggregator *a, int64_t now)
{
    struct served *s = job_of (a, a->opt->job);

    if (!s || a->building || a->over)
        return;
    if (job_lose_silent (&s->job, now, SILENCE_LIMIT_NS) > 0)
        log_text (LOG_LEVEL_WARN, "agent-lost", "an agent has been silent for "
                  "%d s", (int)(SILENCE_LIMIT_NS / NS_PER_S));
    if (run_is_over (a, s, now)) {
        start_build (a, s);
    } else if (s->job.nagents == 0 && now - a->began_ns > HELLO_LIMIT_NS) {
        log_text (LOG_LEVEL_ERROR, "nobody", "no agent has said hello for "
                  "%d s on %s: is a firewall in between?",
                  (int)(HELLO_LIMIT_NS / NS_PER_S), a->opt->listen);
        start_build (a, s);     // an empty roll, that says so
    }
}

static void check_service (struct aggregator *a, int64_t now)
{
    for (struct served *s = a->jobs; s && !a->building; s = s->next) {
        if (s->changed_ns > 0 && now - s->changed_ns >= SETTLE_NS)
            start_build (a, s);
    }
}

static void tick (void *arg)
{
    struct aggregator *a = arg;
    int64_t now = clock_mono_ns ();

    if (a->opt->job)
        check_run (a, now);
    else
        check_service (a, now);
    (void)loop_add_timer (a->loop, TICK_NS, tick, a);
}

static void on_signal (void *arg)
{
    struct aggregator *a = arg;
    struct signalfd_siginfo info;

    if (read (a->signal_fd, &info, sizeof (info)) != sizeof (info))
        return;
    log_text (LOG_LEVEL_INFO, "signal", "ending by signal %u", info.ssi_signo);
    a->status = a->opt->job ? EX_TEMPFAIL : 0;
    loop_stop (a->loop, 0);
}

/* ---- life ---- */

static int open_disk (struct aggregator *a, struct err *err)
{
    char path[PATH_MAX];
    int rc = fileio_mkdirs (a->opt->root, FILEIO_DIR_MODE, err);
    const char *remote;

    if (rc < 0)
        return rc;
    if ((remote = fileio_remote_fs (a->opt->root)))
        return err_set (err, ENOTSUP, "%s is on a shared file system (%s), "
                        "where a ledger is not safe: choose a local directory",
                        a->opt->root, remote);
    if (!fileio_join (path, sizeof (path), a->opt->root, "ledger.db"))
        return err_set (err, ENAMETOOLONG, "path is too long: %s",
                        a->opt->root);
    rc = ledger_open (path, &a->ledger, err);
    return rc < 0 ? rc : store_open (a->opt->root, a->ledger, &a->store, err);
}

static int open_signals (struct aggregator *a, struct err *err)
{
    sigset_t set;

    (void)sigemptyset (&set);
    (void)sigaddset (&set, SIGTERM);
    (void)sigaddset (&set, SIGINT);
    (void)sigprocmask (SIG_BLOCK, &set, NULL);
    a->signal_fd = signalfd (-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    a->build_fd = eventfd (0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (a->signal_fd < 0 || a->build_fd < 0)
        return err_sys (err, errno, "cannot watch for signals");
    return 0;
}

/* A descriptor that was handed over must be what it is said to be. */
static bool is_listening (int fd)
{
    int yes = 0;
    socklen_t size = sizeof (yes);

    return getsockopt (fd, SOL_SOCKET, SO_ACCEPTCONN, &yes, &size) == 0 && yes;
}

static int start (struct aggregator *a, struct err *err)
{
    int rc;

    if (a->opt->listen_fd >= 0 && !is_listening ((int)a->opt->listen_fd))
        return err_set (err, EINVAL, "--listen-fd %d is not a listening "
                        "socket", (int)a->opt->listen_fd);
    if ((rc = open_signals (a, err)) < 0 || (rc = open_disk (a, err)) < 0 ||
        (rc = net_listen (a->opt->listen, (int)a->opt->listen_fd, &a->net,
                          err)) < 0)
        return rc;
    a->loop = loop_create ();
    a->transfers = transfers_create (a->net, a->ledger, a->store);
    if (!a->loop || !a->transfers ||
        net_attach (a->net, a->loop, on_message, a) < 0 ||
        loop_add_fd (a->loop, a->signal_fd, on_signal, a) < 0 ||
        loop_add_fd (a->loop, a->build_fd, on_built, a) < 0)
        return err_set (err, ENOMEM, "no memory to serve");
    return 0;
}

static void stop (struct aggregator *a)
{
    if (a->building) {
        if (a->threaded)
            (void)pthread_join (a->thread, NULL);
        job_build_destroy (a->build);
        roster_fini (&a->roster);
    }
    transfers_destroy (a->transfers);
    net_close (a->net);
    loop_destroy (a->loop);
    store_close (a->store);
    ledger_close (a->ledger);
    while (a->jobs) {
        struct served *next = a->jobs->next;

        job_fini (&a->jobs->job);
        free (a->jobs);
        a->jobs = next;
    }
    if (a->signal_fd >= 0)
        (void)close (a->signal_fd);
    if (a->build_fd >= 0)
        (void)close (a->build_fd);
    // a run's own root, of which everything is in OUT now
    if (a->complete && a->opt->run_dir)
        (void)fileio_remove_tree (a->opt->root, NULL);
}

int aggregator_serve (const struct aggregator_options *opt)
{
    struct aggregator a = { .opt = opt, .signal_fd = -1, .build_fd = -1,
                            .began_ns = clock_mono_ns () };
    struct err err = { "" };
    int rc;

    if (!net_is_loopback (opt->listen) && !opt->insecure) {
        log_text (LOG_LEVEL_ERROR, "refused", "%s can be reached from other "
                  "hosts, and connections are not encrypted yet: listen on "
                  "127.0.0.1, or say --insecure", opt->listen);
        return EX_CONFIG;
    }
    rc = start (&a, &err);
    if (rc < 0) {
        log_text (LOG_LEVEL_ERROR, "start-failed", "%s", err.text);
        a.status = EX_CANTCREAT;
    } else {
        log_text (LOG_LEVEL_INFO, "listening", "%s, root %s%s", opt->listen,
                  opt->root, net_is_loopback (opt->listen)
                                 ? " (this host only)"
                                 : " (not encrypted, anybody may connect)");
        tick (&a);
        (void)loop_run (a.loop);
    }
    stop (&a);
    return a.status;
}
