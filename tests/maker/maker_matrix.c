// communication_matrix.json: the link records of a step aggregated per
// (op type, group, link) into top1, middle, bottom1, total, bottom2 and
// bottom3, or, as in 2023, un-aggregated per op.

#include "maker.h"

#include <stdlib.h>
#include <string.h>

#define TINY 1e-15 // a time this small gives no bandwidth

enum place { TOP1, MIDDLE, BOTTOM1, TOTAL, BOTTOM2, BOTTOM3, PLACE_COUNT };

static const char *const place_names[PLACE_COUNT] = {
    "top1", "middle", "bottom1", "total", "bottom2", "bottom3"};

// All records of one (op type, group, link), in op order, then sorted.
struct series {
    const char *type;
    int group;
    int src;
    int dst;
    size_t count;
    const struct link **records;
};

// The series of one step and category, and the rows made of them.
struct aggregation {
    const struct capture *c;
    struct series *series;
    size_t series_count;
    size_t series_room;
    struct matrix_row *rows;
    size_t row_count;
    struct {
        const char *type;
        int group;
        enum place place;
    } * keys;
    size_t key_count;
};

const char *transport_name (enum transport t)
{
    static const char *const names[] = {"RDMA", "HCCS",  "PCIE", "SDMA",
                                        "SIO",  "LOCAL", NULL};
    return names[t];
}

static bool belongs (const struct aggregation *a, const struct series *s,
                     const struct link *l)
{
    const struct op *op = &a->c->ops[l->op];
    return s->dst == l->dst && s->src == l->src && s->group == op->group &&
           strcmp (s->type, op->matrix_type) == 0;
}

// Links of an op come in the order of their series, so the one after the
// last hit is tried first.
static size_t find_series (struct aggregation *a, const struct link *l,
                           size_t hint)
{
    if (hint < a->series_count && belongs (a, &a->series[hint], l))
        return hint;
    for (size_t i = 0; i < a->series_count; i++) {
        if (belongs (a, &a->series[i], l))
            return i;
    }
    if (a->series_count == a->series_room) {
        a->series_room = 2 * a->series_room + 16;
        a->series = realloc (a->series, a->series_room * sizeof *a->series);
        if (a->series == NULL)
            die ("memory");
    }
    const struct op *op = &a->c->ops[l->op];
    a->series[a->series_count] = (struct series){.type = op->matrix_type,
                                                 .group = op->group,
                                                 .src = l->src,
                                                 .dst = l->dst};
    return a->series_count++;
}

// Calls for the links of one step and category, in op order: first to count
// the records of each series, then to fill them in.
static void visit_links (struct aggregation *a, int step, bool p2p, bool fill)
{
    size_t ops = (size_t)a->c->job->opt->ops;
    const struct op *first = a->c->ops + (size_t)step * ops;
    size_t hint = 0;
    for (const struct op *op = first; op < first + ops; op++) {
        if (op->p2p != p2p)
            continue;
        for (size_t i = 0; i < op->link_count; i++) {
            const struct link *l = &a->c->links[op->first_link + i];
            size_t found = find_series (a, l, hint);
            struct series *s = &a->series[found];
            if (fill)
                s->records[s->count] = l;
            s->count++;
            hint = found + 1;
        }
    }
}

// Descending bandwidth; equal ones keep the op order, which is the order of
// the records in memory.
static int compare_records (const void *pa, const void *pb)
{
    const struct link *a = *(const struct link *const *)pa;
    const struct link *b = *(const struct link *const *)pb;
    if (a->gbps != b->gbps)
        return a->gbps > b->gbps ? -1 : 1;
    return (a > b) - (a < b);
}

static size_t find_key (struct aggregation *a, const struct series *s,
                        enum place place)
{
    size_t i = 0;
    while (i < a->key_count &&
           (a->keys[i].place != place || a->keys[i].group != s->group ||
            strcmp (a->keys[i].type, s->type) != 0))
        i++;
    if (i == a->key_count) {
        a->keys[i].type = s->type;
        a->keys[i].group = s->group;
        a->keys[i].place = place;
        a->key_count++;
    }
    return i;
}

