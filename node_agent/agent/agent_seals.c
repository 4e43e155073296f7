/* node_agent/agent/agent_seals.c - what the sealer has sealed, or could not
 *
 * Results of its thread go into the spool, or the capture is tried again.
 */
#include "agent/agent_private.h"

#include "agent/agent_captures.h"
#include "agent/agent_local.h"
#include "agent/seal_items.h"
#include "base/clock.h"
#include "base/counter.h"
#include "model/capture.h"
#include "spool/release_rows.h"
#include "store/fileio.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

/* ---- not sealed ---- */

/* Try again: a full disk may have room now.  Captures that are gone are
 * dropped.
 */
static void seal_again (void *arg)
{
    struct agent *a = arg;

    a->seals.again = false;
    for (struct capture_object *u = NULL;
         (u = capture_object_next_failed (&a->captures, u));) {
        u->again = true;
        watch_hand_on_again (a->watch, u->path);
        if (access (u->path, F_OK) < 0 && errno == ENOENT)
            watch_miss (a->watch, u->path, &u->id, clock_mono_ns ());
    }
    a->end.check (a);
}

bool agent_is_retrying_seal (const struct agent *a)
{
    for (const struct capture_object *u = NULL;
         (u = capture_object_next_failed (&a->captures, u));) {
        if (a->opt->run_dir ? !a->search.flushed : !u->again)
            return true;
    }
    return false;
}

/* What the summary was told cannot be withdrawn.  In a run this is told at the
 * end, if it still holds then; otherwise it is told at once, as past.
 */
static void keep_unsealed (struct agent *a, const struct sealed *s)
{
    const struct capture_object *u;
    char note[MESSAGE_TEXT_MAX];
    bool first;

    log_error ("seal-failed", "%s: %s", s->what.path, s->err.text);
    if (s->rc == -ENOSPC)
        agent_ran_out (a, &s->err);
    agent_hold_analysis (a, s->what.path);
    u = capture_object_fail (&a->captures, s->what.path, &s->what.id, &s->err,
                             &first);
    if (!u) {
        watch_hand_on_again (a->watch, s->what.path);
        return;
    }
    if (first && !a->opt->run_dir) {
        PRINT (note, "host %s: %.300s could not be put into the spool at "
               "first: %.300s", a->self.host, u->path, u->why.text);
        (void)ship_note (a->ship, note);
    }
    // frequent failures do not delay the others
    if (!a->seals.again)
        (void)loop_add_timer (a->loop, AGENT_SEAL_AGAIN_NS, seal_again, a);
    a->seals.again = true;
}

void agent_explain_captures (struct agent *a)
{
    const char *path;

    for (const struct capture_object *u = NULL;
         (u = capture_object_next_failed (&a->captures, u));) {
        char note[MESSAGE_TEXT_MAX];

        PRINT (note, "host %s: %.300s was not delivered: %.300s", a->self.host,
               u->path, u->why.text);
        (void)ship_note (a->ship, note);
    }
    if (!a->search.flushed)
        return;
    for (size_t i = 0; (path = watch_unsettled_path (a->watch, i)); i++)
        agent_note (a, LOG_LEVEL_WARN, "capture-too-late", "%.300s was found "
                    "or written too late to be read; its new files stay "
                    "there", path);
}

/* ---- sealed ---- */

/* The agents of all hosts see a capture on a shared file system.  Each takes
 * those of its own ranks, and those with a rank outside of the world.
 */
static bool is_ours (struct agent *a, int64_t rank)
{
    return !a->opt->run_dir || rank < 0 || rank >= a->opt->world_size ||
           agent_has_rank (a, rank);
}

static void note_shared (struct agent *a, const char *path)
{
    char note[MESSAGE_TEXT_MAX], dir[PATH_MAX];
    const char *fs = fileio_remote_fs (path);
    char *slash;

    if (!fs)
        return;
    PRINT (dir, "%s", path);
    if ((slash = strrchr (dir, '/')) && slash != dir)
        *slash = '\0';
    PRINT (note, "captures are written to a shared file system (%s, %.600s), "
           "which stalls the job: let the profiler write to "
           "$ROLLCALL_CAPTURE_DIR, or to another local directory named by "
           "--watch", fs, dir);
    (void)ship_note (a->ship, note);
}

static void note_skipped (struct agent *a, const struct sealed *s)
{
    if (s->skipped == 0)
        return;
    counter_add (COUNTER_RAW_SKIPPED, s->skipped);
    agent_note (a, LOG_LEVEL_WARN, "files-skipped", "%llu of the raw files and "
                "directories of %.300s %s not delivered; the first is %.300s",
                (unsigned long long)s->skipped, s->what.path,
                s->skipped == 1 ? "is" : "are", s->skipped_why.text);
}

