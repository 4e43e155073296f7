/* node_agent/extract/event_db/event_kernels.c - aggregate the kernels of an
 * event database
 *
 * Tasks come in the order of their ids (event_join.c).  Here each gets its step
 * and its counters, which a sorter returns in the same order.  See
 * doc/formats.md, "Kernels".
 */
#include "extract/event_db/event_db.h"
#include "extract/rows/kernel_fold.h"

#include "base/utf8.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define US 1000.0               // ns in a us

struct event_kernels {
    struct kernel_fold fold;
    struct step_range *by_start;        // steps by their start on the device
    bool *wanted;               // of each step
    struct sorter *counters;    // task, which, value
    int64_t names[KERNEL_METRICS_MAX];          // ids of strings
    char texts[KERNEL_METRICS_MAX][64];
    bool is_time[KERNEL_METRICS_MAX];           // its value is in ns
    int64_t next[3];            // next record of the counters
    int more;                   // 1: 'next' is valid
    double values[KERNEL_METRICS_MAX];          // values of the current task
    char text[EVENT_NAME_MAX];
};

void event_kernels_fini (struct event_kernels *k)
{
    if (!k)
        return;
    kernel_fold_fini (&k->fold);
    sorter_destroy (k->counters);
    free (k->by_start);
    free (k->wanted);
    free (k);
}

/* ---- counters ---- */

