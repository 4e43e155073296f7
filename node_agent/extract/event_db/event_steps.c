/* node_agent/extract/event_db/event_steps.c - the steps of an event database
 *
 * A step is a range of the time of the host.  Its range on the device is that
 * of the tasks which calls of the host in that range launched.  What computes
 * and communicates in it are unions of intervals, computed in one pass over all
 * spans in the order of their starts.  See doc/formats.md, "Event databases".
 */
#include "extract/event_db/event_db.h"
#include "extract/rows/step_rows.h"

#include "base/vec.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define US 1000.0               // ns in a us
#define DIFFER 0.01             // of the longer one: a larger difference is
                                // reported

/* ---- the steps ---- */

struct step_range *event_step_ranges (struct event_db *e, bool host)
{
    struct step_range *r = calloc (e->nsteps + 1u, sizeof (*r));

    if (!r) {
        (void)event_no_memory (e);
        return NULL;
    }
    for (uint32_t i = 0; i < e->nsteps; i++) {
        const struct event_step *s = &e->steps[i];

        r[i] = (struct step_range){ host ? s->host_start : s->start,
                                    host ? s->host_end : s->end, 0, i };
    }
    step_ranges_order (r, e->nsteps);
    return r;
}

static bool add_step (struct event_db *e, const struct event_step *step)
{
    struct event_step *p = vec_next (&e->steps, e->nsteps, sizeof (*p));

    if (!p)
        return event_no_memory (e);
    if (e->nsteps == EVENT_STEPS_MAX)
        return event_damage (e, "it has more than %u steps", EVENT_STEPS_MAX);
    *p = *step;
    e->nsteps++;
    return true;
}

/* Without a schedule the first call of the program is the start of the step. */
static bool load_first_op (struct event_db *e)
{
    struct event_query q = event_ask (e, "PYTORCH_API", "startNs, type", NULL);
    int64_t start;

    while (event_next (&q)) {
        int64_t type = sqlite3_column_int64 (q.st, 1);

        if (event_code (e, ENUM_API, type) == API_OP &&
            event_time (q.st, 0, &start) && start > 0 &&
            (e->first_op == 0 || start < e->first_op))
            e->first_op = start;
    }
    return event_end (&q);
}

bool event_load_steps (struct event_db *e)
{
    static const char *const names[] = { "id", "startNs", "endNs" };
    struct event_step step = { .start = INTERVALS_MAX };
    bool have[3] = { false, false, false };
    struct event_query q;

    if (event_has (e, "STEP_TIME", names, 3, have)) {
        if (!have[0] || !have[1] || !have[2])
            return event_damage (e, "table STEP_TIME lacks a column");
        q = event_ask (e, "STEP_TIME", "id, startNs, endNs", NULL);
        while (event_next (&q)) {
            step.id = sqlite3_column_int64 (q.st, 0);
            if (!event_time (q.st, 1, &step.host_start) ||
                !event_time (q.st, 2, &step.host_end) ||
                step.host_end < step.host_start)
                event_note_bad_row (e, "STEP_TIME", "a step has impossible "
                                                    "times",
                                    step.id);
            else if (!add_step (e, &step))
                break;
        }
        (void)event_end (&q);
    }
    if (e->how != READING_WHOLE)
        return false;
    if (e->nsteps == 0 && e->bad_rows > 0)      // there is a schedule
        return event_damage (e, "STEP_TIME has no step with valid times");
    e->nameless = e->nsteps == 0;
    if (e->nameless) {
        step = (struct event_step){ .host_start = INTERVALS_MIN,
                                    .host_end = INTERVALS_MAX,
                                    .start = INTERVALS_MAX };
        if (!add_step (e, &step) || (e->tasks && !load_first_op (e)))
            return false;
    }
    return (e->by_host = event_step_ranges (e, true)) != NULL;
}

