/* aggregator/postgres/push_private.h - shared by the two parts of a push */
#ifndef ROLLCALL_POSTGRES_PUSH_PRIVATE_H
#define ROLLCALL_POSTGRES_PUSH_PRIVATE_H

#include "postgres/push.h"

#define BATCH_JOBS 64           // in a transaction, whose results are open
#define ARRAY_MAX (1u << 20)    // of the names of a batch

struct push_job {
    char name[MESSAGE_NAME_MAX];
    int64_t id, sum, at_ns;     // of the catalogue
    int64_t there;              // its id in PostgreSQL
    char path[PATH_MAX];        // of its result, or ""
    struct catalogue_result result;
    bool gone;                  // its row of the catalogue is
    int failed;                 // why that could not be read to its end, or 0
};

struct push_batch {
    struct push_job jobs[BATCH_JOBS];
    size_t n;
};

/* push_batch.c: whether a root has the name of the cluster: -EEXIST, another one
 * than this has.
 */
int push_check_owner (struct pg *p, const struct push_options *opt,
                      bool *known, struct err *err);

/* Begin a transaction that no other one of this cluster runs beside; the same of
 * one who pushes, whose name it still has to be; the end, with what came before:
 * 'rc', or an error.
 */
int push_lock (struct pg *p, const char *cluster, struct err *err);
int push_begin (struct pg *p, const struct push_options *opt, struct err *err);
int push_end (struct pg *p, int rc, struct err *err);

/* In it, remove jobs: an array of their names, which it ends. */
int push_remove (struct pg *p, const char *cluster, struct buf *names,
                 struct err *err);

/* Replace the rows of these jobs in a transaction. */
int push_batch (struct pg *p, struct catalogue *c,
                const struct push_options *opt, struct push_batch *b,
                struct push_sums *sums, struct err *err);

#endif
