/* aggregator/row_sums/capture_sums.c - sums over the rows of a capture
 *
 * This folder: sums of a result's rows in memory, group members, and traffic.
 */
#include "row_sums/capture_sums.h"

#include "base/buf.h"
#include "store/db_rows.h"
#include "row_sums/group_sums.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LARGE_MB 1.0            // below this, latency dominates
#define LAST_MAX (5u << 16)     // bytes of the texts that identify an op
#define OP_KIND \
    "CASE instr(hccl_op_name, '__') WHEN 0 THEN hccl_op_name ELSE" \
    " substr(hccl_op_name, 1, instr(hccl_op_name, '__') - 1) END"
#define LARGE(column, mb, ms) \
    "sum(CASE WHEN " mb ">=1 AND " ms ">0 THEN " column " END)"

#define PLACE ", rank INTEGER, capture INTEGER"

// What a table sums up, and how.
static const struct sums_table {
    const char *name, *columns;
    const char *again;          // the same in SQL: FROM, WHERE and GROUP BY
                                // are between the two halves
    const char *from, *group_by;
    enum table_id source;
    int ntexts, number;         // columns of the key; -1: no number
    int nsums, nvalues;
    unsigned texts[GROUP_TEXTS_MAX], values[GROUP_VALUES_MAX];
} sums_tables[SUMS_COUNT] = {
    [SUMS_OP] = {
        "OpTime", "step TEXT, kind TEXT, type TEXT, ops INTEGER, elapse_time"
        " NUMERIC, wait_time NUMERIC, max_elapse_time NUMERIC" PLACE,
        "step, " OP_KIND " AS kind, type, count(*), sum(elapse_time),"
        " sum(wait_time), max(elapse_time)", "CommAnalyzerTime",
        "step, kind, type", TABLE_TIME, 3, -1, 2, 3,
        { TIME_STEP, TIME_OP, TIME_TYPE },
        { TIME_ELAPSE, TIME_WAIT, TIME_ELAPSE } },
    [SUMS_TRANSPORT] = {
        "TransportTime", "step TEXT, transport_type TEXT, ops INTEGER,"
        " transit_size NUMERIC, transit_time NUMERIC, large_size NUMERIC,"
        " large_time NUMERIC, max_transit_time NUMERIC" PLACE,
        "step, transport_type, count(*), sum(mb), sum(ms), "
        LARGE ("mb", "mb", "ms") ", " LARGE ("ms", "mb", "ms") ", max(ms)",
        "temp.op_move", "step, transport_type", TABLE_BANDWIDTH, 2, -1, 4, 5,
        { BW_STEP, BW_TRANSPORT }, { BW_SIZE, BW_TIME, BW_SIZE, BW_TIME,
                                     BW_TIME } },
    [SUMS_PACKET] = {
        "PacketTime", "step TEXT, transport_type TEXT, package_size NUMERIC,"
        " ops INTEGER, count NUMERIC, total_duration NUMERIC" PLACE,
        "step, transport_type, package_size, count(*), sum(count),"
        " sum(total_duration)", "CommAnalyzerBandwidth",
        "step, transport_type, package_size", TABLE_BANDWIDTH, 2, BW_PACKAGE,
        2, 2, { BW_STEP, BW_TRANSPORT }, { BW_COUNT, BW_TOTAL } },
    [SUMS_FIRST] = { "LinkRow", "packets NUMERIC", .source = TABLE_COUNT },
    [SUMS_GROUP] = {
        "GroupSum", "step TEXT, group_name TEXT, ops INTEGER, elapse_time"
        " NUMERIC, wait_time NUMERIC, synchronization_time NUMERIC,"
        " transit_time NUMERIC" PLACE,
        "step, group_name, count(*), sum(elapse_time), sum(wait_time),"
        " sum(synchronization_time), sum(transit_time)", "CommAnalyzerTime",
        "step, group_name", TABLE_TIME, 2, -1, 4, 4, { TIME_STEP, TIME_GROUP },
        { TIME_ELAPSE, TIME_WAIT, TIME_SYNC, TIME_TRANSIT } },
    [SUMS_LINK] = {
        "LinkSum", "step TEXT, group_name TEXT, src_rank TEXT, dst_rank TEXT,"
        " transport_type TEXT, type TEXT, ops INTEGER, transit_size NUMERIC,"
        " transit_time NUMERIC, large_size NUMERIC, large_time NUMERIC" PLACE,
        "step, group_name, src_rank, dst_rank, transport_type, type, count(*),"
        " sum(transit_size), sum(transit_time), "
        LARGE ("transit_size", "transit_size", "transit_time") ", "
        LARGE ("transit_time", "transit_size", "transit_time"),
        "(SELECT * FROM CommAnalyzerMatrix WHERE src_rank<>dst_rank AND"
        " substr(hccl_op_name, -6)='-total')",
        "step, group_name, src_rank, dst_rank, transport_type, type",
        TABLE_MATRIX, 6, -1, 4, 4,
        { MATRIX_STEP, MATRIX_GROUP, MATRIX_SRC, MATRIX_DST, MATRIX_TRANSPORT,
          MATRIX_TYPE }, { MATRIX_SIZE, MATRIX_TIME, MATRIX_SIZE,
                           MATRIX_TIME } },
};