static struct matrix_row *add_row (struct aggregation *a,
                                   const struct series *s, enum place place,
                                   const struct link *l)
{
    struct matrix_row *row = &a->rows[a->row_count++];
    *row = (struct matrix_row){.key = find_key (a, s, place),
                               .type = s->type,
                               .place = place_names[place],
                               .src = s->src,
                               .dst = s->dst,
                               .hash = a->c->job->groups[s->group].hash,
                               .op_name = a->c->ops[l->op].name,
                               .transport = l->transport,
                               .mb = l->mb,
                               .ms = l->ms,
                               .gbps = l->gbps};
    return row;
}

static void add_total (struct aggregation *a, const struct series *s)
{
    struct matrix_row *row = add_row (a, s, TOTAL, s->records[0]);
    row->op_name = NULL;
    row->mb = row->ms = row->gbps = 0.0;
    for (size_t i = 0; i < s->count; i++) {
        row->mb += s->records[i]->mb;
        row->ms += s->records[i]->ms;
    }
    if (row->ms >= TINY)
        row->gbps = round4 (row->mb / row->ms);
}

static void add_places (struct aggregation *a, const struct series *s)
{
    size_t n = s->count;
    add_row (a, s, TOP1, s->records[0]);
    add_row (a, s, MIDDLE, s->records[n / 2]);
    add_row (a, s, BOTTOM1, s->records[n - 1]);
    add_total (a, s);
    if (n >= 2)
        add_row (a, s, BOTTOM2, s->records[n - 2]);
    if (n >= 3)
        add_row (a, s, BOTTOM3, s->records[n - 3]);
}

// Rows by key, each key's in the order they were made.
static int compare_rows (const void *pa, const void *pb)
{
    const struct matrix_row *const *a = pa;
    const struct matrix_row *const *b = pb;
    if ((*a)->key != (*b)->key)
        return (*a)->key < (*b)->key ? -1 : 1;
    return (*a > *b) - (*a < *b);
}

static struct matrix_row *sort_rows (const struct aggregation *a)
{
    size_t n = a->row_count;
    const struct matrix_row **order = make_room (n, sizeof *order);
    struct matrix_row *sorted = make_room (n, sizeof *sorted);
    for (size_t i = 0; i < n; i++)
        order[i] = &a->rows[i];
    qsort (order, n, sizeof *order, compare_rows);
    for (size_t i = 0; i < n; i++)
        sorted[i] = *order[i];
    free (order);
    return sorted;
}

// The rows of one step and category in the order of the JSON file; the
// caller frees them.
struct matrix_row *aggregate_matrix (const struct capture *c, int step,
                                     bool p2p, size_t *count)
{
    struct aggregation a = {.c = c};
    visit_links (&a, step, p2p, false);
    size_t rows = a.series_count * PLACE_COUNT;
    a.rows = make_room (rows, sizeof *a.rows);
    a.keys = make_room (rows, sizeof *a.keys);
    for (size_t i = 0; i < a.series_count; i++) {
        a.series[i].records =
            make_room (a.series[i].count, sizeof *a.series[i].records);
        a.series[i].count = 0;
    }
    visit_links (&a, step, p2p, true);
    for (size_t i = 0; i < a.series_count; i++) {
        struct series *s = &a.series[i];
        qsort (s->records, s->count, sizeof *s->records, compare_records);
        add_places (&a, s);
        free (s->records);
    }
    struct matrix_row *sorted = sort_rows (&a);
    *count = a.row_count;
    free (a.keys);
    free (a.rows);
    free (a.series);
    return sorted;
}

// Writes one link up to its bandwidth, without the closing brace.
static void put_link (FILE *f, int src, int dst, enum transport t,
                      const double values[3])
{
    const char *name = transport_name (t);
    fprintf (f, "\"%d-%d\": {\"Transport Type\": ", src, dst);
    if (name != NULL)
        fprintf (f, "\"%s\"", name);
    else
        fputs_unlocked ("null", f);
    fputs_unlocked (", \"Transit Size(MB)\": ", f);
    put_double (f, values[0]);
    fputs_unlocked (", \"Transit Time(ms)\": ", f);
    put_double (f, values[1]);
    fputs_unlocked (", \"Bandwidth(GB/s)\": ", f);
    put_double (f, values[2]);
}

