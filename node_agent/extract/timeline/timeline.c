/* node_agent/extract/timeline/timeline.c - process the events of a timeline */
#include "extract/timeline/timeline.h"

#include "base/units.h"
#include "base/vec.h"
#include "extract/rows/comm_tasks.h"

#include <errno.h>
#include <stdlib.h>

#define STEP_PREFIX "ProfilerStep#"
#define ITERATION_PREFIX "Iteration "   // of 2023, on the device
#define NAMES_FIRST 65536u

int timeline_init (struct timeline *t, struct source *src)
{
    memset (t, 0, sizeof (*t));
    t->src = src;
    t->host_first = INT64_MAX;
    t->processes = calloc (TIMELINE_PROCESSES_MAX, sizeof (*t->processes));
    t->threads = (struct map)MAP (struct timeline_thread, 2);
    t->kernels = calloc (TIMELINE_KERNELS, sizeof (*t->kernels));
    if (!t->processes || !t->kernels || flows_init (&t->flows) < 0) {
        timeline_fini (t);
        return -ENOMEM;
    }
    return 0;
}

void timeline_fini (struct timeline *t)
{
    for (uint32_t i = 0; i < t->nprocesses; i++) {
        free (t->processes[i].rows);
        free (t->processes[i].sums);
    }
    for (uint32_t i = 0; i < t->threads.n; i++)
        free (timeline_thread (t, i)->tasks);
    free (t->processes);
    map_fini (&t->threads);
    free (t->kernels);
    free (t->sought);
    free (t->ops);
    free (t->names);
    free (t->ranges);
    sorter_destroy (t->log);
    flows_fini (&t->flows);
}

void timeline_restart (struct timeline *t)
{
    for (uint32_t i = 0; i < t->nprocesses; i++) {
        t->processes[i].nrows = 0;
        t->processes[i].seen = false;
    }
    for (uint32_t i = 0; i < t->threads.n; i++)
        timeline_thread (t, i)->ntasks = 0;
    flows_clear (&t->flows);
    memset (t->kernels, 0, TIMELINE_KERNELS * sizeof (*t->kernels));
    t->nops = 0;
    t->names_used = 0;
    t->rows = t->tasks = t->impossible = 0;
    t->gc.n = 0;
    sorter_destroy (t->log);
    t->log = NULL;
    t->late = t->overflow = t->launches = t->evicted = false;
}

/* ---- processes and threads ---- */

static struct timeline_process *process (struct timeline *t, uint64_t pid)
{
    struct timeline_process *p = &t->processes[t->last_process];

    if (t->last_process < t->nprocesses && p->pid == pid)
        return p;
    for (uint32_t i = 0; i < t->nprocesses; i++) {
        if (t->processes[i].pid == pid) {
            t->last_process = i;
            return &t->processes[i];
        }
    }
    if (t->nprocesses == TIMELINE_PROCESSES_MAX) {
        (void)timeline_too_much (t, "processes");
        return NULL;
    }
    p = &t->processes[t->last_process = t->nprocesses++];
    *p = (struct timeline_process){ .pid = pid, .device = -1 };
    return p;
}

bool timeline_wanted (void *arg, uint64_t pid)
{
    struct timeline *t = arg;
    const struct timeline_process *p = process (t, pid);

    if (t->making)
        return p && p->class == PROCESS_DEVICE;
    return p && (p->class == PROCESS_COMM || !p->named) && !t->summing;
}

/* Find or add a thread.  NULL: no memory (*rc), or above the limit. */
static struct timeline_thread *thread (struct timeline *t, uint64_t pid,
                                       uint64_t tid, int *rc)
{
    const uint64_t key[] = { pid, tid };
    struct timeline_thread *th = timeline_thread (t, t->last_thread);
    bool is_new;

    *rc = 0;
    if (t->last_thread < t->threads.n && th->pid == pid && th->tid == tid)
        return th;
    if (t->threads.n == TIMELINE_THREADS_MAX &&
        !map_get (&t->threads, key)) {
        (void)timeline_too_much (t, "threads");
        return NULL;
    }
    if (!(th = map_put (&t->threads, key, &is_new)))
        *rc = -ENOMEM;
    else
        t->last_thread = (uint32_t)(th - timeline_thread (t, 0));
    return th;
}

