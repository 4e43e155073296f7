// The course of the artificial job.  All ranks go through the same slots:
// compute, then one op in one of their groups, which begins when the last
// member arrives.  The clocks of all ranks are followed, and kept of as many
// ranks as there is room for: those whose captures are made next.  Every
// random number is a function of (seed, rank, slot), so each process of a
// parallel run makes the same capture as one process that makes them all.

#include "maker_course.h"

#include <stdlib.h>
#include <string.h>

#define COURSE_BYTES (64u << 20) // of ranks that are kept at once

#define SHARED_STREAM 0u // numbers all ranks agree on
#define FIRST_RANK_STREAM 1u
#define OTHER_VALUES 0x5eedu // salt of a duplicate capture
#define REPEAT_SALT 1000003u
#define PROCESS_SALT 7368787u

#define COMPUTE_MIN 5000 // ticks of 20 ns: 0.1 ms
#define COMPUTE_SPAN 45000
#define GAP_SPAN 200
#define PREPARE_MIN 8000
#define PREPARE_SPAN 4000
#define TAIL_FACTOR 4 // the optimizer after a step's last op
#define STEP_PAUSE 5000

#define JITTER_ONE 1024
#define JITTER_SPAN 64
#define EDGE_FACTOR 2 // so many times as long, in addition
#define SMALL_EVERY 2 // transfers of small packets

#define OP_OVERHEAD 150  // ticks an op needs beside its transfer
#define TRANSFER_SLACK 8 // and an 8th of it

#define P2P_CYCLE 3 // batchSendRecv, then two send/receive

int64_t scaled (const struct options *opt, int rank, int64_t ticks,
                uint64_t luck)
{
    int64_t jitter = (int64_t)(luck % JITTER_SPAN);
    ticks = ticks * (JITTER_ONE + jitter) / JITTER_ONE;
    if (is_slow (opt, rank))
        ticks = ticks * SLOW_NUMERATOR / SLOW_DENOMINATOR;
    return ticks;
}

struct slot make_slot (const struct course *c, int step, int k)
{
    const struct job *job = c->job;
    const struct options *opt = job->opt;
    struct slot slot = {.step = step};
    int64_t number = (int64_t)step * opt->ops + k;
    int kinds = job->kind_count;
    int64_t per_step = opt->ops / kinds;
    slot.kind = k % kinds;
    per_step += slot.kind < opt->ops % kinds;
    slot.seq = per_step * step + k / kinds;
    slot.per_step = per_step;
    slot.turn = opt->steady ? k / kinds : slot.seq;
    slot.number = (uint64_t)number;
    slot.luck = draw (c->shared, opt->steady ? (uint64_t)k : slot.number);
    slot.shape = &shapes[slot.luck % MAX_SHAPES];
    if (opt->small_packets && draw (slot.luck, D_SMALL) % SMALL_EVERY == 0)
        slot.shape = small_shape (slot.shape);
    slot.pairs = slot.kind == job->pp_kind && job->pp_size % PAIR == 0 &&
                 slot.turn % P2P_CYCLE != 0;
    return slot;
}

bool sends_forward (const struct slot *slot)
{
    return slot->turn % P2P_CYCLE == 1;
}

// A sender of a pipeline with bubbles is late to each of its sends.
int64_t bubble_ticks (const struct course *c, const struct slot *slot,
                      int rank)
{
    const struct options *opt = c->job->opt;
    if (!slot->pairs || opt->bubble_ms == 0)
        return 0;
    bool even = c->job->place_of[slot->kind][rank] % PAIR == 0;
    return sends_forward (slot) == even
               ? (int64_t)(opt->bubble_ms * TICKS_PER_MS)
               : 0;
}

int64_t op_length (const struct slot *slot, int64_t rate)
{
    int64_t ticks = slowest_transfer (slot->shape, rate);
    return ticks + ticks / TRANSFER_SLACK + OP_OVERHEAD;
}

