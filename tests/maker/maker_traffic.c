// What one op of one rank moves: the packets of every link, summed up per
// link (for the matrix) and per transport (for the bandwidth tables).

#include "maker.h"

#include <stdlib.h>
#include <string.h>

#define BYTES_PER_MB 1e6
#define LATENCY 50      // ticks of every packet, 1 us
#define JITTER_ONE 1024 // jitter is counted in 1024ths
#define JITTER_MAX 32
#define FIRST_LINK_ROOM 1024

#define RDMA_LARGE 500000 // bytes; larger packets count as large
#define SDMA_LARGE 32000000

// From a barrier's few bytes to several hundred MB; both sides of the two
// large-packet limits, and sizes Python prints with an exponent.
const struct shape shapes[MAX_SHAPES] = {
    {4, 2, 0},  // 4e-06 MB
    {96, 3, 0}, // 9.6e-05 MB
    {24576, 1, 0},
    {524288, 4, 400000}, // RDMA: 4 of 5 are large
    {1048576, 2, 524288},
    {3145728, 3, 2752512},
    {8388608, 1, 0},
    {20971520, 2, 20840448},
    {33554432, 2, 0},        // all large
    {100663296, 1, 27262976} // half of them large
};

static int64_t packet_ticks (int64_t bytes, int64_t rate, int64_t jitter)
{
    return LATENCY + bytes * (JITTER_ONE + jitter) / (JITTER_ONE * rate);
}

// An upper bound of the time a link of that rate needs, the same on all
// ranks: it becomes the op's duration.
int64_t slowest_transfer (const struct shape *s, int64_t rate)
{
    return s->packets * (packet_ticks (s->chunk, rate, JITTER_MAX) + 1) +
           packet_ticks (s->tail, rate, JITTER_MAX) + 1;
}

// The part of a transfer that depends on the number of its packets.
int64_t shape_latency (const struct shape *s)
{
    return (s->packets + (s->tail > 0)) * LATENCY;
}

static void add_packet (struct band *b, enum transport t, int64_t bytes,
                        double ms)
{
    double mb = (double)bytes / BYTES_PER_MB;
    int64_t limit = t == T_RDMA ? RDMA_LARGE : SDMA_LARGE;
    b->touched = true;
    b->mb += mb;
    b->ms += ms;
    b->packets++;
    b->large_packets += bytes > limit;
    size_t i = 0;
    while (i < b->bin_count && b->bins[i].mb != mb)
        i++;
    if (i == b->bin_count) {
        b->bin_count++;
        b->bins[i] = (struct packet_bin){.mb = mb};
    }
    b->bins[i].count++;
    b->bins[i].ms += ms;
}

static struct link *new_link (struct capture *c)
{
    if (c->link_count == c->link_room) {
        c->link_room = c->link_room > 0 ? 2 * c->link_room : FIRST_LINK_ROOM;
        c->links = realloc (c->links, c->link_room * sizeof *c->links);
        if (c->links == NULL)
            die ("memory");
    }
    struct link *l = &c->links[c->link_count++];
    memset (l, 0, sizeof *l);
    return l;
}

static void keep_packet (struct capture *c, struct link *l, int64_t bytes,
                         int64_t ticks)
{
    if ((c->job->opt->form & (FORM_TIMELINE | FORM_EVENT_DB | FORM_MSPROF)) ==
        0)
        return;
    if (c->packet_count == c->packet_room) {
        c->packet_room =
            c->packet_room > 0 ? 2 * c->packet_room : FIRST_LINK_ROOM;
        c->packets = realloc (c->packets, c->packet_room * sizeof *c->packets);
        if (c->packets == NULL)
            die ("memory");
    }
    if (l->packet_count++ == 0)
        l->first_packet = c->packet_count;
    c->packets[c->packet_count++] = (struct packet){bytes, ticks};
}

