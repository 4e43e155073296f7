/* node_agent/extract/rows/comm_tasks.c - compute the figures of an op from its
 * tasks
 */
#include "extract/rows/comm_tasks.h"
#include "extract/rows/times.h"

#include "base/map.h"
#include "base/units.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define NS_PER_MS 1e6
#define BYTES_PER_MB 1e6
#define RDMA_LARGE_MB 0.5       // packets above these are large
#define SDMA_LARGE_MB 32.0

struct comm_work {
    uint32_t *order;            // tasks, sorted by plane
    struct place *places;
    struct map items;
    bool no_memory;
    size_t cap;                 // capacity, in tasks
    uint64_t large[COMM_BUCKETS], packets[COMM_BUCKETS];
};

struct place {
    int64_t first;              // start of the first task of the plane
    uint32_t plane;
    uint32_t index, n;          // a sequence of n tasks
};

// constant sizes, so that no call compares them
#define IS(text) \
    (size == sizeof (text) - 1 && memcmp (name, text, sizeof (text) - 1) == 0)

enum comm_kind comm_task_kind (const char *name, size_t size)
{
    return IS ("Notify_Wait")     ? COMM_NOTIFY_WAIT
           : IS ("Memcpy")        ? COMM_MEMCPY
           : IS ("Reduce_Inline") ? COMM_REDUCE_INLINE
                                  : COMM_OTHER_TASK;
}

enum comm_transport comm_task_transport (const char *name, size_t size)
{
    return IS ("SDMA")    ? COMM_SDMA
           : IS ("RDMA")  ? COMM_RDMA
           : IS ("LOCAL") ? COMM_LOCAL
                          : COMM_OTHER_TRANSPORT;
}

enum comm_link comm_task_link (const char *name, size_t size)
{
    return IS ("ON_CHIP")   ? COMM_ON_CHIP
           : IS ("HCCS")    ? COMM_HCCS
           : IS ("PCIE")    ? COMM_PCIE
           : IS ("SIO")     ? COMM_SIO
           : IS ("HCCS_SW") ? COMM_HCCS_SW
                            : COMM_OTHER_LINK;
}

bool comm_op_is_total (const char *key, size_t size)
{
    return size >= 5 && strncasecmp (key, "total", 5) == 0;
}

struct comm_work *comm_work_create (void)
{
    struct comm_work *w = calloc (1, sizeof (*w));

    if (w)
        w->items = (struct map)MAP (struct comm_item, 2);
    return w;
}

void comm_work_destroy (struct comm_work *w)
{
    if (!w)
        return;
    free (w->order);
    free (w->places);
    map_fini (&w->items);
    free (w);
}

/* Make room for an op with n tasks. */
static int make_room (struct comm_work *w, size_t n)
{
    size_t cap = 64;

    while (cap < n)
        cap *= 2;
    if (cap <= w->cap)
        return 0;
    free (w->order);
    free (w->places);
    w->order = malloc (cap * sizeof (*w->order));
    w->places = malloc (cap * sizeof (*w->places));
    w->cap = w->order && w->places ? cap : 0;
    return w->cap ? 0 : -ENOMEM;
}

/* ---- planes ---- */

static int by_plane (const void *pa, const void *pb)
{
    const struct place *a = pa, *b = pb;

    if (a->plane != b->plane)
        return a->plane < b->plane ? -1 : 1;
    return a->index < b->index ? -1 : 1;
}

static int by_appearance (const void *pa, const void *pb)
{
    const struct place *a = pa, *b = pb;

    if (a->first != b->first)
        return a->first < b->first ? -1 : 1;
    return by_plane (pa, pb);
}

/* Sort the tasks by plane, in the order in which planes first appear; within a
 * plane their order stays.  Sequences of one plane are sorted: in timelines
 * each plane is one.
 */
static void arrange (struct comm_work *w, const struct comm_task *tasks,
                     uint32_t n)
{
    struct place *p = w->places;
    uint32_t nplaces = 0, used = 0;

    for (uint32_t i = 0; i < n; i++) {
        if (i > 0 && tasks[i].plane == tasks[i - 1].plane)
            p[nplaces - 1].n++;
        else
            p[nplaces++] = (struct place){ 0, tasks[i].plane, i, 1 };
    }
    if (nplaces > 1)
        qsort (p, nplaces, sizeof (*p), by_plane);
    for (uint32_t i = 0; i < nplaces; i++)
        p[i].first = i > 0 && p[i].plane == p[i - 1].plane
                         ? p[i - 1].first
                         : tasks[p[i].index].start;
    if (nplaces > 1)
        qsort (p, nplaces, sizeof (*p), by_appearance);
    for (uint32_t i = 0; i < nplaces; i++) {
        for (uint32_t j = 0; j < p[i].n; j++)
            w->order[used++] = p[i].index + j;
    }
}

/* The tasks of a plane, in their order. */
struct plane {
    const struct comm_task *tasks;
    const uint32_t *order;
    uint32_t n;
    unsigned jump;              // how many tasks end a burst, plus one
};

