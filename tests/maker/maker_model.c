// What one rank's profiler saw of the course of the job: its ops and steps.

#include "maker_course.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WAIT_PART 16     // waiting during the transfer, at most
#define SYNC_MIN 3
#define SYNC_SPAN 20
#define QUIET_EVERY 5 // master plane without data nor waiting
#define BARE_EVERY 4  // tiny ops without a local copy
#define NULL_EVERY 8  // local copy of an unknown transport
#define OVERLAP_EVERY 2
#define OVERLAP_PART 4

#define HASH_DIGITS 3 // of the group's hash in op names

#define QUARTERS 4.0 // an epoch-us double has quarters of a us
#define US_PER_SECOND 1000000
#define US_PER_MS 1000
#define REPEAT_SECONDS 60
#define OP_ESTIMATE_US 20000

enum reach { REACH_MESH, REACH_ROOT, REACH_PIPE, REACH_PARTNER };

// matrix_type is what the aggregation makes of the op's name: the leftmost
// of its alternatives, so reduceScatter is a "reduce".
struct op_type {
    const char *name;
    const char *matrix_type;
    enum reach reach;
};

static const struct op_type collectives[] = {
    {"hcom_allReduce_", "allreduce", REACH_MESH},
    {"hcom_allGather_", "allgather", REACH_MESH},
    {"hcom_reduceScatter_", "reduce", REACH_MESH},
    {"hcom_alltoallv_", "alltoall", REACH_MESH},
    {"hcom_broadcast_", "broadcast", REACH_ROOT}};
#define COLLECTIVES 5

static const struct op_type batch_type = {"hcom_batchSendRecv_",
                                          "batchsendrecv", REACH_PIPE};
static const struct op_type send_type = {"hcom_send_", "send", REACH_PARTNER};
static const struct op_type receive_type = {"hcom_receive_", "receive",
                                            REACH_PARTNER};

struct sim {
    struct capture *c;
    const struct course *course;
    const struct options *opt;
    const struct job *job;
    uint64_t key;         // of this rank's random numbers
    struct window window; // of its profiler
    struct step_row *row; // of its step
    int64_t start;        // of its op
    int64_t latest;       // arrival of the last member
    int64_t length;       // of the op after that
    int64_t usual;        // and if no link were slow on purpose
    int64_t bubble;
};

// What is_slow costs of so many ticks is for the truth.
static void note_slow (struct sim *s, int64_t ticks)
{
    int64_t more =
        ticks - ticks * SLOW_DENOMINATOR / SLOW_NUMERATOR;
    int rank = s->c->id.rank;
    if (is_slow (s->opt, rank)) {
        enum plant p = rank == s->opt->slow_rank ? P_SLOW_RANK : P_SLOW_NODE;
        s->c->planted[p] += more;
    }
}

static const struct op_type *type_of (const struct sim *s,
                                      const struct slot *slot, int place)
{
    if (slot->kind != s->job->pp_kind)
        return &collectives[(slot->turn + slot->kind) % COLLECTIVES];
    if (!slot->pairs)
        return &batch_type;
    return sends_forward (slot) == (place % PAIR == 0) ? &send_type
                                                       : &receive_type;
}

static int find_peers (const struct sim *s, const struct op_type *type,
                       const struct group *g, int place, int *peers)
{
    if (type == &receive_type || (type->reach == REACH_ROOT && place != 0))
        return 0;
    if (type == &send_type) {
        peers[0] = place ^ 1;
        return 1;
    }
    return peers_of (s->job, g, place, peers);
}

static void name_op (const struct sim *s, struct op *op,
                     const struct op_type *type, int64_t seq)
{
    const struct group *g = &s->job->groups[op->group];
    size_t digits = strlen (g->hash);
    const char *end =
        digits > HASH_DIGITS ? g->hash + digits - HASH_DIGITS : g->hash;
    op->seq = seq;
    snprintf (op->name, sizeof op->name, "%s_%s_%lld%s", type->name, end,
              (long long)seq, s->opt->age < AGE_WITH_ITERATION ? "" : "_1");
    op->matrix_type = type->matrix_type;
}

