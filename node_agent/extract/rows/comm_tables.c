/* node_agent/extract/rows/comm_tables.c - write the communication tables from
 * the tasks of ops
 */
#include "extract/rows/comm_rows.h"

#include "base/vec.h"

#include <errno.h>
#include <string.h>

#define WANTED(t, table) ((t)->want >> (table) & 1)

static bool no_memory (struct comm_tables *t)
{
    t->src->stopped = err_set (t->err, ENOMEM, "no memory for the "
                               "communication tables");
    return false;
}

bool comm_group_fits (const char *key, const char *op, bool *tagged)
{
    const char *tag = strstr (op, "__");
    size_t n = strlen (key);

    *tagged = tag && strspn (tag + 2, "0123456789") == COMM_TAG_DIGITS;
    return *tagged && n >= COMM_TAG_DIGITS &&
           memcmp (key + n - COMM_TAG_DIGITS, tag + 2, COMM_TAG_DIGITS) == 0;
}

/* Take a key that fits.  False: another one fits, too. */
static bool take_key (const char *key, const char *op, const char **found)
{
    bool tagged;

    if (!comm_group_fits (key, op, &tagged))
        return true;
    if (*found && strcmp (*found, key) != 0)
        return false;
    *found = key;
    return true;
}

const char *comm_group_of (const struct source *src, const char *op)
{
    const struct capture *c = src->capture;
    const char *found = NULL;

    for (uint32_t i = 0; i < c->ngroups; i++) {
        if (!take_key (c->groups[i].name, op, &found))
            return NULL;
    }
    for (uint32_t i = 0; i < src->ngroup_keys; i++) {
        if (!take_key (src->group_keys[i], op, &found))
            return NULL;
    }
    return found;
}

bool comm_note_key (struct source *src, const char *key, struct err *err)
{
    char (*added)[CAPTURE_HASH_MAX];
    uint32_t n = src->ngroup_keys;
    size_t size = strlen (key);

    if (size >= CAPTURE_HASH_MAX || strspn (key, "0123456789") != size ||
        n == CAPTURE_GROUPS_MAX)
        return true;
    for (uint32_t i = n; i-- > 0;) {
        if (strcmp (src->group_keys[i], key) == 0)
            return true;
    }
    if (!(added = vec_next (&src->group_keys, n, sizeof (*added)))) {
        src->stopped = err_set (err, ENOMEM, "no memory for groups");
        return false;
    }
    memcpy (*added, key, size + 1);
    src->ngroup_keys = n + 1;
    return true;
}

bool comm_tables_init (struct comm_tables *t, struct source *src,
                       unsigned want, struct err *err)
{
    memset (t, 0, sizeof (*t));
    t->src = src;
    t->want = want;
    t->err = err;
    t->work = comm_work_create ();
    t->room.left = MATRIX_ROOM;
    t->folds[0] = matrix_fold_create (&t->room);
    t->folds[1] = matrix_fold_create (&t->room);
    if (!t->work || !t->folds[0] || !t->folds[1] ||
        batch_init (&t->time, TABLE_TIME, err) < 0 ||
        batch_init (&t->bandwidth, TABLE_BANDWIDTH, err) < 0 ||
        batch_init (&t->matrix, TABLE_MATRIX, err) < 0)
        return no_memory (t);
    return true;
}

void comm_tables_fini (struct comm_tables *t)
{
    batch_fini (&t->time);
    batch_fini (&t->bandwidth);
    batch_fini (&t->matrix);
    matrix_fold_destroy (t->folds[0]);
    matrix_fold_destroy (t->folds[1]);
    comm_work_destroy (t->work);
}

static bool comm_tables_emit (struct comm_tables *t, struct batch *b)
{
    return source_flush (t->src, b, t->err);
}

/* ---- links ---- */

/* Append a text, and return its end. */
static char *comm_tables_append (char *p, const char *end, const char *s)
{
    size_t n = strlen (s), room = (size_t)(end - p);

    p = mempcpy (p, s, n < room ? n : room);
    *p = '\0';
    return p;
}

static bool add_links (struct comm_tables *t, const struct comm_op *op,
                       bool p2p, const struct comm_figures *f)
{
    struct matrix_fold *fold = t->folds[p2p ? 0 : 1];
    char name[8192], *p;
    const char *end = name + sizeof (name) - 1;

    // '?' precedes the name of an unknown group: see put_link
    p = comm_tables_append (comm_tables_append (name, end, op->name), end,
                            op->group ? "@" : "@?");
    (void)comm_tables_append (p, end, op->group ? op->group
                                      : op->other_group ? op->other_group : "");
    (void)comm_tables_append (t->step, t->step + sizeof (t->step) - 1,
                              op->step);
    for (uint32_t i = 0; i < f->nitems; i++) {
        int rc = f->items[i].bucket == COMM_BUCKETS
                     ? comm_link_add (fold, name, &f->items[i])
                     : 0;

        if (rc == -E2BIG)
            t->too_many = true;
        else if (rc < 0)
            return no_memory (t);
    }
    return true;
}

struct fold_arg {
    struct comm_tables *t;
    const char *type;
};

static int put_link (void *arg, const struct matrix_row *m)
{
    const struct fold_arg *a = arg;
    struct batch *b = &a->t->matrix;
    struct matrix_row row = *m;

    if (row.group[0] == '?')
        row.group = NULL;
    if (!comm_link_put (b, &row, a->t->step, a->type))
        return -EINVAL;
    return !batch_full (b) || comm_tables_emit (a->t, b) ? 0 : -ECANCELED;
}

/* ---- */

bool comm_tables_op (struct comm_tables *t, const struct comm_op *op,
                     const struct comm_task *tasks, size_t n)
{
    const bool p2p = comm_op_is_p2p (op->name);
    const struct comm_texts x = { op->name, op->group, op->step,
                                  comm_type (p2p) };
    struct comm_figures f;

    if (comm_figures (t->work, op, tasks, n, &f) < 0)
        return no_memory (t);
    if (WANTED (t, TABLE_TIME))
        comm_time_put (&t->time, &x, &f);
    return (!batch_full (&t->time) || comm_tables_emit (t, &t->time)) &&
           (!WANTED (t, TABLE_BANDWIDTH) ||
            comm_buckets_put (&t->bandwidth, &x, &f, t->src, t->err)) &&
           (!WANTED (t, TABLE_MATRIX) || add_links (t, op, p2p, &f));
}

bool comm_tables_step_end (struct comm_tables *t)
{
    for (int i = 0; i < 2; i++) {
        struct fold_arg arg = { t, comm_type (i == 0) };

        if (matrix_fold_rows (t->folds[i], put_link, &arg) != 0)
            return false;
    }
    return true;
}

bool comm_tables_flush (struct comm_tables *t)
{
    return comm_tables_emit (t, &t->time) &&
 comm_tables_emit (t, &t->bandwidth) &&
           comm_tables_emit (t, &t->matrix);
}