// All ranks have the same to compute.  What those in groups with faster links
// cannot hide behind their op, which is shorter, they compute before it.
static int64_t spare_ticks (const struct job *job, const struct slot *slot,
                            int rank)
{
    const struct group *g = &job->groups[job->group_of[slot->kind][rank]];
    if (job->opt->overlap <= 0)
        return 0;
    return (op_length (slot, job->rate_of_kind[slot->kind]) -
            op_length (slot, g->usual_rate)) *
           job->opt->overlap / PERCENT;
}

// What profiling itself costs the first or last step of a window.
static int64_t edge_ticks (const struct options *opt, int rank, int step,
                           int64_t ticks)
{
    return is_edge (opt, rank, step) ? ticks * EDGE_FACTOR : 0;
}

int64_t compute_base (const struct slot *slot)
{
    return COMPUTE_MIN +
           (int64_t)(draw (slot->luck, D_COMPUTE) % COMPUTE_SPAN);
}

int64_t compute_ticks (const struct course *c, const struct slot *slot,
                       int rank)
{
    const struct options *opt = c->job->opt;
    int64_t base = compute_base (slot);
    base += late_ticks (opt, c->shared, slot->step, base);
    base += spare_ticks (c->job, slot, rank);
    base += edge_ticks (opt, rank, slot->step, base);
    return scaled (opt, rank, base, draw (c->keys[rank], slot->number)) +
           bubble_ticks (c, slot, rank);
}

int64_t gap_ticks (const struct course *c, const struct slot *slot, int rank)
{
    const struct options *opt = c->job->opt;
    if (slot->number % (uint64_t)opt->ops == 0)
        return 0;
    return GAP_MIN + (int64_t)(draw (slot->luck, D_GAP) % GAP_SPAN) +
           (rank == opt->idle_rank ? IDLE_TICKS : 0);
}

// What the host needs before the first kernel of a step.
int64_t prepare_ticks (const struct course *c, int step, int rank)
{
    uint64_t luck = draw (c->keys[rank] ^ D_PREPARE, (uint64_t)step);
    return PREPARE_MIN + (int64_t)(luck % PREPARE_SPAN);
}

// The computing after the last op, of a rank that is neither late nor slow.
int64_t tail_base (const struct course *c, int step)
{
    uint64_t luck = draw (c->shared ^ D_TAIL,
                          c->job->opt->steady ? 0 : (uint64_t)step);
    return ((int64_t)(luck % COMPUTE_SPAN) + COMPUTE_MIN) * TAIL_FACTOR;
}

int64_t tail_ticks (const struct course *c, int step, int rank)
{
    const struct options *opt = c->job->opt;
    int64_t base = tail_base (c, step);
    base += late_ticks (opt, c->shared, step, base);
    return scaled (opt, rank, base + edge_ticks (opt, rank, step, base),
                   draw (c->keys[rank] ^ D_TAIL, (uint64_t)step));
}

// ---- following the clocks ----

struct clocks_now {
    int64_t *clock; // per rank
    int64_t *ready; // when it arrived at its op
};

static bool keeps (const struct course *c, int rank)
{
    return rank >= c->first && rank - c->first < c->count;
}

static size_t place_of_step (const struct course *c, int step, int rank)
{
    return (size_t)step * (size_t)c->count + (size_t)(rank - c->first);
}

static size_t place_of_slot (const struct course *c, const struct slot *slot,
                             int rank)
{
    return (size_t)slot->number * (size_t)c->count +
           (size_t)(rank - c->first);
}

// Lets members [from, to) of a group meet.
static void meet (struct course *c, struct clocks_now *now,
                  const struct slot *slot, const struct group *g, int from,
                  int to)
{
    int64_t latest = 0;
    for (int i = from; i < to; i++) {
        if (now->ready[g->members[i]] > latest)
            latest = now->ready[g->members[i]];
    }
    int64_t end = latest + op_length (slot, g->min_rate);
    for (int i = from; i < to; i++) {
        int rank = g->members[i];
        now->clock[rank] = end;
        if (keeps (c, rank))
            c->meetings[place_of_slot (c, slot, rank)] =
                (struct meeting){now->ready[rank], latest};
    }
}

