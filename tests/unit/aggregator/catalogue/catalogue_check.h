/* tests/unit/aggregator/catalogue/catalogue_check.h - a root with jobs and a
 * result, and its catalogue
 */
#ifndef ROLLCALL_TESTS_CATALOGUE_CHECK_H
#define ROLLCALL_TESTS_CATALOGUE_CHECK_H

#include "aggregator/ledger/ledger_check.h"
#include "aggregator/findings/job_check.h"

#include "catalogue/catalogue.h"

/* Rows of one rank of a job, and a fact about it. */
void add_job (struct root *r, const char *job, int64_t received_ns);
void add_fact (struct root *r, const char *job, const char *key,
               const char *value);

/* As if a result had all that a job has now. */
void all_built (struct root *r, const char *job);

/* Publish a job's tables as the result of a job; the job ends. */
void publish_job (struct root *r, struct job *j, const char *name);

/* Two ranks on a host, two steps of 100 ms with 25 ms of communication, a link
 * of 20 GB/s, a slow rank.
 */
struct job *make_result (void);

/* Open the catalogue with a ledger of its own, as a verb does. */
struct opened {
    struct ledger *ledger;
    struct catalogue *c;
};
struct opened open_catalogue (struct root *r);
void close_catalogue (struct opened *o);

/* The names of a filter's jobs, "a b "; or the error. */
const char *names (struct catalogue *c, struct catalogue_filter f);

#endif
