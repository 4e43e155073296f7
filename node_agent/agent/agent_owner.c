/* node_agent/agent/agent_owner.c - whose a capture in a shared directory is
 *
 * Evidence decides: the directory that a run gave, the processes of this run,
 * and what the agents of other runs know about theirs.  If no other run watches
 * the directory, everything that COMMAND may have written is this run's.
 * Otherwise a capture of which no run is sure belongs to none, and both name it
 * (doc/architecture.md).
 */
#include "agent/agent_owner_private.h"

#include "agent/agent_end.h"
#include "agent/agent_local.h"
#include "base/clock.h"
#include "base/log.h"
#include "extract/extract.h"
#include "model/job_mark.h"
#include "store/fileio.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ASK_NS (250 * NS_PER_MS)        // between two questions about a capture
#define HEAR_NS (500 * NS_PER_MS)       // for agents that may still answer
#define ANSWER_NS (5 * NS_PER_S)        // for an answer of an agent at nice 19

/* ---- deciding ---- */

struct opinion {                // of all others that may own the capture
    bool any, mine, maybe, group, unknown, unheard;
    struct peer *pending;       // one that has not answered,
    int64_t pending_ns;         // and when it was due; monotonic
    const struct peer *who;     // one that does not say that the capture
                                // is another's
    bool silent;                // it has never said anything about it
};

static void hear_one (struct opinion *all, struct peer *p,
                      const struct peer_answer *w, const struct item *n)
{
    bool silent = p->fd >= 0 && w->answer == ANSWER_NONE;

    all->any = true;
    if (silent || (p->fd >= 0 && w->due_ns > 0)) {
        all->pending = p;
        all->pending_ns = w->due_ns > 0 ? w->due_ns : n->found_ns;
    }
    if (w->answer == ANSWER_MINE ||
        (w->answer != ANSWER_OTHERS && !all->mine)) {
        all->who = p;
        all->silent = silent;
    }
    all->mine = all->mine || w->answer == ANSWER_MINE;
    all->maybe = all->maybe || w->answer == ANSWER_MAYBE;
    all->group = all->group || w->answer == ANSWER_GROUP;
    all->unheard = all->unheard || w->answer == ANSWER_NONE;
    all->unknown = all->unknown ||
                   (w->answer != ANSWER_MINE && w->answer != ANSWER_OTHERS);
}

static struct opinion hear_all (struct owners *o, struct item *n)
{
    struct opinion all = { .any = false };

    for (struct peer *p = peers_first (o->peers); p; p = p->next) {
        const struct peer_answer *w;

        if (owners_may_own (o, p, n) && (w = owners_answer_of (n, p)))
            hear_one (&all, p, w, n);
    }
    return all;
}

/* The end cannot wait any longer. */
static bool is_late (const struct owners *o)
{
    return agent_is_past_deadline (o->agent, 2);
}

static bool is_settled (struct owners *o, const struct item *n)
{
    struct agent *a = o->agent;
    struct extract_look seen = { .newest_ns = 0 };

    if (is_late (o))
        return true;
    return extract_measure (n->path, &seen) == 0 &&
           clock_wall_ns () - seen.newest_ns >= agent_quiet_ns (a);
}

static const char *note_name (const char *path, char out[PATH_MAX + 16])
{
    (void)snprintf (out, PATH_MAX + 16, "owner %s", path);
    return out;
}

/* Record it: a restarted agent has not seen who wrote the capture. */
static void agent_owner_keep (struct owners *o, const struct item *n,
                              const char *text)
{
    char name[PATH_MAX + 16];
    struct err err = { "" };

    if (spool_keep_note (o->agent->spool, note_name (n->path, name), text,
                         &err) < 0)
        log_error ("note-failed", "%s", err.text);
}

static void say_doubt (struct owners *o, const char *path, const char *job)
{
    struct agent *a = o->agent;

    if (o->doubtful++ == 0) {
        PRINT (o->doubt_path, "%s", path);
        PRINT (o->doubt_job, "%s", job);
    }
    agent_note (a, LOG_LEVEL_WARN, "owner-unknown", "neither job takes %.500s: "
                "this job and job %.320s run in one directory, and it is not "
                "known which of them wrote it; let profilers write to "
                "$ROLLCALL_CAPTURE_DIR", path, job);
}

static enum watch_owner decided (struct owners *o, struct item *n,
                                 enum watch_owner owner, const char *doubt)
{
    n->owner = owner;
    n->doubtful = doubt != NULL;
    if (owner == WATCH_OURS)
        owners_say_taken (o, n);
    json_free (n->ids);         // there may be a hundred thousand
    n->ids = NULL;
    if (doubt) {
        agent_owner_keep (o, n, doubt);
        say_doubt (o, n->path, doubt);
    } else if (owner == WATCH_FOREIGN) {
        agent_owner_keep (o, n, "");
        log_info ("capture-of-other-job", "%s belongs to another job", n->path);
    }
    return owner;
}

