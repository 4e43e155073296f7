/* node_agent/discovery/tracked.c - what discovery knows of one capture */
#include "discovery/tracked.h"

#include "base/clock.h"
#include "extract/extract.h"
#include "identity/capture_name.h"
#include "store/fileio.h"

#include <stdlib.h>
#include <string.h>

// a capture that was handed on is measured after a 16th of the time for which
// it has not changed, but within these limits
#define AGE_SHARE 16
#define AGAIN_MAX_NS (30 * NS_PER_S)

// a version that follows another within so many times the current pause doubles
// the pause, up to this limit
#define HASTE_SHARE 4
#define HASTE_MAX 16
#define PAUSE_MAX_NS (3600 * NS_PER_S)

// a capture that changes for so many quiet periods, and so long, is reported
#define BUSY_SHARE 5
#define BUSY_NS (600 * NS_PER_S)

struct tracked *tracked_new (const char *path)
{
    struct tracked *t = calloc (1, sizeof (*t));

    if (!t || !(t->path = strdup (path))) {
        free (t);
        return NULL;
    }
    t->rank_hint = -1;
    state_begin (&t->state, STAGE_SEEN);
    return t;
}

bool tracked_change (struct tracked *t, enum stage_event event)
{
    static const struct states_owner owner = { .table = &capture_stages,
                                               .level = LOG_LEVEL_DEBUG };

    return state_take (&t->state, &owner, event, NULL, "path", t->path);
}

/* Whether the current version was never handed on. */
static bool is_new (const struct tracked *t)
{
    return t->state.now == STAGE_GROWING;
}

void tracked_free (struct tracked *t)
{
    free ((char *)t->path);
    free (t);
}

static const char *name_of (const struct tracked *t)
{
    const char *slash = strrchr (t->path, '/');

    return slash ? slash + 1 : t->path;
}

/* If inodes do not show it, names do: a profiler's name has host, process and
 * time in it.
 */
bool tracked_are_one (const struct tracked *a, const struct tracked *b)
{
    bool known = a->id.ino > 0 && b->id.ino > 0;

    if (known && (a->id.ino != b->id.ino || a->id.dev != b->id.dev ||
                  a->id.born_ns != b->id.born_ns))
        return false;
    if (known && a->id.born_ns > 0)
        return true;
    return strcmp (name_of (a), name_of (b)) == 0 &&
           (known || capture_name_parse (name_of (a)).made_ns > 0);
}

/* ---- looking at it ---- */

static int observe (struct tracked *t, int64_t mono_ns)
{
    char fingerprint[FINGERPRINT_MAX];
    struct extract_look look;
    int rc = extract_measure (t->path, &look);

    t->looked_mono_ns = mono_ns;
    t->unmeasured = fileio_trouble (rc) == FILEIO_SHORTAGE;
    if (t->unmeasured)
        return rc;
    fingerprint_write (fingerprint, look.tree_files, look.tree_bytes,
                       look.newest_ns, look.done_marker, look.tree_sum);
    if (strcmp (t->fingerprint, fingerprint) == 0)
        return 0;
    memcpy (t->fingerprint, fingerprint, sizeof (fingerprint));
    t->changed_mono_ns = mono_ns;
    t->newest_ns = look.newest_ns;
    t->done_marker = look.done_marker;
    if (tracked_change (t, STAGE_CHANGED))
        t->waits_mono_ns = mono_ns;
    return 0;
}

/* Whether its profiler had finished collecting: one that is stopped earlier
 * removes what it has written.
 */
static bool is_collected (const char *path)
{
    struct extract_look look;
    struct capture c;
    bool collected;

    capture_init (&c);
    collected = extract_glance (path, &c, &look, NULL) == 0 &&
                c.state != CAPTURE_COLLECTING && c.state != CAPTURE_FAILED;
    capture_fini (&c);
    return collected;
}

int tracked_look (struct tracked *t, int64_t mono_ns)
{
    int rc = observe (t, mono_ns);

    if (!t->seen_done && t->changed_mono_ns == mono_ns)
        t->seen_done = is_collected (t->path);
    return rc;
}

/* ---- handing it on ---- */

bool tracked_waits (const struct tracked *t)
{
    return t->state.now <= STAGE_AGAIN;
}

bool tracked_is_ready (const struct tracked *t)
{
    return tracked_waits (t) && !t->unmeasured &&
           t->state.now != STAGE_UNDECIDED;
}

bool tracked_is_due (const struct tracked *t, int64_t mono_ns)
{
    int64_t again_ns = (mono_ns - t->changed_mono_ns) / AGE_SHARE;

    if (again_ns > AGAIN_MAX_NS)
        again_ns = AGAIN_MAX_NS;
    return tracked_waits (t) || mono_ns - t->looked_mono_ns >= again_ns;
}

/* How long the version that was handed on last must remain the latest. */
static int64_t pause_ns (const struct tracked *t, int64_t quiet_ns)
{
    if (quiet_ns > PAUSE_MAX_NS >> t->rapid_changes)
        return quiet_ns > PAUSE_MAX_NS ? quiet_ns : PAUSE_MAX_NS;
    return quiet_ns << t->rapid_changes;
}

bool tracked_has_settled (const struct tracked *t, int64_t quiet_ns,
                          int64_t mono_ns, int64_t wall_ns)
{
    if (t->done_marker && (!t->marker_handed || !is_new (t)))
        return true;            // what changes after the end has to be waited
                                // for
    // it is quiet by our observation, or by its dates when it was first seen
    return mono_ns - t->changed_mono_ns >= quiet_ns ||
           wall_ns - t->newest_ns >= quiet_ns;
}

bool tracked_pauses (const struct tracked *t, int64_t quiet_ns,
                     int64_t mono_ns)
{
    return is_new (t) && t->rapid_changes > 0 &&
           mono_ns - t->handed_mono_ns < pause_ns (t, quiet_ns);
}

bool tracked_is_busy (const struct tracked *t, int64_t quiet_ns,
                      int64_t mono_ns)
{
    int64_t waited_ns = mono_ns - t->waits_mono_ns;

    return tracked_is_ready (t) && is_new (t) && t->seen_done &&
           mono_ns - t->changed_mono_ns < quiet_ns &&
           waited_ns >= BUSY_NS && waited_ns / BUSY_SHARE >= quiet_ns;
}

/* Count a version that has been handed on. */
static void count_version (struct tracked *t, int64_t quiet_ns,
                           int64_t mono_ns)
{
    bool soon = t->nhanded > 0 &&
                (mono_ns - t->handed_mono_ns) / HASTE_SHARE <
                    pause_ns (t, quiet_ns);

    if (!soon)
        t->rapid_changes = 0;
    else if (t->rapid_changes < HASTE_MAX)
        t->rapid_changes++;
    t->nhanded++;
    t->handed_mono_ns = mono_ns;
    t->marker_handed = t->marker_handed || t->done_marker;
}

int tracked_hand_on (struct tracked *t, bool finished, int64_t quiet_ns,
                     int64_t mono_ns, watch_fn *fn, void *arg,
                     struct err *err)
{
    struct watch_settled s = { .path = t->path, .id = t->id,
                               .rank_hint = t->rank_hint,
                               .finished = finished };
    int rc;

    memcpy (s.fingerprint, t->fingerprint, sizeof (s.fingerprint));
    t->seen_done = true;
    if ((rc = fn (arg, &s, err)) < 0)
        return rc;
    if (is_new (t))
        count_version (t, quiet_ns, mono_ns);
    (void)tracked_change (t, STAGE_HAS_SETTLED);
    return 0;
}
