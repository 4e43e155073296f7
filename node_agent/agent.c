/* node_agent/agent.c - the process that watches and ships, one per node
 *
 * One loop: wrappers on this host, the watched directories, the sealer's
 * results, the aggregator.  Three ways to live: as part of a run (ends with
 * it), --once (ends when all is delivered), as a service (does not end).
 */
#include "agent.h"

#include "base/clock.h"
#include "base/fileio.h"
#include "base/log.h"
#include "control/control.h"
#include "control/orphans.h"
#include "sealer.h"
#include "ship/ship.h"
#include "world/host.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sysexits.h>
#include <unistd.h>

#define NICE 19                         // never in the job's way
#define SCAN_NS (250 * NS_PER_MS)       // between searches, at least
#define SCAN_SHARE 50                   // or 50 times what one took (2 %)
#define QUIET_AFTER_END_NS (500 * NS_PER_MS)    // its writer is gone by then
#define ALONE_LIMIT_NS (60 * NS_PER_S)  // a run's agent that no wrapper joins
#define UNHEARD_LIMIT_NS (60 * NS_PER_S)        // of the aggregator, at first
#define SILENT_LIMIT_NS (20 * NS_PER_S) // of it, when all is delivered
#define REJOIN_LIMIT_NS (10 * NS_PER_S) // for wrappers of a former life

struct client {                 // a wrapper's connection
    struct agent *agent;
    int fd;
    int64_t rank;               // -1 before its hello
    bool ended;                 // its COMMAND has
    struct client *next;
};

struct local_rank {             // a rank of this host, also after its wrapper
    int64_t rank, local_rank;
    bool joined;                // its wrapper has, in this life
    bool ended;
    int64_t status;
    char text[MESSAGE_TEXT_MAX];
    char *dirs;                 // where its captures were looked for
    char *capture_dir;          // its own of them
    struct local_rank *next;
};

struct agent {
    const struct agent_options *opt;
    struct loop *loop;
    struct watch *watch;
    struct spool *spool;
    struct sealer *sealer;
    struct ship *ship;
    char host[HOST_NAME_MAX_BYTES], key[HOST_KEY_SIZE];
    int listener, signal_fd;
    struct client *clients;
    struct local_rank *ranks;
    int64_t began_ns, ended_ns;         // all COMMANDs had; 0: not yet
    unsigned scans_after_end;
    bool done_said, flushed, over;
    bool complete;              // every rank is present, nothing is left here
    int status;
};

static void scan (void *arg);
static void check_done (struct agent *a);
static void rank_ended (struct agent *a, struct local_rank *r, int64_t status,
                        const char *text);

static void finish (struct agent *a, int status)
{
    a->status = status;
    loop_stop (a->loop, 0);
}

/* ---- captures ---- */

static struct local_rank *rank_of (struct agent *a, int64_t rank)
{
    struct local_rank *r = a->ranks;

    while (r && r->rank != rank)
        r = r->next;
    return r;
}

/* A capture on a shared file system is seen by the agents of all hosts: each
 * takes those of its own ranks, and those that no rank of the world has.
 */
static bool is_ours (struct agent *a, int64_t rank)
{
    return !a->opt->run_dir || rank < 0 || rank >= a->opt->world_size ||
           rank_of (a, rank);
}

static void note_shared (struct agent *a, const char *path)
{
    char note[MESSAGE_TEXT_MAX], dir[PATH_MAX];
    const char *fs = fileio_remote_fs (path);
    char *slash;

    if (!fs)
        return;
    (void)snprintf (dir, sizeof (dir), "%s", path);
    if ((slash = strrchr (dir, '/')) && slash != dir)
        *slash = '\0';
    (void)snprintf (note, sizeof (note), "captures are written to a shared "
                    "file system (%s, %.600s), which stalls the job: let the "
                    "profiler write to $ROLLCALL_CAPTURE_DIR, or to another "
                    "local directory named by --watch", fs, dir);
    (void)ship_note (a->ship, note);
}

static void log_sealed (const struct sealed *s)
{
    struct logline l = log_line (LOG_LEVEL_INFO, "sealed");

    log_str (&l, "capture", s->what.path);
    log_int (&l, "rank", s->rank);
    log_str (&l, "state", s->state);
    log_int (&l, "items", (int64_t)s->nitems);
    log_end (&l);
}

