/* tests/unit/aggregator/jobs/divide_check.h - captures that are divided into
 * jobs */
#ifndef ROLLCALL_TESTS_DIVIDE_CHECK_H
#define ROLLCALL_TESTS_DIVIDE_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "jobs/jobs.h"

#define MAX 4096
#define S INT64_C (1000000000)
#define BOOT (INT64_C (1763000000) * S)
#define NOW (1000 * S)          // since boot

extern struct capture captures[MAX];
extern struct group_list groups[MAX];
extern struct jobs_capture list[MAX];
extern size_t n;
extern struct jobs jobs;

int setup (void **state);
int teardown (void **state);

/* A capture of host "h": one window from 'at' on that is 2 s long. */
struct capture *add (int64_t rank, int64_t pid, int64_t at);

/* It has no host, process and window of its own. */
struct capture *anonymous (struct capture *c);

/* A step that begins with the window and takes 1 s. */
struct evidence_span *step (struct capture *c, const char *id);

/* Of job 'seed': 8 all-reduces of a step in a group; 'clock' is what the host's
 * is ahead.
 */
void ops (struct capture *c, const char *id, const char *group, uint64_t seed,
          int64_t clock);

/* The metadata of the capture list a group. */
void lists (struct capture *c, struct comm_group *g);

/* How many jobs they are of, in 'jobs'. */
size_t divide (void);
size_t divide_gap (int64_t gap_ns);
bool together (size_t a, size_t b);
void why_has (const char *text);

#endif