static void put_aggregated (FILE *f, const struct capture *c, int step,
                            bool p2p)
{
    size_t count;
    struct matrix_row *rows = aggregate_matrix (c, step, p2p, &count);
    for (size_t i = 0; i < count; i++) {
        const struct matrix_row *r = &rows[i];
        if (i == 0 || r->key != r[-1].key)
            fprintf (f, "%s\"%s-%s@%s\": {", i > 0 ? "}, " : "", r->type,
                     r->place, r->hash);
        else
            fputs_unlocked (", ", f);
        put_link (f, r->src, r->dst, r->transport,
                  (double[]){r->mb, r->ms, r->gbps});
        if (r->op_name != NULL)
            fprintf (f, ", \"%s\": \"%s\"",
                     c->job->opt->mindspore ? "op_name" : "Op Name",
                     r->op_name);
        putc_unlocked ('}', f);
    }
    if (count > 0)
        putc_unlocked ('}', f);
    free (rows);
}

// The old total: the links of all groups together, by their group ranks.
struct raw_total {
    size_t count;
    struct link sums[MAX_KINDS * (MAX_PEERS + 1)];
};

static void add_raw (struct raw_total *t, const struct link *l)
{
    size_t i = 0;
    while (i < t->count &&
           (t->sums[i].src != l->src || t->sums[i].dst != l->dst))
        i++;
    if (i == t->count) {
        t->count++;
        t->sums[i] = (struct link){
            .src = l->src, .dst = l->dst, .transport = l->transport};
    }
    t->sums[i].mb += l->mb;
    t->sums[i].ms += l->ms;
}

static void put_raw_total (FILE *f, const struct raw_total *t)
{
    fputs_unlocked (", \"Total Op Info\": {", f);
    for (size_t i = 0; i < t->count; i++) {
        const struct link *l = &t->sums[i];
        if (i > 0)
            fputs_unlocked (", ", f);
        put_link (f, l->src, l->dst, l->transport,
                  (double[]){l->mb, l->ms, round4 (l->mb / l->ms)});
        putc_unlocked ('}', f);
    }
    putc_unlocked ('}', f);
}

static void put_raw_op (FILE *f, const struct capture *c, const struct op *op,
                        struct raw_total *total)
{
    fprintf (f, "\"%s@%s\": {", op->name, c->job->groups[op->group].hash);
    for (size_t i = 0; i < op->link_count; i++) {
        const struct link *l = &c->links[op->first_link + i];
        if (i > 0)
            fputs_unlocked (", ", f);
        put_link (f, l->src, l->dst, l->transport,
                  (double[]){l->mb, l->ms, l->gbps});
        putc_unlocked ('}', f);
        add_raw (total, l);
    }
    putc_unlocked ('}', f);
}

static void put_raw (FILE *f, const struct capture *c, int step, bool p2p)
{
    size_t ops = (size_t)c->job->opt->ops;
    const struct op *first = c->ops + (size_t)step * ops;
    struct raw_total total = {.count = 0};
    bool any = false;
    for (const struct op *op = first; op < first + ops; op++) {
        if (op->p2p != p2p)
            continue;
        if (any)
            fputs_unlocked (", ", f);
        any = true;
        put_raw_op (f, c, op, &total);
    }
    if (any)
        put_raw_total (f, &total);
}

void write_matrix (const struct capture *c, const char *path)
{
    const struct options *opt = c->job->opt;
    FILE *f = create_file (path);
    putc_unlocked ('{', f);
    for (int step = 0; step < c->step_count; step++) {
        put_step_open (f, c, step);
        for (int i = 0; i < 2; i++) {
            bool p2p = i == 0;
            fputs_unlocked (p2p ? "\"p2p\": {" : ", \"collective\": {", f);
            if (opt->age < AGE_AGGREGATED)
                put_raw (f, c, step, p2p);
            else
                put_aggregated (f, c, step, p2p);
            putc_unlocked ('}', f);
        }
        putc_unlocked ('}', f);
    }
    putc_unlocked ('}', f);
    close_file (f, path);
}
