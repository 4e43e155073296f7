/* node_agent/extract/rows/intervals.h - half-open intervals of time, in integer
 * ns
 *
 * An interval is [start, end).  One whose end is not after its start is empty,
 * but its start still counts for the start of a union.  All times must lie
 * within INTERVALS_MIN and INTERVALS_MAX, so that no length overflows.
 */
#ifndef ROLLCALL_EXTRACT_ROWS_INTERVALS_H
#define ROLLCALL_EXTRACT_ROWS_INTERVALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define INTERVALS_MAX INT64_C (4000000000000000000)     // year 2096, in ns
#define INTERVALS_MIN (-INTERVALS_MAX)

struct interval {
    int64_t start, end;
};

/* Sort intervals, and join those that touch or overlap.  Returns how many
 * remain.
 */
size_t intervals_merge (struct interval *v, size_t n);

/* The length of the intersection of two such lists. */
int64_t intervals_common (const struct interval *a, size_t na,
                          const struct interval *b, size_t nb);

/* The union of intervals that are added in the order of their starts, without a
 * list of them.  It begins as zeros.
 */
struct interval_union {
    bool any;
    int64_t first;              // the earliest start
    int64_t last;               // the latest end
    int64_t covered;            // ns, up to 'open'
    struct interval open;       // the last interval, which may still grow
};

void interval_union_add (struct interval_union *u, int64_t start, int64_t end);

/* The length of the union in ns. */
int64_t interval_union_length (const struct interval_union *u);

#endif