const char *event_step_id (const struct event_db *e, uint32_t step,
                           char out[32])
{
    if (e->nameless)
        return NULL;
    (void)snprintf (out, 32, "%" PRId64, e->steps[step].id);
    return out;
}

const char *event_step_name (const struct event_db *e, uint32_t step,
                             char out[32])
{
    if (e->nameless)
        (void)snprintf (out, 32, "step");
    else
        (void)snprintf (out, 32, "step%" PRId64, e->steps[step].id);
    return out;
}

bool event_step_wanted (const struct event_db *e, uint32_t step,
                        unsigned tables)
{
    char text[32];
    const char *id = event_step_id (e, step, text);

    return source_wants (e->src, tables, id, id ? strlen (id) : 0);
}

/* ---- the host's calls in them ---- */

/* Record the connection of a call for each step that contains the call. */
static bool add_call (struct event_db *e, int64_t connection, int64_t start,
                      int64_t end)
{
    uint32_t n = step_ranges_begun (e->by_host, e->nsteps, start);
    uint64_t looked = 0;

    for (; n > 0 && e->by_host[n - 1].latest >= end; n--, looked++) {
        const int64_t record[2] = { connection, e->by_host[n - 1].step };
        struct err err = { "" };
        int rc;

        if (e->by_host[n - 1].end < end)
            continue;
        if ((rc = sorter_add (e->api, record, &err)) < 0)
            return event_sorter_failed (e, rc, &err);
    }
    return looked < 2 || event_account_work (e, looked);
}

enum { CALL_START, CALL_END, CALL_TYPE, CALL_CONNECTION, CALL_NAME,
       CALL_COLUMNS };

static bool take_call (struct event_db *e, const struct db_row *row)
{
    int64_t type = row->value[CALL_TYPE], start, end;
    int64_t connection = row->value[CALL_CONNECTION];

    if (!event_rows_time (row, CALL_START, &start) ||
        !event_rows_time (row, CALL_END, &end) || end < start) {
        event_note_bad_row (e, "CANN_API", "a call has impossible times",
                            connection);
        return true;
    }
    return (!e->tasks || event_code (e, ENUM_API, type) != API_NODE ||
            add_call (e, connection, start, end)) &&
           (!e->want_apis ||
            event_sum_add (e, &e->apis, type, row->value[CALL_NAME], 0, start,
                           end));
}

bool event_load_api (struct event_db *e)
{
    static const char *const names[CALL_COLUMNS] = {
        "startNs", "endNs", "type", "connectionId", "name",
    };
    bool have[CALL_COLUMNS] = { false };
    struct event_rows *rows;
    const struct db_row *row;
    int rc;

    if (!event_has (e, "CANN_API", names, CALL_COLUMNS, have))
        return e->how == READING_WHOLE;
    if (!event_need (e, "CANN_API", names, have, CALL_COLUMNS) ||
        !(rows = event_rows_open (e, "CANN_API", names, have, CALL_COLUMNS,
                                  false)))
        return false;
    while ((rc = event_rows_next (e, rows, &row)) == 1 && take_call (e, row))
        e->has_calls = true;
    event_rows_close (rows);
    return rc == 0;
}

/* ---- what happens in them ---- */

/* Unions of communication, and of communication or computing. */
struct comm_sums {
    struct interval_union comm, both;
};

/* The sums of a step on a device. */
struct sums {
    struct interval_union compute;
    struct comm_sums ops, tasks;        // from ops, and from their tasks
    double bubble;              // ns
};

struct sweep {
    struct event_db *e;
    struct sums *sums;          // of each step
    struct step_range *order;   // steps by device start
    uint32_t next;              // in 'order': not begun yet
    uint32_t *active;           // begun, and not known to have ended
    uint32_t nactive;
    struct batch times, extra;
    bool want_times, want_extra;
};

