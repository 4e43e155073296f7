// The artificial job: its communication groups in the way of Megatron
// (world, neighbouring pairs, data parallel, pipeline) and the transport and
// speed of the link between two ranks.

#include "maker_course.h"

#include <stdlib.h>
#include <string.h>

#define SMALL_JOB 16 // from here the pipeline has four stages
#define BIG_PP 4

#define LOCAL_PEERS 7 // the mesh inside one host of 8
#define REMOTE_PEERS (MAX_PEERS - LOCAL_PEERS)
#define BOARD 4     // devices joined by HCCS when PCIE is used
#define SIO_EVERY 4 // each 4th op of a pair takes SIO

#define SLOW_FACTOR 4

// Bytes per tick of 20 ns: GB/s times 20.
static const int64_t rates[] = {
    [T_RDMA] = 200, [T_HCCS] = 400,   [T_PCIE] = 240, [T_SDMA] = 400,
    [T_SIO] = 560,  [T_LOCAL] = 6600, [T_NULL] = 6600};

static bool allowed (const struct options *opt, enum transport t)
{
    return (opt->transports >> t & 1u) != 0;
}

// The seq-th op of two ranks a and b: what their data travels over.
enum transport pick_transport (const struct options *opt, int a, int b,
                               int64_t seq)
{
    static const enum transport fallback[] = {T_HCCS, T_RDMA, T_PCIE, T_SIO};
    int m = opt->ranks_per_host;
    enum transport t = T_HCCS;
    if (a / m != b / m)
        t = T_RDMA;
    else if ((a ^ 1) == b && seq % SIO_EVERY == SIO_EVERY - 1 &&
             allowed (opt, T_SIO))
        t = T_SIO;
    else if (a % m / BOARD != b % m / BOARD && allowed (opt, T_PCIE))
        t = T_PCIE;
    for (size_t i = 0; !allowed (opt, t) && i < 4; i++)
        t = fallback[i];
    return t;
}

int64_t link_rate (const struct options *opt, enum transport t, int a, int b)
{
    bool slow = a == opt->slow_src && b == opt->slow_dst;
    return slow ? rates[t] / SLOW_FACTOR : rates[t];
}

// The group ranks that member `place` sends to in a collective, at most
// MAX_PEERS; in a pipeline only the next stage.
int peers_of (const struct job *job, const struct group *g, int place,
              int *peers)
{
    int count = 0;
    if (g->kind == job->pp_kind) {
        if (g->size > 1)
            peers[count++] = (place + 1) % g->size;
        return count;
    }
    int m = job->opt->ranks_per_host;
    int host = g->members[place] / m;
    int first = place; // of this host
    while (first > 0 && g->members[first - 1] / m == host)
        first--;
    int local = 0;
    int remote = 0;
    for (int i = 1; i < g->size; i++) {
        int peer = (place + i) % g->size;
        bool same = g->members[peer] / m == host;
        if (!same && remote >= REMOTE_PEERS) { // on to this host's first one
            int back = g->size - (place - first) - 1;
            i = i > back ? i : back;
            continue;
        }
        if (same ? local < LOCAL_PEERS : remote < REMOTE_PEERS)
            peers[count++] = peer;
        local += same;
        remote += !same;
        if (local >= LOCAL_PEERS && remote >= REMOTE_PEERS)
            break;
    }
    return count;
}

static void lower_rate (const struct job *job, struct group *g, int from,
                        int to)
{
    int a = g->members[from];
    int b = g->members[to];
    enum transport t = pick_transport (job->opt, a, b, 0);
    int64_t rate = link_rate (job->opt, t, a, b);
    if (rate < g->min_rate)
        g->min_rate = rate;
    if (rates[t] < g->usual_rate)
        g->usual_rate = rates[t];
}

static void find_min_rate (const struct job *job, struct group *g)
{
    g->min_rate = g->usual_rate = rates[T_LOCAL];
    for (int place = 0; place < g->size; place++) {
        int peers[MAX_PEERS];
        int count = peers_of (job, g, place, peers);
        for (int i = 0; i < count; i++)
            lower_rate (job, g, place, peers[i]);
        // Odd stages send backwards, see find_peers of the model.
        if (g->kind == job->pp_kind && (place ^ 1) < g->size)
            lower_rate (job, g, place, place ^ 1);
    }
}