/* A text that was met in a column of a key. */
struct memo {
    uint32_t ref, text;         // of the batch; of the sums
};

#define MEMOS 16u               // for each column, by its reference

struct capture_sums {
    struct group_sums of[SUMS_COUNT];
    struct memo memos[SUMS_COUNT][GROUP_TEXTS_MAX][MEMOS];
    struct buf last;            // the last op and transport of a batch
    bool firsts[BATCH_ROWS];
};

const char *capture_sums_name (enum sums_id id)
{
    return sums_tables[id].name;
}

const char *capture_sums_columns (enum sums_id id)
{
    return sums_tables[id].columns;
}

/* ---- keys ---- */

/* "hcom_allReduce" of "hcom_allReduce__097_4_1" */
static size_t kind_size (const char *op, size_t n)
{
    const char *end = memmem (op, n, "__", 2);

    return end ? (size_t)(end - op) : n;
}

/* The text of a key's column in a row; most have been met.  False without
 * memory.
 */
static bool text_of (struct capture_sums *c, enum sums_id id, int i,
                     const struct batch *b, uint32_t row, uint32_t *ret)
{
    unsigned column = sums_tables[id].texts[i];
    uint32_t ref = b->text[column][row];
    struct memo *memo = &c->memos[id][i][ref % MEMOS];
    const char *s;
    size_t n;

    if (ref != memo->ref) {
        s = batch_text_at (b, ref, &n);
        if (s && id == SUMS_OP && column == TIME_OP)
            n = kind_size (s, n);
        memo->ref = ref;
        memo->text = s ? group_sums_intern (&c->of[id], s, n) : TEXTS_NONE;
        if (s && memo->text == TEXTS_NONE)
            return false;
    }
    *ret = memo->text;
    return true;
}

/* ---- which rows count ---- */

static bool same_text (const struct batch *b, unsigned column, uint32_t row)
{
    uint32_t x = b->text[column][row - 1], y = b->text[column][row];
    const char *s, *t;
    size_t n, m;

    if (x == y)
        return true;
    s = batch_text_at (b, x, &n);
    t = batch_text_at (b, y, &m);
    return s && t && n == m && memcmp (s, t, n) == 0;
}

static const unsigned op_columns[] = { BW_OP, BW_TRANSPORT, BW_GROUP, BW_STEP };

#define OP_COLUMNS (sizeof (op_columns) / sizeof (op_columns[0]))

/* Write the texts that identify a row's op and transport. */
static void name_op (struct buf *to, const struct batch *b, uint32_t row)
{
    buf_clear (to);
    for (unsigned i = 0; i < OP_COLUMNS; i++) {
        size_t n;
        const char *s = batch_text_at (b, b->text[op_columns[i]][row], &n);

        buf_printf (to, "%zu:", s ? n : SIZE_MAX);
        if (s)
            buf_put (to, s, n);
    }
}

