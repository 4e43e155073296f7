/* node_agent/extract/rows/matrix_fold.c - fold link records into rows of
 * CommAnalyzerMatrix
 */
#include "extract/rows/matrix_fold.h"

#include "base/texts.h"
#include "base/units.h"
#include "base/vec.h"

#include <stdbool.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define KIND_MAX 256            // bytes of an op's kind
#define TEXT_BYTES 64u          // overhead of texts.h for a text
#define SORT_OF_RECORD 16u      // memory of qsort for a record
#define KEY_BYTES 48u           // for a new kind and group, or a new link of
                                // these
#define BYTES_KEPT (1u << 20)   // kept for the records of the next step
#define NEARLY_ZERO 1e-15       // the profiler takes a smaller time as 0

/* A record.  Each text is stored once; all but the names of ops repeat. */
struct record {
    double size_mb, time_ms, bandwidth;
    uint32_t kind, group, link, op;     // texts
    uint32_t transport;         // TEXTS_NONE: none
    uint32_t key_number;        // number of its kind and group, by first
                                // appearance
    uint32_t link_number;       // likewise with its link
    uint32_t index;             // order of arrival
};

/* A pair of a kind and a group, or of the number of such a pair and a link. */
struct pair {
    uint32_t a, b;
};

struct matrix_fold {
    struct matrix_room *room;
    size_t taken;               // bytes of 'room'
    struct record *records;
    size_t n;
    struct texts texts;
    struct map keys, links;
};

struct matrix_fold *matrix_fold_create (struct matrix_room *room)
{
    struct matrix_fold *f = calloc (1, sizeof (*f));

    if (!f)
        return NULL;
    f->keys = f->links = (struct map)MAP (struct pair, 1);
    f->room = room;
    return f;
}

static bool take_room (struct matrix_fold *f, size_t bytes)
{
    if (bytes > f->room->left)
        return false;
    f->room->left -= bytes;
    f->taken += bytes;
    return true;
}

/* Return all of its room. */
static void give_room (struct matrix_fold *f)
{
    free (f->records);
    f->records = NULL;
    texts_fini (&f->texts);
    map_fini (&f->keys);
    map_fini (&f->links);
}

static void matrix_fold_forget (struct matrix_fold *f)
{
    map_clear (&f->keys);
    map_clear (&f->links);
    texts_clear (&f->texts);
    if (f->taken > BYTES_KEPT)
        give_room (f);
    f->room->left += f->taken;
    f->taken = 0;
    f->n = 0;
}

void matrix_fold_destroy (struct matrix_fold *f)
{
    if (!f)
        return;
    give_room (f);
    f->room->left += f->taken;
    free (f);
}

static const char *text_at (const struct matrix_fold *f, uint32_t text)
{
    return text == TEXTS_NONE ? NULL : texts_at (&f->texts, text);
}

static bool same_text (const struct matrix_fold *f, uint32_t text,
                       const char *s, size_t n)
{
    return texts_size (&f->texts, text) == n &&
           memcmp (texts_at (&f->texts, text), s, n) == 0;
}

/* Find or add a text, and return its number. */
static int add_text (struct matrix_fold *f, const char *s, size_t n,
                     uint32_t *ret)
{
    uint32_t before = f->texts.map.n;

    *ret = texts_intern (&f->texts, s, n);
    if (*ret == TEXTS_NONE)
        return -ENOMEM;
    return *ret == before && !take_room (f, n + 1 + TEXT_BYTES) ? -E2BIG : 0;
}

