/* aggregator/postgres/result_rows.c - rows of a job's result, into COPY */
#include "postgres/result_rows.h"

#include "postgres/sum_rows.h"

#include <errno.h>
#include <string.h>

// what is read, and where its columns are (aggregator/builder)
static const char *const tables[RESULT_TABLES] = {
    "Roster", "Capture", "Finding", "StepTraceTime", "Link", "GroupTime",
#define GROUPS "CommGroup"
#define MEMBERS "CommGroupMember"
#define LEFT_OUT "LeftOut"
    GROUPS, MEMBERS, LEFT_OUT,
};
enum { STEP_STEP = 1, STEP_RANK = 11, STEP_CAPTURE };
enum { GROUP_NAME = 1, GROUP_PG_NAME = 3, GROUP_TYPE, GROUP_SIZE };
enum { MEMBER_GROUP };
enum { LEFT_CAPTURE, LEFT_STEP = 2 };

int result_open (struct result *r, struct page_source *pages)
{
    int rc;

    *r = (struct result){ .pages = pages };
    rc = page_source_roots (pages, tables, RESULT_TABLES, r->roots, NULL);
    for (size_t i = 0; i < RESULT_TABLES && rc == 0; i++)
        rc = r->roots[i] == 0 ? -EBADMSG : 0;
    if (rc < 0)
        result_close (r);
    return rc;
}

void result_close (struct result *r)
{
    page_source_close (r->pages);
    r->pages = NULL;
}

static uint32_t root_of (const struct result *r, const char *table)
{
    size_t i = 0;

    while (strcmp (tables[i], table) != 0)
        i++;
    return r->roots[i];
}

/* Call 'fn' with each row of a table, until it fails.  *failed: why the table could
 * not be read to its end.
 */
static int each_row (const struct result *r, const char *table,
                     int (*fn) (void *arg, const struct page_scan *row),
                     void *arg, int *failed)
{
    struct page_scan row;
    int rc = 0;

    *failed = page_scan_begin (&row, r->pages, root_of (r, table), INT64_MIN,
                               INT64_MAX, NULL);
    while (rc == 0 && *failed == 0) {
        *failed = page_scan_next (&row, NULL);
        if (*failed != 1)
            break;
        *failed = 0;
        rc = fn (arg, &row);
    }
    page_scan_end (&row);
    return rc;
}

/* The same for 'fn' that only reads: why there were not all rows. */
static int read_each (const struct result *r, const char *table,
                      int (*fn) (void *arg, const struct page_scan *row),
                      void *arg)
{
    int failed, rc = each_row (r, table, fn, arg, &failed);

    return rc < 0 ? rc : failed;
}

/* Rows on their way. */
struct put {
    const struct result *from;
    const struct facts_table *t;
    const struct buf *begins;
    struct copy_rows *to;
    struct err *err;
};

static int put_row (void *arg, const struct page_scan *row)
{
    const struct put *x = arg;

    copy_rows_again (x->to, x->begins);
    copy_rows_page (x->to, row, x->t->at, x->t->types, strlen (x->t->types));
    return copy_rows_flush (x->to, x->err);
}

/* ---- steps that count: view StepCounted ---- */

#define ANY_STEP INT64_C (-1)

struct left_out {
    struct map list;            // of struct left
    struct texts steps;         // by numbers
};

struct left {
    int64_t capture, step;
};

struct steps {
    struct put put;
    struct left_out out;
};

static int take_left_out (void *arg, const struct page_scan *row)
{
    struct left_out *out = arg;
    struct left one = { .step = ANY_STEP };
    const char *step;
    bool is_new;
    size_t n;

    if (!page_scan_is_int (row, LEFT_CAPTURE, &one.capture))
        return 0;
    if ((step = page_scan_text (row, LEFT_STEP, &n))) {
        one.step = texts_intern (&out->steps, step, n);
        if (one.step == TEXTS_NONE)
            return -ENOMEM;
    }
    return map_put (&out->list, &one, &is_new) ? 0 : -ENOMEM;
}

static bool is_left_out (const struct left_out *out,
                         const struct page_scan *row)
{
    struct left one = { .step = ANY_STEP };
    const char *step;
    size_t n;

    if (out->list.n == 0 || !page_scan_is_int (row, STEP_CAPTURE, &one.capture))
        return false;
    if (map_get (&out->list, &one))
        return true;
    step = page_scan_text (row, STEP_STEP, &n);
    one.step = step ? texts_find (&out->steps, step, n) : TEXTS_NONE;
    return map_get (&out->list, &one);
}

static int put_step (void *arg, const struct page_scan *row)
{
    struct steps *x = arg;
    int64_t rank;

    return page_scan_is_int (row, STEP_RANK, &rank) &&
                   !is_left_out (&x->out, row)
               ? put_row (&x->put, row) : 0;
}

