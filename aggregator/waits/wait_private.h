/* aggregator/waits/wait_private.h - compute waits from rows
 *
 * wait_rows.c   from rows of captures to runs of ops
 * wait_ops.c    from ops to sums of waits
 * wait.c        all of it, and what Job and CaptureInfo say
 */
#ifndef ROLLCALL_WAITS_WAIT_PRIVATE_H
#define ROLLCALL_WAITS_WAIT_PRIVATE_H

#include "base/thread.h"
#include "sqlite_pages/page_scan.h"
#include "row_sums/members.h"
#include "row_sums/op_runs.h"
#include "row_sums/row_values.h"
#include "waits/undeclared.h"
#include "waits/wait.h"
#include "waits/wait_sums.h"

#define KINDS 64                // op names that are cached
#define GROUPS 16               // groups of a rank that are cached

// What is counted for Job.
struct wait_counts {
    int64_t by_start, by_elapse;        // ops of complete sets, by rule
    int64_t incomplete, ambiguous, guessed;
};

struct deriver {
    sqlite3 *db;
    const atomic_bool *cancel;
    const struct select_item *items;
    size_t nitems;
    struct members *members;
    struct page_source *source;
    uint32_t root;              // of CommAnalyzerTime
    struct row_values waits;    // only for rows of traces
    struct undeclared_clock *clocks;    // one per item
    struct op_merge *merge;
    struct waiter *waiters;
    unsigned threads;
    size_t together;            // captures of a piece
    pthread_mutex_t lock;       // for what follows
    struct texts steps;
    struct wait_sums *pairs;
    struct clock_skew *skew;
    struct wait_counts counts;
};

// A thread.
struct waiter {
    struct deriver *d;
    struct op_runs *runs;
    struct texts steps;         // of the current piece
    struct row_run *rows;       // of the piece: all rows, if there are traces
    size_t nrows;
    // cached from the last row
    int64_t capture, rank;      // rank -1: the capture does not count
    bool trace;
    double ahead_us;            // its clock's offset, to be subtracted
    uint32_t step;
    char step_text[64];
    size_t step_size;           // SIZE_MAX: the text was too long
    struct {
        char name[CAPTURE_HASH_MAX];
        size_t n;               // of the name; 0: none
        uint32_t group, size;
    } groups[GROUPS];           // of the rank of 'capture'
    struct {
        uint64_t hash;
        bool mutual;
    } kinds[KINDS];
    // of a step of a group
    double *wait_ms;            // of one op
    size_t room;
    struct map pairs;
    bool divided;               // some of its pairs were added already
    struct clock_ends ends;
    struct wait_counts counts;
};

/* Whether a capture is a trace. */
bool wait_is_trace (const struct select_item *item);

/* Do pieces of work with all waiters. */
int wait_each_piece (struct deriver *d, const struct thread_pieces *pieces,
                     struct err *err);

/* Read the rows of all captures into the waiters' runs. */
int wait_take_rows (struct deriver *d, struct err *err);

/* Merge the runs, and add up the waits of their ops. */
int wait_take_ops (struct deriver *d, struct err *err);

#endif
