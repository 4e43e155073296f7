/* node_agent/discovery/watch.h - captures on their way to being finished
 *
 * Directories are searched again and again, small ones here, large ones by a
 * finder.  A capture is handed on once it is settled: analyse.done exists, or
 * nothing in it has changed for the quiet period (doc/formats.md, "Finished").
 * One that changes afterwards (it was analysed again) is handed on again; the
 * old marker then means nothing, and versions that soon follow each other wait
 * longer and longer, so that a growing file is not stored for each line.  The
 * caller gives the time, so that tests need not wait.
 */
#ifndef ROLLCALL_DISCOVERY_WATCH_H
#define ROLLCALL_DISCOVERY_WATCH_H

#include "discovery/find.h"
#include "identity/fingerprint.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct watch;

/* A capture that has settled, or that was taken by watch_flush. */
struct watch_settled {
    const char *path;
    struct find_id id;
    int64_t rank_hint;          // of the directory it was found in, or -1
    bool finished;              // false: taken as it is, see watch_flush
    char fingerprint[FINGERPRINT_MAX];    // of this version of it
};

/* Called for each.  A negative result ends the scan, which returns it; but
 * -EINPROGRESS (only this one has to wait) lets it go on, and return -EAGAIN.
 */
typedef int watch_fn (void *arg, const struct watch_settled *s,
                      struct err *err);

struct watch *watch_create (void);      // NULL: no memory
void watch_destroy (struct watch *w);   // w may be NULL

/* Watch 'dir', which need not exist yet.  The caller searches a 'large' one and
 * calls watch_found.  Captures whose directory has not changed since 'since_ns'
 * (wall clock; 0: no limit) are not of this job.  'rank_hint' is the rank whose
 * directory it is, or -1.  Adding a dir twice changes nothing.
 */
int watch_add (struct watch *w, const char *dir, bool large, int64_t since_ns,
               int64_t rank_hint, struct err *err);

/* Whose a capture is.  Nothing is ever reported of a foreign one (another
 * job's, a result, one in doubt).  An undecided one waits, and each watch_scan
 * asks for it again.
 */
enum watch_owner { WATCH_OURS, WATCH_FOREIGN, WATCH_UNDECIDED };

typedef enum watch_owner watch_owner_fn (void *arg, const char *path);

/* Call 'owner' for each capture that is first found in a large directory with a
 * 'since'.
 */
void watch_ask (struct watch *w, watch_owner_fn *owner, void *arg);

/* The large directories, from 0 on; NULL after the last one. */
const char *watch_large (const struct watch *w, size_t i);

/* Bound the search of a large directory that no user named.  Whether number 'i'
 * is bounded, and its 'since'.
 */
void watch_bound (struct watch *w, const char *dir);
bool watch_is_bounded (const struct watch *w, size_t i, int64_t *since_ns);

/* The results of a search of the large directory 'dir', which returned 'rc'. */
int watch_found (struct watch *w, const char *dir,
                 const struct found_list *list, int rc, const struct err *why,
                 int64_t mono_ns, struct err *err);

/* Exclude captures below 'dir', except those below 'but' (which is in it).
 * Both are without symbolic links.
 */
int watch_exclude (struct watch *w, const char *dir, const char *but,
                   struct err *err);

/* Search the directories that are not large, measure the known captures again,
 * and hand on those that have settled.  One that is gone is forgotten, since
 * profilers remove those of warm-up steps; watch_next_gone reports what is lost
 * with it.  One that was handed on is measured less often the longer it has not
 * changed, but each 30 s (or at each call, if that is less often).  One that
 * cannot be measured for lack of descriptors or memory waits.  'quiet_ns' is
 * how long a capture must be unchanged; 'mono_ns' and 'wall_ns' are now.
 */
int watch_scan (struct watch *w, int64_t quiet_ns, int64_t mono_ns,
                int64_t wall_ns, watch_fn *fn, void *arg, struct err *err);

/* The job has ended: the next watch_scan measures every capture, and no version
 * waits because it soon follows another.
 */
void watch_look_at_all (struct watch *w);

/* Only hand on what had settled by the last search, for captures that 'fn'
 * refused then.  A negative result of 'fn' ends it.
 */
int watch_hand_on (struct watch *w, int64_t quiet_ns, int64_t mono_ns,
                   int64_t wall_ns, watch_fn *fn, void *arg, struct err *err);

/* Hand on all that waits: unsettled captures as they are, as not finished. */
int watch_flush (struct watch *w, int64_t quiet_ns, int64_t mono_ns,
                 int64_t wall_ns, watch_fn *fn, void *arg, struct err *err);

/* How many captures were seen and not handed on, missing ones included. */
size_t watch_unsettled (const struct watch *w);

/* Whether one of those began to wait after then (monotonic), and may still
 * settle.
 */
bool watch_is_waiting (const struct watch *w, int64_t since_ns);

/* The path of number 'i' of those; NULL for a missing one, and after the last.
 */
const char *watch_unsettled_path (const struct watch *w, size_t i);

/* Whether one of those has changed since then (monotonic), so is being written.
 */
bool watch_is_collecting (const struct watch *w, int64_t since_ns);

/* Captures below this directory, settled or not. */
size_t watch_count_below (const struct watch *w, const char *dir);

/* How many captures the last searches left out, since they did not change after
 * the 'since' of their directory: they are another job's, or the clock was set
 * back.
 */
size_t watch_count_older (const struct watch *w);

/* Hand this capture on again although it has not changed; NULL: all of them. */
void watch_hand_on_again (struct watch *w, const char *path);

/* Do that when it is next seen: it is gone now, and may come back before a
 * search misses it.
 */
void watch_hand_on_if_back (struct watch *w, const char *path);

/* The next capture that was seen for the first time, each once; NULL: no more
 * now. watch_report_again: return all of them again.
 */
const char *watch_next_seen (struct watch *w);
void watch_report_again (struct watch *w);

/* A capture that waited to be handed on and is no longer in its place, each
 * once: its profiler had finished it, or it had settled and was refused.
 */
struct watch_gone {
    char *path;                 // malloced, the caller's
    bool moved;                 // it has another path now
};

/* The next one whose fate is known: it was found elsewhere, or a search of the
 * large directories that began at 'searched_ns' (monotonic), when it was
 * already gone, ended without finding it.  False: no more now.
 */
bool watch_next_gone (struct watch *w, int64_t searched_ns,
                      struct watch_gone *ret);

/* When the latest capture was missed that watch_next_gone has not returned; 0:
 * none is left.
 */
int64_t watch_missing_ns (const struct watch *w);

/* Report one as gone; 'id' NULL: its identity is not known.  A scan notices by
 * itself that a watched one is gone.
 */
void watch_miss (struct watch *w, const char *path, const struct find_id *id,
                 int64_t mono_ns);

/* The path of a capture that its profiler had finished, and that keeps
 * changing: for ten minutes and five quiet periods.  Each once; NULL: no more
 * now.  'newest' is the name of the file that was last written.
 */
const char *watch_next_busy (struct watch *w, int64_t quiet_ns,
                             int64_t mono_ns, char newest[256]);

/* The next problem with a directory, a sentence, each once; NULL: no more. */
const char *watch_next_problem (struct watch *w);

#endif