/* Classify a process by its name and label; it may have had events already. */
static void classify (struct timeline *t, struct timeline_process *p,
                      enum timeline_class class)
{
    if (p->class == class)
        return;
    p->class = class;
    t->late = t->late || p->seen;
}

static void note_name (struct timeline *t, struct timeline_process *p)
{
    const char *name = t->event.text;

    p->named = true;
    if (strcmp (name, "Overlap Analysis") == 0)
        classify (t, p, PROCESS_OVERLAP);
    else if (strcmp (name, "HCCL") == 0 || strcmp (name, "Communication") == 0)
        classify (t, p, PROCESS_COMM);
    else if (p->npu)
        classify (t, p, PROCESS_DEVICE);
}

static void note_label (struct timeline *t, struct timeline_process *p)
{
    const char *label = t->event.text;
    int64_t device;

    if (strncmp (label, "NPU", 3) != 0)
        return;
    p->npu = true;
    if (label[3] == ' ' && units_int (label + 4, 0, INT32_MAX, &device) == 0)
        p->device = device;
    if (p->class == PROCESS_OTHER)
        classify (t, p, PROCESS_DEVICE);
}

static int metadata (struct timeline *t, struct timeline_process *p)
{
    struct trace_event *e = &t->event;
    struct timeline_thread *th;
    int rc = 0;

    if (trace_name_is (e, "process_name")) {
        note_name (t, p);
    } else if (trace_name_is (e, "process_labels")) {
        note_label (t, p);
    } else if (trace_name_is (e, "thread_name") &&
               (p->class == PROCESS_COMM || !p->named)) {
        if ((th = thread (t, e->pid, e->tid, &rc)))
            memcpy (th->name, e->text, sizeof (th->name));
    }
    return rc;
}

/* ---- complete events ---- */

/* As timeline_times, for an event that a table needs: impossible times are
 * counted.
 */
static bool needed_times (struct timeline *t, int64_t *start, int64_t *dur)
{
    const struct trace_event *e = &t->event;

    if (timeline_times (e, start, dur))
        return true;
    if (!t->summing && e->ts.n > 0 && e->dur.n > 0)
        t->impossible++;
    return false;
}

/* Take a step, if a number follows the prefix of its name. */
static int step_event (struct timeline *t, size_t prefix)
{
    const struct trace_event *e = &t->event;
    const char *id = e->name + prefix;
    int64_t start, dur;
    int rc;

    if (strlen (id) != e->name_size - prefix || id[0] == '\0' ||
        strlen (id) >= FLOW_STEP_ID_MAX ||
        strspn (id, "0123456789") != strlen (id) ||
        !needed_times (t, &start, &dur))
        return 0;
    rc = flows_step (&t->flows, id, start, start + dur);
    if (rc == 1)
        t->late = t->late || t->launches;
    return rc == -E2BIG ? timeline_too_much (t, "steps") : rc < 0 ? rc : 0;
}

static int host_event (struct timeline *t)
{
    const struct trace_event *e = &t->event;
    int64_t start;

    if (e->cat != TRACE_CAT_CPU_OP)
        return 0;
    if (!trace_name_begins (e, STEP_PREFIX)) {
        if (t->flows.nsteps == 0 && trace_time_ns (&e->ts, &start) &&
            start < t->host_first)
            t->host_first = start;
        return 0;
    }
    return step_event (t, sizeof (STEP_PREFIX) - 1);
}

static int device_event (struct timeline *t)
{
    const struct trace_event *e = &t->event;
    int64_t start, dur;

    if (t->src->iterations && trace_name_begins (e, ITERATION_PREFIX))
        return t->summing ? 0 : step_event (t, sizeof (ITERATION_PREFIX) - 1);
    if (!t->summing && timeline_times (e, &start, &dur))
        timeline_note_kernel (t, start, dur);
    return 0;
}

static int overlap_event (struct timeline *t, struct timeline_process *p)
{
    static const char *const names[OVERLAP_KINDS] = {
        "Computing", "Communication", "Communication(Not Overlapped)", "Free"
    };
    struct overlap_row row;
    int64_t dur;
    int kind = 0;

    while (kind < OVERLAP_KINDS && !trace_name_is (&t->event, names[kind]))
        kind++;
    if (kind == OVERLAP_KINDS || !needed_times (t, &row.start, &dur))
        return 0;
    row.dur_kind = (int64_t)((uint64_t)dur << 2 | (unsigned)kind);
    if (t->summing) {
        timeline_add_row (t, p, &row);
        return 0;
    }
    return timeline_keep_row (t, p, &row);
}