/* Whether the row is the first of its op and transport: an op has a row for
 * each packet size, and each repeats what the op moved.
 */
static bool is_first (struct capture_sums *c, const struct batch *b,
                      uint32_t row)
{
    bool same = row > 0 || c->last.size > 0;

    if (row > 0) {
        for (unsigned i = 0; i < OP_COLUMNS && same; i++)
            same = same_text (b, op_columns[i], row);
    } else if (same) {
        struct buf now;

        buf_init (&now, LAST_MAX);
        name_op (&now, b, row);
        same = now.size == c->last.size &&
               memcmp (now.data, c->last.data, now.size) == 0;
        buf_fini (&now);
    }
    return !same;
}

/* Whether the row is the total of all that an op sent to another rank. */
static bool is_link (const struct batch *b, uint32_t row)
{
    static const char tail[] = "-total";
    size_t n, nsrc, ndst, size = sizeof (tail) - 1;
    const char *op = batch_text_at (b, b->text[MATRIX_OP][row], &n);
    const char *src = batch_text_at (b, b->text[MATRIX_SRC][row], &nsrc);
    const char *dst = batch_text_at (b, b->text[MATRIX_DST][row], &ndst);

    return op && n >= size && memcmp (op + n - size, tail, size) == 0 && src &&
           dst && (nsrc != ndst || memcmp (src, dst, nsrc) != 0);
}

static bool row_counts (struct capture_sums *c, enum sums_id id,
                        const struct batch *b, uint32_t row)
{
    if (id == SUMS_TRANSPORT)
        return c->firsts[row] = is_first (c, b, row);
    return id == SUMS_LINK ? is_link (b, row) : true;
}

/* ---- adding ---- */

static int add_row (struct capture_sums *c, enum sums_id id,
                    const struct batch *b, uint32_t row, struct err *err)
{
    const struct sums_table *t = &sums_tables[id];
    double number = t->number < 0 ? 0 : b->real[t->number][row];
    uint32_t texts[GROUP_TEXTS_MAX];
    double values[GROUP_VALUES_MAX];

    for (int i = 0; i < t->ntexts; i++) {
        if (!text_of (c, id, i, b, row, &texts[i]))
            return err_set (err, ENOMEM, "no memory for sums");
    }
    for (int i = 0; i < t->nvalues; i++)
        values[i] = b->real[t->values[i]][row];
    if ((id == SUMS_TRANSPORT || id == SUMS_LINK) &&
        !(values[0] >= LARGE_MB && values[1] > 0))
        values[2] = values[3] = (double)NAN;
    return group_sums_add (&c->of[id], texts, number, values, err);
}

static void forget_memos (struct capture_sums *c)
{
    struct memo *all = &c->memos[0][0][0];

    for (size_t i = 0; i < sizeof (c->memos) / sizeof (*all); i++)
        all[i] = (struct memo){ BATCH_NULL_TEXT, TEXTS_NONE };
}

int capture_sums_add (struct capture_sums *c, const struct batch *b,
                      struct err *err)
{
    int rc = 0;

    forget_memos (c);           // references are the batch's own
    for (unsigned id = 0; id < SUMS_COUNT; id++) {
        if (sums_tables[id].source != b->table)
            continue;
        for (uint32_t i = 0; i < b->nrows && rc == 0; i++)
            rc = row_counts (c, id, b, i) ? add_row (c, id, b, i, err) : 0;
    }
    if (b->table == TABLE_BANDWIDTH && b->nrows > 0 && rc == 0) {
        name_op (&c->last, b, b->nrows - 1);
        if (c->last.failed)
            rc = err_set (err, ENOMEM, "no memory for sums");
    }
    return rc;
}

const bool *capture_sums_firsts (const struct capture_sums *c)
{
    return c->firsts;
}

