/* node_agent/extract/timeline/timeline_ops.c - communication tables from a
 * timeline
 *
 * A communicator has a thread of its ops, "Group <name> Communication",
 * followed by a thread for each plane, "Plane <k>", with the tasks of the ops.
 * A task belongs to the op of its communicator within which it begins.  In 2023
 * there was one thread of ops, "Communication Kernel", to which all planes
 * belonged.
 */
#include "extract/timeline/timeline.h"

#include "base/units.h"
#include "extract/rows/comm_tasks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define NO_THREAD UINT32_MAX
#define NEAR 16u                // tasks that are searched one by one
#define PLACE_BITS 16           // bits of the position of a plane in the key of
                                // a task

_Static_assert (TIMELINE_THREADS_MAX <= 1u << PLACE_BITS, "places fit");

/* The role of a thread. */
struct role {
    uint32_t plane;             // number of a plane; of ops: number of planes
    uint32_t first;             // of ops: index in 'planes'; of a plane: its
                                // position
    uint32_t owner;             // of a plane: the thread of its ops
    uint32_t first_op, nops;    // of ops: range in 'ranks'
    uint32_t at;                // the one of them that has the last task
    bool ops;
    bool mixed;                 // of ops: a plane may have several threads
    char label[TRACE_TEXT_MAX]; // of ops: the communicator
    char hash[CAPTURE_HASH_MAX];
};

struct sorted_op {
    const struct timeline_op *op;
    uint32_t step;
    uint32_t place;             // by thread and start
    int64_t limit;              // its tasks begin before that
};

struct maker {
    struct timeline *t;
    struct role *roles;         // by thread
    uint32_t *planes;           // threads that are planes, by their owner
    uint32_t nplanes;
    struct sorted_op *ops;
    uint32_t *ranks;            // places in 'ops', by thread and start
    struct sorter *sorted;      // tasks by op, if there is a log
    int64_t task[TIMELINE_WORDS];       // next record of it
    int more;                   // 1: 'task' is valid
    struct comm_task *tasks;    // tasks of an op
    size_t cap;                 // kept for the next op, unlike base/vec.h
    struct comm_tables tables;
    struct err *err;
};

/* ---- threads ---- */

static bool is_all_ops (const char *name)
{
    return strcmp (name, "Communication Kernel") == 0;
}

static bool is_ops (const char *name, char *label)
{
    static const char start[] = "Group ", end[] = " Communication";
    size_t n = strlen (name), s = sizeof (start) - 1, e = sizeof (end) - 1;

    if (is_all_ops (name)) {
        label[0] = '\0';
        return true;
    }
    if (n < s + e || memcmp (name, start, s) != 0 ||
        memcmp (name + n - e, end, e) != 0)
        return false;
    memcpy (label, name + s, n - s - e);
    label[n - s - e] = '\0';
    return true;
}

static bool is_plane (const char *name, uint32_t *plane)
{
    int64_t v;

    if (strncmp (name, "Plane ", 6) != 0 ||
        units_int (name + 6, 0, UINT32_MAX - 1, &v) < 0)
        return false;
    *plane = (uint32_t)v;
    return true;
}

static int by_tid (const void *pa, const void *pb, void *arg)
{
    const struct timeline_thread *a = timeline_thread (arg,
                                                       *(const uint32_t *)pa);
    const struct timeline_thread *b = timeline_thread (arg,
                                                       *(const uint32_t *)pb);

    if (a->pid != b->pid)
        return a->pid < b->pid ? -1 : 1;
    return a->tid < b->tid ? -1 : a->tid > b->tid;
}

static int by_task_start (const void *pa, const void *pb)
{
    const struct timeline_task *a = pa, *b = pb;

    return a->start < b->start ? -1 : a->start > b->start;
}

/* Sort the tasks, which are usually in the order of time. */
static void order_tasks (struct timeline_thread *th)
{
    for (uint32_t i = 1; i < th->ntasks; i++) {
        if (th->tasks[i].start < th->tasks[i - 1].start) {
            qsort (th->tasks, th->ntasks, sizeof (*th->tasks), by_task_start);
            return;
        }
    }
}

/* The thread of all ops of a process, or NO_THREAD. */
static uint32_t all_ops_of (const struct timeline *t, uint64_t pid)
{
    for (uint32_t i = 0; i < t->threads.n; i++) {
        const struct timeline_thread *th = timeline_thread (t, i);

        if (th->pid == pid && is_all_ops (th->name))
            return i;
    }
    return NO_THREAD;
}

