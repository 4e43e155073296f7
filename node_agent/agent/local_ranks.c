/* node_agent/agent/local_ranks.c - the ranks of this host, and their wrappers
 *
 * A wrapper connects, says hello for its rank, and tells how its COMMAND has
 * ended.  What it says is kept in the spool, so that the ranks are known to
 * the next life of this agent, too.
 */
#include "agent/agent_private.h"

#include "base/clock.h"
#include "base/log.h"
#include "control/control.h"
#include "control/orphans.h"
#include "model/job_mark.h"
#include "store/fileio.h"
#include "world/process_reports.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
    int64_t parent;             // of which the COMMAND has started it; -1: it
                                // has a wrapper of its own
    bool stays;                 // its COMMAND has started it itself
    bool launches;              // its COMMAND has started others, and not it:
                                // it is a rank of another host
    int64_t mpi_rank, mpi_size; // which its process is for MPI; size 0: MPI
                                // has said nothing
    bool joined;                // its wrapper has, in this life
    bool ended;
    int64_t status;
    struct command_end end;     // of its COMMAND
    char text[MESSAGE_TEXT_MAX];
    char *ending;               // why its wrapper has begun to end it, or NULL
    char *dirs;                 // where its captures were looked for
    char *capture_dir;          // its own of them
    struct local_rank *next;
};

/* ---- ranks ---- */

static struct local_rank *rank_of (struct agent *a, int64_t rank)
{
    struct local_rank *r = a->local.ranks;

    while (r && r->rank != rank)
        r = r->next;
    return r;
}

bool agent_has_rank (struct agent *a, int64_t rank)
{
    const struct local_rank *r = rank_of (a, rank);

    return r && !r->launches;
}

bool agent_all_ended (const struct agent *a)
{
    for (const struct local_rank *r = a->local.ranks; r; r = r->next) {
        if (!r->ended)
            return false;
    }
    return a->local.ranks != NULL;
}

int64_t agent_count_ranks (const struct agent *a)
{
    int64_t n = 0;

    for (const struct local_rank *r = a->local.ranks; r; r = r->next)
        n++;
    return n;
}

/* What is there, but not taken, may be what somebody looks for: if the clock
 * was set back it is this job's.
 */
static void say_no_capture (struct agent *a, const struct local_rank *r,
                            char *out, size_t size)
{
    size_t older = watch_count_older (a->watch);
    int n = snprintf (out, size, "%.500s%sit wrote no capture below %.360s",
                      r->text, r->text[0] ? "; " : "",
                      r->dirs ? r->dirs : "its directories");

    if (older > 0 && n > 0 && (size_t)n < size)
        (void)snprintf (out + n, size - (size_t)n, " (left out: %zu that by "
                        "this host's clock were last changed before COMMAND "
                        "began)", older);
}

struct loss {                   // of a capture below 'dir'
    const char *dir;
    char text[SPOOL_LOSS_MAX];
};

static void take_loss (void *arg, const char *path, bool again,
                       const char *text)
{
    struct loss *l = arg;
    size_t n = strlen (l->dir);

    (void)again;
    if (strncmp (path, l->dir, n) == 0 && path[n] == '/')
        (void)snprintf (l->text, sizeof (l->text), "%s", text);
}

/* Why a capture of this rank is not delivered, or will not be; "". */
static void find_loss (struct agent *a, const struct local_rank *r,
                       struct loss *ret)
{
    const char *unsealed;

    *ret = (struct loss){ .dir = r->capture_dir };
    if (!ret->dir)
        return;
    if ((unsealed = agent_why_unsealed (a, ret->dir)))
        (void)snprintf (ret->text, sizeof (ret->text), "%s", unsealed);
    else
        (void)spool_each_lost (a->spool, take_loss, ret, NULL);
}