/* As far as is known nobody else may have written it.  A job without an agent
 * that could be asked shows by its process.
 */
static enum watch_owner decide_alone (struct owners *o, struct item *n)
{
    bool strange = owners_is_strangers (o, n);

    if (strange) {              // or one of ours, in a pid namespace?
        owners_look (o, n->born_ns);
        strange = family_had (o->family, n->pid, n->born_ns) == FAMILY_NO;
    }
    return decided (o, n, strange ? WATCH_FOREIGN : WATCH_OURS, NULL);
}

/* The agent is alive, since its connection is, but busy or stopped. */
static void say_slow (struct peer *p, const struct item *n)
{
    if (p->slow)
        return;
    p->slow = true;
    log_warn ("owner-silent", "the agent of job %s, process %ld, has not "
              "answered whose %s is: waiting for it", p->job, (long)p->pid,
              n->path);
}

/* A run that is sure waits ANSWER_NS for others; one that is not sure waits as
 * long as it can.
 */
static bool waits (const struct owners *o, const struct item *n,
                   const struct opinion *all, enum answer own)
{
    bool slow = clock_mono_ns () - all->pending_ns >= ANSWER_NS;

    if (!all->pending || is_late (o) || (own != ANSWER_MINE && all->mine))
        return false;
    if (slow)
        say_slow (all->pending, n);
    return !slow || own != ANSWER_MINE;
}

/* The job that the capture may belong to, for people. */
static const char *name_rival (const struct opinion *all, char out[DOUBT_MAX])
{
    const struct peer *p = all->who;

    (void)snprintf (out, DOUBT_MAX, "%.255s", p ? p->job : "");
    if (p && all->silent)
        (void)snprintf (out, DOUBT_MAX, "%.255s (its agent, process %ld, does "
                        "not answer)", p->job, (long)p->pid);
    return out;
}

/* The writer is or was in the control group of exactly one run, and every other
 * run has looked and does not know it.
 */
static bool is_grouped (const struct opinion *all, enum answer own)
{
    return !all->maybe && (own == ANSWER_GROUP
                               ? !all->group && !all->unheard
                               : own == ANSWER_UNKNOWN && all->group);
}

static enum watch_owner agent_owner_decide (struct owners *o, struct item *n)
{
    struct opinion all = hear_all (o, n);
    char rival[DOUBT_MAX];
    enum answer own;

    if (!all.any)
        return decide_alone (o, n);
    own = owners_own_answer (o, n);
    if (own == ANSWER_OTHERS)
        return decided (o, n, WATCH_FOREIGN, NULL);
    if (waits (o, n, &all, own))
        return WATCH_UNDECIDED;
    if (all.mine)
        return decided (o, n, WATCH_FOREIGN,
                        own == ANSWER_MINE ? name_rival (&all, rival) : NULL);
    // another run has that pid in a namespace
    if (own == ANSWER_MINE && all.maybe && !family_writes (o->family, n->path))
        own = ANSWER_MAYBE;
    if (own == ANSWER_MINE)
        return decided (o, n, WATCH_OURS, NULL);
    if (clock_mono_ns () - n->found_ns < HEAR_NS)
        return WATCH_UNDECIDED;
    if (!all.unknown)
        return decided (o, n, WATCH_OURS, NULL);
    if (!is_settled (o, n))
        return WATCH_UNDECIDED;
    if (is_grouped (&all, own))
        return decided (o, n, own == ANSWER_GROUP ? WATCH_OURS : WATCH_FOREIGN,
                        NULL);
    return decided (o, n, WATCH_FOREIGN, name_rival (&all, rival));
}