/* Planes follow the thread of their ops, in the order of thread ids. */
static void assign_roles (struct maker *m, uint32_t *order)
{
    struct timeline *t = m->t;
    uint32_t owner = NO_THREAD, last = 0;

    for (uint32_t i = 0; i < t->threads.n; i++)
        order[i] = i;
    qsort_r (order, t->threads.n, sizeof (*order), by_tid, (void *)t);
    for (uint32_t i = 0; i < t->threads.n; i++) {
        struct timeline_thread *th = timeline_thread (t, order[i]);
        struct role *r = &m->roles[order[i]];

        r->owner = NO_THREAD;
        if (i == 0 || timeline_thread (t, order[i - 1])->pid != th->pid) {
            if ((owner = all_ops_of (t, th->pid)) != NO_THREAD)
                m->roles[owner].first = m->nplanes;
        }
        if (is_ops (th->name, r->label)) {
            r->ops = true;
            if (owner == order[i])
                continue;       // its planes may precede it
            r->plane = 0;
            r->first = m->nplanes;
            owner = order[i];
            capture_group_hash (r->label, r->hash);
        } else if (is_plane (th->name, &r->plane) && owner != NO_THREAD) {
            struct role *o = &m->roles[owner];

            r->owner = owner;
            r->first = m->nplanes;
            if (o->plane++ > 0 && r->plane <= m->roles[last].plane)
                o->mixed = true;
            order_tasks (th);
            m->planes[m->nplanes++] = last = order[i];
        }
    }
}

/* ---- groups ---- */

/* The key of the group.  Old profilers number the threads ("Group 0
 * Communication") instead of naming the communicator.  Then it is the only
 * group of the rank whose key ends as the name of the op says, or unknown.
 */
static const char *group_of (const struct maker *m, const struct role *r,
                             const char *op)
{
    size_t n = strlen (r->label);
    bool number = n > 0 && strspn (r->label, "0123456789") == n, any;

    if (n == 0)                 // it is the only group, or unknown
        return comm_group_of (m->t->src, op);
    if (comm_group_fits (r->hash, op, &any) || (!any && !number))
        return r->hash;
    if (number && n > COMM_TAG_DIGITS && n < CAPTURE_HASH_MAX &&
        (!any || comm_group_fits (r->label, op, &any)))
        return r->label;        // the label is the key
    return comm_group_of (m->t->src, op);
}

/* ---- ops ---- */

static int by_thread (const void *pa, const void *pb)
{
    const struct sorted_op *a = pa, *b = pb;

    if (a->op->thread != b->op->thread)
        return a->op->thread < b->op->thread ? -1 : 1;
    return a->op->start < b->op->start ? -1 : a->op->start > b->op->start;
}

static int by_step (const void *pa, const void *pb)
{
    const struct sorted_op *a = pa, *b = pb;

    if (a->step != b->step)
        return a->step < b->step ? -1 : 1;
    if (a->op->start != b->op->start)
        return a->op->start < b->op->start ? -1 : 1;
    return a->op < b->op ? -1 : 1;
}

/* Sort ops by step and start, and set where their tasks end: with the op, but
 * not after the start of the next op of its communicator.
 */
static void order_ops (struct maker *m)
{
    uint32_t n = m->t->nops;

    for (uint32_t i = 0; i < n; i++)
        m->ops[i] = (struct sorted_op){ .op = &m->t->ops[i] };
    qsort (m->ops, n, sizeof (*m->ops), by_thread);
    for (uint32_t i = 0; i < n; i++) {
        const struct timeline_op *op = m->ops[i].op;

        m->ops[i].place = i;
        m->ops[i].step = timeline_step_of (m->t, op->start);
        // times are truncated to whole ns, so one may equal the end
        m->ops[i].limit = op->start + (int64_t)op->dur + 2;
        if (i + 1 < n && m->ops[i + 1].op->thread == op->thread &&
            m->ops[i + 1].op->start < m->ops[i].limit)
            m->ops[i].limit = m->ops[i + 1].op->start;
    }
    qsort (m->ops, n, sizeof (*m->ops), by_step);
}

/* How many tasks of a plane begin before 'at'.  Ops are in the order of time,
 * so it is usually near the end of the last search.
 */
static uint32_t timeline_ops_begun (struct timeline_thread *th, int64_t at)
{
    uint32_t low = 0, high = th->ntasks, i = th->begun;

    if (i == 0 || th->tasks[i - 1].start < at) {
        for (low = i; i < high && i < low + NEAR; i++) {
            if (th->tasks[i].start >= at)
                break;
        }
        if (i == high || th->tasks[i].start >= at)
            return th->begun = i;
        low = i;
    }
    while (low < high) {
        uint32_t mid = (low + high) / 2;

        if (th->tasks[mid].start < at)
            low = mid + 1;
        else
            high = mid;
    }
    return th->begun = low;
}

static bool no_memory (struct maker *m)
{
    m->t->src->stopped = err_set (m->err, ENOMEM, "no memory for the "
                                  "communication of a timeline");
    return false;
}