static void note_unfinished (struct agent *a, const struct sealed *s)
{
    if (!s->what.finished)
        agent_note (a, LOG_LEVEL_WARN, "capture-unfinished",
                    "%.600s: " SEALER_UNFINISHED ", and was taken as it was",
                    s->what.path);
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

/* Without raw files only rows leave the node: a capture whose files could not
 * all be read is not released, because the rest would be lost.
 */
static bool is_safe_to_release (const struct sealed *s)
{
    return s->raw ||
           strcmp (s->state, capture_state_name (CAPTURE_COMPLETE)) == 0;
}

static bool may_be_released (struct agent *a, const struct sealed *s)
{
    struct err err = { "" };

    if (a->release.roots &&
        roots_check (a->release.roots, s->what.path, &err) < 0)
        log_warn ("not-releasable", "will not be released: %s", err.text);
    else if (s->manifest.size == 0)
        log_warn ("not-releasable", "will not be released: %s",
                  s->kept_why.text);
    else if (!is_safe_to_release (s))
        log_info ("not-releasable", "%s will not be released: it is %s, and "
                  "its raw files stay here", s->what.path, s->state);
    else
        return true;
    return false;
}

/* Nothing is said of one that is to be analysed: it is sealed again. */
static bool notes_release (struct agent *a, const struct sealed *s)
{
    return release_concerns (&a->release.policy, s->what.path) &&
           !agent_awaits_analysis (a, s);
}

/* Names given by a profiler have host, process and time in them; others do not.
 */
static void note_twin (struct agent *a, const struct sealed *s)
{
    char other[PATH_MAX];

    if (spool_find_name_collision (a->spool, s->id, other, NULL) > 0)
        agent_note (a, LOG_LEVEL_WARN, "name-collision", "%.260s and %.260s "
                    "have the same name, %.64s, and the same rank: only one of "
                    "them counts in a result; rename one", other, s->what.path,
                    s->name);
}

static void take_sealed (struct agent *a, struct sealed *s)
{
    log_sealed (s);
    (void)capture_object_take (&a->captures, s->what.path, STAGE_IS_SEALED,
                               NULL);
    note_skipped (a, s);
    note_unfinished (a, s);
    note_twin (a, s);
    note_shared (a, s->what.path);
    agent_take_analysis (a, s);
    // meanwhile the aggregator said that it wants raw files after all
    if (!s->raw && agent_gives_raw (a))
        watch_hand_on_again (a->watch, s->what.path);
    ship_kick (a->ship);
}

/* While they were hashed, the aggregator said that it wants raw files on demand.
 */
static int leave_raw (struct agent *a, struct sealed *s)
{
    seal_leave_raw (s);
    return spool_forget_raw (a->spool, s->id, &s->err);
}

/* Record first that it is to be analysed: the next agent takes a sealed capture
 * for a finished one.
 */
static int agent_seals_enter (struct agent *a, struct sealed *s)
{
    const struct spool_left_out left = { s->skipped, s->skipped_why.text };
    bool planned = agent_plan_analysis (a, s);
    int rc = s->raw && !agent_gives_raw (a) ? leave_raw (a, s) : 0;
    bool notes = notes_release (a, s);
    const struct spool_releasable release = {
        .path = s->what.path,
        .sealed = s->raw ? RELEASE_ALL_SEALED : RELEASE_ROWS_SEALED,
        .manifest = notes && may_be_released (a, s) ? &s->manifest : NULL,
        .now_ns = clock_wall_ns (),
    };

    if (rc == 0)
        rc = spool_seal (a->spool, s->id, s->name, s->rank, s->items,
                         s->nitems, left, notes ? &release : NULL, &s->err);
    if (rc < 0 && planned)
        agent_forget_analysis (a, s->what.path);
    return rc;
}

/* It was moved or removed.  A search finds it in its new place; if there is
 * none, the next scan notices that.
 */
static void take_moved (struct agent *a, const struct sealed *s)
{
    log_info ("capture-moved", "%s", s->err.text);
    spool_unsettle (a->spool, s->id);
    (void)capture_object_take (&a->captures, s->what.path, STAGE_NOT_THERE,
                               NULL);
    agent_hold_analysis (a, s->what.path);
    watch_hand_on_again (a->watch, s->what.path);
    if (access (s->what.path, F_OK) < 0 && errno == ENOENT)     // a scan may
        watch_miss (a->watch, s->what.path, &s->what.id,        // have been
                    a->seals.latest_ns);                              // before
    agent_search_again (a, a->seals.latest_ns);
}

static void on_sealed (void *arg, struct sealed *s)
{
    struct agent *a = arg;

    a->seals.latest_ns = clock_mono_ns ();
    if (s->wanted) {
        agent_take_wanted (a, s);
    } else if (s->moved) {
        take_moved (a, s);
    } else if (s->rc == 0 && !is_ours (a, s->rank) &&
        fileio_remote_fs (s->what.path)) {
        spool_unsettle (a->spool, s->id);
        (void)capture_object_take (&a->captures, s->what.path, STAGE_IS_FOREIGN,
                                   NULL);
        agent_hold_analysis (a, s->what.path);
    } else if (s->rc < 0 || (s->rc = agent_seals_enter (a, s)) < 0) {
        spool_unsettle (a->spool, s->id);
        keep_unsealed (a, s);
    } else {
        take_sealed (a, s);
    }
    if (a->search.waiting)
        agent_hand_on (a);
    if (a->opt->once && sealer_pending (a->sealer) == 0)
        (void)loop_add_timer (a->loop, 0, agent_scan, a);
}

/* ---- life ---- */

int agent_open_seals (struct agent *a, struct err *err)
{
    struct space_limit budget;
    int rc;

    (void)space_parse_limit (a->opt->cpu_budget, &budget);
    if (!(a->bulk = bulk_create (budget.ppm)))
        return err_set (err, ENOMEM, "no memory to extract");
    rc = sealer_create (a->loop, a->bulk, agent_gives_raw (a),
                        a->release.policy.kind != RELEASE_NEVER, on_sealed, a,
                        &a->sealer, err);
    if (rc < 0)
        return rc;
    if (a->opt->owner)
        sealer_keep_owners (a->sealer);
    if (a->opt->run_dir)
        (void)job_origin_take (a->opt->run_dir, &a->self.about);
    sealer_sign (a->sealer, a->self.host_id,
                 a->opt->divided ? NULL : a->opt->job,
                 a->opt->run_dir ? &a->self.about : NULL);
    return 0;
}

void agent_close_seals (struct agent *a)
{
    if (a->bulk)
        bulk_end (a->bulk);
    sealer_destroy (a->sealer);
    bulk_destroy (a->bulk);
    capture_object_forget_all (&a->captures);
}
