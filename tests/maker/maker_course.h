// The course of the artificial job: when each rank computes, arrives at an op
// and leaves it.

#ifndef MAKER_COURSE_H
#define MAKER_COURSE_H

#include "maker.h"

#define SLOW_NUMERATOR 3 // a slow rank computes so many times as long
#define SLOW_DENOMINATOR 2
#define GAP_MIN 50 // ticks of 20 ns between two kernels
#define IDLE_TICKS 25000 // of an idle rank before each op
#define PAIR 2
#define PERCENT 100

// What a random number is for: the counter, or a part of the key, of draws
// that must not depend on each other.
enum purpose {
    D_COMPUTE = 1,
    D_GAP,
    D_QUIET,
    D_WAIT,
    D_TRAFFIC,
    D_BARE,
    D_NULL,
    D_OVERLAP,
    D_PREPARE,
    D_TAIL,
    D_SMALL
};

// What all ranks know about one slot of one step.
struct slot {
    int step;
    int kind;
    int64_t seq; // number of the op in its groups
    int64_t per_step;
    int64_t turn;    // what decides of which type it is
    uint64_t number; // of the slot in the capture
    uint64_t luck;
    const struct shape *shape;
    bool pairs; // send/receive: only neighbours meet
};

// A rank's op, in ticks.
struct meeting {
    int64_t start;
    int64_t latest; // arrival of the last member
};

// The steps of one repetition.
struct course {
    const struct job *job;
    uint64_t shared; // keys of the streams of random numbers
    uint64_t *keys;  // per rank
    int first;       // the ranks that something is kept of
    int count;
    struct meeting *meetings; // per slot of the job, and of these ranks
    int64_t *begun;           // per step: when a rank begins to compute,
    int64_t *ended;           // and when it has ended
};

// The course that a capture is of; it holds until the next call.
const struct course *course_of (const struct job *job, struct capture_id id);
void free_courses (struct course *courses, int count);

// What happened to a rank, whose course it is.
struct meeting meeting_of (const struct course *c, const struct slot *slot,
                           int rank);
int64_t begin_of (const struct course *c, int step, int rank);
int64_t end_of (const struct course *c, int step, int rank);

struct slot make_slot (const struct course *c, int step, int k);
bool sends_forward (const struct slot *slot);
int64_t op_length (const struct slot *slot, int64_t rate);

// How long a rank needs for something, in ticks.
int64_t scaled (const struct options *opt, int rank, int64_t ticks,
                uint64_t luck);
int64_t prepare_ticks (const struct course *c, int step, int rank);
int64_t gap_ticks (const struct course *c, const struct slot *slot, int rank);
int64_t compute_base (const struct slot *slot);
int64_t compute_ticks (const struct course *c, const struct slot *slot,
                       int rank);
int64_t bubble_ticks (const struct course *c, const struct slot *slot,
                      int rank);
int64_t tail_base (const struct course *c, int step);
int64_t tail_ticks (const struct course *c, int step, int rank);

#endif