static void explain_rank (struct agent *a, struct local_rank *r)
{
    char text[MESSAGE_TEXT_MAX], doubt[MESSAGE_TEXT_MAX];
    struct loss loss;

    if (r->launches)
        return;
    find_loss (a, r, &loss);
    if (spool_has_rank (a->spool, r->rank))
        (void)snprintf (text, sizeof (text), "%s", r->text);
    else if (loss.text[0])
        (void)snprintf (text, sizeof (text), "%.500s%sits capture was not "
                        "delivered: %.400s", r->text, r->text[0] ? "; " : "",
                        loss.text);
    else if (a->room.held && r->capture_dir &&
             watch_count_below (a->watch, r->capture_dir) > 0)
        (void)snprintf (text, sizeof (text), "%.500s%sits capture waits on "
                        "its node for room: %.400s", r->text,
                        r->text[0] ? "; " : "", a->room.disk_quota.why.text);
    else if (agent_explain_doubt (a, doubt, sizeof (doubt)))
        (void)snprintf (text, sizeof (text), "%.200s%s%.820s", r->text,
                        r->text[0] ? "; " : "", doubt);
    else
        say_no_capture (a, r, text, sizeof (text));
    (void)ship_rank (a->ship, r->rank, r->local_rank, RANK_ENDED, r->status,
                     text, &r->end);
}

void agent_explain_ranks (struct agent *a)
{
    for (struct local_rank *r = a->local.ranks; r; r = r->next)
        explain_rank (a, r);
}

static void end_rank (struct agent *a, struct local_rank *r, int64_t status,
                      const char *text)
{
    if (r->ended)
        return;
    r->ended = true;
    r->status = status;
    (void)snprintf (r->text, sizeof (r->text), "%s", text);
    if (!r->launches)
        (void)ship_rank (a->ship, r->rank, r->local_rank, RANK_ENDED, status,
                         text, &r->end);
}

/* Ranks that COMMAND has started end with it. */
static void rank_ended (struct agent *a, struct local_rank *r, int64_t status,
                        const char *text)
{
    if (r->ended)
        return;
    agent_read_reports (a);
    end_rank (a, r, status, text);
    for (struct local_rank *c = a->local.ranks; c; c = c->next) {
        if (c->parent != r->rank)
            continue;
        c->end = r->end;
        end_rank (a, c, status, text);
    }
    if (agent_all_ended (a) && a->end.commands_ns == 0)
        (void)agent_take (a, LIFE_COMMANDS_ENDED, NULL);
}

/* COMMAND is gone; what it started may not be. */
static void kill_orphans (const struct local_rank *r)
{
    size_t n = r->capture_dir ? orphans_kill ("ROLLCALL_CAPTURE_DIR",
                                              r->capture_dir) : 0;

    if (n > 0)
        log_text (LOG_LEVEL_WARN, "orphans-killed", "%zu process%s that the "
                  "COMMAND of rank %lld had started and left", n,
                  n == 1 ? "" : "es",
                  (long long)r->rank);
}

static void wrapper_died (struct agent *a, struct local_rank *r)
{
    log_text (LOG_LEVEL_WARN, "wrapper-died", "that of rank %lld",
              (long long)r->rank);
    kill_orphans (r);
    for (const struct local_rank *c = a->local.ranks; c; c = c->next) {
        if (c->parent == r->rank)
            kill_orphans (c);
    }
    if (r->ending)              // who ended it has not waited
        rank_ended (a, r, -1, r->ending);
    else
        rank_ended (a, r, 128 + SIGKILL, "its wrapper was killed, and its "
                                         "COMMAND with it");
}

/* Wrappers that said hello to a former life of this agent come back at once;
 * those that do not are dead.
 */
void agent_check_rejoined (struct agent *a, int64_t now)
{
    for (struct local_rank *r = a->local.ranks; r; r = r->next) {
        if (!r->ended && !r->joined && now - a->life.began_ns > REJOIN_LIMIT_NS)
            wrapper_died (a, r);
    }
}

/* ---- what wrappers say ---- */

