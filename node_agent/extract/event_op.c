/* node_agent/extract/event_op.c - what the tasks of one communication op say */
#include "extract/event_op.h"

#include "base/units.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define MS 1e6                  // ns of a ms
#define MB 1e6                  // bytes of a MB
#define LARGE_RDMA_MB 0.5       // packets above it are large
#define LARGE_MB 32.0

void op_work_fini (struct op_work *w)
{
    keymap_fini (&w->bin_map);
    keymap_fini (&w->link_map);
    free (w->tasks);
    free (w->planes);
    free (w->bins);
    free (w->links);
    *w = (struct op_work){ .tasks = NULL };
}

double op_bandwidth (double mb, double ms)
{
    return ms > 0 ? units_round4 (mb / 1000 / (ms / 1000)) : 0;
}

double op_large_ratio (const struct op_band *band)
{
    return band->packets > 0
               ? units_round4 ((double)band->large / (double)band->packets)
               : 0;
}

static double duration (const struct op_task *t)
{
    return (double)(t->end - t->start) / MS;
}

/* Moves data over a link that leaves the chip. */
static bool is_transfer (const struct op_task *t)
{
    return t->kind == TASK_DATA && t->transport == TRANSPORT_SDMA &&
           t->link != LINK_ON_CHIP;
}

/* A burst of RDMA: payloads in a row, and the notifies that end it. */
struct burst {
    uint32_t payloads;
    uint32_t next;              // where the walk goes on
    bool complete;
    double mb, ms;
};

/* Ops that send or receive have shorter ends. */
static uint32_t ends_of (const char *name)
{
    return strcasestr (name, "send") || strcasestr (name, "receive") ? 3 : 5;
}

static struct burst burst_at (const struct op_task *t, uint32_t n, uint32_t i,
                              uint32_t ends)
{
    struct burst b = { 0, 0, false, 0, 0 };
    uint32_t last;
    double bytes = 0;

    for (; i + b.payloads < n && t[i + b.payloads].payload; b.payloads++)
        bytes += (double)t[i + b.payloads].bytes;
    last = i + b.payloads + ends - 2;
    b.complete = last < n;
    b.next = b.complete ? last + 1 : i + b.payloads;
    if (b.complete) {
        b.mb = bytes / MB;
        // a task that is there in turn may end before the burst began
        if (t[last].end > t[i].start)
            b.ms = (double)(t[last].end - t[i].start) / MS;
    }
    return b;
}

/* ---- planes ---- */

static int by_start (const void *pa, const void *pb)
{
    const struct op_plane *a = pa, *b = pb;

    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return a->plane < b->plane ? -1 : a->plane > b->plane;
}

/* Room for one more of 'n' things. */
static void *room (void *p, uint32_t n, uint32_t *cap, size_t size)
{
    uint32_t more = *cap ? 2 * *cap : 64;

    if (n < *cap)
        return p;
    if ((p = realloc (p, more * size)))
        *cap = more;
    return p;
}

static int find_planes (struct op_work *w)
{
    w->nplanes = 0;
    for (uint32_t i = 0; i < w->ntasks; i++) {
        struct op_plane *p;

        if (i > 0 && w->tasks[i].plane == w->tasks[i - 1].plane) {
            w->planes[w->nplanes - 1].to = i + 1;
            continue;
        }
        p = room (w->planes, w->nplanes, &w->planes_cap, sizeof (*p));
        if (!p)
            return -ENOMEM;
        w->planes = p;
        p[w->nplanes++] = (struct op_plane){ w->tasks[i].plane, i, i + 1,
                                             w->tasks[i].start };
    }
    if (w->nplanes > 1)
        qsort (w->planes, w->nplanes, sizeof (*w->planes), by_start);
    return 0;
}

/* The plane whose waiting is the op's; NULL when none is known. */
static const struct op_plane *master_plane (const struct op_work *w,
                                            bool masters)
{
    const struct op_plane *best = NULL;
    int64_t first = INT64_MAX;

    for (uint32_t p = 0; p < w->nplanes; p++) {
        const struct op_plane *plane = &w->planes[p];

        if (plane->plane == EVENT_NO_PLANE)
            continue;
        for (uint32_t i = plane->from; masters && i < plane->to; i++) {
            if (w->tasks[i].master && w->tasks[i].start < first) {
                first = w->tasks[i].start;
                best = plane;
            }
        }
        // before the profiler said so, it took plane 1
        if (!masters && (!best || plane->plane == 1 ||
                         (best->plane != 1 && plane->plane < best->plane)))
            best = plane;
    }
    return best;
}

/* ---- times ---- */

static void walk_times (struct op_work *w, const struct op_plane *plane,
                        uint32_t ends)
{
    const struct op_task *t = w->tasks + plane->from;
    uint32_t n = plane->to - plane->from;
    bool before_data = true;

    for (uint32_t i = 0; i < n; i++) {
        if (is_transfer (&t[i])) {
            before_data = false;
            w->transit += duration (&t[i]);
        }
        if (t[i].payload) {
            struct burst b = burst_at (t, n, i, ends);

            i = b.next - 1;
            w->transit += b.ms;
            before_data = before_data && !b.complete;
            continue;
        }
        if (t[i].kind == TASK_WAIT) {
            w->wait += duration (&t[i]);
            w->sync += before_data ? duration (&t[i]) : 0;
        }
    }
}

