/* node_agent/discovery/tracked.h - what is known of one capture
 *
 * Private to this folder: watch.c keeps all of them.
 */
#ifndef ROLLCALL_DISCOVERY_TRACKED_H
#define ROLLCALL_DISCOVERY_TRACKED_H

#include "discovery/watch.h"
#include "model/capture_stages.h"

struct tracked {
    const char *path;           // malloced
    struct state state;         // of capture_stages
    struct find_id id;          // of the current file or directory
    int64_t rank_hint;
    char fingerprint[FINGERPRINT_MAX];
    int64_t changed_mono_ns;    // when the fingerprint was first seen
    int64_t looked_mono_ns;     // when it was last measured
    int64_t newest_ns;          // latest mtime in it
    bool done_marker;
    bool unmeasured;            // the last measurement failed
    bool marker_handed;         // a version with the marker was handed on
    size_t nhanded;             // versions handed on
    int64_t handed_mono_ns;     // the latest
    int64_t waits_mono_ns;      // since when a version waits
    bool busy_told;             // watch_next_busy has returned it
    unsigned rapid_changes;     // versions that came soon after another
    bool seen_done;             // its profiler has finished, or it settled
    struct tracked *next;       // in the list of those that are gone
    int64_t gone_mono_ns;       // since when it is gone
};

struct tracked *tracked_new (const char *path);         // NULL: no memory
void tracked_free (struct tracked *t);

/* Follow the edge of its table; false: there is none. */
bool tracked_change (struct tracked *t, enum stage_event event);

/* Whether both are the same capture under two paths. */
bool tracked_are_one (const struct tracked *a, const struct tracked *b);

/* Measure a capture; its quiet time starts again if it has changed.  Negative:
 * it could not be measured for lack of descriptors or memory.
 */
int tracked_look (struct tracked *t, int64_t mono_ns);

/* Whether it is ours and not yet handed on; and whether it can be handed on
 * now: one that cannot be measured would look like another version.
 */
bool tracked_waits (const struct tracked *t);
bool tracked_is_ready (const struct tracked *t);

/* Whether to measure it again: that walks its tree, and there may be thousands
 * of old captures.
 */
bool tracked_is_due (const struct tracked *t, int64_t mono_ns);

/* Whether this version seems complete; and whether it still has to wait, since
 * it soon followed another version: the more did so, the longer.
 */
bool tracked_has_settled (const struct tracked *t, int64_t quiet_ns,
                          int64_t mono_ns, int64_t wall_ns);
bool tracked_pauses (const struct tracked *t, int64_t quiet_ns,
                     int64_t mono_ns);

/* See watch_next_busy. */
bool tracked_is_busy (const struct tracked *t, int64_t quiet_ns,
                      int64_t mono_ns);

/* Hand it to 'fn', and return its result. */
int tracked_hand_on (struct tracked *t, bool finished, int64_t quiet_ns,
                     int64_t mono_ns, watch_fn *fn, void *arg,
                     struct err *err);

#endif
