// The course of the artificial job.  All ranks go through the same slots:
// compute, then one op in one of their groups, which begins when the last
// member arrives.  To make one rank's capture the clocks of all ranks are
// followed, which is cheap, and only that rank's ops are kept; every random
// number is a function of (seed, rank, slot), so each process of a parallel
// run makes the same capture as one process that makes them all.

#include "maker.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SHARED_STREAM 0u // numbers all ranks agree on
#define FIRST_RANK_STREAM 1u
#define OTHER_VALUES 0x5eedu // salt of a duplicate capture
#define REPEAT_SALT 1000003u
#define PROCESS_SALT 7368787u

#define COMPUTE_MIN 5000 // ticks of 20 ns: 0.1 ms
#define COMPUTE_SPAN 45000
#define GAP_MIN 50
#define GAP_SPAN 200
#define PREPARE_MIN 8000
#define PREPARE_SPAN 4000
#define TAIL_FACTOR 4 // the optimizer after a step's last op
#define STEP_PAUSE 5000

#define JITTER_ONE 1024
#define JITTER_SPAN 64
#define SLOW_NUMERATOR 3
#define SLOW_DENOMINATOR 2
#define EDGE_FACTOR 2 // so many times as long, in addition
#define IDLE_TICKS 25000 // of an idle rank before each op
#define SMALL_EVERY 2    // transfers of small packets
#define PERCENT 100

#define OP_OVERHEAD 150  // ticks an op needs beside its transfer
#define TRANSFER_SLACK 8 // and an 8th of it
#define WAIT_PART 16     // waiting during the transfer, at most
#define SYNC_MIN 3
#define SYNC_SPAN 20
#define QUIET_EVERY 5 // master plane without data nor waiting
#define BARE_EVERY 4  // tiny ops without a local copy
#define NULL_EVERY 8  // local copy of an unknown transport
#define OVERLAP_EVERY 2
#define OVERLAP_PART 4

#define P2P_CYCLE 3 // batchSendRecv, then two send/receive
#define PAIR 2
#define HASH_DIGITS 3 // of the group's hash in op names

#define QUARTERS 4.0 // an epoch-us double has quarters of a us
#define US_PER_SECOND 1000000
#define US_PER_MS 1000
#define REPEAT_SECONDS 60
#define OP_ESTIMATE_US 20000

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

// What all ranks know about one slot of one step.
struct slot {
    int step;
    int kind;
    int64_t seq;     // number of the op in its groups
    int64_t per_step;
    int64_t turn;    // what decides of which type it is
    uint64_t number; // of the slot in the capture
    uint64_t luck;
    const struct shape *shape;
    bool pairs; // send/receive: only neighbours meet
};

struct sim {
    struct capture *c;
    const struct options *opt;
    const struct job *job;
    uint64_t shared; // keys of the streams
    uint64_t *keys;
    struct window window; // of the kept rank
    struct step_row *row; // of its step
    int64_t *clock;
    int64_t *ready;
    int64_t start;      // of the kept rank's op
    int64_t latest;     // arrival of the last member
    int64_t length;     // of the op after that
    int64_t usual;      // and if no link were slow on purpose
    int64_t first_tick; // of the step's first computing
    int64_t bubble;
};

static int64_t scaled (const struct sim *s, int rank, int64_t ticks,
                       uint64_t luck)
{
    int64_t jitter = (int64_t)(luck % JITTER_SPAN);
    ticks = ticks * (JITTER_ONE + jitter) / JITTER_ONE;
    if (is_slow (s->opt, rank))
        ticks = ticks * SLOW_NUMERATOR / SLOW_DENOMINATOR;
    return ticks;
}

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

static struct slot make_slot (const struct sim *s, int step, int k)
{
    struct slot slot = {.step = step};
    int64_t number = (int64_t)step * s->opt->ops + k;
    int kinds = s->job->kind_count;
    int64_t per_step = s->opt->ops / kinds;
    slot.kind = k % kinds;
    per_step += slot.kind < s->opt->ops % kinds;
    slot.seq = per_step * step + k / kinds;
    slot.per_step = per_step;
    slot.turn = s->opt->steady ? k / kinds : slot.seq;
    slot.number = (uint64_t)number;
    slot.luck = draw (s->shared, s->opt->steady ? (uint64_t)k : slot.number);
    slot.shape = &shapes[slot.luck % MAX_SHAPES];
    if (s->opt->small_packets &&
        draw (slot.luck, D_SMALL) % SMALL_EVERY == 0)
        slot.shape = small_shape (slot.shape);
    slot.pairs = slot.kind == s->job->pp_kind && s->job->pp_size % PAIR == 0 &&
                 slot.turn % P2P_CYCLE != 0;
    return slot;
}

static bool sends_forward (const struct slot *slot)
{
    return slot->turn % P2P_CYCLE == 1;
}

