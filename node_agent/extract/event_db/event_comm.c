/* node_agent/extract/event_db/event_comm.c - the communication tables of an
 * event database
 *
 * Ops are handled one by one, in the order of their starts; their tasks come
 * from a sorter.  The links of a step are folded after its last op.
 */
#include "extract/event_db/event_db.h"
#include "extract/rows/comm_rows.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MB 1e6                  // bytes in a MB
#define ROOM_LEAST (8u << 20)   // minimum for folds, whatever the ops take

enum { KIND_P2P, KIND_COLLECTIVE, KINDS };      // in the order of the profiler

struct comm {
    struct event_db *e;
    struct comm_work *work;
    struct comm_task *tasks;    // of the op
    uint32_t ntasks, tasks_cap; // memory is kept for the next op, unlike
                                // base/vec.h
    struct comm_figures figures;        // figures of the op
    struct batch times, bands, matrix;
    struct matrix_room room;    // of the folds
    struct matrix_fold **folds; // two for each step; NULL: none yet
    uint32_t *last;             // last op of each step
    int64_t task[6];            // next record of the sorter
    int more;                   // 1: 'task' is valid
    unsigned want;
    char name[EVENT_NAME_MAX];  // of the op
    char key[CAPTURE_HASH_MAX]; // of its group
    char step[32];
    int kind;
    const struct event_op *op;
};

#define WANTS(c, table) ((c)->want >> (table) & 1)

static bool stopped (struct comm *c, const struct err *err)
{
    c->e->why = *err;
    c->e->how = READING_STOPPED;
    return false;
}

static bool event_comm_flush (struct comm *c, struct batch *b)
{
    struct err err = { "" };

    return source_flush (c->e->src, b, &err) || stopped (c, &err);
}

static bool flush_full (struct comm *c, struct batch *b)
{
    return !batch_full (b) || event_comm_flush (c, b);
}

/* ---- steps ---- */

static bool find_steps (struct comm *c)
{
    struct event_db *e = c->e;

    c->folds = calloc ((size_t)e->nsteps * KINDS, sizeof (*c->folds));
    c->last = calloc (e->nsteps, sizeof (*c->last));
    if (!c->folds || !c->last)
        return event_no_memory (e);
    for (uint32_t i = 0; i < e->nops; i++) {
        struct event_op *op = &e->ops[i];

        if (!event_find_step (e, op))
            return false;
        if (op->step >= 0)
            c->last[op->step] = i;
    }
    return true;
}

/* ---- rows of one op ---- */

static struct comm_texts texts (const struct comm *c)
{
    return (struct comm_texts){ c->name, c->key, c->step,
                                comm_type (c->kind == KIND_P2P) };
}

static void put_time (struct comm *c)
{
    const struct comm_texts x = texts (c);
    struct comm_figures f = c->figures;

    if (c->e->marks)
        f = comm_figures_of_call (0, f.elapse);
    f.start_us = time_us (event_op_began (c->e, c->op));
    comm_time_put (&c->times, &x, &f);
}

static bool put_bands (struct comm *c)
{
    const struct comm_texts x = texts (c);
    struct err err = { "" };

    return comm_buckets_put (&c->bands, &x, &c->figures, c->e->src, &err) ||
           stopped (c, &err);
}

/* Whether any of its tasks is known: then so is what it moved, possibly not on
 * which plane.
 */
static bool is_known (const struct comm *c)
{
    if (!isnan (c->figures.transit))
        return true;
    for (uint32_t i = 0; i < c->ntasks; i++) {
        if (c->tasks[i].plane != EVENT_NO_PLANE)
            return true;
    }
    return false;
}

/* Use the size in the call if no task is known. */
static bool put_payload (struct comm *c)
{
    const struct comm_texts x = texts (c);
    const struct comm_bucket k = { c->op->payload / MB, NAN, NAN, NAN };

    if (isnan (c->op->payload))
        return true;
    comm_band_put (&c->bands, &x, NULL, &k, NAN, NAN, NAN);
    return flush_full (c, &c->bands);
}

/* ---- links ---- */

static bool fold (struct comm *c, const struct comm_item *l)
{
    struct matrix_fold **f = &c->folds[c->op->step * KINDS + c->kind];
    char op[EVENT_NAME_MAX + CAPTURE_HASH_MAX];
    int rc;

    if (c->e->many_links)
        return true;
    if (!*f && !(*f = matrix_fold_create (&c->room)))
        return event_no_memory (c->e);
    (void)snprintf (op, sizeof (op), "%s@%s", c->name, c->key);
    rc = comm_link_add (*f, op, l);
    c->e->many_links = rc == -E2BIG;
    return rc == 0 || rc == -E2BIG || event_no_memory (c->e);
}

static bool fold_links (struct comm *c)
{
    const struct comm_figures *f = &c->figures;

    for (uint32_t i = 0; i < f->nitems; i++) {
        if (f->items[i].bucket == COMM_BUCKETS && !fold (c, &f->items[i]))
            return false;
    }
    return true;
}

