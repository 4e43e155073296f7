/* node_agent/agent/agent_captures.c - captures that have settled go to the
 * sealer
 *
 * agent_search.c finds them; agent_seals.c takes what the sealer makes of them.
 */
#include "agent/agent_private.h"

#include "base/clock.h"
#include "base/counter.h"
#include "base/log.h"
#include "base/units.h"
#include "model/capture.h"
#include "spool/release_rows.h"
#include "store/fileio.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DONE "done"             // a note: whether that was said

/* ---- settled ---- */

/* There is no telling what of it was delivered, and what came later; but if its
 * removal has not come to an end all of it was.
 */
static void note_left (struct agent *a, const char *path, int state)
{
    if (state == RELEASE_BEGUN) {
        log_text (LOG_LEVEL_WARN, "not-released", "%s was delivered, and could "
                  "not be removed: the next start tries it again", path);
        return;
    }
    counter_add (COUNTER_RAW_SKIPPED, 1);
    a->seals.late++;
    agent_note (a, LOG_LEVEL_WARN, "late-files",
                "host %s: %.600s was delivered "
                "and removed, except for files that came later and are not "
                "delivered: move or remove them", a->self.host, path);
}

/* It was sealed in a former life of this agent, which may have died before it
 * was done with it, or have had other options.
 */
static void take_known (struct agent *a, const char *path)
{
    if (agent_resume_analysis (a, path) ||
        !release_concerns (&a->release.policy, path) ||
        spool_has_release (a->spool, path))
        return;
    if (a->seals.kept++ == 0)
        (void)snprintf (a->seals.kept_first, sizeof (a->seals.kept_first),
                        "%s", path);
}

void agent_tell_kept (struct agent *a)
{
    size_t n = a->seals.kept;

    if (n > 0)
        log_text (LOG_LEVEL_WARN, "not-releasable",
                  "%zu capture%s will not be released: "
                  "an earlier agent delivered %s, and did not note which files "
                  "%s then had; the first is %s", n, units_s (n),
                  n == 1 ? "it" : "them", n == 1 ? "it" : "they",
                  a->seals.kept_first);
    a->seals.kept = 0;
}

/* Not yet, or never. */
static int find_no_room (struct agent *a, const char *path, int rc)
{
    a->search.waiting = rc == 0;
    (void)capture_object_take (&a->captures, path, rc == 0 ? STAGE_NO_ROOM
                                                      : STAGE_NEVER_ROOM,
                               NULL);
    if (rc == 0)
        return -EAGAIN;
    agent_hold_analysis (a, path);
    return 0;
}

static int agent_captures_settle (struct agent *a,
                                  const struct watch_settled *settled,
                                  struct err *err)
{
    struct watch_settled version = *settled, *s = &version;
    struct sealer_analysis analysis = { NULL, false };
    char file[PATH_MAX];
    uint64_t id;
    int rc, claim;

    if (agent_is_analysing (a, s->path))
        return 0;
    if (a->opt->raw)            // more than what was sealed without it
        (void)snprintf (s->fingerprint, sizeof (s->fingerprint), "%.*s/raw",
                        FINGERPRINT_BARE, settled->fingerprint);
    if ((rc = agent_recall_analysis (a, s, &analysis)) < 0)
        return rc;
    if (spool_knows (a->spool, s->path, s->fingerprint)) {
        take_known (a, s->path);
        return 0;
    }
    claim = release_claims (a->spool, s->path, agent_is_confirmed (a));
    if (claim == -EAGAIN) {
        a->search.waiting = true;
        return -EINPROGRESS;
    }
    if (claim != RELEASE_KEPT) {
        agent_hold_analysis (a, s->path);
        note_left (a, s->path, claim);
        return 0;
    }
    if ((rc = agent_has_disk_space (a, s->path, analysis.why != NULL)) <= 0)
        return find_no_room (a, s->path, rc);
    if ((rc = spool_settle (a->spool, s->path, s->fingerprint, &id, err)) < 0)
        return rc;
    if ((rc = spool_file (a->spool, id, 0, file, err)) == 0 &&
        sealer_add (a->sealer, s, id, file,
                    capture_object_has_failed (&a->captures, s->path),
                    &analysis) < 0)
        rc = err_set (err, ENOMEM, "no memory for %s", s->path);
    if (rc < 0)
        spool_unsettle (a->spool, id);
    else
        (void)capture_object_take (&a->captures, s->path, STAGE_HANDED_ON,
                                   NULL);
    return rc;
}

/* As settle, but a capture that finds no room waits for it. */
int agent_on_settled (void *arg, const struct watch_settled *s,
                       struct err *err)
{
    struct agent *a = arg;
    int rc = agent_captures_settle (a, s, err);

    if (rc != -ENOSPC)
        return rc;
    agent_ran_out (a, err);
    a->search.waiting = true;
    return -EAGAIN;
}

/* ---- what the spool finds ---- */

static void on_again (void *arg, const char *path, const char *why)
{
    struct agent *a = arg;

    log_text (LOG_LEVEL_WARN, "quarantined", "%s", why);
    if (*path && access (path, F_OK) < 0)
        agent_note (a, LOG_LEVEL_ERROR, "lost", "host %s: %.600s was not read "
                    "again, and its data in the spool is damaged", a->self.host,
                    path);
    watch_hand_on_again (a->watch, *path ? path : NULL);
}