static void on_sealed (void *arg, struct sealed *s)
{
    struct agent *a = arg;
    char note[MESSAGE_TEXT_MAX];

    if (s->rc == 0 && !is_ours (a, s->rank) &&
        fileio_remote_fs (s->what.path)) {
        (void)unlink (s->temp);
    } else {
        if (s->rc == 0)
            s->rc = spool_seal (a->spool, s->what.path, s->what.fingerprint,
                                s->items, s->nitems, &s->err);
        if (s->rc < 0) {
            log_text (LOG_LEVEL_ERROR, "seal-failed", "%s: %s", s->what.path,
                      s->err.text);
            (void)snprintf (note, sizeof (note), "host %s: %.300s was not "
                            "delivered: %.300s", a->host, s->what.path,
                            s->err.text);
            (void)ship_note (a->ship, note);
        } else {
            log_sealed (s);
            note_shared (a, s->what.path);
            ship_kick (a->ship);
        }
    }
    check_done (a);
}

static int on_settled (void *arg, const struct watch_settled *settled,
                       struct err *err)
{
    struct agent *a = arg;
    struct watch_settled version = *settled, *s = &version;
    char temp[PATH_MAX];
    int rc;

    if (a->opt->raw)            // more than what was sealed without it
        (void)snprintf (s->fingerprint, sizeof (s->fingerprint), "%.80s/raw",
                        settled->fingerprint);
    if (spool_knows (a->spool, s->path, s->fingerprint))
        return 0;               // sealed in a former life of this agent
    if ((rc = spool_temp (a->spool, temp, err)) < 0)
        return rc;
    rc = sealer_add (a->sealer, s, temp);
    return rc < 0 ? err_set (err, ENOMEM, "no memory for %s", s->path) : 0;
}

static bool all_ended (const struct agent *a)
{
    for (const struct local_rank *r = a->ranks; r; r = r->next) {
        if (!r->ended)
            return false;
    }
    return a->ranks != NULL;
}

static int64_t quiet_ns (const struct agent *a)
{
    if (a->opt->once)
        return 0;
    if (a->ended_ns > 0 && a->opt->quiet_ns > QUIET_AFTER_END_NS)
        return QUIET_AFTER_END_NS;
    return a->opt->quiet_ns;
}

/* Report directories that could not be searched. */
static void report_problems (struct agent *a)
{
    const char *text;

    while ((text = watch_next_problem (a->watch))) {
        char note[MESSAGE_TEXT_MAX];

        (void)snprintf (note, sizeof (note), "host %s: %.700s", a->host, text);
        log_text (LOG_LEVEL_WARN, "watch", "%s", text);
        (void)ship_note (a->ship, note);
    }
}

static void scan (void *arg)
{
    struct agent *a = arg;
    struct err err = { "" };
    int64_t began = clock_mono_ns (), took;
    int rc;

    rc = watch_scan (a->watch, quiet_ns (a), began, clock_wall_ns (),
                     on_settled, a, &err);
    if (rc == 0 && a->ended_ns > 0 && !a->flushed &&
        began - a->ended_ns > a->opt->deadline_ns / 2) {
        // half of the time is left to deliver what will not settle
        a->flushed = true;
        rc = watch_flush (a->watch, on_settled, a, &err);
    }
    if (rc < 0)
        log_text (LOG_LEVEL_ERROR, "watch-failed", "%s", err.text);
    report_problems (a);
    if (a->ended_ns > 0)
        a->scans_after_end++;
    took = clock_mono_ns () - began;
    (void)loop_add_timer (a->loop, took * SCAN_SHARE > SCAN_NS
                                       ? took * SCAN_SHARE : SCAN_NS, scan, a);
    check_done (a);
}

/* ---- the end ---- */

static void explain_rank (struct agent *a, struct local_rank *r)
{
    char text[MESSAGE_TEXT_MAX];

    if (spool_has_rank (a->spool, r->rank))
        (void)snprintf (text, sizeof (text), "%s", r->text);
    else
        (void)snprintf (text, sizeof (text), "%.500s%sit wrote no capture "
                        "below %.400s", r->text, r->text[0] ? "; " : "",
                        r->dirs ? r->dirs : "its directories");
    (void)ship_rank (a->ship, r->rank, r->local_rank, RANK_ENDED, r->status,
                     text);
}