void capture_sums_forget (struct capture_sums *c, enum table_id table)
{
    for (unsigned id = 0; id < SUMS_COUNT; id++) {
        if (table == TABLE_COUNT || sums_tables[id].source == table)
            group_sums_clear (&c->of[id]);
    }
    if (table == TABLE_COUNT || table == TABLE_BANDWIDTH)
        buf_clear (&c->last);
}

/* ---- rows of sums ---- */

uint32_t capture_sums_sort (struct capture_sums *c, enum sums_id id)
{
    group_sums_sort (&c->of[id]);
    return c->of[id].sums.n;
}

unsigned capture_sums_row (const struct capture_sums *c, enum sums_id id,
                           uint32_t row, struct page_value *ret)
{
    const struct sums_table *t = &sums_tables[id];
    const struct group_sums *g = &c->of[id];
    const struct group_sum *s = map_at (&g->sums, row);
    unsigned n = 0;

    for (int i = 0; i < t->ntexts; i++) {
        uint32_t x = s->texts[i];

        ret[n++] = x == TEXTS_NONE
                       ? page_null ()
                       : page_text (texts_at (&g->texts, x),
                                    (uint32_t)texts_size (&g->texts, x));
    }
    if (t->number >= 0)
        ret[n++] = page_numeric (s->number);
    ret[n++] = page_int (s->rows);
    for (int i = 0; i < t->nvalues; i++)
        ret[n++] = page_numeric (s->values[i]);
    return n;
}

/* ---- again ---- */

/* Find what each op moved by each transport, for the first rows and the sums of
 * transports.
 */
static int find_firsts_again (sqlite3 *db, const char *captures,
                              struct err *err)
{
    return db_execf (db, err, "DELETE FROM main.LinkRow WHERE NOT EXISTS"
                     " (SELECT 1 FROM main.CommAnalyzerBandwidth b WHERE"
                     " b.rowid=LinkRow.rowid AND b.capture NOT IN (%s));"
                     "CREATE TEMP TABLE op_move AS SELECT min(rowid) AS first,"
                     " sum(count) AS packets, step, transport_type,"
                     " max(transit_size) AS mb, max(transit_time) AS ms, rank,"
                     " capture FROM main.CommAnalyzerBandwidth WHERE capture IN"
                     " (%s) GROUP BY capture, step, group_name, hccl_op_name,"
                     " transport_type;"
                     "INSERT INTO main.LinkRow (rowid, packets) SELECT first,"
                     " packets FROM temp.op_move ORDER BY 1", captures,
                     captures);
}

int capture_sums_again (sqlite3 *db, const char *captures, bool links,
                        struct err *err)
{
    int rc = find_firsts_again (db, captures, err);

    for (unsigned id = 0; id < SUMS_COUNT && rc == 0; id++) {
        const struct sums_table *t = &sums_tables[id];

        if (!t->again || (id == SUMS_LINK && !links))
            continue;
        rc = db_execf (db, err, "DELETE FROM main.%s WHERE capture IN (%s);"
                       "INSERT INTO main.%s SELECT %s, rank, capture FROM %s"
                       " WHERE capture IN (%s) GROUP BY capture, %s", t->name,
                       captures, t->name, t->again, t->from, captures,
                       t->group_by);
    }
    return rc < 0 ? rc : db_exec (db, "DROP TABLE temp.op_move", err);
}

/* ---- life ---- */

struct capture_sums *capture_sums_create (void)
{
    struct capture_sums *c = calloc (1, sizeof (*c));

    if (!c)
        return NULL;
    for (unsigned id = 0; id < SUMS_COUNT; id++) {
        c->of[id].ntexts = sums_tables[id].ntexts;
        c->of[id].nsums = sums_tables[id].nsums;
        c->of[id].nvalues = sums_tables[id].nvalues;
    }
    buf_init (&c->last, LAST_MAX);
    return c;
}

void capture_sums_destroy (struct capture_sums *c)
{
    if (!c)
        return;
    for (unsigned id = 0; id < SUMS_COUNT; id++)
        group_sums_fini (&c->of[id]);
    buf_fini (&c->last);
    free (c);
}
