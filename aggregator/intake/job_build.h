/* aggregator/intake/job_build.h - a job's shipments into its analysis.db */
#ifndef ROLLCALL_INTAKE_JOB_BUILD_H
#define ROLLCALL_INTAKE_JOB_BUILD_H

#include "build/build.h"
#include "intake/store.h"

struct job_build;

/* Collect what the ledger has of the job (in the thread that owns the ledger).
 * NULL with 'err' on failure.  Shipments that cannot be read become failed
 * captures that say so.
 */
struct job_build *job_build_create (struct ledger *ledger,
                                    struct store *store, const char *job,
                                    struct err *err);
void job_build_destroy (struct job_build *b);   // b may be NULL

size_t job_build_captures (const struct job_build *b);

/* Build into OUT/cluster_analysis_output; may run in a thread of its own. */
int job_build_run (struct job_build *b, const char *out, unsigned threads,
                   struct roster *roster, struct build_result *ret,
                   struct err *err);

/* Whether any capture could be read. */
bool job_build_any_rows (const struct job_build *b);

/* Put the raw files of a job into DIR/<capture>/...; *n counts them.  Where
 * captures of several ranks have one name each is in DIR/rank<N>/<capture>/,
 * and so is a capture whose own name is "rank<N>" or "no-rank" (that is where
 * those go that have none): no two files of a job share a path.
 */
int job_build_raw_tree (struct ledger *ledger, struct store *store,
                        const char *job, const char *dir, size_t *n,
                        struct err *err);

#endif