// A sender of a pipeline with bubbles is late to each of its sends.
static int64_t bubble_ticks (const struct sim *s, const struct slot *slot,
                             int rank)
{
    if (!slot->pairs || s->opt->bubble_ms == 0)
        return 0;
    bool even = s->job->place_of[slot->kind][rank] % PAIR == 0;
    return sends_forward (slot) == even
               ? (int64_t)(s->opt->bubble_ms * TICKS_PER_MS)
               : 0;
}

static int64_t op_length (const struct slot *slot, int64_t rate)
{
    int64_t ticks = slowest_transfer (slot->shape, rate);
    return ticks + ticks / TRANSFER_SLACK + OP_OVERHEAD;
}

// All ranks have the same to compute.  What those in groups with faster links
// cannot hide behind their op, which is shorter, they compute before it.
static int64_t spare_ticks (const struct sim *s, const struct slot *slot,
                            int rank)
{
    const struct job *job = s->job;
    const struct group *g = &job->groups[job->group_of[slot->kind][rank]];
    if (s->opt->overlap <= 0)
        return 0;
    return (op_length (slot, job->rate_of_kind[slot->kind]) -
            op_length (slot, g->usual_rate)) *
           s->opt->overlap / PERCENT;
}

// What profiling itself costs the first or last step of a window.
static int64_t edge_ticks (const struct sim *s, int rank, int step,
                           int64_t ticks)
{
    return is_edge (s->opt, rank, step) ? ticks * EDGE_FACTOR : 0;
}

static int64_t compute_ticks (const struct sim *s, const struct slot *slot,
                              int rank)
{
    uint64_t shared = draw (slot->luck, D_COMPUTE);
    int64_t base = COMPUTE_MIN + (int64_t)(shared % COMPUTE_SPAN);
    base += late_ticks (s->opt, s->shared, slot->step, base);
    base += spare_ticks (s, slot, rank);
    base += edge_ticks (s, rank, slot->step, base);
    return scaled (s, rank, base, draw (s->keys[rank], slot->number)) +
           bubble_ticks (s, slot, rank);
}

static int64_t gap_ticks (const struct sim *s, const struct slot *slot,
                          int rank)
{
    if (slot->number % (uint64_t)s->opt->ops == 0)
        return 0;
    return GAP_MIN + (int64_t)(draw (slot->luck, D_GAP) % GAP_SPAN) +
           (rank == s->opt->idle_rank ? IDLE_TICKS : 0);
}

// Lets members [from, to) of a group meet.
static void meet (struct sim *s, const struct slot *slot, const struct group *g,
                  int from, int to)
{
    int64_t latest = 0;
    for (int i = from; i < to; i++) {
        if (s->ready[g->members[i]] > latest)
            latest = s->ready[g->members[i]];
    }
    int64_t length = op_length (slot, g->min_rate);
    for (int i = from; i < to; i++) {
        int rank = g->members[i];
        s->clock[rank] = latest + length;
        if (rank == s->c->id.rank) {
            s->start = s->ready[rank];
            s->latest = latest;
            s->length = length;
            s->usual = op_length (slot, g->usual_rate);
        }
    }
}