static void watch_dirs (struct agent *a, struct local_rank *r,
                        const struct json *hello)
{
    const char *own = json_text (json_get (hello, "capture_dir"), NULL);
    const char *since = json_text (json_get (hello, "since_ns"), "0");
    const char *out = json_text (json_get (hello, "out"), NULL);
    const char *cwd = json_text (json_get (hello, "bounded"), NULL);
    const struct json *d = json_first (json_get (hello, "watch"));
    int64_t since_ns = strtoll (since, NULL, 10), wrapper = 0;
    struct buf dirs;

    buf_init (&dirs, 4096);
    if (!out ||
        !fileio_join (a->local.out, sizeof (a->local.out), out, "captures"))
        a->local.out[0] = '\0';
    if (own) {
        agent_add_disk (a, own);
        (void)watch_add (a->watch, own, false, 0, r->rank, NULL);
        buf_printf (&dirs, "%s", own);
    }
    for (; d; d = json_next (d)) {
        const char *dir = json_text (d, "");

        agent_add_disk (a, dir);
        (void)watch_add (a->watch, dir, true, since_ns, -1, NULL);
        if (cwd && strcmp (cwd, dir) == 0)
            watch_bound (a->watch, dir);
        agent_share_dir (a, dir);
        buf_printf (&dirs, "%s%s", dirs.size ? ", " : "", dir);
    }
    (void)json_int (json_get (hello, "pid"), &wrapper);
    agent_own_command (a, wrapper, since_ns);
    free (r->dirs);
    free (r->capture_dir);
    r->dirs = strdup (buf_text (&dirs));
    r->capture_dir = own ? strdup (own) : NULL;
    buf_fini (&dirs);
}

static struct local_rank *add_rank (struct agent *a, int64_t rank)
{
    struct local_rank *r = calloc (1, sizeof (*r));

    if (!r)
        return NULL;
    r->rank = rank;
    r->parent = -1;
    r->next = a->local.ranks;
    a->local.ranks = r;
    return r;
}

/* Others may have ended before it came. */
static void say_running (struct agent *a, const struct local_rank *r)
{
    (void)agent_take (a, LIFE_COMMAND_RUNS, NULL);
    if (!r->launches)
        (void)ship_rank (a->ship, r->rank, r->local_rank, RANK_RUNNING, 0, "",
                         NULL);
}

/* Its directory is beside that of the wrapper's rank, and where that is looked
 * for it is, too.
 */
static bool take_directories (struct agent *a, struct local_rank *r,
                              const struct local_rank *parent)
{
    const char *slash = parent->capture_dir
                            ? strrchr (parent->capture_dir, '/') : NULL;

    if (!slash || asprintf (&r->capture_dir, "%.*s/rank%lld",
                            (int)(slash - parent->capture_dir),
                            parent->capture_dir, (long long)r->rank) < 0) {
        r->capture_dir = NULL;
        return false;
    }
    if (asprintf (&r->dirs, "%s, %s", r->capture_dir, parent->dirs) < 0)
        r->dirs = NULL;
    (void)watch_add (a->watch, r->capture_dir, false, 0, r->rank, NULL);
    return true;
}

/* Whose captures a directory is for: what the wrapper has written of a smaller
 * world is not true any more.
 */
static void mark (const struct agent *a, const struct local_rank *r,
                  int64_t world_size)
{
    if (r->capture_dir && world_size >= a->local.world_size)
        (void)job_mark_write (r->capture_dir, a->opt->job, r->rank,
                              world_size, NULL);
}

/* The wrapper's COMMAND has started a process of the wrapper's own rank. */
static void stay_rank (struct agent *a, struct local_rank *r)
{
    r->stays = true;
    if (!r->launches)
        return;
    r->launches = false;
    if (r->ended)
        (void)ship_rank (a->ship, r->rank, r->local_rank, RANK_ENDED,
                         r->status, r->text, &r->end);
    else
        say_running (a, r);
    if (r->mpi_size > 0)
        ship_rank_by_mpi (a->ship, r->rank, r->mpi_rank, r->mpi_size);
}

/* It has started others: with several wrappers the numbers of these are those
 * of nodes.
 */
static void leave_rank (struct agent *a, struct local_rank *r)
{
    if (r->stays || r->launches || a->opt->world_size <= 1)
        return;
    r->launches = true;
    ship_forget_rank (a->ship, r->rank);
}