// Opens a kind; its groups follow with add_group.
static int add_kind (struct job *job)
{
    int kind = job->kind_count++;
    size_t n = (size_t)job->opt->ranks;
    job->group_of[kind] = make_room (n, sizeof (int));
    job->place_of[kind] = make_room (n, sizeof (int));
    job->first_group[kind] = job->group_count;
    return kind;
}

// Adds the group of `size` ranks first, first + stride, ...
static void add_group (struct job *job, const char *kind_name, int first,
                       int stride, int size)
{
    int kind = job->kind_count - 1;
    int index = job->group_count++;
    struct group *g = &job->groups[index];
    g->kind = kind;
    g->kind_name = kind_name;
    g->size = size;
    if (index == job->first_group[kind])
        g->members = job->members + (ptrdiff_t)kind * job->opt->ranks;
    else
        g->members = g[-1].members + g[-1].size;
    for (int i = 0; i < size; i++) {
        int rank = first + i * stride;
        g->members[i] = rank;
        job->group_of[kind][rank] = index;
        job->place_of[kind][rank] = i;
    }
    name_group (job->opt, g, index);
    hash_group (g->name, g->hash, sizeof g->hash);
    job->groups_of_kind[kind]++;
}

// Neighbouring pairs; an odd last rank joins the last pair.
static void add_pairs (struct job *job)
{
    int n = job->opt->ranks;
    add_kind (job);
    for (int first = 0; first + PAIR <= n; first += PAIR)
        add_group (job, "tp", first, 1,
                   n - first == PAIR + 1 ? PAIR + 1 : PAIR);
}

// Ranks of one stage with the same place in their pair.
static void add_data_parallel (struct job *job)
{
    int stage = job->opt->ranks / job->pp_size;
    add_kind (job);
    for (int s = 0; s < job->pp_size; s++) {
        for (int i = 0; i < PAIR; i++)
            add_group (job, "dp", s * stage + i, PAIR, job->dp_size);
    }
}

static void add_pipelines (struct job *job)
{
    int stride = job->opt->ranks / job->pp_size;
    job->pp_kind = add_kind (job);
    for (int i = 0; i < stride; i++)
        add_group (job, "pp", i, stride, job->pp_size);
}

static int choose_pp (int ranks)
{
    if (ranks >= SMALL_JOB && ranks % BIG_PP == 0)
        return BIG_PP;
    int d = PAIR;
    while (ranks % d != 0)
        d++;
    return d;
}

void build_job (struct job *job, const struct options *opt)
{
    memset (job, 0, sizeof *job);
    job->opt = opt;
    job->pp_kind = -1;
    size_t n = (size_t)opt->ranks;
    // At most n groups of each kind: one pipeline per rank of a stage, ...
    job->groups = make_room (n * MAX_KINDS, sizeof *job->groups);
    job->members = make_room (n * MAX_KINDS, sizeof (int));
    job->courses = make_room ((size_t)opt->repeat + 1, sizeof *job->courses);
    job->tp_size = job->dp_size = job->pp_size = 1;
    add_kind (job);
    add_group (job, "default_group", 0, 1, opt->ranks);
    if (opt->ranks >= PAIR) {
        int pp = choose_pp (opt->ranks);
        job->pp_size = pp;
        job->tp_size = PAIR;
        add_pairs (job);
        if (opt->ranks % (PAIR * pp) == 0)
            job->dp_size = opt->ranks / (PAIR * pp);
        if (job->dp_size > 1)
            add_data_parallel (job);
        add_pipelines (job);
    }
    for (int i = 0; i < job->group_count; i++) {
        struct group *g = &job->groups[i];
        int64_t *rate = &job->rate_of_kind[g->kind];
        find_min_rate (job, g);
        if (*rate == 0 || g->usual_rate < *rate)
            *rate = g->usual_rate;
    }
}

void free_job (struct job *job)
{
    for (int i = 0; i < job->kind_count; i++) {
        free (job->group_of[i]);
        free (job->place_of[i]);
    }
    free_courses (job->courses, job->opt->repeat + 1);
    free (job->members);
    free (job->groups);
}