static bool nothing_left (struct agent *a)
{
    return sealer_pending (a->sealer) == 0 &&
           (watch_unsettled (a->watch) == 0 || a->flushed) &&
           spool_undelivered (a->spool) == 0;
}

static void check_done (struct agent *a)
{
    if (a->over || !a->ship || !nothing_left (a))
        return;
    if (a->opt->once && !a->opt->run_dir) {
        finish (a, 0);
    } else if (a->opt->run_dir && !a->done_said && all_ended (a) &&
               a->scans_after_end > 1) {
        for (struct local_rank *r = a->ranks; r; r = r->next)
            explain_rank (a, r);
        ship_done (a->ship, "");
        a->done_said = true;
    }
}

static void tell_clients (struct agent *a, const char *type, const char *text,
                          bool complete)
{
    for (struct client *c = a->clients; c; c = c->next) {
        struct json *j = json_object ();

        json_add_text (j, "type", type);
        json_add_text (j, "text", text);
        json_add_bool (j, "complete", complete);
        (void)control_send (c->fd, j);
    }
}

/* COMMAND is gone; what it started may not be. */
static void kill_orphans (const struct local_rank *r)
{
    size_t n = r->capture_dir ? orphans_kill ("ROLLCALL_CAPTURE_DIR",
                                              r->capture_dir) : 0;

    if (n > 0)
        log_text (LOG_LEVEL_WARN, "orphans-killed", "%zu processes that the "
                  "COMMAND of rank %lld had started and left", n,
                  (long long)r->rank);
}

static void wrapper_died (struct agent *a, struct local_rank *r)
{
    log_text (LOG_LEVEL_WARN, "wrapper-died", "that of rank %lld",
              (long long)r->rank);
    kill_orphans (r);
    rank_ended (a, r, 128 + SIGKILL, "its wrapper was killed, and its COMMAND "
                                     "with it");
}

/* Wrappers that said hello to a former life of this agent come back at once;
 * those that do not are dead.
 */
static void check_rejoined (struct agent *a, int64_t now)
{
    for (struct local_rank *r = a->ranks; r; r = r->next) {
        if (!r->ended && !r->joined && now - a->began_ns > REJOIN_LIMIT_NS)
            wrapper_died (a, r);
    }
}

/* Why this process has no purpose any more, or NULL. */
static const char *useless (const struct agent *a, int64_t now)
{
    int64_t heard = ship_heard_ns (a->ship);
    int64_t silent = now - (heard ? heard : a->began_ns);
    bool waiting = a->ended_ns > 0 || a->opt->once;

    if (a->opt->run_dir && !a->ranks && now - a->began_ns > ALONE_LIMIT_NS)
        return "no wrapper has joined";
    if (waiting && heard == 0 && silent > UNHEARD_LIMIT_NS)
        return "the aggregator cannot be reached: is a firewall in between?";
    if (a->opt->once && silent > UNHEARD_LIMIT_NS)
        return "the aggregator is gone; what was not delivered stays on disk";
    if (a->done_said && silent > SILENT_LIMIT_NS)
        return "everything is delivered and the aggregator is gone";
    if (a->ended_ns > 0 && silent > SILENT_LIMIT_NS &&
        now - a->ended_ns > a->opt->deadline_ns + SILENT_LIMIT_NS)
        return "the aggregator is gone; what was not delivered stays on disk";
    return NULL;
}

static void check_life (void *arg)
{
    struct agent *a = arg;
    int64_t now = clock_mono_ns ();
    const char *why = useless (a, now);

    check_rejoined (a, now);
    if (why) {
        log_text (LOG_LEVEL_WARN, "ending", "%s", why);
        tell_clients (a, "roll", why, false);
        finish (a, spool_undelivered (a->spool) ? EX_UNAVAILABLE : 0);
        return;
    }
    (void)loop_add_timer (a->loop, NS_PER_S, check_life, a);
}

/* ---- the aggregator ---- */

static void on_welcome (void *arg)
{
    struct agent *a = arg;

    log_text (LOG_LEVEL_INFO, "connected", "%s", a->opt->aggregator);
}

static void on_stop (void *arg, const char *why)
{
    tell_clients (arg, "stop", why, false);
}

/* When an agent dies every wrapper starts another.  One that comes so late that
 * the run is over by then must not wait for wrappers: it is told by a file.
 */
static bool over_path (const struct agent *a, char path[PATH_MAX])
{
    return fileio_join (path, PATH_MAX, a->opt->run_dir, "agent.over");
}

