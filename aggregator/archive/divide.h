/* aggregator/archive/divide.h - the captures of a scope, given to jobs
 *
 * What agents send that were told no job's id is of any number of jobs.  Which,
 * is decided by what the captures show (jobs/jobs.h), here, where those of all
 * hosts are known; what was decided once is not decided again.
 */
#ifndef ROLLCALL_ARCHIVE_DIVIDE_H
#define ROLLCALL_ARCHIVE_DIVIDE_H

#include "store/store.h"

/* To be written, with ledger_assign. */
struct divide {
    struct ledger_assignment *assignments;
    size_t n;
    char (*jobs)[MESSAGE_NAME_MAX];     // of which captures come or go
    size_t njobs;
};

void divide_fini (struct divide *d);    // also of a zeroed one

/* In a transaction, behind their records (store_note_assignment). */
int divide_enter (const struct divide *d, struct ledger *ledger,
                  struct err *err);
int divide_append (const struct divide *d, struct store *store,
                   struct err *err);

/* Both, and the commit: for who has the root's lock and no transfers. */
int divide_commit (const struct divide *d, struct ledger *ledger,
                   struct store *store, struct err *err);

/* Give what is in no job yet to one.  'gap_ns' as in jobs_divide.  A shipment
 * that cannot be read shows nothing.  0, -ENOMEM, -EBADMSG or -EIO; 'ret' is
 * empty then, as with the other two.
 */
int divide_scope (struct ledger *ledger, struct store *store,
                  const char *scope, int64_t gap_ns, struct divide *ret,
                  struct err *err);

/* All of one job to another; and so many captures of a job, by name or rank
 * ("rank3"), to a job of their own, whose name is made up.  -ENOENT: there is
 * no such job or capture; -EINVAL: its id was given, so its user knows, or nothing
 * would stay.
 */
int divide_merge (struct ledger *ledger, const char *job, const char *into,
                  struct divide *ret, struct err *err);
int divide_split (struct ledger *ledger, struct store *store, const char *job,
                  const char *const *captures, size_t n, struct divide *ret,
                  struct err *err);

/* 'jobs' of what the others have put together. */
int divide_list_jobs (struct divide *d, struct ledger *ledger,
                      struct err *err);

/* Whether a capture of a job is what is called so. */
bool divide_is_called (int64_t rank, const char *capture, const char *what);

#endif