// The five times.  transit is on the master plane and never exceeds the
// transfer's bound, so idle is never negative.
static void set_times (const struct sim *s, struct op *op, int64_t transit,
                       const struct slot *slot, uint64_t luck)
{
    int64_t sync =
        s->latest - s->start + SYNC_MIN + (int64_t)(luck % SYNC_SPAN);
    int64_t wait = sync;
    bool quiet = draw (slot->luck, D_QUIET) % QUIET_EVERY == 0;
    uint64_t most = (uint64_t)s->length / WAIT_PART;
    if (transit > 0)
        wait += (int64_t)(draw (luck, D_WAIT) % most);
    op->start_us = (double)s->c->base_us + (double)s->start / TICKS_PER_US;
    op->elapse_ms = (double)(s->latest + s->length - s->start) / TICKS_PER_MS;
    op->begin = s->start;
    op->elapse = s->latest + s->length - s->start;
    op->has_transit = transit > 0 && !quiet;
    op->has_wait = !quiet;
    if (op->has_transit)
        op->transit_ms = (double)transit / TICKS_PER_MS;
    if (op->has_wait) {
        op->wait_ms = (double)wait / TICKS_PER_MS;
        op->sync_ms = (double)sync / TICKS_PER_MS;
        op->wait = wait;
        op->sync = sync;
    }
    op->idle_ms = op->elapse_ms - op->transit_ms - op->wait_ms;
}

static void keep_op (struct sim *s, const struct slot *slot)
{
    struct capture *c = s->c;
    size_t index = c->op_count++;
    struct op *op = &c->ops[index];
    op->group = s->job->group_of[slot->kind][c->id.rank];
    op->p2p = slot->kind == s->job->pp_kind;
    const struct group *g = &s->job->groups[op->group];
    int place = s->job->place_of[slot->kind][c->id.rank];
    const struct op_type *type = type_of (s, slot, place);
    name_op (s, op, type, slot->seq - slot->per_step * s->window.first);
    uint64_t luck = draw (s->key ^ slot->luck, D_TRAFFIC);
    int peers[MAX_PEERS];
    bool bare = slot->shape == &shapes[0] &&
                draw (slot->luck, D_BARE) % BARE_EVERY == 0;
    // a timeline has no link without a name that moves nothing else
    bool null = type->reach == REACH_ROOT &&
                (s->opt->form &
                 (FORM_TIMELINE | FORM_EVENT_DB | FORM_MSPROF)) == 0 &&
                draw (slot->luck, D_NULL) % NULL_EVERY == 0;
    struct transfer t = {.shape = slot->shape,
                         .peers = peers,
                         .peer_count = find_peers (s, type, g, place, peers),
                         .local = null ? T_NULL : T_LOCAL,
                         .has_local = !bare,
                         .seq = slot->turn,
                         .luck = luck};
    int64_t transit = fill_traffic (c, index, &t);
    set_times (s, op, transit, slot, luck);
    if (type == &receive_type) {
        s->bubble += s->latest + s->length - s->start;
        c->planted[P_BUBBLE] += s->latest - s->start;
    }
}

// What is planted in the kept rank's slot.
static void note_op (struct sim *s, const struct slot *slot, int64_t computed,
                     int64_t overlap)
{
    int rank = s->c->id.rank;
    int64_t *planted = s->c->planted;
    note_slow (s, computed - bubble_ticks (s->course, slot, rank));
    if (strcmp (s->c->ops[s->c->op_count - 1].matrix_type, "receive") != 0)
        planted[P_OVERLAP] += s->length - overlap;
    planted[P_LATE_STEP] += late_ticks (s->opt, s->course->shared, slot->step,
                                        compute_base (slot));
    if (rank == s->opt->idle_rank &&
        slot->number % (uint64_t)s->opt->ops != 0)
        planted[P_IDLE_RANK] += IDLE_TICKS;
}

// Adds the kept rank's slot to its step.  Values are added up as doubles, as
// the profiler does, so they carry the usual noise in the last digits.  What
// is computed beside an op does not depend on a link that is slow on purpose.
static void add_to_step (struct sim *s, const struct slot *slot)
{
    int rank = s->c->id.rank;
    struct step_row *row = s->row;
    int64_t compute = compute_ticks (s->course, slot, rank);
    int64_t elapse = s->latest + s->length - s->start;
    int64_t overlap = 0;
    if (s->opt->overlap >= 0)
        overlap = scaled (s->opt, rank, s->usual * s->opt->overlap / PERCENT,
                          draw (s->key, slot->luck));
    else if (draw (slot->luck, D_OVERLAP) % OVERLAP_EVERY == 0)
        overlap = scaled (s->opt, rank, s->usual / OVERLAP_PART,
                          draw (s->key, slot->luck));
    if (overlap > s->length)
        overlap = s->length;
    note_op (s, slot, compute + overlap, overlap);
    s->c->ops[s->c->op_count - 1].compute = compute;
    s->c->ops[s->c->op_count - 1].overlap = overlap;
    row->computing += (double)(compute + overlap) / TICKS_PER_US;
    row->communication += (double)elapse / TICKS_PER_US;
    row->not_overlapped += (double)(elapse - overlap) / TICKS_PER_US;
    row->free += (double)gap_ticks (s->course, slot, rank) / TICKS_PER_US;
}

static double quarters (double us)
{
    return rint (us * QUARTERS) / QUARTERS;
}