static void mark_over (const struct agent *a)
{
    char path[PATH_MAX];

    if (over_path (a, path))
        (void)fileio_replace (path, "", 0, FILEIO_FILE_MODE, NULL);
}

static bool is_over (const struct agent *a)
{
    char path[PATH_MAX];

    return a->opt->run_dir && over_path (a, path) && access (path, F_OK) == 0;
}

static void on_roll (void *arg, bool complete, const char *text)
{
    struct agent *a = arg;

    a->over = true;
    a->complete = complete && spool_undelivered (a->spool) == 0;
    tell_clients (a, "roll", text, complete);
    if (a->opt->run_dir) {
        mark_over (a);
        finish (a, 0);
    }
}

static void on_refused (void *arg, const char *why)
{
    struct agent *a = arg;

    log_text (LOG_LEVEL_ERROR, "refused", "%s refused this agent: %s",
              a->opt->aggregator, why);
    tell_clients (a, "roll", why, false);
    finish (a, EX_PROTOCOL);
}

static void on_delivered (void *arg)
{
    check_done (arg);
}

/* ---- wrappers ---- */

static void rank_ended (struct agent *a, struct local_rank *r, int64_t status,
                        const char *text)
{
    if (r->ended)
        return;
    r->ended = true;
    r->status = status;
    (void)snprintf (r->text, sizeof (r->text), "%s", text);
    (void)ship_rank (a->ship, r->rank, r->local_rank, RANK_ENDED, status,
                     text);
    if (all_ended (a) && a->ended_ns == 0) {
        a->ended_ns = clock_mono_ns ();
        a->scans_after_end = 0;
        scan (a);
    }
}

static void drop_client (struct client *c)
{
    struct agent *a = c->agent;
    struct client **at = &a->clients;
    struct local_rank *r = rank_of (a, c->rank);

    while (*at != c)
        at = &(*at)->next;
    *at = c->next;
    loop_del_fd (a->loop, c->fd);
    (void)close (c->fd);
    if (r && !r->ended && !c->ended)
        wrapper_died (a, r);
    free (c);
}

static void watch_dirs (struct agent *a, struct local_rank *r,
                        const struct json *hello)
{
    const char *own = json_text (json_get (hello, "capture_dir"), NULL);
    const char *since = json_text (json_get (hello, "since_ns"), "0");
    const struct json *d = json_first (json_get (hello, "watch"));
    struct buf dirs;

    buf_init (&dirs, 4096);
    if (own) {
        (void)watch_add (a->watch, own, 0, r->rank, NULL);
        buf_printf (&dirs, "%s", own);
    }
    for (; d; d = json_next (d)) {
        const char *dir = json_text (d, "");

        (void)watch_add (a->watch, dir, strtoll (since, NULL, 10), -1, NULL);
        buf_printf (&dirs, "%s%s", dirs.size ? ", " : "", dir);
    }
    free (r->dirs);
    free (r->capture_dir);
    r->dirs = strdup (buf_text (&dirs));
    r->capture_dir = own ? strdup (own) : NULL;
    buf_fini (&dirs);
}

/* A rank by what its wrapper says of it in 'hello'. */
static struct local_rank *rank_began (struct agent *a, const struct json *hello)
{
    int64_t rank, local = -1;
    struct local_rank *r;

    if (!json_int (json_get (hello, "rank"), &rank) || rank < 0)
        return NULL;
    (void)json_int (json_get (hello, "local_rank"), &local);
    if (!(r = rank_of (a, rank))) {
        if (!(r = calloc (1, sizeof (*r))))
            return NULL;
        r->rank = rank;
        r->next = a->ranks;
        a->ranks = r;
    }
    r->local_rank = local;
    watch_dirs (a, r, hello);
    if (!r->ended)
        (void)ship_rank (a->ship, rank, local, RANK_RUNNING, 0, "");
    return r;
}

/* A rank's end by what its wrapper says of it. */
static void take_end (struct agent *a, struct local_rank *r,
                      const struct json *ended)
{
    int64_t status = 0;

    (void)json_int (json_get (ended, "status"), &status);
    rank_ended (a, r, status, json_text (json_get (ended, "text"), ""));
}