static void run_slot (struct sim *s, const struct slot *slot)
{
    const struct job *job = s->job;
    for (int r = 0; r < s->opt->ranks; r++)
        s->ready[r] =
            s->clock[r] + gap_ticks (s, slot, r) + compute_ticks (s, slot, r);
    for (int i = 0; i < job->groups_of_kind[slot->kind]; i++) {
        const struct group *g = &job->groups[job->first_group[slot->kind] + i];
        int stride = slot->pairs ? PAIR : g->size;
        for (int from = 0; from < g->size; from += stride)
            meet (s, slot, g, from, from + stride);
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
    uint64_t luck = draw (s->keys[c->id.rank] ^ slot->luck, D_TRAFFIC);
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
    uint64_t shared = draw (slot->luck, D_COMPUTE);
    int64_t base = COMPUTE_MIN + (int64_t)(shared % COMPUTE_SPAN);
    note_slow (s, computed - bubble_ticks (s, slot, rank));
    if (strcmp (s->c->ops[s->c->op_count - 1].matrix_type, "receive") != 0)
        planted[P_OVERLAP] += s->length - overlap;
    planted[P_LATE_STEP] += late_ticks (s->opt, s->shared, slot->step, base);
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
    int64_t compute = compute_ticks (s, slot, rank);
    int64_t elapse = s->latest + s->length - s->start;
    int64_t overlap = 0;
    if (s->opt->overlap >= 0)
        overlap = scaled (s, rank, s->usual * s->opt->overlap / PERCENT,
                          draw (s->keys[rank], slot->luck));
    else if (draw (slot->luck, D_OVERLAP) % OVERLAP_EVERY == 0)
        overlap = scaled (s, rank, s->usual / OVERLAP_PART,
                          draw (s->keys[rank], slot->luck));
    if (overlap > s->length)
        overlap = s->length;
    note_op (s, slot, compute + overlap, overlap);
    s->c->ops[s->c->op_count - 1].compute = compute;
    s->c->ops[s->c->op_count - 1].overlap = overlap;
    row->computing += (double)(compute + overlap) / TICKS_PER_US;
    row->communication += (double)elapse / TICKS_PER_US;
    row->not_overlapped += (double)(elapse - overlap) / TICKS_PER_US;
    row->free += (double)gap_ticks (s, slot, rank) / TICKS_PER_US;
}

static double quarters (double us)
{
    return rint (us * QUARTERS) / QUARTERS;
}

// The step's start: what the host needs before the first kernel.
static void open_step (struct sim *s, int step)
{
    int kept = s->c->id.rank;
    s->row = &s->c->steps[s->c->step_count];
    *s->row = (struct step_row){
        .id = step_id (s->opt, s->c->id.repeat, step), .index = step};
    for (int r = 0; r < s->opt->ranks; r++) {
        uint64_t luck = draw (s->keys[r] ^ D_PREPARE, (uint64_t)step);
        int64_t prepare = PREPARE_MIN + (int64_t)(luck % PREPARE_SPAN);
        s->clock[r] += prepare;
        if (r == kept) {
            s->row->prepare = prepare;
            s->row->preparing = quarters ((double)prepare / TICKS_PER_US);
        }
    }
    s->first_tick = s->clock[kept];
    s->row->first_tick = s->first_tick;
    if (step == s->window.first)
        s->c->first_tick = s->first_tick - s->row->prepare;
    s->bubble = 0;
}

// The computing after the last op, and the sums that need the whole step.
static void close_step (struct sim *s, int step)
{
    int kept = s->c->id.rank;
    struct step_row *row = s->row;
    int64_t base =
        (int64_t)(draw (s->shared ^ D_TAIL,
                        s->opt->steady ? 0 : (uint64_t)step) % COMPUTE_SPAN);
    base = (base + COMPUTE_MIN) * TAIL_FACTOR;
    int64_t late = late_ticks (s->opt, s->shared, step, base);
    base += late;
    for (int r = 0; r < s->opt->ranks; r++) {
        uint64_t luck = draw (s->keys[r] ^ D_TAIL, (uint64_t)step);
        int64_t tail =
            scaled (s, r, base + edge_ticks (s, r, step, base), luck);
        s->clock[r] += GAP_MIN + tail;
        if (r == kept) {
            row->computing += (double)tail / TICKS_PER_US;
            row->tail = tail;
        }
    }
    if (records_step (s->opt, kept, step)) {
        s->c->planted[P_LATE_STEP] += late;
        note_slow (s, row->tail);
        s->c->step_count++;
    }
    if (step == s->window.last)
        s->c->last_tick = s->clock[kept];
    row->free += GAP_MIN / TICKS_PER_US;
    row->end_tick = s->clock[kept];
    row->overlapped = row->communication - row->not_overlapped;
    int64_t span = s->clock[kept] - s->first_tick;
    row->bubble = (double)s->bubble / TICKS_PER_US;
    row->has_bubble = s->bubble > 0;
    row->stage = quarters ((double)(span - s->bubble) / TICKS_PER_US);
    row->exclude_receive = fmax (row->not_overlapped - row->bubble, 0.0);
    for (int r = 0; r < s->opt->ranks; r++)
        s->clock[r] += STEP_PAUSE;
}

static void run (struct sim *s)
{
    for (int step = 0; step < s->opt->span; step++) {
        bool kept = records_step (s->opt, s->c->id.rank, step);
        open_step (s, step);
        for (int k = 0; k < s->opt->ops; k++) {
            struct slot slot = make_slot (s, step, k);
            run_slot (s, &slot);
            if (!kept)
                continue;
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
    struct sim s = {.c = c,
                    .opt = opt,
                    .job = job,
                    .window = window_of (opt, id.rank)};
    uint64_t salt = (uint64_t)id.repeat * REPEAT_SALT +
                    (uint64_t)opt->process * PROCESS_SALT +
                    (id.other_values ? OTHER_VALUES : 0);
    uint64_t key = mix (opt->seed) ^ mix (salt + 1);
    size_t n = (size_t)opt->ranks;
    s.shared = draw (key, SHARED_STREAM);
    s.keys = make_room (n, sizeof *s.keys);
    s.clock = make_room (n, sizeof *s.clock);
    s.ready = make_room (n, sizeof *s.ready);
    for (size_t r = 0; r < n; r++)
        s.keys[r] = draw (key, FIRST_RANK_STREAM + r);
    run (&s);
    free (s.keys);
    free (s.clock);
    free (s.ready);
}

void free_capture (struct capture *c)
{
    free (c->steps);
    free (c->ops);
    free (c->links);
    free (c->packets);
}
