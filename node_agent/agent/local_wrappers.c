/* node_agent/agent/local_wrappers.c - what wrappers of this host say
 *
 * A wrapper connects, says hello for its rank, and reports how its COMMAND
 * ended.  The spool keeps this, so that the next agent knows the ranks, too.
 */
#include "agent/agent_local.h"

#include "agent/agent_captures.h"
#include "base/clock.h"
#include "control/control.h"
#include "store/fileio.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define REJOIN_LIMIT_NS (10 * NS_PER_S) // for wrappers of an earlier agent

struct client {                 // a wrapper's connection
    struct agent *agent;
    int fd;
    int64_t rank;               // -1 before its hello
    bool ended;                 // its COMMAND has
    struct client *next;
};

/* ---- how ranks end ---- */

/* Ranks that a COMMAND started end with it. */
static void rank_ended (struct agent *a, struct local_rank *r, int64_t status,
                        const char *text)
{
    if (r->ended)
        return;
    agent_read_reports (a);
    local_rank_end (a, r, status, text);
    for (struct local_rank *c = a->local.ranks; c; c = c->next) {
        if (c->parent != r->rank)
            continue;
        c->end = r->end;
        local_rank_end (a, c, status, text);
    }
    if (agent_all_ended (a) && a->end.commands_ns == 0)
        (void)life_take (&a->life, LIFE_COMMANDS_ENDED, NULL);
}

static void wrapper_died (struct agent *a, struct local_rank *r)
{
    log_warn ("wrapper-died", "that of rank %lld", (long long)r->rank);
    local_rank_kill_orphans (r);
    for (const struct local_rank *c = a->local.ranks; c; c = c->next) {
        if (c->parent == r->rank)
            local_rank_kill_orphans (c);
    }
    if (r->ending)              // whoever ended it did not wait
        rank_ended (a, r, -1, r->ending);
    else
        rank_ended (a, r, 128 + SIGKILL, "its wrapper was killed, and its "
                                         "COMMAND with it");
}

/* Wrappers that said hello to an earlier agent come back at once; those that do
 * not are dead.
 */
void agent_check_rejoined (struct agent *a)
{
    for (struct local_rank *r = a->local.ranks; r; r = r->next) {
        if (!r->ended && !r->joined && agent_began_for_ns (a) > REJOIN_LIMIT_NS)
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

/* Add or update a rank by the 'hello' of its wrapper. */
static struct local_rank *rank_began (struct agent *a, const struct json *hello)
{
    int64_t rank, local = -1;
    struct local_rank *r;

    if (!json_int (json_get (hello, "rank"), &rank) || rank < 0)
        return NULL;
    (void)json_int (json_get (hello, "local_rank"), &local);
    if (!(r = local_rank_find (a, rank)) && !(r = local_rank_add (a, rank)))
        return NULL;
    r->parent = -1;
    r->local_rank = local;
    watch_dirs (a, r, hello);
    if (!r->ended)
        local_rank_run (a, r);
    return r;
}

/* Record a rank's end by its wrapper's report. */
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

/* Record that the wrapper was told to end COMMAND, and by whom. */
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
        log_error ("note-failed", "%s", err.text);
    free (text);
}

static void wrapper_answer (const struct client *c, const char *type)
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
    wrapper_answer (c, "welcome");
}

static void on_packet (struct client *c, const struct json *j)
{
    const char *type = json_text (json_get (j, "type"), "");
    struct local_rank *r = local_rank_find (c->agent, c->rank);

    if (strcmp (type, "hello") == 0) {
        on_hello (c, j);
    } else if (strcmp (type, "ending") == 0 && r) {
        keep_said (c->agent, r, j);
        take_ending (r, j);
    } else if (strcmp (type, "ended") == 0 && r) {
        c->ended = true;
        keep_said (c->agent, r, j);
        wrapper_answer (c, "noted");
        take_end (c->agent, r, j);
    }
}

/* Repeat what was said to an earlier agent. */
static void recall (void *arg, int64_t rank, const char *packet)
{
    struct agent *a = arg;
    struct json *j = json_parse (packet, strlen (packet), NULL);
    const char *type = json_text (json_get (j, "type"), "");
    struct local_rank *r = local_rank_find (a, rank);

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
    struct local_rank *r = local_rank_find (a, c->rank);

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

    if (fd < 0 && fd != -EAGAIN) {      // it stays readable: do not spin
        log_warn ("accept-failed", "a wrapper waits: %s", strerror (-fd));
        loop_del_fd (a->loop, a->local.listener);
        (void)loop_add_timer (a->loop, NS_PER_S, listen_again, a);
    }

    if (!c || loop_add_fd (a->loop, fd, on_client, c) < 0) {
        fileio_close (fd);
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

int agent_open_wrappers (struct agent *a, struct err *err)
{
    if (!a->opt->run_dir || a->opt->finish)
        return 0;
    if ((a->local.listener = control_listen (a->opt->run_dir, err)) < 0)
        return a->local.listener;
    if (loop_add_fd (a->loop, a->local.listener, on_connection, a) < 0)
        return err_set (err, ENOMEM, "no memory to listen");
    return 0;
}

int agent_recall_wrappers (struct agent *a, struct err *err)
{
    return spool_each_report (a->spool, recall, a, err);
}

void agent_close_wrappers (struct agent *a)
{
    while (a->local.clients) {
        a->local.clients->ended = true; // it lives: this agent is ending
        drop_client (a->local.clients);
    }
    local_rank_free_all (a);
    if (a->local.listener >= 0)
        control_unlisten (a->opt->run_dir, a->local.listener);
}