static bool sweep_init (struct sweep *w)
{
    struct event_db *e = w->e;
    struct err err;

    w->sums = calloc (e->nsteps, sizeof (*w->sums));
    w->active = calloc (e->nsteps, sizeof (*w->active));
    if (!w->sums || !w->active ||
        batch_init (&w->times, TABLE_STEP, &err) < 0 ||
        batch_init (&w->extra, TABLE_STEP_EXTRA, &err) < 0)
        return event_no_memory (e);
    return (w->order = event_step_ranges (e, false)) != NULL;
}

static void sweep_fini (struct sweep *w)
{
    batch_fini (&w->times);
    batch_fini (&w->extra);
    free (w->sums);
    free (w->order);
    free (w->active);
}

static void sum_up (struct sums *s, int64_t start, int64_t end, int what)
{
    if (what == SPAN_COMPUTE)
        interval_union_add (&s->compute, start, end);
    else
        interval_union_add (what == SPAN_TASK ? &s->tasks.comm : &s->ops.comm,
                            start, end);
    if (what != SPAN_TASK)
        interval_union_add (&s->ops.both, start, end);
    if (what == SPAN_COMPUTE || what == SPAN_TASK)
        interval_union_add (&s->tasks.both, start, end);
    if (what == SPAN_RECEIVE)
        s->bubble += (double)(end - start);
}

/* Add a span to each step on whose device range it begins. */
static bool add_span (struct sweep *w, int64_t start, int64_t end, int64_t what)
{
    struct event_db *e = w->e;
    uint32_t kept = 0;

    while (w->next < e->nsteps && w->order[w->next].start <= start)
        w->active[w->nactive++] = w->order[w->next++].step;
    if (w->nactive > 1 && !event_account_work (e, w->nactive))
        return false;
    for (uint32_t i = 0; i < w->nactive; i++) {
        struct sums *s = &w->sums[w->active[i]];

        if (e->steps[w->active[i]].end <= start)
            continue;           // it has ended, since spans are sorted by start
        w->active[kept++] = w->active[i];
        sum_up (s, start, end, (int)what);
    }
    w->nactive = kept;
    return true;
}

/* The start of the first task of a step.  Like the profiler it is 0 if nothing
 * computes, whatever communicates.
 */
static int64_t first_of (const struct sums *s, const struct comm_sums *c)
{
    if (!s->compute.any)
        return 0;
    return c->comm.any && c->comm.first < s->compute.first ? c->comm.first
                                                          : s->compute.first;
}

/* Compare the two ways of communication: some profilers use ops, others their
 * tasks, and a database does not show which.
 */
static void compare_ways (struct event_db *e, uint32_t step,
                          const struct sums *s)
{
    double ops = (double)interval_union_length (&s->ops.comm) / US;
    double tasks = (double)interval_union_length (&s->tasks.comm) / US;
    char name[32];

    if (fabs (ops - tasks) <= DIFFER * fmax (ops, tasks) || !e->has_infos)
        return;
    if (e->ndiffer++ == 0)
        (void)snprintf (e->differ, sizeof (e->differ), "%.3f us of %s, which "
                        "by %s would be %.3f us", e->by_tasks ? tasks : ops,
                        event_step_name (e, step, name),
                        e->by_tasks ? "ops" : "tasks",
                        e->by_tasks ? ops : tasks);
}

static double preparing (const struct event_db *e,
                         const struct event_step *step, int64_t first)
{
    int64_t host = e->nameless ? e->first_op : step->host_start;

    return first == 0 || (e->nameless && host == 0) ? 0
                                                    : time_us (first - host);
}

static void put_times (const struct event_db *e, const struct event_step *step,
                       const char *id, double device, const struct sums *s,
                       struct batch *b)
{
    const struct comm_sums *c = e->by_tasks ? &s->tasks : &s->ops;
    double compute = (double)interval_union_length (&s->compute);
    double comm = (double)interval_union_length (&c->comm);
    double busy = (double)interval_union_length (&c->both);
    double span = (double)(c->both.last - c->both.first);
    bool known = e->has_compute || !e->marks;
    uint32_t n = b->nrows;