/* Append a task of an op.  False: no memory. */
static bool take_task (struct maker *m, const struct timeline_task *k,
                       uint32_t thread, size_t *n)
{
    if (*n == TIMELINE_OP_TASKS_MAX) {
        m->t->limit = m->t->limit ? m->t->limit : "tasks of one op";
        return true;
    }
    if (*n == m->cap) {
        size_t cap = 2 * m->cap + 256;
        struct comm_task *p = realloc (m->tasks, cap * sizeof (*p));

        if (!p)
            return no_memory (m);
        m->tasks = p;
        m->cap = cap;
    }
    m->tasks[(*n)++] = (struct comm_task){
        .start = k->start, .dur = k->dur, .size = k->size,
        .src = k->src, .dst = k->dst, .plane = m->roles[thread].plane,
        .kind = k->kind, .transport = k->transport, .link = k->link,
        // a timeline does not show which writes are payload
        .payload = k->transport == COMM_RDMA && k->size > 0,
    };
    return true;
}

static int by_time (const void *pa, const void *pb)
{
    const struct comm_task *a = pa, *b = pb;

    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return a->plane < b->plane ? -1 : a->plane > b->plane;
}

/* ---- tasks that are too many for memory ---- */

static bool sorter_failed (struct maker *m, int rc)
{
    m->t->src->stopped = rc;    // m->err has the reason
    return false;
}

/* Set the range of the ops of each thread, in the order by thread and start. */
static void rank_ops (struct maker *m)
{
    for (uint32_t i = 0; i < m->t->nops; i++)
        m->ranks[m->ops[i].place] = i;
    for (uint32_t i = 0; i < m->t->nops; i++) {
        struct role *r = &m->roles[m->ops[m->ranks[i]].op->thread];

        if (r->nops++ == 0)
            r->first_op = r->at = i;
    }
}

static int64_t start_of (const struct maker *m, uint32_t place)
{
    return m->ops[m->ranks[place]].op->start;
}

/* Find the last op of a thread that begins at or before 'start', by its rank.
 * False: it has ended, or there is none.
 */
static bool find_op (const struct maker *m, struct role *r, int64_t start,
                     uint32_t *rank)
{
    uint32_t low = r->first_op, high = low + r->nops, next = r->at + 1;

    if (r->nops == 0)
        return false;
    // most tasks belong to the op of the previous one
    if (start_of (m, r->at) > start ||
        (next < high && start_of (m, next) <= start)) {
        while (low < high) {
            uint32_t mid = (low + high) / 2;

            if (start_of (m, mid) <= start)
                low = mid + 1;
            else
                high = mid;
        }
        if (low == r->first_op)
            return false;
        r->at = low - 1;
    }
    *rank = m->ranks[r->at];
    return start < m->ops[*rank].limit;
}

/* Add a task to those of its op, if it has one. */
static bool sort_task (struct maker *m, const struct timeline_task *k,
                       uint32_t thread)
{
    const struct role *plane = &m->roles[thread];
    int64_t record[TIMELINE_WORDS];
    uint32_t rank;
    int rc;

    if (plane->owner == NO_THREAD ||
        !find_op (m, &m->roles[plane->owner], k->start, &rank))
        return true;
    timeline_pack (record, (int64_t)rank << PLACE_BITS | plane->first, k);
    rc = sorter_add (m->sorted, record, m->err);
    return rc == 0 || sorter_failed (m, rc);
}

static bool sort_log (struct maker *m)
{
    struct sorter *log = m->t->log;
    int64_t record[TIMELINE_WORDS];
    int rc = sorter_finish (log, m->err);

    while (rc >= 0 && (rc = sorter_next (log, record, m->err)) == 1) {
        const struct timeline_task k = timeline_unpack (record);

        if (!sort_task (m, &k, (uint32_t)record[0]))
            return false;
    }
    sorter_destroy (log);
    m->t->log = NULL;
    return rc == 0 || sorter_failed (m, rc);
}

/* Sort all tasks by op, plane and start; equal ones keep their order. */
static bool sort_tasks (struct maker *m)
{
    int rc;

    m->sorted = sorter_create (TIMELINE_WORDS, 2);
    m->ranks = calloc ((size_t)m->t->nops + 1, sizeof (*m->ranks));
    if (!m->sorted || !m->ranks)
        return no_memory (m);
    rank_ops (m);
    for (uint32_t i = 0; i < m->t->threads.n; i++) {
        struct timeline_thread *th = timeline_thread (m->t, i);

        for (uint32_t j = 0; j < th->ntasks; j++) {
            if (!sort_task (m, &th->tasks[j], i))
                return false;
        }
        free (th->tasks);
        th->tasks = NULL;
        th->ntasks = 0;
    }
    if (!sort_log (m))
        return false;
    rc = sorter_finish (m->sorted, m->err);
    m->more = rc < 0 ? rc : sorter_next (m->sorted, m->task, m->err);
    return m->more >= 0 || sorter_failed (m, m->more);
}