bool agent_rank_began (struct agent *a, const struct process_report *t)
{
    struct local_rank *parent = rank_of (a, t->parent), *r;

    if (!parent)
        return false;
    mark (a, parent, t->size);
    if (t->rank == parent->rank)
        stay_rank (a, parent);
    else
        leave_rank (a, parent);
    if (rank_of (a, t->rank))
        return true;
    if (!(r = add_rank (a, t->rank)))
        return false;
    r->parent = t->parent;
    r->local_rank = t->local_rank;
    r->joined = true;
    if (take_directories (a, r, parent))
        mark (a, r, t->size);
    r->end = parent->end;
    if (parent->ended)
        end_rank (a, r, parent->status, parent->text);
    else
        say_running (a, r);
    return true;
}

/* Of several programs that COMMAND has run, one after the other, the largest
 * world counts, and of two a word against the rank.
 */
static bool counts_more (const struct local_rank *r,
                         const struct process_report *t)
{
    return t->size != r->mpi_size ? t->size > r->mpi_size
                                  : t->rank != r->rank &&
                                        r->mpi_rank == r->rank;
}

bool agent_rank_by_mpi (struct agent *a, const struct process_report *t)
{
    struct local_rank *r = rank_of (a, t->from);

    if (!rank_of (a, t->parent))
        return false;
    // a world of its own, which may be that of a program that helps one rank
    if (!r || r->launches || t->size < a->local.world_size ||
        (r->rank != t->parent && r->parent != t->parent) ||
        !counts_more (r, t))
        return true;
    r->mpi_rank = t->rank;
    r->mpi_size = t->size;
    if (t->rank != r->rank)
        log_text (LOG_LEVEL_WARN, "rank-contradicted", "the launcher's rank "
                  "%lld is rank %lld of %lld in MPI (on %s)",
                  (long long)r->rank, (long long)t->rank,
                  (long long)t->size, t->host);
    ship_rank_by_mpi (a->ship, r->rank, t->rank, t->size);
    return true;
}

/* A rank by what its wrapper says of it in 'hello'. */
static struct local_rank *rank_began (struct agent *a, const struct json *hello)
{
    int64_t rank, local = -1;
    struct local_rank *r;

    if (!json_int (json_get (hello, "rank"), &rank) || rank < 0)
        return NULL;
    (void)json_int (json_get (hello, "local_rank"), &local);
    if (!(r = rank_of (a, rank)) && !(r = add_rank (a, rank)))
        return NULL;
    r->parent = -1;
    r->local_rank = local;
    watch_dirs (a, r, hello);
    if (!r->ended)
        say_running (a, r);
    return r;
}

/* A rank's end by what its wrapper says of it. */
static void take_end (struct agent *a, struct local_rank *r,
                      const struct json *ended)
{
    int64_t status = 0;

    (void)json_int (json_get (ended, "status"), &status);
    r->end.ns = strtoll (json_text (json_get (ended, "ended_ns"), "0"), NULL,
                         10);
    (void)json_int (json_get (ended, "signal"), &r->end.signal);
    (void)json_int (json_get (ended, "exit"), &r->end.status);
    rank_ended (a, r, status, json_text (json_get (ended, "text"), ""));
}

/* That its wrapper was told to end it, and by whom. */
static void take_ending (struct local_rank *r, const struct json *ending)
{
    free (r->ending);
    r->ending = strdup (json_text (json_get (ending, "text"), ""));
}

static void keep_said (struct agent *a, const struct local_rank *r,
                       const struct json *j)
{
    char *text = json_print (j, false);
    struct err err = { "" };

    if (text && spool_keep_report (a->spool, r->rank,
                                   json_text (json_get (j, "type"), ""), text,
                                   &err) < 0)
        log_text (LOG_LEVEL_ERROR, "note-failed", "%s", err.text);
    free (text);
}

static void local_ranks_answer (const struct client *c, const char *type)
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
    if (!r->ended)
        agent_set_done (c->agent, false);
    c->rank = r->rank;
    r->joined = true;
    keep_said (c->agent, r, j);
    local_ranks_answer (c, "welcome");
}

