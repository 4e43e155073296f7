/* aggregator/archive/retention.h - which jobs are no longer kept
 *
 * A rule is for the jobs with a tag, or without one for all jobs that no other
 * rule is for.  A job stays if it is one of the last N of its rule, or had data
 * within N days; then the oldest go until the others take at most so many bytes.
 * Of a job with several such tags the rule that keeps it counts.  A pinned job
 * stays, whatever the rules are.
 *
 * While the host's clock may be wrong ('timeless'), nothing goes by its age; by
 * number and size goes what would go by the dates of the jobs and by the order
 * in which they arrived as well.
 */
#ifndef ROLLCALL_ARCHIVE_RETENTION_H
#define ROLLCALL_ARCHIVE_RETENTION_H

#include "ledger/ledger.h"
#include "store/store.h"

#define RETENTION_RULES_MAX 64
#define RETENTION_SIZE_MIN 1000000      // bytes

struct retention_rule {
    char tag[FACT_TAG_MAX + 1]; // "": the other jobs
    int64_t keep_days;          // -1: no such limit, like
    int64_t keep_last;
    int64_t max_bytes;          // of stored bytes
};

struct retention_rules {
    struct retention_rule rules[RETENTION_RULES_MAX];
    size_t n;
    bool only_tag;              // jobs of no rule stay ('prune --tag')
    int64_t forget_days;        // command and environment go after so many days
                                // without data; 0: never
    bool timeless;
};

enum retention_limit { RETENTION_DAYS, RETENTION_LAST, RETENTION_SIZE };

/* Add a limit, as a user wrote it: "N" or "TAG=N".  -EINVAL, with a sentence
 * that does not name the option, also for days or jobs of 0, and sizes below
 * RETENTION_SIZE_MIN; -E2BIG.
 */
int retention_add (struct retention_rules *r, enum retention_limit which,
                   const char *text, struct err *err);

/* A job, and what becomes of it. */
struct retention_job {
    char job[MESSAGE_NAME_MAX];
    int64_t first_ns, last_ns;  // when its first and last data arrived
    int64_t newest;             // its last item, for remove_apply
    int64_t captures, files;
    uint64_t bytes;             // stored, that no newer job of its rule has;
                                // without a limit of bytes: unpacked
    bool pinned;                // it would go, and stays
    bool goes;
    bool forgets;               // its command and environment go, and are not
                                // forgotten yet; also if it is pinned
    int64_t goes_ns;            // when, if nothing arrives: now_ns if it goes;
                                // INT64_MAX: never
    const char *why;            // in words: "older than it is kept"
    int64_t said;               // if it goes or forgets: what was said of it
};

struct retention_plan {
    struct retention_job *jobs; // newest first
    size_t n;
    size_t going;
    uint64_t bytes;             // of those that go
};

/* Decide on all jobs at a time (ns since 1970); retention_free frees 'ret'.
 * Nothing is changed.  With limits of bytes all lists of chunks are read, else
 * only the ledger.  'ledger' is not collecting (ledger_marks_begin).  -ENOMEM,
 * or as ledger and store.
 */
int retention_plan (struct ledger *ledger, const struct store *store,
                    const struct retention_rules *rules, int64_t now_ns,
                    struct retention_plan *ret, struct err *err);
void retention_free (struct retention_plan *p);

/* Whether a job that goes or forgets was tagged, pinned, merged or split since
 * the plan was begun, which may keep it: 1, 0.  No clock decides.  Or as ledger.
 */
int retention_changed (struct ledger *ledger, const struct retention_job *j,
                       struct err *err);

/* What goes next: 1, its name, time and reason; 0: nothing goes by itself.  Jobs
 * that are only too many, or too large, go when others arrive: nobody knows
 * when.
 */
int retention_forecast (const struct retention_plan *p,
                        struct retention_job *ret);

#endif
