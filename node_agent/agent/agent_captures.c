/* node_agent/agent/agent_captures.c - captures that have settled go to the
 * sealer
 *
 * agent_search.c finds them; agent_seals.c takes what the sealer makes of them.
 */
#include "agent/agent_private.h"

#include "agent/agent_captures.h"
#include "agent/agent_delivery.h"
#include "base/clock.h"
#include "base/counter.h"
#include "base/units.h"
#include "spool/release_rows.h"

#include <errno.h>
#include <limits.h>
#include <unistd.h>

/* ---- settled ---- */

/* Nobody knows which of it was delivered, and which came later.  But if its
 * removal was not finished, all of it was delivered.
 */
static void note_left (struct agent *a, const char *path, int state)
{
    if (state == RELEASE_BEGUN) {
        log_warn ("not-released", "%s was delivered, and could not be removed: "
                  "the next start tries it again", path);
        return;
    }
    counter_add (COUNTER_RAW_SKIPPED, 1);
    a->seals.late++;
    agent_note (a, LOG_LEVEL_WARN, "late-files", "%.600s was delivered and "
                "removed, except for files that came later and are not "
                "delivered: move or remove them", path);
}

/* An earlier agent sealed it; that agent may have died before it was done with
 * it, or may have had other options.
 */
static void take_known (struct agent *a, const char *path)
{
    if (agent_resume_analysis (a, path) ||
        !release_concerns (&a->release.policy, path) ||
        spool_has_release (a->spool, path))
        return;
    if (a->seals.kept++ == 0)
        PRINT (a->seals.kept_first, "%s", path);
}

void agent_tell_kept (struct agent *a)
{
    size_t n = a->seals.kept;

    if (n > 0)
        log_warn ("not-releasable", "%zu capture%s will not be released: an "
                  "earlier agent delivered %s, and did not note which files %s "
                  "then had; the first is %s", n, units_s (n),
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

/* A version with raw files is more than what was sealed without them. */
static void with_raw (const struct watch_settled *bare,
                      struct watch_settled *out)
{
    PRINT (out->fingerprint, "%.*s" FINGERPRINT_RAW, FINGERPRINT_BARE, bare->fingerprint);
}

/* If raw files are given on demand, one that was sealed with them will do. */
static bool is_sealed (struct agent *a, const struct watch_settled *s,
                       const struct watch_settled *bare)
{
    struct watch_settled more = *bare;

    if (spool_knows (a->spool, s->path, s->fingerprint))
        return true;
    with_raw (bare, &more);
    return a->wants.on_demand && a->opt->raw &&
           spool_knows (a->spool, more.path, more.fingerprint);
}

/* It was handed on again meanwhile: a second time it might have been released.  The
 * row alone may be one that could not be given up.
 */
static bool is_being_sealed (const struct agent *a,
                             const struct watch_settled *s)
{
    const struct capture_object *c =
        capture_object_find (&a->captures, s->path);

    return c && c->state.now == STAGE_QUEUED &&
           spool_settles (a->spool, s->path, s->fingerprint);
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
    if (agent_awaits_policy (a)) {
        a->search.waiting = true;
        return -EINPROGRESS;
    }
    if (agent_gives_raw (a))
        with_raw (settled, s);
    if ((rc = agent_recall_analysis (a, s, &analysis)) < 0)
        return rc;
    if (is_sealed (a, s, settled)) {
        take_known (a, s->path);
        return 0;
    }
    if (is_being_sealed (a, s))
        return 0;
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

/* As settle, but a capture that finds no room waits. */
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

/* ---- what the spool found ---- */

static void on_again (void *arg, const char *path, const char *why)
{
    struct agent *a = arg;

    log_warn ("quarantined", "%s", why);
    if (*path && access (path, F_OK) < 0)
        agent_note (a, LOG_LEVEL_ERROR, "lost", "%.600s was not read again, "
                    "and its data in the spool is damaged", path);
    watch_hand_on_again (a->watch, *path ? path : NULL);
}

static void on_gone (void *arg, const char *path)
{
    struct agent *a = arg;

    watch_miss (a->watch, path, NULL, clock_mono_ns ());
}

int agent_recall_captures (struct agent *a, struct err *err)
{
    const char *why = spool_set_aside (a->spool);

    agent_recall_done (a);
    if (why) {
        log_error ("ledger-damaged", "%s", why);
        (void)ship_note (a->ship, why);
    }
    spool_on_reseal (a->spool, on_again, a);
    agent_recall_losses (a);
    return spool_find_gone (a->spool, on_gone, a, err);
}