static const struct comm_task *task_at (const struct plane *p, uint32_t i)
{
    return &p->tasks[p->order[i]];
}

static double ms (double ns)
{
    return ns / NS_PER_MS;
}

static double mb (int64_t bytes)
{
    return bytes > 0 ? (double)bytes / BYTES_PER_MB : 0;
}

/* An RDMA transfer: payloads and the notifications after them. */
struct burst {
    bool complete;
    uint32_t next;              // where to continue
    double size, time;
};

static struct burst burst_at (const struct plane *p, uint32_t i)
{
    struct burst b = { .next = i };
    int64_t bytes = 0;
    uint32_t last;

    for (; b.next < p->n && task_at (p, b.next)->payload; b.next++) {
        int64_t size = task_at (p, b.next)->size;

        if (size > 0 && bytes <= INT64_MAX - size)
            bytes += size;
    }
    last = b.next + p->jump - 2;
    if (last >= p->n)
        return b;
    b.complete = true;
    b.next = last + 1;
    b.size = mb (bytes);
    b.time = ms ((double)(task_at (p, last)->start - task_at (p, i)->start) +
                 task_at (p, last)->dur);
    return b;
}

static bool moves (const struct comm_task *t)
{
    return (t->kind == COMM_MEMCPY || t->kind == COMM_REDUCE_INLINE) &&
           t->transport == COMM_SDMA;
}

/* ---- times: the master plane ---- */

/* The plane of the first master; without masters plane 1 if it exists,
 * otherwise the lowest: see doc/formats.md.
 */
static uint32_t master_plane (const struct comm_task *tasks, size_t n,
                              bool *known)
{
    uint32_t lowest = COMM_NO_PLANE, master = COMM_NO_PLANE;
    int64_t first = INT64_MAX;
    bool one = false;

    for (size_t i = 0; i < n; i++) {
        if (tasks[i].master && tasks[i].start < first) {
            first = tasks[i].start;
            master = tasks[i].plane;
        }
        one = one || tasks[i].plane == 1;
        if (tasks[i].plane < lowest)
            lowest = tasks[i].plane;
    }
    *known = master != COMM_NO_PLANE;
    return *known ? master : one ? 1 : lowest;
}

static void walk_times (const struct plane *p, struct comm_figures *f)
{
    bool before_data = true;

    for (uint32_t i = 0; i < p->n;) {
        const struct comm_task *t = task_at (p, i);

        if (moves (t) && t->link != COMM_ON_CHIP) {
            before_data = false;
            f->transit += ms (t->dur);
        }
        if (t->payload) {
            struct burst b = burst_at (p, i);

            i = b.next;
            if (b.complete) {
                f->transit += b.time;
                before_data = false;
            }
            continue;
        }
        if (t->kind == COMM_NOTIFY_WAIT) {
            if (before_data)
                f->sync += ms (t->dur);
            f->wait += ms (t->dur);
        }
        i++;
    }
}

/* Set start and end from the master tasks. */
static void master_span (const struct comm_task *tasks, size_t n,
                         uint32_t plane, struct comm_figures *f)
{
    int64_t begin = INT64_MAX, first = INT64_MAX;
    double length = 0;

    for (size_t i = 0; i < n; i++) {
        const struct comm_task *t = &tasks[i];

        if (t->master && t->start < begin)
            begin = t->start;
        if (t->plane != plane)
            continue;
        if (t->start < first)
            first = t->start;
    }
    for (size_t i = 0; i < n; i++) {
        const struct comm_task *t = &tasks[i];

        if (t->plane == plane && (double)(t->start - first) + t->dur > length)
            length = (double)(t->start - first) + t->dur;
    }
    f->start_us = time_us_of_text (begin);
    f->elapse = ms (length);
}

/* ---- sizes: all planes ---- */

/* Find or add an item.  NULL: no memory, which is recorded in w. */
static struct comm_item *item (struct comm_work *w, unsigned bucket,
                               uint64_t key)
{
    struct comm_item *it;
    bool is_new;

    it = map_put (&w->items, &(struct comm_item){ .key = key,
                                                  .bucket = bucket }, &is_new);
    w->no_memory = w->no_memory || !it;
    return it;
}

static void add_packet (struct comm_work *w, struct comm_figures *f,
                        unsigned bucket, double size, double time)
{
    double large = bucket == COMM_BUCKET_RDMA ? RDMA_LARGE_MB : SDMA_LARGE_MB;
    struct comm_item *it;
    uint64_t key;

    memcpy (&key, &size, sizeof (key));
    if (!(it = item (w, bucket, key)))
        return;
    it->size = size;
    it->time += time;
    it->count++;
    w->packets[bucket]++;
    w->large[bucket] += size > large;
    f->buckets[bucket].size += size;
    f->buckets[bucket].time += time;
}

