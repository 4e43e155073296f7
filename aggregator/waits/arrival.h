/* aggregator/waits/arrival.h - the last rank to arrive at a collective op
 *
 * The formulas of doc/format-analysis-db.md, "Waiting", on the rows that all
 * ranks of a group have of one op.
 */
#ifndef ROLLCALL_WAITS_ARRIVAL_H
#define ROLLCALL_WAITS_ARRIVAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One rank's row of an op. */
struct arrival {
    uint64_t key;               // arrival_key of the op's name
    int64_t row;                // rowid in CommAnalyzerTime
    double start_us, elapse_ms; // finite, elapse_ms not negative
    uint32_t group, size;       // CommGroup.id, and ranks in it
    uint32_t step;
    uint32_t rank : 24;         // CAPTURE_WORLD_MAX is 2^17
    uint32_t p2p : 1;
    uint32_t by_start : 1;      // which rule is to be used
    uint32_t guessed : 1;       // no group was named: the world's is assumed
};

/* Whether an op of this name synchronises all its ranks, as an all-reduce: none
 * can end before the last one arrives.  False if a root only sends or only
 * receives, and for unknown names.
 */
bool arrival_is_mutual (const char *op, size_t n);

/* The part of an op's name that all ranks share: the whole name, but for a send
 * and a receive only what follows "__".
 */
uint64_t arrival_key (const char *op, size_t n, bool p2p);

/* The sort order: group, step, op, rank, row. */
int arrival_compare (const void *a, const void *b);
bool arrival_same_op (const struct arrival *a, const struct arrival *b);

enum arrival_set {
    ARRIVAL_WHOLE,              // one row of each rank of the group
    ARRIVAL_INCOMPLETE,         // of some ranks none
    ARRIVAL_AMBIGUOUS,          // of a rank several
};

/* Classify the n rows of one op, sorted by rank. */
enum arrival_set arrival_judge (const struct arrival *a, size_t n);

/* Whether the times allow a whole set to be one op: no rank ended before the
 * last one arrived.
 */
bool arrival_fits (const struct arrival *a, size_t n);

/* Whether all of their clocks have comparable start times. */
bool arrival_by_start (const struct arrival *a, size_t n);

/* For a whole set: the index of the last rank to arrive (the lowest of
 * several), and in wait_ms[i] how long rank i waited for it.
 */
size_t arrival_wait (const struct arrival *a, size_t n, double *wait_ms);

#endif
