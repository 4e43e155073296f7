/* aggregator/builder/build_threads.c - the captures of a job, read by threads
 *
 * Each thread has a contiguous range of captures; with members, ranges are
 * given out on request.
 */
#include "builder/build_private.h"

#include "base/clock.h"
#include "base/thread.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <time.h>

#define PROGRESS_NS (200 * NS_PER_MS)
#define COPY_SHARE 4            // reading takes so many times as long
#define HEAP_KEPT (4 << 20)     // free bytes kept at a heap's end, per thread
#define RANGES_LEFT 4           // of each thread, while ranges are given out
#define RANGE_MIN ((uint64_t)1 << 20)   // bytes: each leaves pages half empty
#define RANGE_MAX ((uint64_t)1 << 30)   // bytes: all orders of one are one message
#define HEAP_CHUNK_MAX (1 << 20)        // bytes; larger blocks are mapped

void build_keep_heap (void)
{
    (void)mallopt (M_TRIM_THRESHOLD, HEAP_KEPT);
    (void)mallopt (M_MMAP_THRESHOLD, HEAP_CHUNK_MAX);
}

/* Rows that are kept are copied for all captures up to the next one whose rows
 * are read.
 */
static int keep_item (struct worker *w, size_t i)
{
    const struct select_item *items = w->b->job->items, *last = &items[i];
    int rc = 0;

    part_note_rows (w->part, items[i].kept->rows);
    if (i < w->copied)
        return 0;
    for (w->copied = i + 1;
         w->copied < w->end && (items[w->copied].kept || items[w->copied].skip);
         w->copied++)
        last = items[w->copied].kept ? &items[w->copied] : last;
    if (!w->reader)
        rc = former_reader_create (w->b->former, items[i].first_row,
                                   &w->reader, &w->err);
    return rc < 0 ? rc
                  : former_copy (w->reader, w->part, last->first_row +
                                     (int64_t)last->rows_max - 1, &w->err);
}

static int feed_item (struct worker *w, size_t i)
{
    const struct build_job *job = w->b->job;
    struct select_item *item = &job->items[i];
    const struct row_sink none = row_sink_none (&w->b->cancel);
    const struct part_group *used = NULL;
    struct capture fresh;
    size_t nused = 0;
    int rc;

    capture_init (&fresh);
    if (w->part)
        part_begin_capture (w->part, item);
    rc = job->feed (job->feed_arg, item->source,
                    item->kept ? NULL : w->part ? part_sink (w->part) : &none,
                    &fresh, &w->err);
    if (rc == 0 && item->kept)
        rc = keep_item (w, i);
    if (rc < 0) {
        capture_fini (&fresh);
        return rc;
    }
    if (w->part && (rc = part_end_capture (w->part, &w->err)) < 0) {
        capture_fini (&fresh);
        return rc;
    }
    if (w->part) {
        used = part_groups (w->part, &nused);
        part_span (w->part, &w->b->spans[i]);
    }
    return build_took (w->b, i, &fresh, used, nused, &w->err);
}

int build_took (struct builder *b, size_t i, struct capture *c,
                const struct part_group *used, size_t nused, struct err *err)
{
    struct select_item *item = &b->job->items[i];
    int rc;

    select_take (item, c);
    free (item->groups.list);
    (void)pthread_mutex_lock (&b->lock);
    rc = groups_add (b->groups, &item->capture, item->rank, used, nused,
                     &item->groups, err);
    (void)pthread_mutex_unlock (&b->lock);
    return rc;
}

bool build_next_range (struct builder *b, size_t *first, size_t *end)
{
    const struct select_item *items = b->job->items;
    uint64_t share, sum = 0;

    (void)pthread_mutex_lock (&b->lock);
    *first = b->next;
    share = b->left / (RANGES_LEFT * b->readers);
    if (*first == 0)
        b->least = share < RANGE_MIN ? share : RANGE_MIN;
    share = share < b->least ? b->least : share > RANGE_MAX ? RANGE_MAX : share;
    while (b->next < b->job->nitems && (b->next == *first || sum < share))
        sum += items[b->next++].weight + 1;
    b->left -= sum;
    *end = b->next;
    (void)pthread_mutex_unlock (&b->lock);
    return *first < *end;
}

