// What is wrong with a job on purpose: slow ranks and nodes, late steps, small
// packets.  What it cost is summed up as it happens, for the truth.

#include "maker.h"

#include <string.h>

#define LATE_ONE 1024 // late steps compute 1.25 to 1.75 times as long
#define LATE_MIN 256
#define LATE_SPAN 512
#define LATE_STREAM 0x1a7eu
#define SMALL_FROM 1000000 // bytes of transfers that are cut up

static const char *const names[PLANT_COUNT] = {
    [P_SLOW_RANK] = "slow_rank",         [P_SLOW_NODE] = "slow_host",
    [P_SLOW_LINK] = "slow_link",         [P_IDLE_RANK] = "free_time",
    [P_LATE_STEP] = "late_steps",        [P_SKEW] = "clock",
    [P_SMALL_PACKETS] = "small_packets", [P_OVERLAP] = "poor_overlap",
    [P_BUBBLE] = "pipeline_bubble"};

const char *plant_name (enum plant p)
{
    return names[p];
}

bool is_slow (const struct options *opt, int rank)
{
    return rank == opt->slow_rank || rank / opt->ranks_per_host ==
                                         opt->slow_node;
}

bool is_late (const struct options *opt, int step)
{
    return opt->late_step >= 0 && opt->first_step + step >= opt->late_step;
}

// How much longer all ranks compute in a step that is late.
int64_t late_ticks (const struct options *opt, uint64_t shared, int step,
                    int64_t ticks)
{
    if (!is_late (opt, step))
        return 0;
    uint64_t luck = draw (shared ^ LATE_STREAM, (uint64_t)step);
    return ticks * (LATE_MIN + (int64_t)(luck % LATE_SPAN)) / LATE_ONE;
}

// In how many steps it happens.
int plant_steps (const struct capture *c, enum plant p)
{
    int count = 0;
    for (int i = 0; i < c->step_count; i++)
        count += p != P_LATE_STEP || is_late (c->job->opt, c->steps[i].index);
    return p == P_SKEW ? 1 : count;
}

bool has_plant (const struct options *opt, enum plant p, int rank)
{
    switch (p) {
    case P_SLOW_RANK:
        return rank == opt->slow_rank;
    case P_SLOW_NODE:
        return rank / opt->ranks_per_host == opt->slow_node;
    case P_SLOW_LINK:
        return rank == opt->slow_src;
    case P_IDLE_RANK:
        return rank == opt->idle_rank;
    case P_LATE_STEP:
        return opt->late_step >= 0;
    case P_SKEW:
        return rank == opt->skew_rank;
    case P_SMALL_PACKETS:
        return opt->small_packets;
    case P_OVERLAP:
        return opt->overlap >= 0;
    case P_BUBBLE:
        return opt->bubble_ms > 0;
    default:
        return false;
    }
}

// The same bytes in many packets; small ones stay what they are.
const struct shape *small_shape (const struct shape *large)
{
    static struct shape small[MAX_SHAPES];
    struct shape *s = &small[large - shapes];
    int64_t bytes = large->chunk * large->packets + large->tail;
    if (bytes < SMALL_FROM)
        return large;
    s->chunk = SMALL_CHUNK;
    s->packets = bytes / SMALL_CHUNK;
    s->tail = bytes % SMALL_CHUNK;
    return s;
}
