/* node_agent/extract/rows/comm_tables.c - rows of the communication tables,
 * from what the tasks of ops come to
 *
 * This folder: rows that several kinds of sources make in one way.
 */
#include "extract/rows/comm_tasks.h"

#include "base/units.h"

#include <errno.h>
#include <stdlib.h>
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

/* Whether it is the only one so far. */
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
    char (*more)[CAPTURE_HASH_MAX];
    uint32_t n = src->ngroup_keys;
    size_t size = strlen (key);

    if (size >= CAPTURE_HASH_MAX || strspn (key, "0123456789") != size ||
        n == CAPTURE_GROUPS_MAX)
        return true;
    for (uint32_t i = n; i-- > 0;) {
        if (strcmp (src->group_keys[i], key) == 0)
            return true;
    }
    more = realloc (src->group_keys, (n + 1) * sizeof (*more));
    if (!more) {
        src->stopped = err_set (err, ENOMEM, "no memory for groups");
        return false;
    }
    src->group_keys = more;
    memcpy (more[n], key, size + 1);
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

static const char *type_of (const struct comm_op *op)
{
    return comm_op_is_p2p (op->name) ? "p2p" : "collective";
}

static bool flush (struct comm_tables *t, struct batch *b)
{
    return source_flush (t->src, b, t->err);
}

static bool put_time (struct comm_tables *t, const struct comm_op *op,
                      const struct comm_figures *f)
{
    struct batch *b = &t->time;
    uint32_t n = b->nrows++;

    b->text[TIME_OP][n] = batch_string (b, op->name);
    b->text[TIME_GROUP][n] = batch_string (b, op->group);
    b->real[TIME_START][n] = f->start_us;
    b->real[TIME_ELAPSE][n] = f->elapse;
    b->real[TIME_TRANSIT][n] = f->transit;
    b->real[TIME_WAIT][n] = f->wait;
    b->real[TIME_SYNC][n] = f->sync;
    b->real[TIME_IDLE][n] = f->idle;
    b->text[TIME_STEP][n] = batch_string (b, op->step);
    b->text[TIME_TYPE][n] = batch_string (b, type_of (op));
    return !batch_full (b) || flush (t, b);
}

static bool put_bandwidth (struct comm_tables *t, const struct comm_op *op,
                           const char *transport, const struct comm_bucket *k,
                           const struct comm_item *packet)
{
    struct batch *b = &t->bandwidth;
    uint32_t n = b->nrows++;

    b->text[BW_OP][n] = batch_string (b, op->name);
    b->text[BW_GROUP][n] = batch_string (b, op->group);
    b->text[BW_TRANSPORT][n] = batch_string (b, transport);
    b->real[BW_SIZE][n] = k->size;
    b->real[BW_TIME][n] = k->time;
    b->real[BW_BANDWIDTH][n] = k->bandwidth;
    b->real[BW_LARGE][n] = k->large;
    b->real[BW_PACKAGE][n] = packet->size;
    b->real[BW_COUNT][n] = packet->count;
    b->real[BW_TOTAL][n] = packet->time;
    b->text[BW_STEP][n] = batch_string (b, op->step);
    b->text[BW_TYPE][n] = batch_string (b, type_of (op));
    return !batch_full (b) || flush (t, b);
}

static bool put_buckets (struct comm_tables *t, const struct comm_op *op,
                         const struct comm_figures *f)
{
    static const char *const names[COMM_BUCKETS] = { "RDMA", "HCCS", "PCIE",
                                                     "SDMA", "SIO" };
    static const struct comm_item none = { 0 };

    for (unsigned i = 0; i < COMM_BUCKETS; i++) {
        const struct comm_bucket *k = &f->buckets[i];
        bool any = false;

        if (k->size + k->time + k->bandwidth + k->large == 0)
            continue;
        for (uint32_t j = 0; j < f->nitems; j++) {
            if (f->items[j].bucket != i)
                continue;
            any = true;
            if (!put_bandwidth (t, op, names[i], k, &f->items[j]))
                return false;
        }
        if (!any && !put_bandwidth (t, op, names[i], k, &none))
            return false;
    }
    return true;
}

/* ---- links ---- */

/* "<a>-<b>"; printing them takes ten times as long. */
static const char *link_text (uint32_t a, uint32_t b, char out[32])
{
    char *p = out + 31;

    *p = '\0';
    do {
        *--p = (char)('0' + b % 10);
    } while ((b /= 10) > 0);
    *--p = '-';
    do {
        *--p = (char)('0' + a % 10);
    } while ((a /= 10) > 0);
    return p;
}

/* Append a text; returns where it ends. */
static char *append (char *p, const char *end, const char *s)
{
    size_t n = strlen (s), room = (size_t)(end - p);

    p = mempcpy (p, s, n < room ? n : room);
    *p = '\0';
    return p;
}

static bool add_links (struct comm_tables *t, const struct comm_op *op,
                       const struct comm_figures *f)
{
    struct matrix_fold *fold = t->folds[comm_op_is_p2p (op->name) ? 0 : 1];
    char name[8192], link[32], *p;
    const char *end = name + sizeof (name) - 1;

    // a '?' stands before a group that is not known: see put_link
    p = append (append (name, end, op->name), end, op->group ? "@" : "@?");
    (void)append (p, end, op->group ? op->group
                          : op->other_group ? op->other_group : "");
    (void)append (t->step, t->step + sizeof (t->step) - 1, op->step);
    for (uint32_t i = 0; i < f->nitems; i++) {
        const struct comm_item *it = &f->items[i];
        struct matrix_record r = { name, NULL, it->transport, it->size,
                                   it->time, 0 };
        int rc;

        if (it->bucket != COMM_BUCKETS)
            continue;
        if (it->time != 0)
            r.bandwidth = units_round4 (it->size / it->time);
        r.link = link_text ((uint32_t)(it->key >> 32), (uint32_t)it->key,
                            link);
        rc = matrix_fold_add (fold, &r);
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
    uint32_t n = b->nrows;

    if (row.group[0] == '?')
        row.group = NULL;
    if (!matrix_row_put (b, &row))
        return -EINVAL;
    b->text[MATRIX_STEP][n] = batch_string (b, a->t->step);
    b->text[MATRIX_TYPE][n] = batch_string (b, a->type);
    b->text[MATRIX_OP_NAME][n] = batch_string (b, m->op);
    b->nrows++;
    return !batch_full (b) || flush (a->t, b) ? 0 : -ECANCELED;
}

/* ---- */

bool comm_tables_op (struct comm_tables *t, const struct comm_op *op,
                     const struct comm_task *tasks, size_t n)
{
    struct comm_figures f;

    if (comm_figures (t->work, op, tasks, n, &f) < 0)
        return no_memory (t);
    return (!WANTED (t, TABLE_TIME) || put_time (t, op, &f)) &&
           (!WANTED (t, TABLE_BANDWIDTH) || put_buckets (t, op, &f)) &&
           (!WANTED (t, TABLE_MATRIX) || add_links (t, op, &f));
}

bool comm_tables_step_end (struct comm_tables *t)
{
    static const char *const types[] = { "p2p", "collective" };

    for (int i = 0; i < 2; i++) {
        struct fold_arg arg = { t, types[i] };

        if (matrix_fold_rows (t->folds[i], put_link, &arg) != 0)
            return false;
    }
    return true;
}

bool comm_tables_flush (struct comm_tables *t)
{
    return flush (t, &t->time) && flush (t, &t->bandwidth) &&
           flush (t, &t->matrix);
}