static void read_range (struct worker *w)
{
    struct builder *b = w->b;

    for (size_t i = w->first; i < w->end && w->rc == 0; i++) {
        if (build_is_cancelled (b))
            w->rc = err_set (&w->err, EINTR, "interrupted");
        else if (!b->job->items[i].skip)
            w->rc = feed_item (w, i);
        atomic_fetch_add (&b->captures, 1);
        atomic_fetch_add (&b->bytes, b->job->items[i].weight);
    }
}

/* Read ranges while there are any; rows of others lie between them. */
static void read_ranges (struct worker *w)
{
    while (w->rc == 0 && build_next_range (w->b, &w->first, &w->end)) {
        if (w->part)
            w->rc = part_gap (w->part, &w->err);
        if (w->rc == 0)
            read_range (w);
    }
}

static void *build_work (void *arg)
{
    struct worker *w = arg;
    struct builder *b = w->b;

    if (b->lead)
        read_ranges (w);
    else
        read_range (w);
    if (w->rc == 0 && w->part)
        w->rc = part_close (w->part, &w->err);
    if (w->rc < 0)
        atomic_store (&b->cancel, true);
    (void)pthread_mutex_lock (&b->lock);
    b->running--;
    (void)pthread_cond_signal (&b->ended);
    (void)pthread_mutex_unlock (&b->lock);
    return NULL;
}

static uint64_t work_of (const struct select_item *item)
{
    return (item->kept ? item->weight / COPY_SHARE : item->weight) + 1;
}

static uint64_t total_work (const struct builder *b)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < b->job->nitems; i++)
        sum += work_of (&b->job->items[i]);
    return sum;
}

/* Split the captures into contiguous ranges of about equal work. */
static void share_out (struct builder *b)
{
    const struct build_job *job = b->job;
    uint64_t all = total_work (b), sum = 0;
    size_t i = 0;

    for (unsigned t = 0; t < b->nworkers; t++) {
        struct worker *w = &b->workers[t];

        w->b = b;
        w->first = i;
        while (i < b->job->nitems &&
               (t + 1 == b->nworkers || sum * b->nworkers < all * (t + 1)))
            sum += work_of (&job->items[i++]);
        w->end = i;
    }
}

static int create_file (struct builder *b, struct err *err)
{
    int rc = publish_temp (b->out, BUILD_DB_NAME, 0, b->path, err);

    b->spans = calloc (b->job->nitems + 1, sizeof (*b->spans));
    if (rc == 0 && !b->spans)
        rc = err_set (err, ENOMEM, "no memory to build " BUILD_DB_NAME);
    return rc < 0 ? rc : row_file_create (b->path, &b->file, err);
}

/* With members, processes of a host share its threads. */
static int create_file_and_lead (struct builder *b, struct err *err)
{
    int rc = b->out ? create_file (b, err) : 0;

    if (rc < 0 || !b->job->remote)
        return rc;
    b->next = 0;
    b->left = total_work (b);
    return lead_begin (b, err);
}

static int start_workers (struct builder *b, struct err *err)
{
    int rc = 0;

    for (unsigned t = 0; t < b->nworkers && rc == 0 && b->out; t++)
        rc = part_create (b->file, &b->cancel, &b->workers[t].part, err);
    for (unsigned t = 0; t < b->nworkers && rc == 0; t++) {
        struct worker *w = &b->workers[t];

        (void)pthread_mutex_lock (&b->lock);
        b->running++;
        (void)pthread_mutex_unlock (&b->lock);
        rc = thread_start (&w->thread, build_work, w);
        w->started = rc == 0;
        if (rc < 0) {
            (void)pthread_mutex_lock (&b->lock);
            b->running--;
            (void)pthread_mutex_unlock (&b->lock);
            rc = err_sys (err, -rc, "cannot start a thread");
        }
    }
    return rc;
}