// The step's start, after what the host needs before the first kernel.
static void open_step (struct sim *s, int step)
{
    int rank = s->c->id.rank;
    int64_t prepare = prepare_ticks (s->course, step, rank);
    s->row = &s->c->steps[s->c->step_count];
    *s->row = (struct step_row){
        .id = step_id (s->opt, s->c->id.repeat, step),
        .index = step,
        .prepare = prepare,
        .preparing = quarters ((double)prepare / TICKS_PER_US),
        .first_tick = begin_of (s->course, step, rank)};
    if (step == s->window.first)
        s->c->first_tick = s->row->first_tick - prepare;
    s->bubble = 0;
}

// The computing after the last op, and the sums that need the whole step.
static void close_step (struct sim *s, int step)
{
    int rank = s->c->id.rank;
    struct step_row *row = s->row;
    row->tail = tail_ticks (s->course, step, rank);
    row->computing += (double)row->tail / TICKS_PER_US;
    row->free += GAP_MIN / TICKS_PER_US;
    row->end_tick = end_of (s->course, step, rank);
    if (records_step (s->opt, rank, step)) {
        s->c->planted[P_LATE_STEP] +=
            late_ticks (s->opt, s->course->shared, step,
                        tail_base (s->course, step));
        note_slow (s, row->tail);
        s->c->step_count++;
    }
    if (step == s->window.last)
        s->c->last_tick = row->end_tick;
    row->overlapped = row->communication - row->not_overlapped;
    int64_t span = row->end_tick - row->first_tick;
    row->bubble = (double)s->bubble / TICKS_PER_US;
    row->has_bubble = s->bubble > 0;
    row->stage = quarters ((double)(span - s->bubble) / TICKS_PER_US);
    row->exclude_receive = fmax (row->not_overlapped - row->bubble, 0.0);
}

// What happens to the rank in the slot.
static void meet_others (struct sim *s, const struct slot *slot)
{
    int rank = s->c->id.rank;
    const struct group *g =
        &s->job->groups[s->job->group_of[slot->kind][rank]];
    struct meeting m = meeting_of (s->course, slot, rank);
    s->start = m.start;
    s->latest = m.latest;
    s->length = op_length (slot, g->min_rate);
    s->usual = op_length (slot, g->usual_rate);
}

static void run (struct sim *s)
{
    for (int step = 0; step < s->opt->span; step++) {
        bool kept = records_step (s->opt, s->c->id.rank, step);
        open_step (s, step);
        for (int k = 0; kept && k < s->opt->ops; k++) {
            struct slot slot = make_slot (s->course, step, k);
            meet_others (s, &slot);
            keep_op (s, &slot);
            add_to_step (s, &slot);
        }
        close_step (s, step);
    }
}

// When the capture's ticks begin; repetitions follow in the same run.
static int64_t base_time (const struct options *opt, struct capture_id id)
{
    int64_t start = opt->start_us >= 0 ? opt->start_us : year_start_us (opt);
    int64_t length = (int64_t)opt->span * opt->ops * OP_ESTIMATE_US +
                     (int64_t)REPEAT_SECONDS * US_PER_SECOND;
    int64_t order = id.repeat;
    if (id.other_values) // later than all regular captures
        order += opt->repeat;
    return start + order * (opt->gap_us >= 0 ? opt->gap_us : length);
}

static int64_t skew_us (const struct capture *c)
{
    const struct options *opt = c->job->opt;
    const struct rule *host = find_rule (&opt->host_skews, host_of (c));
    int64_t ms = host != NULL ? host->value : 0;
    if (c->id.rank == opt->skew_rank)
        ms += opt->skew_ms;
    return ms * US_PER_MS;
}

void make_capture (struct capture *c, const struct job *job,
                   struct capture_id id)
{
    const struct options *opt = job->opt;
    memset (c, 0, sizeof *c);
    c->id = id;
    c->job = job;
    c->skew_us = skew_us (c);
    c->base_us = base_time (opt, id) + c->skew_us;
    if (id.rank == opt->skew_rank)
        c->planted[P_SKEW] = (int64_t)(opt->skew_ms * TICKS_PER_MS);
    c->device = id.rank % opt->ranks_per_host * opt->devices;
    c->steps = make_room ((size_t)opt->span + 1, sizeof *c->steps);
    c->ops =
        make_room ((size_t)opt->span * (size_t)opt->ops + 1, sizeof *c->ops);
    const struct course *course = course_of (job, id);
    struct sim s = {.c = c,
                    .course = course,
                    .opt = opt,
                    .job = job,
                    .key = course->keys[id.rank],
                    .window = window_of (opt, id.rank)};
    run (&s);
}

void free_capture (struct capture *c)
{
    free (c->steps);
    free (c->ops);
    free (c->links);
    free (c->packets);
}
