/* aggregator/builder/build.h - build one analysis.db from all captures of a job
 *
 * Used for captures on this machine's disk (rollcall analyze) and for shipments
 * from the network.  The caller's function feeds captures, one at a time in
 * each thread.
 */
#ifndef ROLLCALL_BUILDER_BUILD_H
#define ROLLCALL_BUILDER_BUILD_H

#include "base/buf.h"
#include "builder/build_state.h"
#include "builder/derive_options.h"
#include "model/batch.h"
#include "publish/publish.h"
#include "select/capture_select.h"

#include <stdatomic.h>

#define BUILD_THREADS_MAX 64
#define BUILD_DB_NAME PUBLISH_DB_NAME   // of the result

/* Give the rows of items[source] to the sink and fill in the empty capture.
 * Called once for each capture that counts, from any thread; the sink is NULL
 * if only the capture is wanted.  Returns 0 for any state of the capture, or a
 * negative error if the build cannot continue.
 */
typedef int build_feed_fn (void *arg, size_t source,
                           const struct row_sink *sink, struct capture *c,
                           struct err *err);

/* Called when every capture was read once, to check that all are of one job and
 * have the right rank.  It may change ranks; then it returns 1, and the rows
 * are read again, for the last time.  0: nothing changed; negative: give up.
 */
typedef int build_decide_fn (void *arg, struct select_item *items, size_t n,
                             struct err *err);

/* How other processes of a launch read captures, for the process that has all of
 * them (builder/team.h).  Functions get the job's feed_arg; each returns 0 or a
 * negative error with a sentence, and is called by the calling thread.
 */
struct team;

struct build_remote {
    struct team *team;
    // what a member has to know once, and for each capture
    int (*settings) (void *arg, struct buf *out, struct err *err);
    int (*order) (void *arg, size_t source, struct buf *out, struct err *err);
    // complete the capture that a member has read, as the feed does; may be
    // NULL
    int (*took) (void *arg, size_t source, struct capture *c, struct err *err);
    // bytes of what a member cannot see; NULL: it takes no part then
    int (*read) (void *arg, size_t source, void *out, size_t n, uint64_t at,
                 struct err *err);
    bool own_threads;           // each host has as many threads as processors;
                                // else job->threads, which its processes divide
};

struct build_progress {
    size_t captures, captures_all;
    uint64_t bytes, bytes_all;
    const char *phase;          // the current phase after reading; else NULL
};

typedef void build_progress_fn (void *arg, const struct build_progress *p);

struct build_job {
    struct select_item *items;          // planned: select_plan
    size_t nitems;
    struct roster *roster;              // expected ranks, filled in by the
                                        // build; if empty, the captures tell
                                        // how many there are
    unsigned threads;                   // 1 to BUILD_THREADS_MAX
    build_feed_fn *feed;
    void *feed_arg;
    const struct build_remote *remote;  // or NULL: this process is alone
    build_decide_fn *decide;            // NULL: all captures count, as planned
    void *decide_arg;
    // called by the calling thread about five times a second while captures are
    // read, and at the start of each later phase; may be NULL
    build_progress_fn *progress;
    void *progress_arg;
    // called by the calling thread with a sentence for a person while the build
    // goes on; may be NULL
    void (*say) (void *arg, const char *sentence);
    void *say_arg;
    const atomic_bool *cancel;          // once true, the build stops with
                                        // -EINTR
    int64_t began_ns;           // when the job began (clock_wall_ns); a
                                // result of a job that began later is
                                // kept; 0: any result is replaced
    const char *job_id, *steps, *inputs;        // for table Job; may be NULL.
                                // If steps are given and no row has one of
                                // them, the build fails
    const char *others;         // a sentence about other jobs in the directory,
                                // or NULL
    bool forget;                // leave out the job's command and environment
    const bool *assumed;        // whether the captures were only assumed to be
                                // of one job; or NULL.  As job_id and others,
                                // it is read after the call of 'decide'
    const struct derive_options *derive;        // or NULL
    struct build_state *state;  // of the result in place, which the build uses
                                // if it can; then of the new one, with those
                                // blocks that are the same.  The caller frees
                                // it; NULL: there is none, and none is wanted
};

struct build_result {
    uint64_t rows;                      // rows in the four tables
    size_t reused;                      // captures whose rows were copied
    char path[PATH_MAX];                // path of analysis.db
    char kept[PATH_MAX];                // path of the replaced file, or ""
    char newer[PUBLISH_JOB_MAX];        // the job that began later: its result
                                        // stays, this one is beside it; or ""
};

/* Build, check and publish analysis.db.  On failure nothing has changed under
 * its final name, and 'err' says why: -ENOSPC, -EROFS, -EACCES, -EINTR,
 * -ENOMEM, -EIO, -ENODATA (no capture has any of job->steps), or the result of
 * a feed.
 */
int build_run (const struct build_job *job, struct publish *out,
               struct build_result *ret, struct err *err);

/* What captures say of who started their job: for each kind the first word that
 * one has, by rank.
 */
struct job_origin build_origin (const struct select_item *items, size_t n);

/* Whether each capture says that it is of this user. */
bool build_is_of (const struct select_item *items, size_t n, const char *user);

/* Read the captures and call 'decide'; nothing is built or written. */
int build_look (const struct build_job *job, struct err *err);

#endif
