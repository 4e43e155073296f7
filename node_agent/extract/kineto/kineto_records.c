/* node_agent/extract/kineto/kineto_records.c - find the arguments of a
 * communication
 *
 * A trace shows when a communication ran and, usually, what it moved, but in
 * two places: the kernel of the device, and the record of the request on the
 * host.
 */
#include "extract/kineto/kineto.h"

#include <errno.h>
#include <stdlib.h>

void *kineto_reserve (struct kineto *k, void *array, size_t *n, size_t *cap,
                      size_t size)
{
    void **data = array;

    if (k->src->stopped)
        return NULL;
    if (*n == *cap) {
        size_t more = *cap ? *cap + *cap / 2 : 256;
        void *p;

        if (k->kept + (more - *cap) * size > KINETO_KEPT_MAX) {
            k->full = true;
            k->lost++;
            return NULL;
        }
        if (!(p = realloc (*data, more * size))) {
            k->src->stopped = err_set (k->err, ENOMEM, "no memory for the "
                                       "events of a trace");
            return NULL;
        }
        k->kept += (more - *cap) * size;
        *data = p;
        *cap = more;
    }
    return (char *)*data + (*n)++ * size;
}

#define LOOK_BACK 64            // host ranges before a launch that are searched

struct kineto_records {
    const struct kineto *k;
    uint32_t *by_external, *by_thread;      // indices of host records
    size_t nexternal, nthread;
};

// qsort passes no argument; one thread reads a trace
static _Thread_local const struct comm_record *sorted;

static int by_external (const void *pa, const void *pb)
{
    uint32_t a = sorted[*(const uint32_t *)pa].external;
    uint32_t b = sorted[*(const uint32_t *)pb].external;

    return (a > b) - (a < b);
}

static int by_thread (const void *pa, const void *pb)
{
    const struct comm_record *a = &sorted[*(const uint32_t *)pa];
    const struct comm_record *b = &sorted[*(const uint32_t *)pb];

    if (a->tid != b->tid)
        return a->tid < b->tid ? -1 : 1;
    return (a->start > b->start) - (a->start < b->start);
}

static bool of_host (const struct comm_record *r)
{
    return r->end != 0 && !r->op;
}

static bool index_records (struct kineto_records *o)
{
    const struct kineto *k = o->k;
    size_t n = 1;

    for (size_t i = 0; i < k->nrecords; i++)
        n += of_host (&k->records[i]);
    o->by_external = malloc (n * sizeof (uint32_t));
    o->by_thread = malloc (n * sizeof (uint32_t));
    if (!o->by_external || !o->by_thread)
        return false;
    for (size_t i = 0; i < k->nrecords; i++) {
        const struct comm_record *r = &k->records[i];

        if (!of_host (r))
            continue;
        o->by_thread[o->nthread++] = (uint32_t)i;
        if (r->args && r->external > 0)
            o->by_external[o->nexternal++] = (uint32_t)i;
    }
    sorted = k->records;
    if (o->nthread > 1)
        qsort (o->by_thread, o->nthread, sizeof (uint32_t), by_thread);
    if (o->nexternal > 1)
        qsort (o->by_external, o->nexternal, sizeof (uint32_t), by_external);
    return true;
}

/* Take tensors from the call around a range of the backend: a call has its
 * output, too.  Ranges of a thread are sorted by start.
 */
static void take_calls (struct kineto_records *o, struct comm_record *records)
{
    const struct comm_record *call = NULL;

    for (size_t i = 0; i < o->nthread; i++) {
        struct comm_record *r = &records[o->by_thread[i]];

        if (r->range == RANGE_CALL) {
            call = r;
        } else if (r->range >= RANGE_NCCL && !r->args && call &&
                   call->tid == r->tid && call->end >= r->end &&
                   call->coll == r->coll && call->in == r->in) {
            r->out = call->out;
            r->ranks = call->ranks;
        }
    }
}

static const struct comm_record *find_external (const struct kineto_records *o,
                                                uint32_t external)
{
    const struct comm_record *r = o->k->records;
    size_t low = 0, high = o->nexternal;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (r[o->by_external[middle]].external < external)
            low = middle + 1;
        else
            high = middle;
    }
    return external > 0 && low < o->nexternal &&
                   r[o->by_external[low]].external == external
               ? &r[o->by_external[low]] : NULL;
}

/* How much information a host range has. */
static unsigned telling (const struct comm_record *r)
{
    return (r->args ? 4u : 0) + (r->in >= 0 ? 2u : 0) +
           (r->coll != COLL_NONE && r->coll != COLL_OTHER ? 1u : 0);
}

/* The host range around a launch with most information. */
static const struct comm_record *find_around (const struct kineto_records *o,
                                              const struct launch *l)
{
    const struct comm_record *records = o->k->records, *best = NULL;
    size_t low = 0, high = o->nthread;

    while (low < high) {        // the first that begins later
        size_t middle = low + (high - low) / 2;
        const struct comm_record *r = &records[o->by_thread[middle]];

        if (r->tid < l->tid || (r->tid == l->tid && r->start <= l->ts))
            low = middle + 1;
        else
            high = middle;
    }
    for (unsigned i = 0; low > 0 && i < LOOK_BACK; i++) {
        const struct comm_record *r = &records[o->by_thread[--low]];

        if (r->tid != l->tid)
            break;
        if (r->end >= l->ts && (!best || telling (r) > telling (best)))
            best = r;
    }
    return best;
}

void kineto_resolve (const struct kineto_records *o, struct gpu_event *e,
                     const struct launch *l)
{
    const struct comm_record *r, *all = o->k->records;

    if (e->record == KINETO_NONE) {
        r = find_external (o, e->external);
        if (!r && l)
            r = find_around (o, l);
        if (!r)
            return;
        e->record = (uint32_t)(r - all);
    }
    r = &all[e->record];
    if (r->coll != COLL_NONE && r->coll != COLL_OTHER)
        e->coll = r->coll;
}

struct kineto_records *kineto_records_open (struct kineto *k)
{
    struct kineto_records *o = calloc (1, sizeof (*o));

    if (o)
        o->k = k;
    if (!o || !index_records (o)) {
        k->src->stopped = err_set (k->err, ENOMEM, "no memory for the "
                                   "communication of a trace");
        kineto_records_close (o);
        return NULL;
    }
    take_calls (o, k->records);
    return o;
}

void kineto_records_close (struct kineto_records *o)
{
    if (!o)
        return;
    free (o->by_external);
    free (o->by_thread);
    free (o);
}