/* The kind is the leftmost of these words in the lower-cased name; at the same
 * position the first in the list, so reduceScatter is a "reduce".
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
        if (!strchr ("sribaSRIBA", *p))
            continue;           // no word begins with this letter
        for (size_t w = 0; w < sizeof (words) / sizeof (words[0]); w++) {
            if (words[w][0] == (*p | 32) &&
                strncasecmp (p, words[w], strlen (words[w])) == 0) {
                (void)snprintf (out, max, "%s", words[w]);
                return;
            }
        }
    }
    (void)snprintf (out, max, "%.*s", (int)n, op);
}

/* The number of a pair, in the order of first appearance. */
static int number_of (struct matrix_fold *f, struct map *m, uint32_t a,
                      uint32_t b, uint32_t *ret)
{
    const struct pair *p;
    bool is_new;

    if (!(p = map_put (m, &(struct pair){ a, b }, &is_new)))
        return -ENOMEM;
    *ret = (uint32_t)(p - (const struct pair *)m->records);
    return is_new && !take_room (f, KEY_BYTES) ? -E2BIG : 0;
}

/* Set the texts of an op: those of the last record if it has the same op, since
 * the links of an op are adjacent.
 */
static int take_op (struct matrix_fold *f, const char *op, struct record *r)
{
    const char *group = strrchr (op, '@');
    size_t n = group ? (size_t)(group - op) : strlen (op), ngroup;
    const struct record *last = f->n > 0 ? &f->records[f->n - 1] : NULL;
    char kind[KIND_MAX];
    int rc;

    group = group ? group + 1 : "";
    ngroup = strlen (group);
    if (last && same_text (f, last->op, op, n) &&
        same_text (f, last->group, group, ngroup)) {
        r->kind = last->kind;
        r->group = last->group;
        r->op = last->op;
        r->key_number = last->key_number;
        return 0;
    }
    matrix_op_kind (op, kind, sizeof (kind));
    if ((rc = add_text (f, kind, strlen (kind), &r->kind)) < 0 ||
        (rc = add_text (f, group, ngroup, &r->group)) < 0 ||
        (rc = add_text (f, op, n, &r->op)) < 0)
        return rc;
    return number_of (f, &f->keys, r->kind, r->group, &r->key_number);
}

/* Set the transport, which is mostly that of the last record. */
static int take_transport (struct matrix_fold *f, const char *transport,
                           struct record *r)
{
    const struct record *last = f->n > 0 ? &f->records[f->n - 1] : NULL;
    size_t n = strlen (transport);

    if (!last || last->transport == TEXTS_NONE ||
        !same_text (f, last->transport, transport, n))
        return add_text (f, transport, n, &r->transport);
    r->transport = last->transport;
    return 0;
}

/* Set the texts of a record, and its kind, group and link. */
static int take_texts (struct matrix_fold *f, const struct matrix_record *in,
                       struct record *r)
{
    int rc;

    if ((rc = take_op (f, in->op, r)) < 0 ||
        (rc = add_text (f, in->link, strlen (in->link), &r->link)) < 0 ||
        (in->transport && (rc = take_transport (f, in->transport, r)) < 0))
        return rc;
    return number_of (f, &f->links, r->key_number, r->link, &r->link_number);
}

int matrix_fold_add (struct matrix_fold *f, const struct matrix_record *in)
{
    struct record r = { .size_mb = in->size_mb, .time_ms = in->time_ms,
                        .bandwidth = in->bandwidth,
                        .transport = TEXTS_NONE,
                        .index = (uint32_t)f->n };
    int rc;

    if (f->n == MATRIX_FOLD_RECORDS_MAX ||
        !take_room (f, sizeof (r) + SORT_OF_RECORD))
        return -E2BIG;
    if ((rc = take_texts (f, in, &r)) < 0)
        return rc;
    return vec_push (&f->records, &f->n, &r, sizeof (r));
}

/* Order records by kind and group, within these by link, then by decreasing
 * bandwidth.  Groups and links are in the order of appearance.
 */
static int by_place (const void *pa, const void *pb)
{
    const struct record *a = pa, *b = pb;

    if (a->key_number != b->key_number)
        return a->key_number < b->key_number ? -1 : 1;
    if (a->link_number != b->link_number)
        return a->link_number < b->link_number ? -1 : 1;
    if (a->bandwidth > b->bandwidth || a->bandwidth < b->bandwidth)
        return a->bandwidth > b->bandwidth ? -1 : 1;
    return a->index < b->index ? -1 : 1;
}