static void keep_said (struct agent *a, const struct local_rank *r,
                       const struct json *j)
{
    char *text = json_print (j, false);
    struct err err = { "" };

    if (text && spool_keep_said (a->spool, r->rank,
                                 json_text (json_get (j, "type"), ""), text,
                                 &err) < 0)
        log_text (LOG_LEVEL_ERROR, "keep-failed", "%s", err.text);
    free (text);
}

static void answer (const struct client *c, const char *type)
{
    struct json *j = json_object ();

    json_add_text (j, "type", type);
    (void)control_send (c->fd, j);
}

static void on_hello (struct client *c, const struct json *j)
{
    struct local_rank *r = rank_began (c->agent, j);

    if (!r)
        return;
    c->rank = r->rank;
    r->joined = true;
    keep_said (c->agent, r, j);
    answer (c, "welcome");
}

static void on_packet (struct client *c, const struct json *j)
{
    const char *type = json_text (json_get (j, "type"), "");
    struct local_rank *r = rank_of (c->agent, c->rank);

    if (strcmp (type, "hello") == 0) {
        on_hello (c, j);
    } else if (strcmp (type, "ended") == 0 && r) {
        c->ended = true;
        keep_said (c->agent, r, j);
        answer (c, "noted");
        take_end (c->agent, r, j);
    }
}

/* What was said to a former life of this agent. */
static void recall (void *arg, int64_t rank, const char *packet)
{
    struct agent *a = arg;
    struct json *j = json_parse (packet, strlen (packet), NULL);
    struct local_rank *r = rank_of (a, rank);

    if (strcmp (json_text (json_get (j, "type"), ""), "hello") == 0)
        (void)rank_began (a, j);
    else if (r)
        take_end (a, r, j);
    json_free (j);
}

static void on_client (void *arg)
{
    struct client *c = arg;
    int rc;
    struct json *j = control_receive (c->fd, &rc);

    if (j)
        on_packet (c, j);
    else if (rc != -EAGAIN)
        drop_client (c);
    json_free (j);
}

static void on_connection (void *arg)
{
    struct agent *a = arg;
    int fd = control_accept (a->listener);
    struct client *c = fd < 0 ? NULL : calloc (1, sizeof (*c));

    if (!c || loop_add_fd (a->loop, fd, on_client, c) < 0) {
        if (fd >= 0)
            (void)close (fd);
        free (c);
        return;
    }
    *c = (struct client){ .agent = a, .fd = fd, .rank = -1,
                          .next = a->clients };
    a->clients = c;
}

/* ---- life ---- */

static void on_signal (void *arg)
{
    struct agent *a = arg;
    struct signalfd_siginfo info;

    if (read (a->signal_fd, &info, sizeof (info)) != sizeof (info))
        return;
    log_text (LOG_LEVEL_INFO, "signal", "ending by signal %u", info.ssi_signo);
    finish (a, spool_undelivered (a->spool) ? EX_TEMPFAIL : 0);
}

