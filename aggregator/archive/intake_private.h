/* aggregator/archive/intake_private.h - an intake, between its files */
#ifndef ROLLCALL_ARCHIVE_INTAKE_PRIVATE_H
#define ROLLCALL_ARCHIVE_INTAKE_PRIVATE_H

#include "archive/intake.h"

#include "archive/audit.h"
#include "base/map.h"
#include "store/lease.h"
#include "store/space.h"

#include <pthread.h>

/* A content that was put and is not in the ledger yet. */
struct intake_put {
    uint64_t id[DIGEST_SIZE / 8];
    struct ledger_place place;  // zeros if it is in a batch
};

struct intake {
    pthread_mutex_t lock;
    struct ledger *ledger;
    struct store *store;
    struct lease lease;         // if an aggregator has the root
    int root_lock;              // -1: the ledger and the store are borrowed, or
                                // are only read
    bool opened;                // they are ours
    bool served;
    bool verify;                // known contents are read
    char by[AUDIT_USER_MAX];    // who puts it, for the log; "": this user
    int64_t uid;
    struct map put;
    struct buf records;         // that are no contents; of a batch: all
    unsigned nrecords;
    struct ledger_deletion *withdrawn;  // by these records
    size_t nwithdrawn;
    uint64_t appended;          // bytes of contents, not committed
    char last_job[MESSAGE_NAME_MAX];
    unsigned njobs_named;       // in the records, one after the other
    char **jobs;                // that have something new
    size_t njobs;
    struct intake_sums sums;
    struct space_floor floor;
    int scratch;                // holds the directory of intake_scratch; -1
    int failed;                 // for good: a negative errno, and the reason
    struct err why;
};

int intake_no_memory (struct err *err);         // -ENOMEM

/* Each call of another thread is between these two.  intake_enter: 0, with the
 * lock; or what failed before, without it: the first failure is that of all
 * later calls, so that nothing is half there.  intake_leave unlocks, after a
 * commit if one is due: 'rc', or why that failed.
 */
int intake_enter (struct intake *in, struct err *err);
int intake_leave (struct intake *in, int rc, struct err *err);

/* Make durable what was put, with the lock. */
int intake_flush_locked (struct intake *in, struct err *err);

/* The job that a record is about. */
const char *intake_job_of (const struct record *r);

/* Hand what was put to the aggregator. */
int intake_deliver (struct intake *in, struct err *err);

/* Remove batches that nobody holds (flock): their processes were killed. */
void intake_forget_batches (const char *root);

#endif
