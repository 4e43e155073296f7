/* aggregator/postgres/push_private.h - shared by the two parts of a push */
#ifndef ROLLCALL_POSTGRES_PUSH_PRIVATE_H
#define ROLLCALL_POSTGRES_PUSH_PRIVATE_H

#include "postgres/push.h"

#define BATCH_JOBS 64           // in a transaction, whose results are open

struct push_job {
    char name[MESSAGE_NAME_MAX];
    int64_t id, sum, at_ns;     // of the catalogue
    int64_t there;              // its id in PostgreSQL; 0: not yet
    char path[PATH_MAX];        // of its result, or ""
    struct catalogue_result result;
};

struct push_batch {
    struct push_job jobs[BATCH_JOBS];
    size_t n;
};

/* push_batch.c: replace the rows of these jobs in a transaction. */
int push_batch (struct pg *p, struct catalogue *c, const char *cluster,
                struct push_batch *b, struct push_sums *sums, struct err *err);

#endif