void build_report (struct builder *b, const char *phase)
{
    struct build_progress p = {
        .phase = phase,
        .captures = atomic_load (&b->captures),
        .captures_all = b->job->nitems,
        .bytes = atomic_load (&b->bytes),
    };

    for (size_t i = 0; i < b->job->nitems; i++)
        p.bytes_all += b->job->items[i].weight;
    if (b->job->progress)
        b->job->progress (b->job->progress_arg, &p);
}

static void wait_workers (struct builder *b)
{
    (void)pthread_mutex_lock (&b->lock);
    while (b->running > 0) {
        int64_t until = clock_mono_ns () + PROGRESS_NS;
        struct timespec ts = { .tv_sec = until / NS_PER_S,
                               .tv_nsec = until % NS_PER_S };

        (void)pthread_cond_timedwait (&b->ended, &b->lock, &ts);
        (void)pthread_mutex_unlock (&b->lock);
        build_report (b, NULL);
        if (atomic_load (b->job->cancel))
            atomic_store (&b->cancel, true);
        (void)pthread_mutex_lock (&b->lock);
    }
    (void)pthread_mutex_unlock (&b->lock);
}

/* The same with members: answer them meanwhile, until they are done. */
static int wait_members (struct builder *b, struct err *err)
{
    int64_t told = 0;
    unsigned idle = 0;
    bool running = true;
    int rc = 0;

    while (rc == 0 && (running || !lead_is_over (b))) {
        rc = lead_serve (b, &idle, err);
        if (clock_mono_ns () - told > PROGRESS_NS) {
            build_report (b, NULL);
            told = clock_mono_ns ();
        }
        if (atomic_load (b->job->cancel))
            rc = err_set (err, EINTR, "interrupted");
        (void)pthread_mutex_lock (&b->lock);
        running = b->running > 0;
        (void)pthread_mutex_unlock (&b->lock);
    }
    if (rc < 0)
        atomic_store (&b->cancel, true);
    return rc;
}

static void join_workers (struct builder *b)
{
    for (unsigned t = 0; t < b->nworkers; t++) {
        if (b->workers[t].started)
            (void)pthread_join (b->workers[t].thread, NULL);
    }
}

/* The first failure that is not just a consequence of another one. */
static int worker_error (struct builder *b, struct err *err)
{
    int rc = 0;

    for (unsigned t = 0; t < b->nworkers; t++) {
        const struct worker *w = &b->workers[t];

        if (w->rc < 0 && (rc == 0 || rc == -EINTR)) {
            rc = w->rc;
            if (err)
                *err = w->err;
        }
    }
    return rc;
}

/* The same with members; ends their pass. */
static int first_error (struct builder *b, int rc, struct err *err)
{
    struct err why = { "" };
    int of_members = lead_finish (b, &why);

    if (rc < 0)
        return rc;
    rc = worker_error (b, err);
    if (of_members == 0 || (rc < 0 && of_members == -EINTR) ||
        (rc < 0 && rc != -EINTR))
        return rc;
    *err = why;
    return of_members;
}

/* Whoever has begun is answered until it is done, whatever fails here: a question
 * that is left over would be one of the next pass.
 */
static int start_and_serve (struct builder *b, struct err *err)
{
    int rc = start_workers (b, err), served;

    if (rc < 0)
        atomic_store (&b->cancel, true);
    served = b->lead ? wait_members (b, rc < 0 ? NULL : err) : 0;
    return rc < 0 ? rc : served;
}

int build_read (struct builder *b, struct err *err)
{
    int rc;

    b->threads = b->job->threads;
    if (b->threads > b->job->nitems)
        b->threads = b->job->nitems ? (unsigned)b->job->nitems : 1;
    b->nworkers = b->threads;
    share_out (b);
    rc = create_file_and_lead (b, err);
    if (rc == 0)
        rc = start_and_serve (b, err);
    if (rc < 0)
        atomic_store (&b->cancel, true);
    wait_workers (b);
    build_report (b, NULL);  // count the last captures, too
    join_workers (b);
    return first_error (b, rc, err);
}
