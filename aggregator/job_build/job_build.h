/* aggregator/job_build/job_build.h - build analysis.db from a job's shipments
 *
 * This folder: the result of a job from a root alone.
 */
#ifndef ROLLCALL_JOB_BUILD_H
#define ROLLCALL_JOB_BUILD_H

#include "job_build/raw_tree.h"
#include "builder/build.h"
#include "builder/results.h"

struct job_build;

/* Collect what the ledger has of the job (in the thread that owns the ledger),
 * with so many threads that read what its shipments say, BUILD_THREADS_MAX at most.
 * Shipments that are damaged or missing become failed captures that say so.
 * -EACCES or -EPERM: this user may not read a segment; -EIO, -EREMOTEIO: it
 * cannot be read now; -EMFILE, -ENFILE, -ENOMEM; or as the ledger.  Then *ret is
 * NULL.
 */
int job_build_create (struct ledger *ledger, struct store *store,
                      const char *job, unsigned threads,
                      struct job_build **ret, struct err *err);
void job_build_destroy (struct job_build *b);   // b may be NULL

size_t job_build_captures (const struct job_build *b);

/* Also put the raw files into OUT/captures (call it in the ledger's thread).
 * job_build_raw: the result, after job_build_run; NULL: not requested.
 */
int job_build_add_raw (struct job_build *b, struct ledger *ledger,
                       struct err *err);
const struct raw_tree *job_build_raw (const struct job_build *b);

/* How it is built; to be changed before job_build_run. */
struct job_build_options {
    unsigned wanted;            // enum results_wanted: RESULTS_DEFAULT
    bool foreign;               // root may write into another user's OUT
                                // (store/tree.h; without it -EPERM)
    bool later;                 // OUT was resolved long ago, and its owner may
                                // have added links since then
    int64_t began_ns;           // when the job began (clock_wall_ns), or 0: the
                                // result of one that began later stays in OUT,
                                // and this one is put beside it (build.h)
    const struct derive_options *derive;        // of derived tables, or NULL
    const atomic_bool *cancel;  // stop when it is true, instead of at
                                // job_build_cancel
    struct team *team;          // other processes that read, with the functions
                                // of job_member.h; or NULL
    bool own_threads;           // of it: struct build_remote
    bool digest;                // compute job_build_rows
    build_progress_fn *progress;        // as in struct build_job, and the phase
    void *progress_arg;         // in which files beside analysis.db are made
    void (*say) (void *arg, const char *sentence);      // as in struct
    void *say_arg;                                      // build_job
};

struct job_build_options *job_build_options (struct job_build *b);

/* After job_build_run: the files that were made beside analysis.db. */
const struct results *job_build_results (const struct job_build *b);

/* After job_build_run: the digest of the result's rows (publish/rows_digest.h);
 * NULL if none was wanted, or the result could not be read again.
 */
const struct digest *job_build_rows (const struct job_build *b);

/* After job_build_run: how many shipments with rows and raw files of the job
 * are not in the result, since other versions count.
 */
size_t job_build_left (const struct job_build *b);

/* Fill a new roster with the expected ranks, by these claims and the captures'
 * metadata; 'run': the claims are of a run's own nodes, which are as reliable
 * as the user who started them.  Claims that do not count become a note of the
 * roster.  0 or -ENOMEM.
 */
int job_build_expect (const struct job_build *b,
                      const struct size_claims *claims,
                      bool run, struct roster *roster);

/* Add the agents' reports to a roster: the host of each rank, also if nothing
 * was delivered of it, and how its COMMAND ended.
 */
void job_build_say_fates (const struct job_build *b, struct roster *roster);

/* Say of ranks without captures, after all else that explains them, when and by
 * whom these were removed.  0 or -ENOMEM.
 */
int job_build_say_gone (const struct job_build *b, struct roster *roster);

/* Build into OUT/cluster_analysis_output; may run in a thread of its own.
 * -EINTR: another thread has called job_build_cancel; ret->path names what was
 * written, or is "".
 */
int job_build_run (struct job_build *b, const char *out, unsigned threads,
                   struct roster *roster, struct build_result *ret,
                   struct err *err);

/* After job_build_run: who started the job, and how; and whether all of it is of
 * this user.
 */
struct job_origin job_build_about (const struct job_build *b);
bool job_build_is_of (const struct job_build *b, const char *user);

void job_build_cancel (struct job_build *b);

/* Whether any capture could be read. */
bool job_build_any_rows (const struct job_build *b);

#endif
