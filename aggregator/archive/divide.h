/* aggregator/archive/divide.h - divide the captures of a scope into jobs
 *
 * Agents without a job's id send captures of any number of jobs.  The captures'
 * content decides which (jobs/jobs.h), here, where those of all hosts are
 * known.  A decision is never revised.
 */
#ifndef ROLLCALL_ARCHIVE_DIVIDE_H
#define ROLLCALL_ARCHIVE_DIVIDE_H

#include "archive/job_facts.h"
#include "base/clock.h"
#include "store/store.h"

/* Assignments to be written with ledger_assign. */
struct divide {
    struct ledger_assignment *assignments;
    size_t n;
    char (*jobs)[MESSAGE_NAME_MAX];     // that gain or lose captures
    size_t njobs;
    struct job_facts marks;     // that jobs get from those that lose captures
};

void divide_fini (struct divide *d);    // also of a zeroed one

/* Write them, in a transaction, after their records (store_note_assignment). */
int divide_enter (const struct divide *d, struct ledger *ledger,
                  struct err *err);
int divide_append (const struct divide *d, struct store *store,
                   struct err *err);

/* Write both and commit: for a caller with the root's lock and no transfers. */
int divide_commit (const struct divide *d, struct ledger *ledger,
                   struct store *store, struct err *err);

/* Assign all captures without a job.  'gap_ns' as in jobs_divide.  A shipment
 * that cannot be read shows nothing.  0, -ENOMEM, -EBADMSG, -EIO, or -EREMOTEIO:
 * one is only in an object store, which does not give it; with an empty 'ret', as
 * below.
 */
int divide_scope (struct ledger *ledger, struct store *store,
                  const char *scope, int64_t gap_ns, struct divide *ret,
                  struct err *err);

/* Move all captures of one job to another; or move captures of a job, given by
 * name or rank ("rank3"), to a new job with a generated name.  -ENOENT: no such
 * job or capture; -EINVAL: a user gave the job's id, or no capture would
 * remain.
 */
int divide_merge (struct ledger *ledger, const char *job, const char *into,
                  struct divide *ret, struct err *err);
int divide_split (struct ledger *ledger, struct store *store, const char *job,
                  const char *const *captures, size_t n, struct divide *ret,
                  struct err *err);

/* Fill 'jobs' and 'marks' of a finished division. */
int divide_list_jobs (struct divide *d, struct ledger *ledger,
                      struct err *err);

#endif
