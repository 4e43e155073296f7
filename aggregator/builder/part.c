/* aggregator/builder/part.c - one thread's share of an analysis.db */
#include "builder/part.h"

#include "base/vec.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define VALUES_MAX (TABLE_COLUMNS_MAX + 2)

_Static_assert (SUMS_COLUMNS_MAX <= VALUES_MAX, "one room for both");

struct part {
    const struct row_file *file;
    const atomic_bool *cancel;
    struct row_sink sink;
    struct page_writer *writers[TABLE_COUNT];   // of tables with rows
    struct page_writer *sums_writers[SUMS_COUNT];       // the same
    struct capture_sums *sums;
    const struct select_item *item;     // the current capture
    uint64_t rows[TABLE_COUNT];         // of the current capture
    uint64_t before;                    // of those before it, in the four
    struct {
        bool known;
        uint64_t row;
        double packets;         // so far; NaN: NULL
    } first;                    // the last row of LinkRow, not written yet
    struct part_group *groups;
    size_t ngroups;
};

/* ---- groups ---- */

static struct part_group *group_at (struct part *p, const char *name)
{
    struct part_group *groups;

    for (size_t i = p->ngroups; i-- > 0;) {
        if (strcmp (p->groups[i].name, name) == 0)
            return &p->groups[i];
    }
    if (p->ngroups == PART_GROUPS_MAX)
        return NULL;
    groups = vec_one_more (p->groups, p->ngroups, sizeof (*groups));
    if (!groups)
        return NULL;
    p->groups = groups;
    groups[p->ngroups] = (struct part_group){ .name = strdup (name) };
    return groups[p->ngroups].name ? &groups[p->ngroups++] : NULL;
}

/* Note which groups the ops of a batch belong to.  Texts repeat, so comparing
 * two references is enough to skip most rows.
 */
static void note_groups (struct part *p, const struct batch *b)
{
    uint32_t group = BATCH_NULL_TEXT, type = BATCH_NULL_TEXT;
    size_t n;

    for (uint32_t i = 0; i < b->nrows; i++) {
        const char *name, *kind;
        struct part_group *g;

        if (b->text[TIME_GROUP][i] == group && b->text[TIME_TYPE][i] == type)
            continue;
        group = b->text[TIME_GROUP][i];
        type = b->text[TIME_TYPE][i];
        name = batch_text_at (b, group, &n);
        kind = batch_text_at (b, type, &n);
        if (!name || !kind || !(g = group_at (p, name)))
            continue;
        if (strcmp (kind, "p2p") == 0)
            g->p2p = true;
        else
            g->collective = true;
    }
}

/* ---- the sink ---- */

/* The last two columns of each row. */
static void put_place (const struct part *p, struct page_value values[2])
{
    values[0] = p->item->rank < 0 ? page_null () : page_int (p->item->rank);
    values[1] = page_int (p->item->id);
}

static struct page_value value_at (const struct batch *b, unsigned column,
                                   uint32_t row)
{
    const char *text;
    size_t n = 0;

    if (!b->text[column])
        return page_numeric (b->real[column][row]);
    text = batch_text_at (b, b->text[column][row], &n);
    return page_text (text, (uint32_t)n);
}

static int add_rows (struct part *p, const struct batch *b, struct err *err)
{
    const unsigned n = schema_table (b->table)->ncolumns;
    int64_t rowid = p->item->first_row + (int64_t)p->rows[b->table];
    struct page_value values[VALUES_MAX];
    int rc = 0;

    put_place (p, values + n);
    for (uint32_t i = 0; i < b->nrows && rc == 0; i++) {
        for (unsigned c = 0; c < n; c++)
            values[c] = value_at (b, c, i);
        rc = page_writer_row (p->writers[b->table], rowid++, values, n + 2,
                              err);
    }
    return rc;
}

static int write_first (struct part *p, struct err *err)
{
    struct page_writer **w = &p->sums_writers[SUMS_FIRST];
    struct page_value packets = page_numeric (p->first.packets);
    int rc = 0;

    if (!p->first.known)
        return 0;
    p->first.known = false;
    if (!*w)
        rc = page_writer_open (row_file_sums (p->file, SUMS_FIRST), w, err);
    return rc < 0 ? rc
                  : page_writer_row (*w, p->item->first_row +
                                             (int64_t)p->first.row,
                                     &packets, 1, err);
}

/* Note which rows are the first of an op and transport, and how many packets
 * all of its rows have.
 */
static int note_firsts (struct part *p, const struct batch *b, struct err *err)
{
    const bool *firsts = capture_sums_firsts (p->sums);
    int rc = 0;

    for (uint32_t i = 0; i < b->nrows && rc == 0; i++) {
        double packets = b->real[BW_COUNT][i];

        if (firsts[i]) {
            rc = write_first (p, err);
            p->first.known = true;
            p->first.row = p->rows[b->table] + i;
            p->first.packets = packets;
        } else if (isnan (p->first.packets)) {
            p->first.packets = packets;
        } else if (!isnan (packets)) {
            p->first.packets += packets;
        }
    }
    return rc;
}

static int take_rows (void *arg, const struct batch *b, struct err *err)
{
    struct part *p = arg;
    enum table_id t = b->table;
    int rc = 0;

    if (atomic_load_explicit (p->cancel, memory_order_relaxed))
        return err_set (err, EINTR, "interrupted");
    if (p->rows[t] + b->nrows > p->item->rows_max)
        return err_set (err, EFBIG, "a capture has too many rows in %s",
                        schema_table (t)->name);
    if (t == TABLE_TIME)
        note_groups (p, b);
    if (!p->writers[t])
        rc = page_writer_open (row_file_table (p->file, t), &p->writers[t],
                               err);
    if (rc == 0)
        rc = add_rows (p, b, err);
    if (rc == 0)
        rc = capture_sums_add (p->sums, b, err);
    if (rc == 0 && t == TABLE_BANDWIDTH)
        rc = note_firsts (p, b, err);
    if (rc == 0)
        p->rows[t] += b->nrows;
    return rc;
}