static int put_link (void *arg, const struct matrix_row *r)
{
    struct comm *c = arg;

    if (!comm_link_put (&c->matrix, r, c->step,
                        comm_type (c->kind == KIND_P2P)))
        return -EINVAL;
    return flush_full (c, &c->matrix) ? 0 : -ECANCELED;
}

/* Send the rows of a step after its last op. */
static bool end_step (struct comm *c, uint32_t step)
{
    bool good = true;

    (void)event_step_name (c->e, step, c->step);
    for (c->kind = 0; c->kind < KINDS; c->kind++) {
        struct matrix_fold **f = &c->folds[step * KINDS + (uint32_t)c->kind];

        if (*f && good && !c->e->many_links)
            good = matrix_fold_rows (*f, put_link, c) == 0;
        matrix_fold_destroy (*f);
        *f = NULL;
    }
    return good;
}

/* ---- ops ---- */

/* Convert a record of the sorter to a task: see event_tasks.c. */
static struct comm_task task_of (const int64_t *r)
{
    static const uint8_t kinds[] = { [TASK_OTHER] = COMM_OTHER_TASK,
                                     [TASK_DATA] = COMM_MEMCPY,
                                     [TASK_WAIT] = COMM_NOTIFY_WAIT };
    static const uint8_t transports[] = {
        [TRANSPORT_OTHER] = COMM_OTHER_TRANSPORT,
        [TRANSPORT_SDMA] = COMM_SDMA, [TRANSPORT_RDMA] = COMM_RDMA };
    static const uint8_t links[] = {
        [LINK_OTHER] = COMM_OTHER_LINK, [LINK_ON_CHIP] = COMM_ON_CHIP,
        [LINK_HCCS] = COMM_HCCS, [LINK_PCIE] = COMM_PCIE,
        [LINK_SIO] = COMM_SIO, [LINK_HCCS_SW] = COMM_HCCS_SW };
    unsigned kind = r[5] & 15, transport = r[5] >> 4 & 15;
    unsigned link = r[5] >> 8 & 15;

    return (struct comm_task){
        .start = r[1], .dur = (double)(r[2] - r[1]), .size = r[3],
        .plane = (uint32_t)r[0],
        // EVENT_NO_RANK is COMM_RANK_NONE
        .src = (int32_t)(r[4] >> 32), .dst = (int32_t)(uint32_t)r[4],
        .kind = kind < sizeof (kinds) ? kinds[kind] : COMM_OTHER_TASK,
        .transport = transport < sizeof (transports) ? transports[transport]
                                                     : COMM_OTHER_TRANSPORT,
        .link = link < sizeof (links) ? links[link] : COMM_OTHER_LINK,
        .payload = (r[5] & EVENT_CODE_PAYLOAD) != 0,
        .master = (r[5] & EVENT_CODE_MASTER) != 0,
    };
}

static bool take_task (struct comm *c)
{
    struct comm_task *t;

    if (c->ntasks == EVENT_OP_TASKS_MAX)
        return event_damage (c->e, "an op has more than %u tasks",
                             EVENT_OP_TASKS_MAX);
    if (c->ntasks == c->tasks_cap) {
        uint32_t cap = c->tasks_cap ? 2 * c->tasks_cap : 256;

        if (!(t = realloc (c->tasks, cap * sizeof (*t))))
            return event_no_memory (c->e);
        c->tasks = t;
        c->tasks_cap = cap;
    }
    c->tasks[c->ntasks++] = task_of (c->task);
    return true;
}

static bool take_tasks (struct comm *c, uint32_t op)
{
    struct err err = { "" };

    c->ntasks = 0;
    while (c->more == 1 && c->task[0] >> 32 == op) {
        if (!take_task (c))
            return false;
        c->more = sorter_next (c->e->op_tasks, c->task, &err);
    }
    return c->more >= 0 || event_sorter_failed (c->e, c->more, &err);
}

/* Write the link of a call with one peer, from its mark: size and time. */
static bool give_peer (struct comm *c)
{
    const struct event_op *op = c->op;
    struct comm_item l = { .transport = NULL, .size = op->payload / MB,
                           .time = c->figures.elapse };
    uint32_t own = EVENT_NO_RANK;

    if (op->peer < 0 || isnan (op->payload) || !WANTS (c, TABLE_MATRIX))
        return true;
    for (uint32_t i = 0; i < c->e->src->capture->ngroups; i++) {
        const struct comm_group *g = &c->e->src->capture->groups[i];

        for (uint32_t m = 0; m < g->nmembers && strcmp (g->name, c->key) == 0;
             m++) {
            if (g->members[m] == c->e->src->capture->rank)
                own = m;
        }
    }
    if (own == EVENT_NO_RANK)
        return true;            // its own rank in the group is unknown
    l.key = op->receives ? (uint64_t)op->peer << 32 | own
                         : (uint64_t)own << 32 | (uint32_t)op->peer;
    return fold (c, &l);
}