// Sends the shape's packets over a link; returns the ticks it took.  A local
// copy (band NULL) is in the matrix only.
static int64_t send_packets (struct capture *c, struct link *l,
                             struct band *band, const struct shape *s,
                             int64_t rate, uint64_t luck)
{
    int64_t ticks = 0;
    int64_t count = s->packets + (s->tail > 0);
    for (int64_t i = 0; i < count; i++) {
        int64_t bytes = i < s->packets ? s->chunk : s->tail;
        uint64_t jitter = draw (luck, (uint64_t)i) % JITTER_MAX;
        int64_t spent = packet_ticks (bytes, rate, (int64_t)jitter);
        double ms = (double)spent / TICKS_PER_MS;
        l->mb += (double)bytes / BYTES_PER_MB;
        l->ms += ms;
        ticks += spent;
        keep_packet (c, l, bytes, spent);
        if (band != NULL)
            add_packet (band, l->transport, bytes, ms);
    }
    l->gbps = round4 (l->mb / l->ms);
    return ticks;
}

// SDMA is the sum of what goes over HCCS, PCIE and SIO.
static void finish_bands (struct op *op)
{
    struct band *sdma = &op->bands[T_SDMA];
    static const enum transport parts[] = {T_HCCS, T_PCIE, T_SIO};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        const struct band *b = &op->bands[parts[i]];
        sdma->touched |= b->touched;
        sdma->mb += b->mb;
        sdma->ms += b->ms;
    }
    for (size_t i = 0; i < BAND_COUNT; i++) {
        struct band *b = &op->bands[i];
        if (b->touched)
            b->gbps = round4 ((b->mb / 1000) / (b->ms / 1000));
        if (b->packets > 0)
            b->large = round4 ((double)b->large_packets / (double)b->packets);
    }
}

// What a slow link and small packets cost this link.
static void note_link (struct capture *c, const struct shape *s,
                       enum transport t, int dst, int64_t ticks)
{
    const struct options *opt = c->job->opt;
    int64_t rate = link_rate (opt, t, c->id.rank, dst);
    int64_t usual = link_rate (opt, t, -2, -2);
    int64_t latency = shape_latency (s);
    int64_t bytes = s->packets * s->chunk + s->tail;
    if (rate != usual)
        c->planted[P_SLOW_LINK] += ticks - ticks * rate / usual;
    if (s->chunk == SMALL_CHUNK && bytes > SMALL_CHUNK)
        c->planted[P_SMALL_PACKETS] += latency - LATENCY;
}

// Makes the op's links and bands; returns the ticks of the first link that
// leaves the device, 0 if there is none.
int64_t fill_traffic (struct capture *c, size_t op_index,
                      const struct transfer *t)
{
    const struct options *opt = c->job->opt;
    struct op *op = &c->ops[op_index];
    const struct group *g = &c->job->groups[op->group];
    int place = c->job->place_of[g->kind][c->id.rank];
    int64_t first = 0;
    op->first_link = c->link_count;
    if (t->has_local) {
        struct link *l = new_link (c);
        *l = (struct link){
            .op = op_index, .src = place, .dst = place, .transport = t->local};
        send_packets (c, l, NULL, t->shape, link_rate (opt, T_LOCAL, -1, 0),
                      t->luck);
    }
    for (int i = 0; i < t->peer_count; i++) {
        struct link *l = new_link (c);
        int a = c->id.rank;
        int b = g->members[t->peers[i]];
        *l = (struct link){.op = op_index, .src = place, .dst = t->peers[i]};
        l->transport = pick_transport (opt, a, b, t->seq);
        int64_t rate = link_rate (opt, l->transport, a, b);
        uint64_t luck = draw (t->luck, (uint64_t)i);
        int64_t ticks =
            send_packets (c, l, &op->bands[l->transport], t->shape, rate, luck);
        note_link (c, t->shape, l->transport, b, ticks);
        if (i == 0)
            first = ticks;
    }
    op->link_count = c->link_count - op->first_link;
    finish_bands (op);
    return first;
}