static void on_packet (struct client *c, const struct json *j)
{
    const char *type = json_text (json_get (j, "type"), "");
    struct local_rank *r = rank_of (c->agent, c->rank);

    if (strcmp (type, "hello") == 0) {
        on_hello (c, j);
    } else if (strcmp (type, "ending") == 0 && r) {
        keep_said (c->agent, r, j);
        take_ending (r, j);
    } else if (strcmp (type, "ended") == 0 && r) {
        c->ended = true;
        keep_said (c->agent, r, j);
        local_ranks_answer (c, "noted");
        take_end (c->agent, r, j);
    }
}

/* What was said to a former life of this agent. */
static void recall (void *arg, int64_t rank, const char *packet)
{
    struct agent *a = arg;
    struct json *j = json_parse (packet, strlen (packet), NULL);
    const char *type = json_text (json_get (j, "type"), "");
    struct local_rank *r = rank_of (a, rank);

    if (strcmp (type, "hello") == 0)
        (void)rank_began (a, j);
    else if (r && strcmp (type, "ending") == 0)
        take_ending (r, j);
    else if (r)
        take_end (a, r, j);
    json_free (j);
}

/* ---- connections ---- */

static void drop_client (struct client *c)
{
    struct agent *a = c->agent;
    struct client **at = &a->local.clients;
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

static void on_connection (void *arg);

static void listen_again (void *arg)
{
    struct agent *a = arg;

    (void)loop_add_fd (a->loop, a->local.listener, on_connection, a);
}

static void on_connection (void *arg)
{
    struct agent *a = arg;
    int fd = control_accept (a->local.listener);
    struct client *c = fd < 0 ? NULL : calloc (1, sizeof (*c));

    if (fd < 0 && fd != -EAGAIN) {      // it stays readable: no turning round
        log_text (LOG_LEVEL_WARN, "accept-failed", "a wrapper waits: %s",
                  strerror (-fd));
        loop_del_fd (a->loop, a->local.listener);
        (void)loop_add_timer (a->loop, NS_PER_S, listen_again, a);
    }

    if (!c || loop_add_fd (a->loop, fd, on_client, c) < 0) {
        if (fd >= 0)
            (void)close (fd);
        free (c);
        return;
    }
    *c = (struct client){ .agent = a, .fd = fd, .rank = -1,
                          .next = a->local.clients };
    a->local.clients = c;
}

void agent_tell_wrappers (struct agent *a, const char *type, const char *text,
                          bool complete)
{
    for (struct client *c = a->local.clients; c; c = c->next) {
        struct json *j = json_object ();

        json_add_text (j, "type", type);
        json_add_text (j, "text", text);
        json_add_bool (j, "complete", complete);
        (void)control_send (c->fd, j);
    }
}

/* ---- life ---- */

int agent_open_local_ranks (struct agent *a, struct err *err)
{
    if (!a->opt->run_dir)
        return 0;
    if ((a->local.listener = control_listen (a->opt->run_dir, err)) < 0)
        return a->local.listener;
    if (loop_add_fd (a->loop, a->local.listener, on_connection, a) < 0)
        return err_set (err, ENOMEM, "no memory to listen");
    return 0;
}

int agent_recall_local_ranks (struct agent *a, struct err *err)
{
    return spool_each_report (a->spool, recall, a, err);
}

static void free_rank (struct local_rank *r)
{
    free (r->ending);
    free (r->dirs);
    free (r->capture_dir);
    free (r);
}

void agent_close_local_ranks (struct agent *a)
{
    while (a->local.clients) {
        a->local.clients->ended = true; // it lives: we are the ones who go
        drop_client (a->local.clients);
    }
    while (a->local.ranks) {
        struct local_rank *next = a->local.ranks->next;

        // until now it may have been writing captures
        if (a->local.ranks->ended)
            kill_orphans (a->local.ranks);
        free_rank (a->local.ranks);
        a->local.ranks = next;
    }
    if (a->local.listener >= 0)
        control_unlisten (a->opt->run_dir, a->local.listener);
}
