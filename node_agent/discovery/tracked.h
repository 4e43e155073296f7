/* node_agent/discovery/tracked.h - what discovery knows of one capture
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
    int64_t changed_mono_ns;    // when this fingerprint was first seen
    int64_t looked_mono_ns;     // when it was last measured
    int64_t newest_ns;          // latest mtime in it
    bool done_marker;
    bool unmeasured;            // the last measurement failed
    bool marker_handed;         // a version with the marker was handed on
    size_t nhanded;             // how many versions were handed on
    int64_t handed_mono_ns;     // when the latest of them was
    int64_t waits_mono_ns;      // since when a version waits to be
    bool busy_told;             // watch_next_busy has returned it
    unsigned rapid_changes;     // how many versions came soon after another
    bool seen_done;             // its profiler has finished, or it settled
    struct tracked *next;       // in the list of those that are gone
    int64_t gone_mono_ns;       // when it was missed
};

struct tracked *tracked_new (const char *path);         // NULL: no memory
void tracked_free (struct tracked *t);

/* Take an event; false: its state has no such edge. */
bool tracked_change (struct tracked *t, enum stage_event event);

/* Whether both are the same capture under two paths. */
bool tracked_are_one (const struct tracked *a, const struct tracked *b);

/* Measure a capture.  Its quiet time begins anew if it has changed.  Negative:
 * it could not be measured for lack of descriptors or memory; try again later.
 */
int tracked_look (struct tracked *t, int64_t mono_ns);

/* Whether it is ours and not yet handed on; and whether it can be handed on
 * now.  A capture that could not be measured cannot: it would count as another
 * version.
 */
bool tracked_waits (const struct tracked *t);
bool tracked_is_ready (const struct tracked *t);

/* Whether to measure it now.  That walks its tree, and there may be thousands
 * of old captures.
 */
bool tracked_is_due (const struct tracked *t, int64_t mono_ns);

/* Whether this version seems complete; and whether it still has to wait since
 * it came soon after another one.  The wait grows with the number of such
 * versions.
 */
bool tracked_has_settled (const struct tracked *t, int64_t quiet_ns,
                          int64_t mono_ns, int64_t wall_ns);
bool tracked_pauses (const struct tracked *t, int64_t quiet_ns,
                     int64_t mono_ns);

/* Whether watch_next_busy is to return it. */
bool tracked_is_busy (const struct tracked *t, int64_t quiet_ns,
                      int64_t mono_ns);

/* Hand it to 'fn', and return its result. */
int tracked_hand_on (struct tracked *t, bool finished, int64_t quiet_ns,
                     int64_t mono_ns, watch_fn *fn, void *arg,
                     struct err *err);

#endif
