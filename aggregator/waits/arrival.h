/* aggregator/waits/arrival.h - who came last to one collective op
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

/* From an op's name: whether none of its ranks can end before the last one has
 * come, as in an all-reduce; not so where a root only sends or only receives,
 * and for names that are not known.
 */
bool arrival_is_mutual (const char *op, size_t n);

/* What the names of one op have in common on all ranks: the name, but of a send
 * and a receive only what follows "__".
 */
uint64_t arrival_key (const char *op, size_t n, bool p2p);

/* The order in which ops lie together: group, step, op, rank, row. */
int arrival_compare (const void *a, const void *b);
bool arrival_same_op (const struct arrival *a, const struct arrival *b);

enum arrival_set {
    ARRIVAL_WHOLE,              // one row of each rank of the group
    ARRIVAL_INCOMPLETE,         // of some ranks none
    ARRIVAL_AMBIGUOUS,          // of a rank several
};

/* How the n rows of one op are, sorted by rank. */
enum arrival_set arrival_judge (const struct arrival *a, size_t n);

/* Whether a whole set can be one op by its times: nobody ended before the last
 * one had come.
 */
bool arrival_fits (const struct arrival *a, size_t n);

/* Whether all of them were seen by clocks that start times are compared of. */
bool arrival_by_start (const struct arrival *a, size_t n);

/* Of a whole set: the index of the rank that came last (of several the lowest
 * rank), and in wait_ms[i] how long rank i waited for it.
 */
size_t arrival_wait (const struct arrival *a, size_t n, double *wait_ms);

#endif
