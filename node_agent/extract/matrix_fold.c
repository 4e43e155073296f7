/* node_agent/extract/matrix_fold.c - link records folded into rows */
#include "extract/matrix_fold.h"

#include "base/units.h"

#include <stdbool.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define KIND_MAX 256            // bytes of an op's kind
#define NEARLY_ZERO 1e-15       // the producer's limit for a time of 0

struct record {
    struct matrix_record r;     // its texts are copies
    char *kind;
    char *group;                // within r.op, behind the '@'
    size_t index;               // order of arrival
    size_t first_key;           // index of the first record of its kind@group
    size_t first_link;          // ... and of the same link too
};

struct matrix_fold {
    struct record *records;
    size_t n, cap;
};

struct matrix_fold *matrix_fold_create (void)
{
    return calloc (1, sizeof (struct matrix_fold));
}

static void record_fini (struct record *r)
{
    free ((char *)r->r.op);
    free ((char *)r->r.link);
    free ((char *)r->r.transport);
    free (r->kind);
}

static void forget (struct matrix_fold *f)
{
    for (size_t i = 0; i < f->n; i++)
        record_fini (&f->records[i]);
    f->n = 0;
}

void matrix_fold_destroy (struct matrix_fold *f)
{
    if (!f)
        return;
    forget (f);
    free (f->records);
    free (f);
}

/* The leftmost of these words in the lower-cased name; at one position the
 * first of the list, which is why reduceScatter is a "reduce".
 */
void matrix_op_kind (const char *op, char *out, size_t max)
{
    static const char *const words[] = {
        "send", "reduce", "invalid", "broadcast", "allreduce", "receive",
        "allgather", "reducescatter", "scatter", "alltoall", "alltoallv",
        "alltoallvc", "batchsendrecv",
    };
    const char *tail = strstr (op, "__");
    size_t n = tail ? (size_t)(tail - op) : strlen (op);

    for (const char *p = op; *p; p++) {
        for (size_t w = 0; w < sizeof (words) / sizeof (words[0]); w++) {
            if (strncasecmp (p, words[w], strlen (words[w])) == 0) {
                (void)snprintf (out, max, "%s", words[w]);
                return;
            }
        }
    }
    (void)snprintf (out, max, "%.*s", (int)n, op);
}

int matrix_fold_add (struct matrix_fold *f, const struct matrix_record *in)
{
    struct record r = { .r = *in, .index = f->n };
    char kind[KIND_MAX];
    char *op;

    if (f->n == MATRIX_FOLD_RECORDS_MAX)
        return -E2BIG;
    if (f->n == f->cap) {
        size_t cap = f->cap ? 2 * f->cap : 256;
        struct record *p = realloc (f->records, cap * sizeof (*p));

        if (!p)
            return -ENOMEM;
        f->records = p;
        f->cap = cap;
    }
    matrix_op_kind (in->op, kind, sizeof (kind));
    r.r.op = op = strdup (in->op);
    r.r.link = strdup (in->link);
    r.r.transport = in->transport ? strdup (in->transport) : NULL;
    r.kind = strdup (kind);
    if (!op || !r.r.link || !r.kind || (in->transport && !r.r.transport)) {
        record_fini (&r);
        return -ENOMEM;
    }
    r.group = strrchr (op, '@');
    if (r.group)
        *r.group++ = '\0';
    else
        r.group = op + strlen (op);
    f->records[f->n++] = r;
    return 0;
}

static int by_name (const void *pa, const void *pb)
{
    const struct record *a = pa, *b = pb;
    int c;

    if ((c = strcmp (a->kind, b->kind)) || (c = strcmp (a->group, b->group)) ||
        (c = strcmp (a->r.link, b->r.link)))
        return c;
    return a->index < b->index ? -1 : 1;
}

static int by_place (const void *pa, const void *pb)
{
    const struct record *a = pa, *b = pb;

    if (a->first_key != b->first_key)
        return a->first_key < b->first_key ? -1 : 1;
    if (a->first_link != b->first_link)
        return a->first_link < b->first_link ? -1 : 1;
    if (a->r.bandwidth > b->r.bandwidth || a->r.bandwidth < b->r.bandwidth)
        return a->r.bandwidth > b->r.bandwidth ? -1 : 1;
    return a->index < b->index ? -1 : 1;
}