static bool is_plain (const char *s)
{
    return *s && strspn (s, "abcdefghijklmnopqrstuvwxyz0123456789_"
                            "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == strlen (s);
}

/* Find the number of a counter; -1: it is no valid name, or there is no room.
 * False: reading must end.
 */
static bool find_counter (struct event_db *e, int64_t id, int *ret)
{
    struct event_kernels *k = e->kernels;
    unsigned i = 0, *n = &k->fold.nmetrics;
    size_t size;

    while (i < *n && k->names[i] != id)
        i++;
    if (i == *n && i < KERNEL_METRICS_MAX) {
        if (!event_string (e, id, k->text))
            return false;
        k->names[i] = id;
        size = strlen (k->text);
        if (size >= sizeof (k->texts[i]) || !is_plain (k->text))
            k->text[0] = '\0';
        memcpy (k->texts[i], k->text, strlen (k->text) + 1);
        k->is_time[i] = size > 5 && strcmp (k->text + size - 5, "_time") == 0;
        (*n)++;
    }
    *ret = i < *n && k->texts[i][0] ? (int)i : -1;
    return true;
}

static bool load_counters (struct event_db *e)
{
    struct event_query q = event_ask (
        e, "TASK_PMU_INFO", "globalTaskId, name, value",
        "SELECT globalTaskId, name, value FROM TASK_PMU_INFO NOT INDEXED");
    struct err err = { "" };
    int64_t record[3];
    double value;
    int which, added = 0;
    bool good;

    while (event_next (&q) && added == 0) {
        value = sqlite3_column_double (q.st, 2);
        if (value == 0 || !isfinite (value))
            continue;
        if (!find_counter (e, sqlite3_column_int64 (q.st, 1), &which))
            break;
        record[0] = sqlite3_column_int64 (q.st, 0);
        record[1] = which;
        memcpy (&record[2], &value, sizeof (value));
        if (which >= 0)
            added = sorter_add (e->kernels->counters, record, &err);
    }
    good = event_end (&q);
    return added < 0 ? event_sorter_failed (e, added, &err) : good;
}

/* Read the counters of a task.  Tasks come in the order of their ids. */
static bool take_counters (struct event_db *e, int64_t task)
{
    struct event_kernels *k = e->kernels;
    struct err err = { "" };

    for (unsigned i = 0; i < k->fold.nmetrics; i++)
        k->values[i] = NAN;
    while (k->more == 1 && k->next[0] <= task) {
        double value;

        memcpy (&value, &k->next[2], sizeof (value));
        if (k->next[0] == task)
            k->values[k->next[1]] = k->is_time[k->next[1]] ? value / US : value;
        k->more = sorter_next (k->counters, k->next, &err);
    }
    return k->more >= 0 || event_sorter_failed (e, k->more, &err);
}

/* ---- steps ---- */

static bool index_steps (struct event_db *e)
{
    struct event_kernels *k = e->kernels;

    if (!(k->wanted = calloc (e->nsteps + 1u, sizeof (*k->wanted))))
        return event_no_memory (e);
    for (uint32_t i = 0; i < e->nsteps; i++)
        k->wanted[i] = event_step_wanted (e, i, 1u << TABLE_KERNEL);
    return (k->by_start = event_step_ranges (e, false)) != NULL;
}

/* Find the first step, in the order of the file, in whose range on the device
 * the task begins; KERNEL_NO_STEP: there is none.
 */
static bool find_step (struct event_db *e, int64_t at, uint32_t *ret)
{
    const struct event_kernels *k = e->kernels;
    uint32_t n = step_ranges_begun (k->by_start, e->nsteps, at);
    uint64_t looked = 0;

    *ret = KERNEL_NO_STEP;
    for (; n > 0 && k->by_start[n - 1].latest > at; n--, looked++) {
        const struct step_range *r = &k->by_start[n - 1];

        if (r->end > at && r->step < *ret)
            *ret = r->step;
    }
    return looked < 2 || event_account_work (e, looked);
}

/* ---- kernels ---- */

bool event_kernels_begin (struct event_db *e)
{
    struct event_kernels *k = calloc (1, sizeof (*k));
    struct err err = { "" };
    int rc;

    if (!(e->kernels = k) || !(k->counters = sorter_create (3, 1)))
        return event_no_memory (e);
    if (!index_steps (e) || !load_counters (e))
        return false;
    if ((rc = sorter_finish (k->counters, &err)) < 0 ||
        (k->more = rc = sorter_next (k->counters, k->next, &err)) < 0)
        return event_sorter_failed (e, rc, &err);
    return true;
}

bool event_kernels_add (struct event_db *e, const int64_t *task,
                        const int64_t names[4])
{
    struct event_kernels *k = e->kernels;
    struct kernel_key key = { task[3], 0, 0, names[0], names[1], names[2],
                              names[3] };

    if (!find_step (e, task[1], &key.step))
        return false;
    if (key.step == KERNEL_NO_STEP || !k->wanted[key.step])
        return true;            // likewise for StepTraceTime
    return take_counters (e, task[0]) &&
           (kernel_fold_add (&k->fold, &key, (double)(task[2] - task[1]) / US,
                             k->values) == 0 ||
            event_no_memory (e));
}

static bool give_text (void *arg, int64_t id, size_t max, const char **s,
                       size_t *n)
{
    struct event_db *e = arg;
    char *text = e->kernels->text;

    // missing shapes have no string
    if (event_find_string (e, id, text) < 0)
        return false;
    *n = strlen (text);
    if (*n >= 2 && text[0] == '"' && text[*n - 1] == '"') {
        text++;
        *n -= 2;
    }
    if (*n == 3 && memcmp (text, "N/A", 3) == 0)
        *n = 0;
    *n = utf8_cut (text, *n, max);
    *s = text;
    return true;
}

static const char *give_step (void *arg, uint32_t step, char out[32])
{
    return event_step_id (arg, step, out);
}

bool event_give_kernels (struct event_db *e)
{
    struct event_kernels *k = e->kernels;
    struct kernel_names names = { e, give_text, give_step, { NULL } };
    struct err err = { "" };

    for (unsigned i = 0; i < k->fold.nmetrics; i++)
        names.metrics[i] = k->texts[i];
    if (kernel_fold_give (&k->fold, e->src, &names, &err))
        return true;
    if (e->src->stopped) {
        e->how = READING_STOPPED;
        e->why = err;
    }
    return false;
}
