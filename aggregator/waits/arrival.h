/* aggregator/waits/arrival.h - the last rank to arrive at a collective op
 *
 * Implements the formulas of doc/format-analysis-db.md, "Waiting", on the rows
 * of one op from all ranks of a group.
 */
#ifndef ROLLCALL_WAITS_ARRIVAL_H
#define ROLLCALL_WAITS_ARRIVAL_H

#include "row_sums/op_runs.h"

/* Whether an op of this name synchronises all its ranks, as an all-reduce does:
 * no rank can end before the last one arrives.  False for ops in which a root
 * only sends or only receives, and for unknown names.
 */
bool arrival_is_mutual (const char *op, size_t n);

/* The part of an op's name that all ranks share: the whole name, or for a send
 * and a receive only what follows "__".
 */
uint64_t arrival_key (const char *op, size_t n, bool p2p);

enum arrival_set {
    ARRIVAL_WHOLE,              // one row from each rank of the group
    ARRIVAL_INCOMPLETE,         // some ranks have none
    ARRIVAL_AMBIGUOUS,          // a rank has several
};

/* Classify the n rows of one op, sorted by rank. */
enum arrival_set arrival_judge (const struct op_row *a, size_t n);

/* Whether the times of a complete set allow it to be one op: no rank ended
 * before the last one arrived.
 */
bool arrival_fits (const struct op_row *a, size_t n);

/* Whether the start times of all ranks can be compared. */
bool arrival_by_start (const struct op_row *a, size_t n);

/* For a complete set: return the index of the last rank to arrive (the lowest,
 * if several did), and set wait_ms[i] to how long rank i waited for it.
 */
size_t arrival_wait (const struct op_row *a, size_t n, double *wait_ms);

#endif