static void run_slot (struct course *c, struct clocks_now *now,
                      const struct slot *slot)
{
    const struct job *job = c->job;
    for (int r = 0; r < job->opt->ranks; r++)
        now->ready[r] = now->clock[r] + gap_ticks (c, slot, r) +
                        compute_ticks (c, slot, r);
    for (int i = 0; i < job->groups_of_kind[slot->kind]; i++) {
        const struct group *g = &job->groups[job->first_group[slot->kind] + i];
        int stride = slot->pairs ? PAIR : g->size;
        for (int from = 0; from < g->size; from += stride)
            meet (c, now, slot, g, from, from + stride);
    }
}

static void run_step (struct course *c, struct clocks_now *now, int step)
{
    const struct options *opt = c->job->opt;
    for (int r = 0; r < opt->ranks; r++) {
        now->clock[r] += prepare_ticks (c, step, r);
        if (keeps (c, r))
            c->begun[place_of_step (c, step, r)] = now->clock[r];
    }
    for (int k = 0; k < opt->ops; k++) {
        struct slot slot = make_slot (c, step, k);
        run_slot (c, now, &slot);
    }
    for (int r = 0; r < opt->ranks; r++) {
        now->clock[r] += GAP_MIN + tail_ticks (c, step, r);
        if (keeps (c, r))
            c->ended[place_of_step (c, step, r)] = now->clock[r];
        now->clock[r] += STEP_PAUSE;
    }
}

// Of how many ranks the course is kept.
static int ranks_kept (const struct options *opt, int first)
{
    size_t steps = (size_t)opt->span;
    size_t bytes = steps * ((size_t)opt->ops * sizeof (struct meeting) +
                            2 * sizeof (int64_t));
    size_t room = COURSE_BYTES / bytes / ((size_t)opt->repeat + 1) + 1;
    size_t left = opt->only_rank >= 0 ? 1 : (size_t)(opt->ranks - first);
    return (int)(left < room ? left : room);
}

static uint64_t key_of (const struct options *opt, struct capture_id id)
{
    uint64_t salt = (uint64_t)id.repeat * REPEAT_SALT +
                    (uint64_t)opt->process * PROCESS_SALT +
                    (id.other_values ? OTHER_VALUES : 0);
    return mix (opt->seed) ^ mix (salt + 1);
}

static void free_course (struct course *c)
{
    free (c->keys);
    free (c->meetings);
    free (c->begun);
    free (c->ended);
}

static void follow (struct course *c, const struct job *job,
                    struct capture_id id)
{
    const struct options *opt = job->opt;
    uint64_t key = key_of (opt, id);
    size_t n = (size_t)opt->ranks;
    free_course (c);
    *c = (struct course){.job = job,
                         .shared = draw (key, SHARED_STREAM),
                         .keys = make_room (n, sizeof *c->keys),
                         .first = id.rank,
                         .count = ranks_kept (opt, id.rank)};
    size_t cells = (size_t)opt->span * (size_t)c->count;
    c->meetings = make_room (cells * (size_t)opt->ops, sizeof *c->meetings);
    c->begun = make_room (cells, sizeof *c->begun);
    c->ended = make_room (cells, sizeof *c->ended);
    for (size_t r = 0; r < n; r++)
        c->keys[r] = draw (key, FIRST_RANK_STREAM + r);
    struct clocks_now now = {make_room (n, sizeof (int64_t)),
                             make_room (n, sizeof (int64_t))};
    for (int step = 0; step < opt->span; step++)
        run_step (c, &now, step);
    free (now.clock);
    free (now.ready);
}

const struct course *course_of (const struct job *job, struct capture_id id)
{
    int which = id.other_values ? job->opt->repeat : id.repeat;
    struct course *c = &job->courses[which];
    if (c->job == NULL || !keeps (c, id.rank))
        follow (c, job, id);
    return c;
}

void free_courses (struct course *courses, int count)
{
    for (int i = 0; i < count; i++)
        free_course (&courses[i]);
    free (courses);
}

struct meeting meeting_of (const struct course *c, const struct slot *slot,
                           int rank)
{
    return c->meetings[place_of_slot (c, slot, rank)];
}

int64_t begin_of (const struct course *c, int step, int rank)
{
    return c->begun[place_of_step (c, step, rank)];
}

int64_t end_of (const struct course *c, int step, int rank)
{
    return c->ended[place_of_step (c, step, rank)];
}
