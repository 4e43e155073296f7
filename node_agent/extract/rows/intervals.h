/* node_agent/extract/rows/intervals.h - half-open intervals of time, in integer
 * ns
 *
 * An interval is [start, end); one whose end is not behind its start is empty,
 * and still counts for where a union begins.  All times must lie within
 * INTERVALS_MIN and INTERVALS_MAX, so that no length can overflow.
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

/* Sort, and join those that touch or overlap; returns how many are left. */
size_t intervals_merge (struct interval *v, size_t n);

/* The length of what two such lists have in common. */
int64_t intervals_common (const struct interval *a, size_t na,
                          const struct interval *b, size_t nb);

/* The same without a list: the union of intervals that come in order of their
 * starts.  All zero at first.
 */
struct interval_union {
    bool any;
    int64_t first;              // the earliest start
    int64_t last;               // the latest end
    int64_t covered;            // ns, up to 'open'
    struct interval open;       // the one that may still grow
};

void interval_union_add (struct interval_union *u, int64_t start, int64_t end);

/* ns that it covers. */
int64_t interval_union_length (const struct interval_union *u);

#endif
