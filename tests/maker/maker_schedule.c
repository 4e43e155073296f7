// Which steps a capture has, and the schedule that this comes of.

#include "maker.h"
#include "maker_options.h"

// The steps of one repetition that the rank's profiler looks at.
struct window window_of (const struct options *opt, int rank)
{
    const struct rule *r = find_rule (&opt->windows, rank);
    if (r == NULL)
        return (struct window){0, opt->steps - 1};
    return (struct window){(int)r->value - opt->first_step,
                           (int)r->last - opt->first_step};
}

static bool is_dropped (const struct options *opt, int rank, int step)
{
    for (size_t i = 0; i < opt->drops.count; i++) {
        const struct rule *r = &opt->drops.list[i];
        if (r->whose == rank && r->value == opt->first_step + step)
            return true;
    }
    return false;
}

// A step of the window that its capture has.
bool records_step (const struct options *opt, int rank, int step)
{
    struct window w = window_of (opt, rank);
    return step >= w.first && step <= w.last &&
           (opt->listed == NULL || opt->listed[step]) &&
           !is_dropped (opt, rank, step);
}

// By default there is a step of warming up before the first one, and none
// between repetitions.
struct schedule schedule_of (const struct options *opt, int rank)
{
    struct window w = window_of (opt, rank);
    int first = opt->first_step + w.first;
    struct schedule s = {.wait = opt->wait >= 0 ? opt->wait : 0,
                         .warmup = opt->warmup,
                         .active = w.last - w.first + 1};
    if (s.warmup < 0)
        s.warmup = opt->repeat == 1 && opt->wait < 0 && first > 0;
    s.skip_first = first - s.wait - s.warmup;
    return s;
}

int step_id (const struct options *opt, int repeat, int step)
{
    struct schedule s = schedule_of (opt, 0);
    return opt->first_step + repeat * (s.wait + s.warmup + opt->span) + step;
}

bool is_edge (const struct options *opt, int rank, int step)
{
    struct window w = window_of (opt, rank);
    return ((opt->edges & EDGE_FIRST) != 0 && step == w.first) ||
           ((opt->edges & EDGE_LAST) != 0 && step == w.last);
}

// How many steps the job has, so that all windows are in them.
void check_schedule (struct options *opt)
{
    opt->span = opt->steps;
    for (size_t i = 0; i < opt->windows.count; i++) {
        const struct rule *r = &opt->windows.list[i];
        if (r->value < opt->first_step || r->last < r->value)
            usage ("--window: it begins before --first-step, or ends before "
                   "it begins");
        if (r->last - opt->first_step >= MAX_STEPS)
            usage ("--window: more than %d steps", MAX_STEPS);
        if (r->last - opt->first_step >= opt->span)
            opt->span = (int)r->last - opt->first_step + 1;
    }
    if (opt->repeat > 1 && (opt->windows.count > 0 || opt->listed != NULL))
        usage ("--repeat has no --window nor --steps-list");
    for (int rank = 0; rank < opt->ranks; rank++) {
        if (schedule_of (opt, rank).skip_first < 0)
            usage ("--wait, --warmup: more than the steps before the first");
    }
}