/* ---- the tasks of an op ---- */

/* Take the tasks of an op from memory. */
static bool take_kept (struct maker *m, const struct sorted_op *o, size_t *n)
{
    const struct role *r = &m->roles[o->op->thread];

    for (uint32_t i = r->first; i < r->first + r->plane; i++) {
        struct timeline_thread *th = timeline_thread (m->t, m->planes[i]);
        uint32_t from = timeline_ops_begun (th, o->op->start), to =
            timeline_ops_begun (th, o->limit);

        for (uint32_t j = from; j < to; j++) {
            if (!take_task (m, &th->tasks[j], m->planes[i], n))
                return false;
        }
    }
    return true;
}

/* Take the tasks of an op from the sorter, and skip those of skipped ops. */
static bool take_sorted (struct maker *m, const struct sorted_op *o, size_t *n)
{
    int64_t rank = o - m->ops;

    while (m->more == 1 && m->task[0] >> PLACE_BITS <= rank) {
        const struct timeline_task k = timeline_unpack (m->task);
        uint32_t place = (uint32_t)m->task[0] & ((1u << PLACE_BITS) - 1);

        if (m->task[0] >> PLACE_BITS == rank &&
            !take_task (m, &k, m->planes[place], n))
            return false;
        m->more = sorter_next (m->sorted, m->task, m->err);
    }
    return m->more >= 0 || sorter_failed (m, m->more);
}

/* Take the tasks of an op, those of each plane in the order of time.  False:
 * the source has stopped.
 */
static bool take_tasks (struct maker *m, const struct sorted_op *o, size_t *n)
{
    *n = 0;
    if (!(m->sorted ? take_sorted (m, o, n) : take_kept (m, o, n)))
        return false;
    if (m->roles[o->op->thread].mixed && *n > 1)
        qsort (m->tasks, *n, sizeof (*m->tasks), by_time);
    return true;
}

static bool one_op (struct maker *m, const struct sorted_op *o)
{
    struct timeline *t = m->t;
    const struct role *r = &m->roles[o->op->thread];
    const char *name = t->names + o->op->name;
    struct comm_op op = { .name = name, .other_group = r->label,
                          .start = o->op->start, .elapse = o->op->dur };
    char step[FLOW_STEP_ID_MAX + 8];
    size_t n;

    if (!r->ops)
        return true;            // it is another row of the process
    (void)snprintf (step, sizeof (step), "step%s",
                    t->flows.nsteps ? t->flows.steps[o->step].id : "");
    if (!steps_wanted (t->src->steps, step, strlen (step)))
        return true;
    op.step = step;
    op.group = group_of (m, r, name);
    return take_tasks (m, o, &n) &&
           comm_tables_op (&m->tables, &op, m->tasks, n);
}

static bool all_ops (struct maker *m)
{
    for (uint32_t i = 0; i < m->t->nops; i++) {
        const struct sorted_op *o = &m->ops[i];

        if (o->step == TIMELINE_NO_STEP)
            break;              // these are last, and dropped
        if (i > 0 && o->step != m->ops[i - 1].step &&
            !comm_tables_step_end (&m->tables))
            return false;
        if (!one_op (m, o))
            return false;
    }
    return comm_tables_step_end (&m->tables) && comm_tables_flush (&m->tables);
}

bool timeline_comm_rows (struct timeline *t, unsigned want, struct err *err)
{
    struct maker m = { .t = t, .err = err };
    uint32_t *order = calloc ((size_t)t->threads.n + 1, sizeof (*order));
    bool good = false;

    m.roles = calloc ((size_t)t->threads.n + 1, sizeof (*m.roles));
    m.planes = calloc ((size_t)t->threads.n + 1, sizeof (*m.planes));
    m.ops = calloc ((size_t)t->nops + 1, sizeof (*m.ops));
    if (!order || !m.roles || !m.planes || !m.ops) {
        (void)no_memory (&m);
    } else if (comm_tables_init (&m.tables, t->src, want, err)) {
        assign_roles (&m, order);
        order_ops (&m);
        good = (!t->log || sort_tasks (&m)) && all_ops (&m);
        if (m.tables.too_many && !t->limit)
            t->limit = "links in one step";
    }
    comm_tables_fini (&m.tables);
    free (order);
    free (m.roles);
    free (m.planes);
    free (m.ops);
    free (m.tasks);
    free (m.ranks);
    sorter_destroy (m.sorted);
    return good;
}