    step_row_put (b, &(struct step_sums){
                         .id = id,
                         .device = device,
                         .computing = compute,
                         .communication = known || e->nops > 0 ? comm : NAN,
                         .overlapped = compute + comm - busy,
                         .idle = span - busy,
                         .span = span,
                         .bubble = s->bubble,
                         .preparing = known ? preparing (e, step,
                                                         first_of (s, c))
                                            : NAN,
                         .hidden = !known });
    if (!known)                 // nor when the device began and ended
        b->real[STEP_STAGE][n] = b->real[STEP_BUBBLE][n] = NAN;
}

static bool give_row (struct sweep *w, uint32_t step, int64_t device)
{
    struct event_db *e = w->e;
    const struct event_step *s = &e->steps[step];
    char text[32];
    const char *id = event_step_id (e, step, text);

    if (!event_step_wanted (e, step, 1u << TABLE_STEP))
        return true;
    if (w->want_times) {
        put_times (e, s, id, (double)device, &w->sums[step], &w->times);
        compare_ways (e, step, &w->sums[step]);
    }
    if (w->want_extra && !e->nameless)
        step_extra_put (&w->extra, id, (double)device, time_us (s->host_start),
                        time_us (s->host_end), NAN);
    if ((batch_full (&w->times) &&
         !source_flush (e->src, &w->times, &e->why)) ||
        (batch_full (&w->extra) &&
         !source_flush (e->src, &w->extra, &e->why)))
        e->how = READING_STOPPED;
    return e->how == READING_WHOLE;
}

static bool give_device (struct sweep *w, int64_t device)
{
    for (uint32_t i = 0; i < w->e->nsteps; i++) {
        if (!give_row (w, i, device))
            return false;
    }
    memset (w->sums, 0, w->e->nsteps * sizeof (*w->sums));
    w->next = w->nactive = 0;
    return true;
}

/* Process all spans, one device after the other. */
static bool sweep_all (struct sweep *w)
{
    struct event_db *e = w->e;
    unsigned device = 0;
    struct err err = { "" };
    int64_t span[4];
    int rc;

    while ((rc = sorter_next (e->spans, span, &err)) == 1) {
        while (device < e->ndevices && e->devices[device] < span[0]) {
            if (!give_device (w, e->devices[device++]))
                return false;
        }
        if (!add_span (w, span[1], span[2], span[3]))
            return false;
    }
    if (rc < 0)
        return event_sorter_failed (e, rc, &err);
    while (device < e->ndevices) {
        if (!give_device (w, e->devices[device++]))
            return false;
    }
    if (!source_flush (e->src, &w->times, &e->why) ||
        !source_flush (e->src, &w->extra, &e->why))
        e->how = READING_STOPPED;
    return e->how == READING_WHOLE;
}

/* Add ops as spans.  An op of several devices belongs to none. */
static bool add_ops (struct event_db *e)
{
    for (uint32_t i = 0; i < e->nops; i++) {
        const struct event_op *op = &e->ops[i];
        const int64_t span[4] = { op->device, op->start, op->end,
                                  op->receives ? SPAN_RECEIVE : SPAN_OP };
        struct err err = { "" };
        int rc;

        if (op->device < 0)
            continue;
        if ((rc = sorter_add (e->spans, span, &err)) < 0)
            return event_sorter_failed (e, rc, &err);
    }
    return true;
}

bool event_give_steps (struct event_db *e, bool times, bool extra)
{
    struct sweep w = { .e = e, .want_times = times, .want_extra = extra };
    struct err err = { "" };
    bool good;
    int rc;

    if (!add_ops (e))
        return false;
    if ((rc = sorter_finish (e->spans, &err)) < 0)
        return event_sorter_failed (e, rc, &err);
    good = sweep_init (&w) && sweep_all (&w);
    sweep_fini (&w);
    return good;
}