static int add_task (struct timeline *t, struct timeline_thread *th,
                     int64_t start, double dur)
{
    const struct trace_event *e = &t->event;
    const struct trace_task *k = &e->task;
    const struct timeline_task task = {
        .start = start, .dur = dur, .size = k->size,
        .src = k->src >= 0 && k->src <= INT32_MAX ? (int32_t)k->src : -1,
        .dst = k->dst >= 0 && k->dst <= INT32_MAX ? (int32_t)k->dst
               : k->dst == UINT32_MAX             ? COMM_RANK_SELF
                                                  : COMM_RANK_NONE,
        .kind = k->has_kind ? k->kind
                            : (uint8_t)comm_task_kind (e->name, e->name_size),
        .transport = k->transport,
        .link = k->link,
    };

    if (t->tasks == TIMELINE_TASKS_MAX)
        return timeline_too_much (t, "communication tasks");
    return timeline_keep_task (t, th, &task);
}

static int add_op (struct timeline *t, const struct timeline_thread *th,
                   int64_t start, double dur)
{
    const struct trace_event *e = &t->event;
    size_t need = t->names_used + e->name_size + 1;
    struct timeline_op *ops;

    if (t->nops == TIMELINE_OPS_MAX || need > TIMELINE_NAMES_MAX)
        return timeline_too_much (t, "communication ops");
    if (!(ops = vec_one_more (t->ops, t->nops, sizeof (*ops))))
        return -ENOMEM;
    t->ops = ops;
    if (need > t->names_cap) {
        size_t cap = 2 * need + NAMES_FIRST;
        char *names = realloc (t->names, cap);

        if (!names)
            return -ENOMEM;
        t->names = names;
        t->names_cap = cap;
    }
    memcpy (t->names + t->names_used, e->name, e->name_size + 1);
    t->ops[t->nops++] = (struct timeline_op){
        .start = start, .dur = dur, .name = (uint32_t)t->names_used,
        .name_size = e->name_size,
        .thread = (uint32_t)(th - timeline_thread (t, 0)),
    };
    t->names_used = need;
    return 0;
}

static int comm_event (struct timeline *t)
{
    struct timeline_thread *th;
    int64_t start, dur;
    double exact;
    int rc;

    if (t->summing || !needed_times (t, &start, &dur) ||
        !trace_time_exact (&t->event.dur, &exact))
        return 0;
    th = thread (t, t->event.pid, t->event.tid, &rc);
    if (!th)
        return rc;
    if (t->event.task.known)
        return add_task (t, th, start, exact);
    timeline_note_kernel (t, start, dur);
    return add_op (t, th, start, exact);
}

static int gc_event (struct timeline *t)
{
    int64_t start, dur;

    if (t->summing || !timeline_times (&t->event, &start, &dur))
        return 0;
    if (t->gc.n++ == 0) {
        t->gc.total = 0;
        t->gc.min = t->gc.max = dur;
        t->gc.first = start;
    }
    t->gc.total += dur;
    t->gc.min = dur < t->gc.min ? dur : t->gc.min;
    t->gc.max = dur > t->gc.max ? dur : t->gc.max;
    t->gc.first = start < t->gc.first ? start : t->gc.first;
    return 0;
}

int timeline_event (struct timeline *t)
{
    struct trace_event *e = &t->event;
    struct timeline_process *p;

    if (!e->has_pid || !(p = process (t, e->pid)))
        return 0;
    if (t->seeking)
        return timeline_seek_event (t, p);
    if (t->making)
        return timeline_make_event (t, p);
    if (e->ph == 'M')
        return metadata (t, p);
    if (e->cat == TRACE_CAT_FLOW && (e->ph == 's' || e->ph == 'f'))
        return t->summing ? 0 : timeline_note_flow (t);
    if (e->ph != 'X')
        return 0;
    if (e->cat == TRACE_CAT_GC)
        return gc_event (t);
    p->seen = true;
    switch (p->class) {
    case PROCESS_OVERLAP:
        return overlap_event (t, p);
    case PROCESS_COMM:
        return comm_event (t);
    case PROCESS_DEVICE:
        return device_event (t);
    case PROCESS_OTHER:
    default:
        return t->summing ? 0 : host_event (t);
    }
}