static void find_times (struct op_work *w, const char *name, int64_t start,
                        int64_t end, bool masters)
{
    const struct op_plane *plane = master_plane (w, masters);

    w->transit = w->wait = w->sync = 0;
    w->has_times = plane != NULL;
    if (plane && masters) {
        start = plane->start;
        end = start;
        for (uint32_t i = plane->from; i < plane->to; i++)
            end = w->tasks[i].end > end ? w->tasks[i].end : end;
    }
    w->elapse = (double)(end - start) / MS;
    if (plane)
        walk_times (w, plane, ends_of (name));
    w->idle = w->elapse - w->transit - w->wait;
}

/* ---- transports and links ---- */

static int add_packet (struct op_work *w, unsigned band, double mb, double ms)
{
    struct op_band *b = &w->bands[band];
    struct op_bin *bin;
    uint32_t i;
    bool is_new;

    b->mb += mb;
    b->ms += ms;
    b->packets++;
    b->large += mb > (band == BAND_RDMA ? LARGE_RDMA_MB : LARGE_MB);
    // sizes are whole bytes: equal ones have equal numbers of MB
    if (keymap_find (&w->bin_map, (int64_t)(mb * MB + 0.5), band, &i,
                     &is_new) < 0)
        return -ENOMEM;
    if (is_new) {
        if (!(bin = room (w->bins, i, &w->bins_cap, sizeof (*bin))))
            return -ENOMEM;
        w->bins = bin;
        bin[i] = (struct op_bin){ band, mb, 0, 0 };
        w->nbins = i + 1;
    }
    w->bins[i].count++;
    w->bins[i].ms += ms;
    return 0;
}

static int add_link (struct op_work *w, const struct op_task *t,
                     const char *transport, double mb, double ms)
{
    struct op_link *link;
    uint32_t i;
    bool is_new;

    if (t->src == EVENT_NO_RANK || t->dst == EVENT_NO_RANK)
        return 0;
    if (keymap_find (&w->link_map, t->src, t->dst, &i, &is_new) < 0)
        return -ENOMEM;
    if (is_new) {
        if (!(link = room (w->links, i, &w->links_cap, sizeof (*link))))
            return -ENOMEM;
        w->links = link;
        link[i] = (struct op_link){ t->src, t->dst, NULL, 0, 0 };
        w->nlinks = i + 1;
    }
    w->links[i].mb += mb;
    w->links[i].ms += ms;
    w->links[i].transport = transport;
    return 0;
}

static int add_sdma (struct op_work *w, const struct op_task *t)
{
    static const struct {
        unsigned band;
        const char *name;       // in the matrix
    } of_link[] = {
        [LINK_OTHER] = { BAND_SDMA, NULL },
        [LINK_ON_CHIP] = { BAND_SDMA, "LOCAL" },
        [LINK_HCCS] = { BAND_HCCS, "HCCS" },
        [LINK_PCIE] = { BAND_PCIE, "PCIE" },
        [LINK_SIO] = { BAND_SIO, "SIO" },
        [LINK_HCCS_SW] = { BAND_HCCS, "HCCS" },
    };
    double mb = (double)t->bytes / MB;

    if (is_transfer (t) &&
        add_packet (w, of_link[t->link].band, mb, duration (t)) < 0)
        return -ENOMEM;
    return add_link (w, t, of_link[t->link].name, mb, duration (t));
}

static int walk_traffic (struct op_work *w, const struct op_plane *plane,
                         uint32_t ends)
{
    const struct op_task *t = w->tasks + plane->from;
    uint32_t n = plane->to - plane->from;
    int rc = 0;

    for (uint32_t i = 0; i < n && rc == 0; i++) {
        if (t[i].kind == TASK_DATA && t[i].transport == TRANSPORT_SDMA)
            rc = add_sdma (w, &t[i]);
        if (t[i].payload && rc == 0) {
            struct burst b = burst_at (t, n, i, ends);

            if (b.complete && t[i].transport == TRANSPORT_RDMA) {
                rc = add_packet (w, BAND_RDMA, b.mb, b.ms);
                if (rc == 0)
                    rc = add_link (w, &t[i], "RDMA", b.mb, b.ms);
            }
            i = b.next - 1;
        }
    }
    return rc;
}

int op_work_run (struct op_work *w, const char *name, int64_t start,
                 int64_t end, bool masters)
{
    uint32_t ends = ends_of (name);

    keymap_clear (&w->bin_map);
    keymap_clear (&w->link_map);
    w->nbins = w->nlinks = 0;
    memset (w->bands, 0, sizeof (w->bands));
    if (find_planes (w) < 0)
        return -ENOMEM;
    find_times (w, name, start, end, masters);
    for (uint32_t p = 0; p < w->nplanes; p++) {
        if (walk_traffic (w, &w->planes[p], ends) < 0)
            return -ENOMEM;
    }
    return 0;
}
