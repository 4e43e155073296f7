/* aggregator/service/usage.h - how much a root holds, by job and user, and how
 * fast it grows
 *
 * Bytes are those in the segments: packed, and of a chunk that several jobs have
 * they count for the first one.  All of it is in memory: counted from the ledger
 * at the start, and added to with each chunk.
 */
#ifndef ROLLCALL_SERVICE_USAGE_H
#define ROLLCALL_SERVICE_USAGE_H

#include "base/texts.h"
#include "store/store.h"

#define USAGE_HOURS (7 * 24)            // for which growth is known
#define USAGE_LEAST_NS (INT64_C (3600) * 1000000000)    // an hour: less says
                                        // nothing about growth

struct usage_job {
    uint64_t bytes;
    uint32_t user;              // number of its user, or TEXTS_NONE
    bool pinned;
};

struct usage {                  // begins as zeros
    struct texts jobs, users;   // jobs in the order in which they came
    struct usage_job *job;      // by the number of its text
    uint64_t *user;             // bytes, likewise
    uint64_t total;
    uint64_t hours[USAGE_HOURS];        // bytes that came in each: hour % so many
    int64_t hour;               // the last one of these, since 1970
    int64_t since_ns;           // when the first data came, since 1970; 0: none
};

/* Count all of it again: an error of ledger or store, and 'u' is as it was.
 * Takes some 5 us for each MiB.  'now_ns' is since 1970, as below.
 */
int usage_count (struct usage *u, struct ledger *ledger, struct store *store,
                 int64_t now_ns, struct err *err);
void usage_fini (struct usage *u);

/* Add what came meanwhile, as others counted it. */
void usage_merge (struct usage *u, const struct usage *since, int64_t now_ns);

/* Bytes came for a job; and what is known of it ("": it has no user).  Without
 * memory they are left out until the next count.
 */
void usage_add (struct usage *u, const char *job, uint64_t bytes,
                int64_t now_ns);
void usage_set_user (struct usage *u, const char *job, const char *user);
void usage_set_pin (struct usage *u, const char *job, bool pinned);

/* Of a usage that counts promises: so many bytes are promised to a job, by the
 * number that is returned (> 0; 0: no memory, it does not count); and more or
 * fewer by that number.
 */
int64_t usage_promise (struct usage *u, const char *job, uint64_t bytes);
void usage_change (struct usage *u, int64_t number, int64_t bytes);

/* NULL: nothing has come. */
const struct usage_job *usage_of_job (const struct usage *u, const char *job);
uint64_t usage_of_user (const struct usage *u, const char *user);

/* Bytes a day: of the last 24 hours, and of 7 days; as much of these as there
 * has been data for.  NaN: less than an hour.
 */
double usage_rate (const struct usage *u, int64_t hours, int64_t now_ns);

#endif
