/* node_agent/discovery/tracked.h - what is known of one capture
 *
 * Private to this folder: watch.c has all of them, and finds them.
 */
#ifndef ROLLCALL_DISCOVERY_TRACKED_H
#define ROLLCALL_DISCOVERY_TRACKED_H

#include "discovery/watch.h"
#include "model/capture_stages.h"

struct tracked {
    const char *path;           // malloced
    struct state state;         // of capture_stages
    struct find_id id;          // of what is there
    int64_t rank_hint;
    char fingerprint[FINGERPRINT_MAX];
    int64_t changed_mono_ns;    // when the fingerprint was first seen
    int64_t looked_mono_ns;     // when it was looked at last
    int64_t newest_ns;          // latest mtime in it
    bool done_marker;
    bool unmeasured;            // it could not be looked at the last time
    bool marker_handed;         // a version with the marker was
    size_t nhanded;             // versions that were
    int64_t handed_mono_ns;     // the latest
    int64_t waits_mono_ns;      // since when there is one that was not
    bool busy_told;             // by watch_next_busy
    unsigned rapid_changes;     // of them have come soon, one after the other
    bool seen_done;             // its profiler was done with it, or it settled
    struct tracked *next;       // of those that are gone
    int64_t gone_mono_ns;       // since when one is
};

struct tracked *tracked_new (const char *path);         // NULL: no memory
void tracked_free (struct tracked *t);

/* Follow the edge of its table; false: there is none. */
bool tracked_change (struct tracked *t, enum stage_event event);

/* Whether two paths are, or were, those of one capture. */
bool tracked_are_one (const struct tracked *a, const struct tracked *b);

/* Look at one that may be new; its clock starts again if it has changed.
 * Negative if it could not be looked at for want of something.
 */
int tracked_look (struct tracked *t, int64_t mono_ns);

/* Whether it is ours, and still to be handed on; and whether it can be: what
 * cannot be looked at would be handed on as another version.
 */
bool tracked_waits (const struct tracked *t);
bool tracked_is_ready (const struct tracked *t);

/* Whether it is to be looked at again: a tree is walked for that, and there may
 * be thousands of old ones.
 */
bool tracked_is_due (const struct tracked *t, int64_t mono_ns);

/* Whether this version of it is complete, as far as one can tell; and whether
 * it is to wait all the same, since it soon follows another: the longer, the
 * more have done so.
 */
bool tracked_has_settled (const struct tracked *t, int64_t quiet_ns,
                          int64_t mono_ns, int64_t wall_ns);
bool tracked_pauses (const struct tracked *t, int64_t quiet_ns,
                     int64_t mono_ns);

/* See watch_next_busy. */
bool tracked_is_busy (const struct tracked *t, int64_t quiet_ns,
                      int64_t mono_ns);

/* Give it to 'fn', and return what that says. */
int tracked_hand_on (struct tracked *t, bool finished, int64_t quiet_ns,
                     int64_t mono_ns, watch_fn *fn, void *arg,
                     struct err *err);

#endif