static void on_gone (void *arg, const char *path)
{
    struct agent *a = arg;

    watch_miss (a->watch, path, NULL, clock_mono_ns ());
}

static void take_gone (struct agent *a, const struct watch_gone *gone)
{
    struct err err = { "" };
    int rc = gone->moved ? spool_moved (a->spool, gone->path, &err)
                         : spool_vanished (a->spool, gone->path, &err);

    if (rc > 0)
        agent_note (a, LOG_LEVEL_WARN, "capture-vanished",
                    "host %s: %.600s vanished "
                    "before it was read", a->self.host, gone->path);
    else if (rc < 0)            // the next start will find it
        log_text (LOG_LEVEL_ERROR, "ledger", "%s", err.text);
    (void)capture_object_take (&a->captures, gone->path, STAGE_GONE, NULL);
}

/* At half of the deadline there is no time left to look for them. */
void agent_lose_gone (struct agent *a)
{
    int64_t searched_ns = a->search.flushed ? INT64_MAX
                                            : a->search.searched_ns;
    int64_t missing_ns;
    struct watch_gone gone;

    while (watch_next_gone (a->watch, searched_ns, &gone)) {
        take_gone (a, &gone);
        free (gone.path);
    }
    if ((missing_ns = watch_missing_ns (a->watch)) > a->search.moved_ns) {
        a->search.moved_ns = missing_ns;
        a->search.complete = false;
        (void)loop_add_timer (a->loop, 0, agent_search, a);
    }
}

void agent_set_done (struct agent *a, bool done)
{
    struct err err = { "" };

    if (a->end.was_done == done)
        return;
    a->end.was_done = done;
    if (spool_keep_note (a->spool, DONE, done ? "1" : "0", &err) < 0)
        log_text (LOG_LEVEL_ERROR, "note-failed", "%s", err.text);
}

int agent_recall_captures (struct agent *a, struct err *err)
{
    const char *why = spool_set_aside (a->spool);
    char done[8];

    a->end.was_done = spool_note (a->spool, DONE, done, sizeof (done)) &&
                  strcmp (done, "1") == 0;
    if (why)
        agent_note (a, LOG_LEVEL_ERROR, "ledger-damaged", "%s", why);
    spool_on_reseal (a->spool, on_again, a);
    agent_recall_losses (a);
    return spool_find_gone (a->spool, on_gone, a, err);
}

/* ---- life ---- */

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

/* The result of a run may lie below what its COMMANDs watch.  It is built when
 * this host has said that it has nothing more, or cannot wait for that longer.
 */
static bool is_of_result (const struct agent *a, const char *path)
{
    size_t n = strlen (a->local.out);

    return n > 0 && a->opt->raw && !a->opt->no_roll &&
           (a->end.was_done || agent_is_past_deadline (a, 1)) &&
           strncmp (path, a->local.out, n) == 0 && path[n] == '/';
}

/* Of those in a shared directory, for watch_ask. */
static enum watch_owner owner_of (void *arg, const char *path)
{
    struct agent *a = arg;

    return is_of_result (a, path) ? WATCH_FOREIGN : agent_owner (a, path);
}

static int watch_options (struct agent *a, struct err *err)
{
    int rc = 0;

    for (size_t i = 0; i < a->opt->watch.n && rc == 0; i++) {
        const char *dir = a->opt->watch.items[i];

        if (!a->opt->once && access (dir, F_OK) < 0 && errno == ENOENT)
            log_text (LOG_LEVEL_WARN, "watch", "%s does not exist yet; the "
                      "agent keeps looking for it", dir);
        rc = watch_add (a->watch, dir, true, 0, -1, err);
    }
    return rc;
}

int agent_open_captures (struct agent *a, struct err *err)
{
    struct space_limit budget;
    int rc;

    if (!(a->watch = watch_create ()))
        return err_set (err, ENOMEM, "no memory to watch");
    rc = watch_options (a, err);
    watch_ask (a->watch, owner_of, a);
    if (rc == 0 && a->opt->run_dir)
        rc = exclude_other_runs (a, err);
    if (rc == 0 && a->opt->run_dir)
        rc = agent_open_owners (a, err);
    if (rc == 0)
        rc = finder_create (a->loop, agent_on_searched, a, &a->finder, err);
    if (rc < 0)
        return rc;
    (void)space_parse_limit (a->opt->cpu_budget, &budget);
    if (!(a->bulk = bulk_create (budget.ppm)))
        return err_set (err, ENOMEM, "no memory to extract");
    rc = sealer_create (a->loop, a->bulk, a->opt->raw,
                        a->release.policy.kind != RELEASE_NEVER,
                        agent_on_sealed, a, &a->sealer, err);
    if (rc < 0)
        return rc;
    if (a->opt->run_dir)
        (void)job_origin_take (a->opt->run_dir, &a->self.about);
    sealer_sign (a->sealer, a->self.host_id,
                 a->opt->divided ? NULL : a->opt->job,
                 a->opt->run_dir ? &a->self.about : NULL);
    return agent_open_analyses (a, err);
}

void agent_close_captures (struct agent *a)
{
    agent_close_analyses (a);
    if (a->bulk)
        bulk_end (a->bulk);
    finder_destroy (a->finder);
    sealer_destroy (a->sealer);
    bulk_destroy (a->bulk);
    agent_close_seals (a);
    agent_close_owners (a);
    watch_destroy (a->watch);
}