static void add_link (struct comm_work *w, const struct comm_task *t,
                      const char *transport, double size, double time)
{
    uint32_t src = (uint32_t)t->src;
    uint32_t dst = t->dst == COMM_RANK_SELF ? src : (uint32_t)t->dst;
    struct comm_item *it;

    if (t->src < 0 || (t->dst < 0 && t->dst != COMM_RANK_SELF) ||
        !(it = item (w, COMM_BUCKETS, (uint64_t)src << 32 | dst)))
        return;
    it->size += size;
    it->time += time;
    it->count++;
    it->transport = transport;
}

static unsigned bucket_of (const struct comm_task *t)
{
    switch (t->link) {
    case COMM_HCCS:
    case COMM_HCCS_SW:
        return COMM_BUCKET_HCCS;
    case COMM_PCIE:
        return COMM_BUCKET_PCIE;
    case COMM_SIO:
        return COMM_BUCKET_SIO;
    default:
        return COMM_BUCKET_SDMA;
    }
}

/* The name of a link that is not RDMA. */
static const char *link_name (const struct comm_task *t)
{
    static const char *const names[] = { NULL, "LOCAL", "HCCS", "PCIE", "SIO",
                                         "HCCS" };

    return t->link < 6 ? names[t->link] : NULL;
}

static void walk_sizes (struct comm_work *w, const struct plane *p,
                        struct comm_figures *f)
{
    for (uint32_t i = 0; i < p->n;) {
        const struct comm_task *t = task_at (p, i);

        if (moves (t) && t->link != COMM_ON_CHIP)
            add_packet (w, f, bucket_of (t), mb (t->size), ms (t->dur));
        if (moves (t))
            add_link (w, t, link_name (t), mb (t->size), ms (t->dur));
        if (t->payload) {
            struct burst b = burst_at (p, i);

            if (b.complete && t->transport == COMM_RDMA) {
                add_packet (w, f, COMM_BUCKET_RDMA, b.size, b.time);
                add_link (w, t, "RDMA", b.size, b.time);
            }
            i = b.next;
            continue;
        }
        i++;
    }
}

static double rate (double size_mb, double time_ms)
{
    return time_ms != 0 ? units_round4 (size_mb / 1000 / (time_ms / 1000)) : 0;
}

static void finish_buckets (const struct comm_work *w, struct comm_figures *f)
{
    struct comm_bucket *sdma = &f->buckets[COMM_BUCKET_SDMA];
    static const int parts[] = { COMM_BUCKET_HCCS, COMM_BUCKET_PCIE,
                                 COMM_BUCKET_SIO };

    for (int i = 0; i < COMM_BUCKETS; i++) {
        struct comm_bucket *b = &f->buckets[i];

        b->bandwidth = rate (b->size, b->time);
        if (w->packets[i] > 0 && i != COMM_BUCKET_SDMA)
            b->large = units_round4 ((double)w->large[i] /
                                     (double)w->packets[i]);
    }
    for (int i = 0; i < 3; i++) {
        sdma->size += f->buckets[parts[i]].size;
        sdma->time += f->buckets[parts[i]].time;
    }
    sdma->bandwidth = rate (sdma->size, sdma->time);
}

/* The number of tasks that end a burst, by the kind of op. */
static unsigned jump_of (const char *name)
{
    for (const char *p = strpbrk (name, "sSrR"); p;
         p = strpbrk (p + 1, "sSrR")) {
        if (strncasecmp (p, "send", 4) == 0 ||
            strncasecmp (p, "receive", 7) == 0)
            return 3;
    }
    return 5;
}

int comm_figures (struct comm_work *w, const struct comm_op *op,
                  const struct comm_task *tasks, size_t n,
                  struct comm_figures *f)
{
    unsigned jump = jump_of (op->name);
    uint32_t master;
    bool known;

    *f = (struct comm_figures){ .start_us = time_us_of_text (op->start),
                                .elapse = ms (op->elapse) };
    if (n == 0) {
        f->transit = f->wait = f->sync = f->idle = NAN;
        return 0;
    }
    if (n > UINT32_MAX / 8 || make_room (w, n) < 0)
        return -ENOMEM;
    map_clear (&w->items);
    memset (w->large, 0, sizeof (w->large));
    memset (w->packets, 0, sizeof (w->packets));
    arrange (w, tasks, (uint32_t)n);
    master = master_plane (tasks, n, &known);
    if (op->masters && !known)
        master = COMM_NO_PLANE;
    if (known)
        master_span (tasks, n, master, f);
    for (uint32_t i = 0, end; i < n; i = end) {
        struct plane p = { tasks, w->order + i, 0, jump };
        uint32_t id = task_at (&p, 0)->plane;

        for (end = i; end < n && tasks[w->order[end]].plane == id; end++)
            p.n++;
        if (id == master)
            walk_times (&p, f);
        walk_sizes (w, &p, f);
    }
    if (w->no_memory)
        return -ENOMEM;
    f->items = w->items.records;
    f->nitems = w->items.n;
    if (master == COMM_NO_PLANE)
        f->transit = f->wait = f->sync = NAN;
    f->idle = f->elapse - f->transit - f->wait;
    finish_buckets (w, f);
    return 0;
}
