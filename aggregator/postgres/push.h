/* aggregator/postgres/push.h - bring PostgreSQL up to date with a root */
#ifndef ROLLCALL_POSTGRES_PUSH_H
#define ROLLCALL_POSTGRES_PUSH_H

#include "catalogue/catalogue.h"
#include "postgres/postgres.h"

struct push_options {
    const char *cluster;        // the root's name there
    const char *root_id;        // whose name it has to be, and no other one
    bool rebind;                // it becomes that
    const char *job;            // only this one; NULL: all
    bool prune;                 // of all: jobs that the root lacks go
    /* Called for each job that has to be pushed, with the time of its last
     * change (since 1970), before the first one is; and after each commit for
     * each job of it.  Both may be NULL.
     */
    void (*behind) (void *arg, const char *job, int64_t since_ns);
    void (*pushed) (void *arg, const char *job);
    /* Called for each job that is left out, since there is no part for its time:
     * somebody has detached that of its month, or made one of other days of it.
     * 'why' says so, and what to do.  May be NULL.
     */
    void (*no_part) (void *arg, const char *job, const char *why);
    void *arg;
};

struct push_sums {
    int64_t jobs, rows, transactions, pruned;
    int64_t unnamed;            // left out: their names are not UTF-8
    int64_t no_part;            // and these: no part is there for their times
    int64_t unreadable;         // results of which only the catalogue's sums
                                // could be pushed, or not all rows; of these,
    int64_t later;              // those that another try may read
};

/* Push what has changed.  A job's rows are replaced in one transaction, which
 * small jobs share; what was committed before a failure stays.  The ledger is
 * that of the catalogue.  -ESRCH: there is no such job; -EEXIST: another root has
 * the name, or the root another name; or as schema_check; errors of the ledger.
 */
int push_jobs (struct pg *p, struct catalogue *c, struct ledger *l,
               const struct push_options *opt, struct push_sums *sums,
               struct err *err);

#endif