struct place {
    const char *name;
    size_t least;               // minimum number of records
};

/* The order is that of the profiler. */
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

static struct matrix_row total_row (const struct matrix_fold *f,
                                    const struct record *r, size_t n)
{
    struct matrix_row row = { .op = "",
                              .transport = text_at (f, r[0].transport) };

    for (size_t i = 0; i < n; i++) {
        row.size_mb += r[i].size_mb;
        row.time_ms += r[i].time_ms;
    }
    if (fabs (row.time_ms) >= NEARLY_ZERO)
        row.bandwidth = units_round4 (row.size_mb / row.time_ms);
    return row;
}

/* The receiver of rows. */
struct taker {
    const struct matrix_fold *f;
    int (*row) (void *arg, const struct matrix_row *r);
    void *arg;
};

static int link_row (const struct taker *t, const struct record *r, size_t n,
                     size_t place)
{
    char kind[KIND_MAX + 16];
    struct matrix_row out;

    if (n < places[place].least)
        return 0;
    if (place == PLACE_TOTAL) {
        out = total_row (t->f, r, n);
    } else {
        const struct record *m = &r[place_index (place, n)];

        out = (struct matrix_row){ .op = text_at (t->f, m->op),
                                   .transport = text_at (t->f, m->transport),
                                   .size_mb = m->size_mb,
                                   .time_ms = m->time_ms,
                                   .bandwidth = m->bandwidth };
    }
    // a kind is shorter than KIND_MAX
    (void)stpcpy (stpcpy (stpcpy (kind, text_at (t->f, r->kind)), "-"),
                  places[place].name);
    out.kind = kind;
    out.group = text_at (t->f, r->group);
    out.link = text_at (t->f, r->link);
    return t->row (t->arg, &out);
}

/* Make all rows of a kind and group, sorted by place and link. */
static int key_rows (const struct taker *t, const struct record *r, size_t n)
{
    int rc = 0;

    for (size_t place = 0; place < PLACES; place++) {
        for (size_t i = 0, end; i < n && rc == 0; i = end) {
            for (end = i + 1; end < n; end++) {
                if (r[end].link_number != r[i].link_number)
                    break;
            }
            rc = link_row (t, r + i, end - i, place);
        }
    }
    return rc;
}

int matrix_fold_rows (struct matrix_fold *f,
                      int (*row) (void *arg, const struct matrix_row *r),
                      void *arg)
{
    const struct taker t = { f, row, arg };
    int rc = 0;

    if (f->n > 1)
        qsort (f->records, f->n, sizeof (*f->records), by_place);
    for (size_t i = 0, end; i < f->n && rc == 0; i = end) {
        for (end = i + 1; end < f->n; end++) {
            if (f->records[end].key_number != f->records[i].key_number)
                break;
        }
        rc = key_rows (&t, f->records + i, end - i);
    }
    matrix_fold_forget (f);
    return rc;
}

bool matrix_row_put (struct batch *b, const struct matrix_row *m)
{
    const char *dash = strchr (m->link, '-');
    uint32_t n = b->nrows;

    if (!dash)
        return false;
    b->text[MATRIX_OP][n] = batch_string (b, m->kind);
    b->text[MATRIX_GROUP][n] = batch_string (b, m->group);
    b->text[MATRIX_SRC][n] = batch_text (b, m->link,
                                         (size_t)(dash - m->link));
    b->text[MATRIX_DST][n] = batch_string (b, dash + 1);
    b->text[MATRIX_TRANSPORT][n] = batch_string (b, m->transport);
    b->real[MATRIX_SIZE][n] = m->size_mb;
    b->real[MATRIX_TIME][n] = m->time_ms;
    b->real[MATRIX_BANDWIDTH][n] = m->bandwidth;
    return true;
}