static int put_steps (const struct put *put, int *failed)
{
    struct steps x = { *put, { .list = MAP (struct left, 2) } };
    int rc = 0;

    *failed = read_each (put->from, LEFT_OUT, take_left_out, &x.out);
    if (*failed == 0)
        rc = each_row (put->from, put->t->table, put_step, &x, failed);
    map_fini (&x.out.list);
    texts_fini (&x.out.steps);
    return rc;
}

/* ---- sums ---- */

static int read_sums (const struct put *x, size_t keys, struct sum_rows *s)
{
    const struct facts_table *t = x->t;
    const char *end = t->types + strlen (t->types);
    const struct sum_columns of = { t->at, t->types, end - t->sums, keys,
                                    t->sums };

    return sum_rows_read (s, x->from->pages, root_of (x->from, t->table), of,
                          NULL);
}

static int put_sums (const struct put *x, int *failed)
{
    const size_t keys = strlen (x->t->types) - x->t->sums;
    struct sum_rows s = { .last = { 0 } };
    int rc = 0;

    *failed = read_sums (x, keys, &s);
    for (size_t i = 0; i < sum_rows_count (&s) && rc == 0 && *failed == 0; i++) {
        copy_rows_again (x->to, x->begins);
        sum_rows_put (&s, i, x->to);
        rc = copy_rows_flush (x->to, x->err);
    }
    sum_rows_fini (&s);
    return rc;
}

/* ---- groups: view GroupKind, members, and sums ---- */

struct members {
    int64_t group, n;
};

struct groups {
    struct put put;
    struct map members;         // of struct members
    struct sum_rows sums;
};

static int count_member (void *arg, const struct page_scan *row)
{
    struct members *m, one = { .n = 0 };
    bool is_new;

    if (!page_scan_is_int (row, MEMBER_GROUP, &one.group))
        return 0;
    if (!(m = map_put (arg, &one, &is_new)))
        return -ENOMEM;
    m->n++;
    return 0;
}

static void put_column (struct copy_rows *to, const struct page_scan *row,
                        unsigned column, char type)
{
    const unsigned char at = (unsigned char)column;

    copy_rows_page (to, row, &at, &type, 1);
}

/* The name in small letters; frameworks have several for the group of all ranks. */
static void put_kind (struct copy_rows *to, const struct page_scan *row)
{
    static const char *const worlds[] = { "default_group", "default_pg",
                                          "hccl_world_group" };
    const size_t before = to->buf.size, at = before + 4;

    put_column (to, row, GROUP_PG_NAME, 't');
    for (size_t i = at; i < to->buf.size; i++) {
        uint8_t *byte = to->buf.data + i;

        *byte |= *byte >= 'A' && *byte <= 'Z' ? 0x20 : 0;
    }
    for (size_t i = 0; i < sizeof (worlds) / sizeof (worlds[0]); i++) {
        const size_t n = strlen (worlds[i]);

        if (to->buf.size != at + n ||
            memcmp (to->buf.data + at, worlds[i], n) != 0)
            continue;
        to->buf.size = before;
        copy_rows_text (to, "world", 5);
    }
}

static int put_group (void *arg, const struct page_scan *row)
{
    struct groups *x = arg;
    struct copy_rows *to = x->put.to;
    const struct members one = { .group = row->rowid };
    const struct members *m = map_get (&x->members, &one);

    copy_rows_again (to, x->put.begins);
    put_column (to, row, COPY_ROWID, 'i');
    put_column (to, row, GROUP_NAME, 't');
    put_kind (to, row);
    put_column (to, row, GROUP_TYPE, 't');
    put_column (to, row, GROUP_SIZE, 'i');
    if (m)
        copy_rows_int (to, m->n);
    else
        copy_rows_null (to);
    sum_rows_put_of (&x->sums, row->rowid, to);
    return copy_rows_flush (to, x->put.err);
}

static int put_groups (const struct put *put, int *failed)
{
    struct groups x = { .put = *put, .members = MAP (struct members, 1) };
    int rc = 0;

    *failed = read_sums (put, 1, &x.sums);
    if (*failed == 0)
        *failed = read_each (put->from, MEMBERS, count_member, &x.members);
    if (*failed == 0)
        rc = each_row (put->from, GROUPS, put_group, &x, failed);
    sum_rows_fini (&x.sums);
    map_fini (&x.members);
    return rc;
}

int result_put (const struct result *r, const struct facts_table *t,
                const struct buf *begins, struct copy_rows *to, int *failed,
                struct err *err)
{
    struct put x = { r, t, begins, to, err };

    switch (t->rows) {
    case FACTS_COUNTED:
        return put_steps (&x, failed);
    case FACTS_SUMMED:
        return put_sums (&x, failed);
    case FACTS_GROUPS:
        return put_groups (&x, failed);
    default:
        return each_row (r, t->table, put_row, &x, failed);
    }
}