/* Whether it is in the directory of another run, or in a result. */
static bool has_mark (const char *path, struct job_mark *ret)
{
    char at[PATH_MAX], *slash;
    int fd, rc = -ENOENT;

    PRINT (at, "%s", path);
    while (rc != 0 && (slash = strrchr (at, '/'))) {
        fd = open (at, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        rc = fd < 0 ? -errno : job_mark_read (fd, ret);
        fileio_close (fd);
        *slash = '\0';
    }
    return rc == 0;
}

/* What an earlier agent decided. */
static bool recall (struct owners *o, struct item *n)
{
    char name[PATH_MAX + 16], job[DOUBT_MAX];

    if (!spool_note (o->agent->spool, note_name (n->path, name), job,
                     sizeof (job)))
        return false;
    n->owner = WATCH_FOREIGN;
    n->doubtful = *job != '\0';
    if (n->doubtful)
        say_doubt (o, n->path, job);
    return true;
}

enum watch_owner agent_owner (struct agent *a, const char *path)
{
    struct owners *o = a->owners;
    struct item *n = owners_find (o, path);
    struct job_mark mark;

    if (agent_is_below (path, o->run_dir))
        return WATCH_OURS;
    if (n && n->owner != WATCH_UNDECIDED)
        return n->owner;
    if ((!n || n->asked_ns == 0) && has_mark (path, &mark))
        return WATCH_FOREIGN;
    peers_hear (o->peers);
    if (!n && !(n = owners_find (o, path)) && !(n = owners_add (o, path)))
        return WATCH_UNDECIDED;         // it is gone, or memory is short
    if (o->over_ns > 0 && n->born_ns > o->over_ns)
        return decided (o, n, WATCH_FOREIGN, NULL);
    if (n->asked_ns == 0 && recall (o, n))
        return n->owner;
    if (n->asked_ns == 0)
        owners_ask (o, n);
    // use earlier answers before asking again
    if (agent_owner_decide (o, n) == WATCH_UNDECIDED &&
        clock_mono_ns () - n->asked_ns >= ASK_NS)
        owners_ask (o, n);
    return n->owner;
}

size_t agent_count_doubtful (const struct agent *a)
{
    return a->owners ? a->owners->doubtful : 0;
}

bool agent_explain_doubt (const struct agent *a, char *out, size_t size)
{
    const struct owners *o = a->owners;
    char of[64] = "";

    if (agent_count_doubtful (a) == 0)
        return false;
    if (o->doubtful > 1)
        PRINT (of, "one of %zu that are in doubt, such as ", o->doubtful);
    (void)snprintf (out, size, "its capture may be %s%.400s%s: it is of this "
                    "job or of job %.320s", of, o->doubt_path,
                    *of ? "" : ", which is in doubt", o->doubt_job);
    return true;
}

/* ---- life ---- */

void agent_own_command (struct agent *a, int64_t wrapper, int64_t since_ns)
{
    struct owners *o = a->owners;

    if (wrapper > 0 && o->over_ns == 0)         // else it is gone
        family_add_wrapper (o->family, (pid_t)wrapper);
    if (o->since_ns == 0 || since_ns < o->since_ns)
        o->since_ns = since_ns;
    o->idle_ns = o->over_ns;
    owners_tell (o);
    (void)loop_add_timer (a->loop, 0, owners_look_again, a);
}

/* For other runs with directories above this run's, also for ranks that are not
 * known yet.
 */
static void mark_own (const struct owners *o)
{
    char dir[PATH_MAX];

    if (fileio_join (dir, sizeof (dir), o->run_dir, "captures") &&
        fileio_mkdirs (dir, FILEIO_DIR_MODE, NULL) == 0)
        (void)job_mark_write (dir, o->agent->opt->job, -1, -1, NULL);
}

int agent_open_owners (struct agent *a, struct err *err)
{
    struct owners *o = calloc (1, sizeof (*o));
    struct err why = { "" };

    if (!(a->owners = o))
        return err_set (err, ENOMEM, "no memory for captures");
    o->agent = a;
    if (a->opt->finish)
        o->over_ns = agent_left_ns (a);
    else
        agent_forget_left (a);
    if (!realpath (a->opt->run_dir, o->run_dir))
        o->run_dir[0] = '\0';
    mark_own (o);
    buf_init (&o->paths, 64 * PATH_MAX);
    o->own = json_object ();
    o->dirs = json_add_array (o->own, "dirs");
    if (!(o->family = family_create (a->opt->job)))
        return err_set (err, ENOMEM, "no memory for processes");
    // a run that is alone need not know any
    if (peers_open (a->loop, a->opt->job, owners_on_packet, o, &o->peers,
                    &why) < 0)
        log_warn ("other-runs", "%s: captures that they write cannot be told "
                  "from ours", why.text);
    return o->peers ? 0 : err_set (err, ENOMEM, "%s", why.text);
}

/* This agent ends properly and will not come back: captures written from now on
 * are others'.
 */
static void say_goodbye (struct owners *o)
{
    if (!agent_all_ended (o->agent) || o->idle_ns > 0)
        return;
    o->idle_ns = clock_wall_ns ();
    owners_tell (o);
}

void agent_close_owners (struct agent *a)
{
    struct owners *o = a->owners;

    if (!o)
        return;
    say_goodbye (o);
    peers_close (o->peers);
    family_destroy (o->family);
    owners_free_items (o);
    json_free (o->own);
    buf_fini (&o->paths);
    free (o);
    a->owners = NULL;
}
