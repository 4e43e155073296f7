/* node_agent/discovery/watch.h - watch directories for finished captures
 *
 * Directories are searched repeatedly, small ones here, large ones by a finder.
 * A capture is handed on once it is settled: analyse.done exists, or nothing in
 * it has changed for the quiet period (doc/formats.md, "Finished").  A capture
 * that changes afterwards (it was analysed again) is handed on again.  Its old
 * marker does not count any more, and versions that follow each other soon wait
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
    int64_t rank_hint;          // rank of the directory where it was found, or
                                // -1
    bool finished;              // false: it is taken as it is, see watch_flush
    char fingerprint[FINGERPRINT_MAX];    // of this version
};

/* Called for each capture.  A negative result ends the scan, which returns it.
 * -EINPROGRESS (only this capture has to wait) does not end it; then the scan
 * returns -EAGAIN.
 */
typedef int watch_fn (void *arg, const struct watch_settled *s,
                      struct err *err);

struct watch *watch_create (void);      // NULL: no memory
void watch_destroy (struct watch *w);   // w may be NULL

/* Watch 'dir', which need not exist yet.  If it is 'large', the caller searches
 * it and calls watch_found.  A capture whose directory has not changed since
 * 'since_ns' (wall clock; 0: no limit) belongs to another job.  'rank_hint' is
 * the rank that writes to this directory, or -1.  Adding a directory again has
 * no effect.  Returns 0 or -ENOMEM.
 */
int watch_add (struct watch *w, const char *dir, bool large, int64_t since_ns,
               int64_t rank_hint, struct err *err);

/* Who owns a capture.  A foreign one (of another job, a result, one in doubt)
 * is never reported.  An undecided one waits, and each watch_scan asks again.
 */
enum watch_owner { WATCH_OURS, WATCH_FOREIGN, WATCH_UNDECIDED };

typedef enum watch_owner watch_owner_fn (void *arg, const char *path);

/* Call 'owner' for each capture that is first found in a large directory with a
 * 'since'.
 */
void watch_ask (struct watch *w, watch_owner_fn *owner, void *arg);

/* Large directory number i, from 0 on; NULL after the last one. */
const char *watch_large (const struct watch *w, size_t i);

/* Limit the search of a large directory that no user named; and whether the
 * search of number i is limited, with its 'since'.
 */
void watch_bound (struct watch *w, const char *dir);
bool watch_is_bounded (const struct watch *w, size_t i, int64_t *since_ns);

/* Take the results of a search of the large directory 'dir', which returned
 * 'rc' and 'why'.
 */
int watch_found (struct watch *w, const char *dir,
                 const struct found_list *list, int rc, const struct err *why,
                 int64_t mono_ns, struct err *err);

/* Exclude captures below 'dir', except those below 'but', which is in it.  Both
 * paths are without symbolic links.
 */
int watch_exclude (struct watch *w, const char *dir, const char *but,
                   struct err *err);

/* Search the directories that are not large, measure the known captures again,
 * and hand on those that have settled.  A capture that is gone is forgotten,
 * since profilers remove those of warm-up steps; watch_next_gone reports a
 * loss.  A capture that was handed on is measured less often the longer it has
 * not changed, but at least every 30 s (or at each call, if calls are rarer).
 * A capture that cannot be measured for lack of descriptors or memory waits.
 * 'quiet_ns' is how long a capture has to be unchanged; 'mono_ns' and 'wall_ns'
 * are the time now.
 */
int watch_scan (struct watch *w, int64_t quiet_ns, int64_t mono_ns,
                int64_t wall_ns, watch_fn *fn, void *arg, struct err *err);

/* The job has ended: the next watch_scan measures every capture, and no version
 * waits because it came soon after another.
 */
void watch_look_at_all (struct watch *w);

/* Hand on what had settled at the last search, without another search, for
 * captures that 'fn' refused then.  A negative result of 'fn' ends it and is
 * returned.
 */
int watch_hand_on (struct watch *w, int64_t quiet_ns, int64_t mono_ns,
                   int64_t wall_ns, watch_fn *fn, void *arg, struct err *err);

/* Hand on all captures that wait; unsettled ones are taken as they are, as not
 * finished.
 */
int watch_flush (struct watch *w, int64_t quiet_ns, int64_t mono_ns,
                 int64_t wall_ns, watch_fn *fn, void *arg, struct err *err);

/* How many captures were seen and not handed on.  Missing ones are included. */
size_t watch_unsettled (const struct watch *w);

/* Whether one of those began to wait after 'since_ns' (monotonic), and may
 * still settle.
 */
bool watch_is_waiting (const struct watch *w, int64_t since_ns);

/* The path of unsettled capture number i; NULL if it is missing, and after the
 * last one.
 */
const char *watch_unsettled_path (const struct watch *w, size_t i);

/* Whether one of those has changed since 'since_ns' (monotonic), so that it is
 * being written.
 */
bool watch_is_collecting (const struct watch *w, int64_t since_ns);

/* How many captures are below this directory, settled or not. */
size_t watch_count_below (const struct watch *w, const char *dir);

/* How many captures the last searches left out because they had not changed
 * after the 'since' of their directory: they are of another job, or the clock
 * was set back.
 */
size_t watch_count_older (const struct watch *w);

/* Hand this capture on again although it has not changed; NULL: all captures.
 */
void watch_hand_on_again (struct watch *w, const char *path);

/* Do that when the capture is seen again.  It is gone now, and may return
 * before a search misses it.
 */
void watch_hand_on_if_back (struct watch *w, const char *path);

/* Return the next capture that was seen for the first time, each once; NULL: no
 * more now.  After watch_report_again all of them are returned once more.
 */
const char *watch_next_seen (struct watch *w);
void watch_report_again (struct watch *w);

/* A capture that waited to be handed on and is no longer there.  It is reported
 * once if its profiler had finished it, or if it had settled and was refused.
 */
struct watch_gone {
    char *path;                 // malloced, the caller's
    bool moved;                 // it has another path now
};

/* Return the next one whose fate is known: it was found elsewhere, or a search
 * of the large directories that began at 'searched_ns' (monotonic), after it
 * was gone, ended without finding it.  False: no more now.
 */
bool watch_next_gone (struct watch *w, int64_t searched_ns,
                      struct watch_gone *ret);

/* When the latest capture was missed that watch_next_gone has not returned,
 * monotonic; 0: there is none.
 */
int64_t watch_missing_ns (const struct watch *w);

/* Report a capture as gone.  'id' NULL: its identity is not known.  A scan
 * finds out itself about a watched one.
 */
void watch_miss (struct watch *w, const char *path, const struct find_id *id,
                 int64_t mono_ns);

/* Return the path of a capture that its profiler had finished and that still
 * changes, for ten minutes and five quiet periods.  Each is returned once;
 * NULL: no more now.  'newest' is the name of the file that was written last.
 */
const char *watch_next_busy (struct watch *w, int64_t quiet_ns,
                             int64_t mono_ns, char newest[256]);

/* Return the next problem with a directory, a sentence, each once; NULL: no
 * more now.
 */
const char *watch_next_problem (struct watch *w);

#endif