static int open_signals (struct agent *a)
{
    sigset_t set;

    (void)sigemptyset (&set);
    (void)sigaddset (&set, SIGTERM);
    (void)sigaddset (&set, SIGINT);
    (void)sigprocmask (SIG_BLOCK, &set, NULL);
    a->signal_fd = signalfd (-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return a->signal_fd < 0 ? -errno
                            : loop_add_fd (a->loop, a->signal_fd, on_signal, a);
}

static int open_spool (struct agent *a, struct err *err)
{
    char dir[PATH_MAX];
    int n = a->opt->run_dir
                ? snprintf (dir, sizeof (dir), "%s/spool", a->opt->run_dir)
                : snprintf (dir, sizeof (dir), "%s/spool-%s", a->opt->state,
                            a->opt->job);

    if (n < 0 || (size_t)n >= sizeof (dir))
        return err_set (err, ENAMETOOLONG, "path is too long: %s",
                        a->opt->state);
    return spool_open (dir, &a->spool, err);
}

/* The directories of other runs, STATE/JOB/HOST, may be below one that is
 * watched here.
 */
static int exclude_other_runs (struct agent *a, struct err *err)
{
    char own[PATH_MAX], state[PATH_MAX];
    char *slash;

    if (!realpath (a->opt->run_dir, own))
        return err_sys (err, errno, "cannot resolve %s", a->opt->run_dir);
    (void)snprintf (state, sizeof (state), "%s", own);
    for (int i = 0; i < 2; i++) {
        if (!(slash = strrchr (state, '/')) || slash == state)
            return 0;           // not where rollcall run puts it
        *slash = '\0';
    }
    return watch_exclude (a->watch, state, own, err);
}

static int open_watch (struct agent *a, struct err *err)
{
    int rc = 0;

    if (!(a->watch = watch_create ()))
        return err_set (err, ENOMEM, "no memory to watch");
    for (size_t i = 0; i < a->opt->watch.n && rc == 0; i++)
        rc = watch_add (a->watch, a->opt->watch.items[i], 0, -1, err);
    if (rc < 0 || !a->opt->run_dir)
        return rc;
    if ((rc = exclude_other_runs (a, err)) < 0)
        return rc;
    if ((a->listener = control_listen (a->opt->run_dir, err)) < 0)
        return a->listener;
    if (loop_add_fd (a->loop, a->listener, on_connection, a) < 0)
        return err_set (err, ENOMEM, "no memory to listen");
    return 0;
}

static int start (struct agent *a, struct err *err)
{
    const struct ship_events events = { on_welcome, on_stop, on_roll,
                                        on_refused, on_delivered, a };
    struct ship_identity who = { a->opt->job, a->host, a->key,
                                 a->opt->world_size };
    int rc;

    host_name (a->host, sizeof (a->host));
    host_key (a->key);
    (void)setpriority (PRIO_PROCESS, 0, NICE);
    if (!(a->loop = loop_create ()) || open_signals (a) < 0)
        return err_set (err, ENOMEM, "cannot watch for signals");
    if ((rc = open_spool (a, err)) < 0)
        return rc;
    if (is_over (a)) {          // asked with the lock: nobody else is at it
        a->complete = spool_undelivered (a->spool) == 0;
        return err_set (err, EBUSY, "the run is over");
    }
    if ((rc = open_watch (a, err)) < 0)
        return rc;
    rc = sealer_create (a->loop, a->opt->raw, on_sealed, a, &a->sealer, err);
    if (rc == 0)
        rc = ship_create (a->loop, a->spool, a->opt->aggregator, &who, &events,
                          &a->ship, err);
    return rc < 0 ? rc : spool_each_said (a->spool, recall, a, err);
}

/* The spool of a run that is over and of which everything was delivered. */
static void remove_spool (const struct agent *a)
{
    char dir[PATH_MAX];

    if (fileio_join (dir, sizeof (dir), a->opt->run_dir, "spool"))
        (void)fileio_remove_tree (dir, NULL);
}

static void stop (struct agent *a)
{
    sealer_destroy (a->sealer);
    ship_destroy (a->ship);
    while (a->clients) {
        a->clients->ended = true;       // it lives: we are the ones who go
        drop_client (a->clients);
    }
    while (a->ranks) {
        struct local_rank *next = a->ranks->next;

        // until now it may have been writing captures
        if (a->ranks->ended)
            kill_orphans (a->ranks);
        free (a->ranks->dirs);
        free (a->ranks->capture_dir);
        free (a->ranks);
        a->ranks = next;
    }
    if (a->listener >= 0)
        control_unlisten (a->opt->run_dir, a->listener);
    if (a->signal_fd >= 0)
        (void)close (a->signal_fd);
    watch_destroy (a->watch);
    spool_close (a->spool);
    if (a->complete && a->opt->run_dir)
        remove_spool (a);
    loop_destroy (a->loop);
}

int agent_run (const struct agent_options *opt)
{
    struct agent a = { .opt = opt, .listener = -1, .signal_fd = -1,
                       .began_ns = clock_mono_ns () };
    struct err err = { "" };
    int rc;

    if (!net_is_loopback (opt->aggregator) && !opt->insecure) {
        log_text (LOG_LEVEL_ERROR, "refused", "%s is on another host, and "
                  "connections are not encrypted yet: say --insecure if that "
                  "is acceptable", opt->aggregator);
        return EX_CONFIG;
    }
    rc = start (&a, &err);

    if (rc == -EBUSY && opt->run_dir) {
        a.status = 0;           // another one was faster: it serves the host
    } else if (rc < 0) {
        log_text (LOG_LEVEL_ERROR, "start-failed", "%s", err.text);
        a.status = EX_CANTCREAT;
    } else {
        if (opt->run_dir || opt->once)
            check_life (&a);
        scan (&a);
        (void)loop_run (a.loop);
    }
    stop (&a);
    return a.status;
}
