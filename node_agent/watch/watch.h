/* node_agent/watch/watch.h - captures on their way to being finished
 *
 * Directories are searched again and again; a capture is handed on once it is
 * settled: its analyse.done is there, or nothing in it has changed for the
 * quiet period (doc/formats.md, "Finished").  One that changes afterwards (it
 * was analysed again) is handed on again.  Time is the caller's, so that tests
 * need not wait for it.
 */
#ifndef ROLLCALL_WATCH_WATCH_H
#define ROLLCALL_WATCH_WATCH_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WATCH_FINGERPRINT_MAX 96         // bytes; the longest has 68

struct watch;

/* A capture that is settled (or was given up waiting for). */
struct watch_settled {
    const char *path;
    int64_t rank_hint;          // of the directory it was found in, or -1
    bool finished;              // false: taken as it is, see watch_flush
    char fingerprint[WATCH_FINGERPRINT_MAX];    // of this version of it
};

/* Called for each; a failure (negative) is returned by the scan. */
typedef int watch_fn (void *arg, const struct watch_settled *s,
                      struct err *err);

struct watch *watch_create (void);      // NULL: no memory
void watch_destroy (struct watch *w);   // w may be NULL

/* Watch 'dir', which need not exist yet.  Captures whose directory has not
 * been touched since 'since_ns' (wall clock; 0: no limit) are not of this job.
 * 'rank_hint' is whose directory it is, or -1.  The same dir again: no change.
 */
int watch_add (struct watch *w, const char *dir, int64_t since_ns,
               int64_t rank_hint, struct err *err);

/* Captures below 'dir' are not of this job, but for those below 'but' (which
 * is in it).  Both without symbolic links.
 */
int watch_exclude (struct watch *w, const char *dir, const char *but,
                   struct err *err);

/* Search all directories.  'quiet_ns' is how long a capture must be unchanged;
 * 'mono_ns' and 'wall_ns' are now.
 */
int watch_scan (struct watch *w, int64_t quiet_ns, int64_t mono_ns,
                int64_t wall_ns, watch_fn *fn, void *arg, struct err *err);

/* Hand on what is not settled as it is. */
int watch_flush (struct watch *w, watch_fn *fn, void *arg, struct err *err);

/* Captures that have been seen and not handed on. */
size_t watch_unsettled (const struct watch *w);

/* Captures below this directory, settled or not. */
size_t watch_count_below (const struct watch *w, const char *dir);

/* A directory of a problem that was met, in words, each once; NULL: no more. */
const char *watch_next_problem (struct watch *w);

#endif
