/* node_agent/discovery/watch.h - captures on their way to being finished
 *
 * Directories are searched again and again, small ones here, large ones by a
 * finder; a capture is handed on once it is settled: its analyse.done is there,
 * or nothing in it has changed for the quiet period (doc/formats.md,
 * "Finished").  One that changes afterwards (it was analysed again) is handed
 * on again; then the marker, which is there already, says nothing, and versions
 * that soon follow each other wait longer and longer: a file that grows and
 * grows is not stored again for each line.  Time is the caller's, so that tests
 * need not wait for it.
 */
#ifndef ROLLCALL_DISCOVERY_WATCH_H
#define ROLLCALL_DISCOVERY_WATCH_H

#include "discovery/find.h"
#include "identity/fingerprint.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct watch;

/* A capture that is settled (or was given up waiting for). */
struct watch_settled {
    const char *path;
    struct find_id id;
    int64_t rank_hint;          // of the directory it was found in, or -1
    bool finished;              // false: taken as it is, see watch_flush
    char fingerprint[FINGERPRINT_MAX];    // of this version of it
};

/* Called for each; a failure (negative) is returned by the scan, and ends it;
 * but of -EINPROGRESS (this one has to wait, no other has) -EAGAIN, in the end.
 */
typedef int watch_fn (void *arg, const struct watch_settled *s,
                      struct err *err);

struct watch *watch_create (void);      // NULL: no memory
void watch_destroy (struct watch *w);   // w may be NULL

/* Watch 'dir', which need not exist yet.  One that is 'large' is searched by
 * the caller, who gives what was found to watch_found.  Captures whose
 * directory has not been touched since 'since_ns' (wall clock; 0: no limit) are
 * not of this job.  'rank_hint' is whose directory it is, or -1.  The same dir
 * again: no change.
 */
int watch_add (struct watch *w, const char *dir, bool large, int64_t since_ns,
               int64_t rank_hint, struct err *err);

/* Whose a capture is.  Of a foreign one (another job's, which writes there,
 * too; a result; one in doubt) nothing is ever told here, whatever happens to
 * it.  One that is undecided waits, and is asked for again by each watch_scan.
 */
enum watch_owner { WATCH_OURS, WATCH_FOREIGN, WATCH_UNDECIDED };

typedef enum watch_owner watch_owner_fn (void *arg, const char *path);

/* Ask 'owner' of each capture that is first found in a large directory with a
 * 'since'.
 */
void watch_ask (struct watch *w, watch_owner_fn *owner, void *arg);

/* The large directories, from 0 on; NULL behind the last one. */
const char *watch_large (const struct watch *w, size_t i);

/* A large directory that nobody has named: its search may end early.  Whether
 * it is one, and the 'since' of the one after 'i' others.
 */
void watch_bound (struct watch *w, const char *dir);
bool watch_is_bounded (const struct watch *w, size_t i, int64_t *since_ns);

/* A search of the large directory 'dir' that returned 'rc' gave this. */
int watch_found (struct watch *w, const char *dir,
                 const struct found_list *list, int rc, const struct err *why,
                 int64_t mono_ns, struct err *err);

/* Captures below 'dir' are not of this job, but for those below 'but' (which
 * is in it).  Both without symbolic links.
 */
int watch_exclude (struct watch *w, const char *dir, const char *but,
                   struct err *err);

/* Search the directories that are not large, look again at the captures that
 * are known, and hand on what is settled.  One that is not there any more is
 * forgotten: profilers remove those of warm-up steps; what is lost with it is
 * told by watch_next_gone.  One that was handed on is looked at the more seldom
 * the longer it has not changed, at least each 30 s (and whenever this is
 * called, if it is called more seldom).  One that cannot be looked at for want
 * of descriptors or memory waits.  'quiet_ns' is how long a capture must be
 * unchanged; 'mono_ns' and 'wall_ns' are now.
 */
int watch_scan (struct watch *w, int64_t quiet_ns, int64_t mono_ns,
                int64_t wall_ns, watch_fn *fn, void *arg, struct err *err);

/* The job has ended: the next watch_scan looks at every capture, and no version
 * waits any more because it soon follows another.
 */
void watch_look_at_all (struct watch *w);

/* Only hand on what is settled by the last search: for what was refused then
 * (by a negative result of 'fn', which ends either).
 */
int watch_hand_on (struct watch *w, int64_t quiet_ns, int64_t mono_ns,
                   int64_t wall_ns, watch_fn *fn, void *arg, struct err *err);

/* Hand on all that waits: what has not settled as it is, and as not finished.
 */
int watch_flush (struct watch *w, int64_t quiet_ns, int64_t mono_ns,
                 int64_t wall_ns, watch_fn *fn, void *arg, struct err *err);

/* Captures that have been seen and not handed on, and those that are missed. */
size_t watch_unsettled (const struct watch *w);

/* Whether one of those has waited only since then (monotonic), and may settle
 * yet.
 */
bool watch_is_waiting (const struct watch *w, int64_t since_ns);

/* The path of one of those after 'i' others, or NULL: of what is missed, and
 * behind the last.
 */
const char *watch_unsettled_path (const struct watch *w, size_t i);

/* Whether one of those has changed since then (monotonic): it is being
 * written.
 */
bool watch_is_collecting (const struct watch *w, int64_t since_ns);

/* Captures below this directory, settled or not. */
size_t watch_count_below (const struct watch *w, const char *dir);

/* How many captures the last searches left out, since they were not touched
 * since the 'since' of their directory: of another job, or the clock was set
 * back.
 */
size_t watch_count_older (const struct watch *w);

/* Hand this capture on again though it has not changed; NULL: all of them. */
void watch_hand_on_again (struct watch *w, const char *path);

/* The same when it is seen the next time: it is not there now, and may come
 * back before any search has missed it.
 */
void watch_hand_on_if_back (struct watch *w, const char *path);

/* A capture that was seen for the first time, each once; NULL: no more now.
 * All of them once more.
 */
const char *watch_next_seen (struct watch *w);
void watch_report_again (struct watch *w);

/* A capture that is not where it was, each once, of those that waited to be
 * handed on: its profiler was done with it, or it had settled and was refused.
 */
struct watch_gone {
    char *path;                 // malloced, the caller's
    bool moved;                 // it has another path now
};

/* The next one of which it is known what became of it: it was found elsewhere;
 * or it was not, and a search of the large directories has ended that began at
 * 'searched_ns' (monotonic), when it was gone already.  False: no more now.
 */
bool watch_next_gone (struct watch *w, int64_t searched_ns,
                      struct watch_gone *ret);

/* When the latest was missed of those that watch_next_gone has not told; 0: it
 * has told all.
 */
int64_t watch_missing_ns (const struct watch *w);

/* This one is gone, too; 'id' NULL: what it was is not known.  Of one that is
 * watched the next scan will notice.
 */
void watch_miss (struct watch *w, const char *path, const struct find_id *id,
                 int64_t mono_ns);

/* The path of a capture that its profiler was done with, and that has not been
 * quiet since: for ten minutes, and five quiet periods.  Each once; NULL: no
 * more now.  'newest' is the name of the file that was written to last.
 */
const char *watch_next_busy (struct watch *w, int64_t quiet_ns,
                             int64_t mono_ns, char newest[256]);

/* A directory of a problem that was met, in words, each once; NULL: no more. */
const char *watch_next_problem (struct watch *w);

#endif