/* Get the names of an op: 1; 0: it has no name or no group; -1: reading must
 * end.
 */
static int name_op (struct comm *c)
{
    struct event_db *e = c->e;
    char group[EVENT_NAME_MAX];
    int rc;

    if (e->marks)
        return event_mark_names (e, c->op, c->name, c->key) ? 1 : -1;
    rc = event_find_string (e, c->op->name, c->name);
    if (rc <= 0)
        return rc;              // that was recorded when the op was read
    if ((rc = event_find_string (e, c->op->group, group)) == 0)
        event_note_bad_row (e, "COMMUNICATION_OP", "an op has no group",
                            c->op->id);
    event_group_key (group, c->key);
    return rc;
}

/* Compute the figures of an op. */
static bool figure (struct comm *c)
{
    struct comm_op op = { .name = c->name, .start = c->op->start,
                          .elapse = (double)(c->op->end - c->op->start),
                          .masters = c->e->has_masters };

    if (comm_figures (c->work, &op, c->tasks, c->ntasks, &c->figures) < 0)
        return event_no_memory (c->e);
    if (isnan (c->figures.transit) && is_known (c))
        c->e->no_master++;
    return true;
}

static bool give_op (struct comm *c, uint32_t i)
{
    struct event_db *e = c->e;
    int rc = 1;

    c->op = &e->ops[i];
    if (!take_tasks (c, i))
        return false;
    // a mark is named by its number, so each one is counted
    if (e->marks || (c->op->step >= 0 && !c->op->again))
        rc = name_op (c);
    if (rc <= 0)
        return rc == 0;
    if (c->op->step < 0 || c->op->again ||
        (e->marks && c->op->device < 0) ||
        !event_step_wanted (e, (uint32_t)c->op->step, c->want))
        return true;
    c->kind = comm_op_is_p2p (c->name) ? KIND_P2P : KIND_COLLECTIVE;
    (void)event_step_name (e, (uint32_t)c->op->step, c->step);
    if (!figure (c))
        return false;
    if (WANTS (c, TABLE_TIME))
        put_time (c);
    if (!flush_full (c, &c->times) ||
        (WANTS (c, TABLE_BANDWIDTH) &&
         !(is_known (c) ? put_bands (c) : put_payload (c))) ||
        (WANTS (c, TABLE_MATRIX) && !fold_links (c)) || !give_peer (c))
        return false;
    return true;
}

static bool give_ops (struct comm *c)
{
    struct event_db *e = c->e;
    struct err err = { "" };

    c->more = sorter_next (e->op_tasks, c->task, &err);
    if (c->more < 0)
        return event_sorter_failed (e, c->more, &err);
    for (uint32_t i = 0; i < e->nops; i++) {
        int32_t step = e->ops[i].step;

        if (!give_op (c, i) ||
            (step >= 0 && c->last[step] == i && !end_step (c, (uint32_t)step)))
            return false;
    }
    return event_comm_flush (c, &c->times) && event_comm_flush (c, &c->bands) &&
           event_comm_flush (c, &c->matrix);
}

/* The room for folds: ops and folds share their memory. */
static size_t room_beside (const struct event_db *e)
{
    size_t ops = e->nops * sizeof (*e->ops);

    return ops + ROOM_LEAST < MATRIX_ROOM ? MATRIX_ROOM - ops : ROOM_LEAST;
}

bool event_give_comm (struct event_db *e, unsigned want)
{
    struct comm *c = calloc (1, sizeof (*c));
    struct err err = { "" };
    bool good;
    int rc;

    if (!c)
        return event_no_memory (e);
    c->e = e;
    c->want = want;
    c->room.left = room_beside (e);
    if (!(c->work = comm_work_create ()))
        good = event_no_memory (e);
    else if ((rc = sorter_finish (e->op_tasks, &err)) < 0)
        good = event_sorter_failed (e, rc, &err);
    else if (batch_init (&c->times, TABLE_TIME, &err) < 0 ||
             batch_init (&c->bands, TABLE_BANDWIDTH, &err) < 0 ||
             batch_init (&c->matrix, TABLE_MATRIX, &err) < 0)
        good = event_no_memory (e);
    else
        good = event_mark_repeated (e) && find_steps (c) && give_ops (c);
    if (!good && e->how == READING_DAMAGED)     // rows before the damage count
        (void)(event_comm_flush (c, &c->times) &&
               event_comm_flush (c, &c->bands) &&
               event_comm_flush (c, &c->matrix));
    for (uint32_t i = 0; c->folds && i < e->nsteps * KINDS; i++)
        matrix_fold_destroy (c->folds[i]);
    free (c->folds);
    free (c->last);
    comm_work_destroy (c->work);
    free (c->tasks);
    batch_fini (&c->times);
    batch_fini (&c->bands);
    batch_fini (&c->matrix);
    free (c);
    return good;
}