static int forget_rows (void *arg, enum table_id table, struct err *err)
{
    struct part *p = arg;
    struct page_writer *firsts = p->sums_writers[SUMS_FIRST];
    bool some = p->rows[table] > 0;
    int rc = 0;

    p->rows[table] = 0;
    capture_sums_forget (p->sums, table);
    if (table == TABLE_BANDWIDTH) {
        p->first.known = false;
        if (firsts)
            rc = page_writer_abandon (firsts, err);
    }
    return some && rc == 0 ? page_writer_abandon (p->writers[table], err) : rc;
}

struct page_writer *part_writer (struct part *p, unsigned tree,
                                 struct err *err)
{
    unsigned sums = tree - TABLE_COUNT;
    bool rows = tree < TABLE_COUNT;
    struct page_writer **w = rows ? &p->writers[tree] : &p->sums_writers[sums];

    if (!*w)
        (void)page_writer_open (rows ? row_file_table (p->file, tree)
                                     : row_file_sums (p->file, sums), w, err);
    return *w;
}

void part_note_rows (struct part *p, const uint64_t rows[TABLE_PROFILER_COUNT])
{
    memcpy (p->rows, rows, TABLE_PROFILER_COUNT * sizeof (*rows));
}

/* ---- life ---- */

int part_create (const struct row_file *file, const atomic_bool *cancel,
                 struct part **ret, struct err *err)
{
    struct part *p = calloc (1, sizeof (*p));

    if (!p || !(p->sums = capture_sums_create ())) {
        free (p);
        return err_set (err, ENOMEM, "no memory for rows");
    }
    p->file = file;
    p->cancel = cancel;
    p->sink = (struct row_sink){ take_rows, forget_rows, p };
    *ret = p;
    return 0;
}

static void forget_groups (struct part *p)
{
    for (size_t i = 0; i < p->ngroups; i++)
        free (p->groups[i].name);
    p->ngroups = 0;
}

static int close_writers (struct page_writer **writers, unsigned n, int rc,
                          struct err *err)
{
    for (unsigned i = 0; i < n; i++) {
        int one = page_writer_close (writers[i], rc < 0 ? NULL : err);

        rc = rc < 0 ? rc : one;
        writers[i] = NULL;
    }
    return rc;
}

int part_close (struct part *p, struct err *err)
{
    int rc = close_writers (p->writers, TABLE_COUNT, 0, err);

    return close_writers (p->sums_writers, SUMS_COUNT, rc, err);
}

void part_destroy (struct part *p)
{
    if (!p)
        return;
    (void)part_close (p, NULL);
    forget_groups (p);
    free (p->groups);
    capture_sums_destroy (p->sums);
    free (p);
}

const struct row_sink *part_sink (struct part *p)
{
    return &p->sink;
}

void part_begin_capture (struct part *p, const struct select_item *item)
{
    p->before = part_rows (p);
    memset (p->rows, 0, sizeof (p->rows));
    p->item = item;
    for (unsigned i = 0; i < TABLE_COUNT; i++) {
        if (p->writers[i])
            page_writer_mark (p->writers[i]);
    }
    if (p->sums_writers[SUMS_FIRST])
        page_writer_mark (p->sums_writers[SUMS_FIRST]);
    p->first.known = false;
    capture_sums_forget (p->sums, TABLE_COUNT);
    forget_groups (p);
}

static int open_gaps (struct page_writer **writers, unsigned n,
                      struct err *err)
{
    int rc = 0;

    for (unsigned i = 0; i < n && rc == 0; i++) {
        if (writers[i])
            rc = page_writer_gap (writers[i], err);
    }
    return rc;
}

int part_gap (struct part *p, struct err *err)
{
    int rc = open_gaps (p->writers, TABLE_COUNT, err);

    return rc < 0 ? rc : open_gaps (p->sums_writers, SUMS_COUNT, err);
}

static int write_sums (struct part *p, enum sums_id id, struct err *err)
{
    uint32_t n = capture_sums_sort (p->sums, id);
    struct page_value values[VALUES_MAX];
    int rc = 0;

    if (n > 0 && !p->sums_writers[id])
        rc = page_writer_open (row_file_sums (p->file, id),
                               &p->sums_writers[id], err);
    for (uint32_t i = 0; i < n && rc == 0; i++) {
        unsigned k = capture_sums_row (p->sums, id, i, values);

        put_place (p, values + k);
        rc = page_writer_row (p->sums_writers[id],
                              p->item->first_row + i, values, k + 2, err);
    }
    return rc;
}

int part_end_capture (struct part *p, struct err *err)
{
    int rc = write_first (p, err);

    for (unsigned i = 0; i < SUMS_COUNT && rc == 0; i++)
        rc = write_sums (p, i, err);
    return rc;
}

const struct part_group *part_groups (const struct part *p, size_t *n)
{
    *n = p->ngroups;
    return p->groups;
}

void part_span (const struct part *p, struct row_span *ret)
{
    *ret = (struct row_span){ .rank = p->item->rank,
                              .first = p->item->first_row };
    memcpy (ret->rows, p->rows, sizeof (ret->rows));
}

uint64_t part_rows (const struct part *p)
{
    uint64_t n = p->before;

    for (unsigned i = 0; i < TABLE_PROFILER_COUNT; i++)
        n += p->rows[i];
    return n;
}