static bool same_key (const struct record *a, const struct record *b)
{
    return strcmp (a->kind, b->kind) == 0 && strcmp (a->group, b->group) == 0;
}

/* Sort so that the records of one kind and group lie together, in it those of
 * one link, best bandwidth first; groups and links in order of appearance.
 */
static void arrange (struct matrix_fold *f)
{
    qsort (f->records, f->n, sizeof (*f->records), by_name);
    for (size_t i = 0, key = 0, link = 0; i < f->n; i++) {
        struct record *r = &f->records[i];

        if (i == 0 || !same_key (r, &f->records[i - 1])) {
            key = link = i;
            r->first_key = r->index;
        } else if (strcmp (r->r.link, f->records[i - 1].r.link) != 0) {
            link = i;
        }
        if (r->index < f->records[key].first_key)
            f->records[key].first_key = r->index;
        r->first_link = f->records[link].index;
    }
    for (size_t i = 1; i < f->n; i++) {
        if (same_key (&f->records[i], &f->records[i - 1]))
            f->records[i].first_key = f->records[i - 1].first_key;
    }
    qsort (f->records, f->n, sizeof (*f->records), by_place);
}

struct place {
    const char *name;
    size_t least;               // records that there must be
};

/* In the order in which the profiler makes the keys. */
static const struct place places[] = {
    { "top1", 1 },   { "middle", 1 },  { "bottom1", 1 },
    { "total", 1 },  { "bottom2", 2 }, { "bottom3", 3 },
};

#define PLACES (sizeof (places) / sizeof (places[0]))
#define PLACE_TOTAL 3

static size_t place_index (size_t place, size_t n)
{
    switch (place) {
    case 0:
        return 0;
    case 1:
        return n / 2;
    case 2:
        return n - 1;
    default:
        return n - place + 2;   // bottom2, bottom3
    }
}

static struct matrix_row total_row (const struct record *r, size_t n)
{
    struct matrix_row row = { .op = "", .transport = r[0].r.transport };

    for (size_t i = 0; i < n; i++) {
        row.size_mb += r[i].r.size_mb;
        row.time_ms += r[i].r.time_ms;
    }
    if (fabs (row.time_ms) >= NEARLY_ZERO)
        row.bandwidth = units_round4 (row.size_mb / row.time_ms);
    return row;
}

static int link_row (const struct record *r, size_t n, size_t place,
                     int (*row) (void *arg, const struct matrix_row *r),
                     void *arg)
{
    char kind[KIND_MAX + 16];
    struct matrix_row out;

    if (n < places[place].least)
        return 0;
    if (place == PLACE_TOTAL) {
        out = total_row (r, n);
    } else {
        const struct matrix_record *m = &r[place_index (place, n)].r;

        out = (struct matrix_row){ .op = m->op, .transport = m->transport,
                                   .size_mb = m->size_mb,
                                   .time_ms = m->time_ms,
                                   .bandwidth = m->bandwidth };
    }
    (void)snprintf (kind, sizeof (kind), "%s-%s", r->kind,
                    places[place].name);
    out.kind = kind;
    out.group = r->group;
    out.link = r->r.link;
    return row (arg, &out);
}

/* All rows of one kind and group: place by place, link by link. */
static int key_rows (const struct record *r, size_t n,
                     int (*row) (void *arg, const struct matrix_row *r),
                     void *arg)
{
    int rc = 0;

    for (size_t place = 0; place < PLACES; place++) {
        for (size_t i = 0, end; i < n && rc == 0; i = end) {
            for (end = i + 1; end < n; end++) {
                if (r[end].first_link != r[i].first_link)
                    break;
            }
            rc = link_row (r + i, end - i, place, row, arg);
        }
    }
    return rc;
}

int matrix_fold_rows (struct matrix_fold *f,
                      int (*row) (void *arg, const struct matrix_row *r),
                      void *arg)
{
    int rc = 0;

    if (f->n > 0)
        arrange (f);
    for (size_t i = 0, end; i < f->n && rc == 0; i = end) {
        for (end = i + 1; end < f->n; end++) {
            if (f->records[end].first_key != f->records[i].first_key)
                break;
        }
        rc = key_rows (f->records + i, end - i, row, arg);
    }
    forget (f);
    return rc;
}
