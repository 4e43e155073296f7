/* tests/unit/aggregator/findings/findings_check.h - tables of jobs with defects,
 * and what is found in them */
#ifndef ROLLCALL_TESTS_FINDINGS_CHECK_H
#define ROLLCALL_TESTS_FINDINGS_CHECK_H

#include "aggregator/findings/job_check.h"
#include "findings/findings.h"

int findings_setup (void **state);      // a struct job with what tables it has
int findings_teardown (void **state);

/* Ranks on hosts of four, and steps that take 60 + 20 + 1 ms on all. */
void ranks (struct job *j, int n, int steps);

/* Links of eight ranks on two hosts, each to each, 100 MB at 20 GB/s; of those
 * that 'where' says at 5 GB/s.
 */
void links (struct job *j, const char *where);

/* Find, and compare what is found: "kind|rank|effect" by ' '. */
void found (struct job *j, const struct findings_options *opt,
            const char *want);

/* The text of the first finding has this part. */
void says (struct job *j, const char *part);

#define FINDINGS_TEST(f) \
    cmocka_unit_test_setup_teardown (f, findings_setup, findings_teardown)

#endif
