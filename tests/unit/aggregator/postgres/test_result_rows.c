/* tests/unit/aggregator/postgres/test_result_rows.c - rows of a result are those
 * that SQLite gives
 */
#include "aggregator/catalogue/catalogue_check.h"

#include "postgres/result_rows.h"
#include "store/db_rows.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ROWS_MAX 4000

// what the tables of results mean
static const struct {
    const char *name, *sql;
} truths[] = {
    { "roster", "SELECT rank, host, local_rank, device_id, expected, state,"
      " reason, verified, command_status, command_signal, command_ended_ns FROM"
      " Roster" },
    { "capture", "SELECT id, rank, host, device_id, name, framework, source,"
      " profiler_level, state, reason, steps, started_ns, ended_ns, raw_bytes"
      " FROM Capture" },
    { "finding", "SELECT id, kind, severity, step, rank, peer, comm_group,"
      " effect_ms, effect_percent, value, unit, baseline, text, hint FROM"
      " Finding" },
    { "rank_step", "SELECT rank, deviceId, step, computing,"
      " communication_not_overlapped, overlapped, free, stage, bubble,"
      " preparing FROM StepCounted" },
    { "link_sum", "SELECT src_rank, dst_rank, transport_type, type,"
      " sum(transit_size), sum(transit_time), sum(large_size), sum(large_time)"
      " FROM Link GROUP BY 1, 2, 3, 4" },
    { "group_sum", "SELECT g.id, g.group_name, k.kind, g.type, g.size, m.n,"
      " t.ops, t.elapse, t.wait, t.sync, t.transit FROM CommGroup g LEFT JOIN"
      " (SELECT comm_group, count(*) AS n FROM CommGroupMember GROUP BY 1) m ON"
      " m.comm_group=g.id LEFT JOIN GroupKind k ON k.comm_group=g.id LEFT JOIN"
      " (SELECT comm_group, sum(ops) AS ops, sum(elapse_time) AS elapse,"
      "  sum(wait_time) AS wait, sum(synchronization_time) AS sync,"
      "  sum(transit_time) AS transit FROM GroupTime GROUP BY 1) t ON"
      " t.comm_group=g.id" },
};

static char path[PATH_MAX];

/* Each row of a result in a root differs from all others in each column. */
static sqlite3 *make (struct root *r)
{
    struct job *j = make_result ();
    sqlite3 *db;

    run (j, "INSERT INTO Roster VALUES (7, 'n\303\244', 3, 4, 0, 'failed',"
            " 'why', 1, 5, 6, 1764000000000000001);"
            "INSERT INTO Roster (rank, host) VALUES (-9000000000, '');"
            "INSERT INTO Capture VALUES (300, 2, 'h', 4, 'n', 'f', 's', 'l',"
            " 'complete', 'why', 11, 12, 13, 14, NULL);"
            "INSERT INTO Finding VALUES (400, 'k', 'low', '3', 4, 5, 6, 7.5, 8,"
            " 9, 'ms', 10.25, 'text', 'hint', 'query', 'rule');"
            "INSERT INTO StepTraceTime VALUES (1, '9', 2, 3.5, 4, 5, 6, 7, 8, 9,"
            " 10, 11, 12), (2, '9', 2, 3.5, 4, 5, 6, 7, 8, 9, 10, 11, 13),"
            " (3, '8', 2, 3.5, 4, 5, 6, 7, 8, 9, 10, 11, 13),"
            " (4, NULL, 2, 3.5, 4, 5, 6, 7, 8, 9, 10, 11, 13),"
            " (5, '8', 2, 3.5, 4, 5, 6, 7, 8, 9, 10, NULL, 13),"
            " (6, '8', 2, 3.5, 4, 5, 6, 7, 8, 9, 10, 0, NULL),"
            " (7, NULL, 2, 3.5, 4, 5, 6, 7, 8, 9, 10, 0, 15),"
            " (8, '8', 2, 3.5, 4, 5, 6, 7, 8, 9, 10, 0, 15);"
            "INSERT INTO LeftOut VALUES (12, 11, NULL, 'rank in doubt'),"
            " (13, 11, '9', 'x'), (NULL, 0, '8', 'x'), (13, 11, '7', 'x');"
            "INSERT INTO Link VALUES ('1', 1, 2, 3, 'HCCS', 'p2p', 4, 5, 6, 7,"
            " 8), ('2', 1, 2, 3, 'HCCS', 'p2p', 40, 50, 60, 70, 80),"
            " ('2', 1, 2, 3, NULL, 'p2p', 1, NULL, 1, 1, NULL),"
            " ('2', 1, 2, 3, 'RDMA', 'p2p', 0.5, 0.25, 1, 1, 1),"
            " ('2', 1, NULL, 3, 'RDMA', 'p2p', 1, 2, 1, 1, 1);"
            "INSERT INTO CommGroup VALUES (50, 'a', 'b', 'c', 'd', 6),"
            " (51, 'a', 'b', 'Default_Group', 'd', NULL),"
            " (52, 'a', 'b', 'TP', NULL, 2), (53, NULL, NULL, NULL, NULL, NULL),"
            " (54, 'a', 'b', 'HCCL_World_Group_1', 'd', 1),"
            " (55, 'a', 'b', 'default_pg', 'd', 1),"
            " (56, 'a', 'b', 'hccl_world_group', 'd', 1);"
            "INSERT INTO CommGroupMember VALUES (50, 0, 1), (50, 1, 2),"
            " (52, 0, 3), (99, 0, 3), (NULL, 0, 3);"
            "INSERT INTO GroupTime VALUES ('1', 50, 0, 3, 4, 5.5, 6, 7),"
            " ('2', 50, 0, 30, 40, 50, 60, 70), ('2', 52, 0, 1, NULL, 2, 3, 4),"
            " ('2', 99, 0, 1, 1, 1, 1, 1)");
    run (j, "WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i+1 FROM n"
            " WHERE i<2999) INSERT INTO Roster (rank, host, state, reason)"
            " SELECT 10000+i, 'host'||i, 'present', hex(zeroblob(i)) FROM n");
    publish_job (r, j, "a");
    PRINT (path, "%s/jobs/a/cluster_analysis_output/analysis.db", r->dir);
    assert_int_equal (sqlite3_open (path, &db), SQLITE_OK);
    return db;
}

static struct result open_pages (void)
{
    struct page_source *pages;
    struct result result;

    assert_int_equal (page_source_open (path, &pages, NULL), 0);
    assert_int_equal (result_open (&result, pages), 0);
    return result;
}

/* ---- rows, in any order ---- */

struct lines {
    struct copy_rows out;
    size_t at[ROWS_MAX + 1];    // where each one begins
    size_t n;
};

static const struct lines *sorted;

static size_t size_of (size_t row)
{
    return sorted->at[row + 1] - sorted->at[row];
}

static int compare (const void *a, const void *b)
{
    const size_t x = *(const size_t *)a, y = *(const size_t *)b;
    const size_t n = size_of (x) < size_of (y) ? size_of (x) : size_of (y);
    const int by = memcmp (sorted->out.buf.data + sorted->at[x],
                           sorted->out.buf.data + sorted->at[y], n);

    return by ? by : (size_of (x) > size_of (y)) - (size_of (x) < size_of (y));
}

/* All of them, one behind the other. */
static void sort (const struct lines *l, struct buf *to)
{
    size_t *order = calloc (l->n + 1, sizeof (*order));

    assert_non_null (order);
    for (size_t i = 0; i < l->n; i++)
        order[i] = i;
    sorted = l;
    qsort (order, l->n, sizeof (*order), compare);
    buf_init (to, 64 << 20);
    for (size_t i = 0; i < l->n; i++)
        buf_put (to, l->out.buf.data + l->at[order[i]], size_of (order[i]));
    free (order);
}

static void begin_line (struct lines *l)
{
    assert_true (l->n < ROWS_MAX);
    l->at[l->n++] = l->out.buf.size;
    l->at[l->n] = l->out.buf.size;
}

/* Divide what was put, whose rows have so many fields. */
static void divide (struct lines *l, size_t fields)
{
    const struct buf all = l->out.buf;
    size_t at = 0;

    while (at < all.size) {
        begin_line (l);
        l->at[l->n - 1] = at;
        at += 1;                // what each row begins with
        for (size_t i = 0; i < fields; i++) {
            const uint8_t *p = all.data + at;
            const uint32_t n = (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 |
                               (uint32_t)p[2] << 8 | p[3];

            at += 4 + (n == UINT32_MAX ? 0 : n);
        }
        l->at[l->n] = at;
    }
    assert_int_equal (at, all.size);
}

static const char *truth_of (const char *name)
{
    for (size_t i = 0; i < sizeof (truths) / sizeof (truths[0]); i++) {
        if (strcmp (truths[i].name, name) == 0)
            return truths[i].sql;
    }
    fail_msg ("what is %s?", name);
    return NULL;
}

static size_t read_truth (sqlite3 *db, const struct facts_table *t,
                          const struct buf *begins, struct buf *to)
{
    struct lines *l = calloc (1, sizeof (*l));
    struct db_rows r = db_rows (db, NULL, truth_of (t->name));
    size_t n;

    assert_non_null (l);
    buf_init (&l->out.buf, 64 << 20);
    while (db_step (&r)) {
        begin_line (l);
        assert_int_equal (sqlite3_column_count (r.st), strlen (t->types));
        copy_rows_again (&l->out, begins);
        copy_rows_columns (&l->out, r.st, t->types, strlen (t->types));
        l->at[l->n] = l->out.buf.size;
    }
    assert_int_equal (db_end (&r), 0);
    sort (l, to);
    buf_fini (&l->out.buf);
    n = l->n;
    free (l);
    return n;
}

static struct buf sent;

int __wrap_pg_copy_put (struct pg *p, const void *data, size_t size,
                        struct err *err);

int __wrap_pg_copy_put (struct pg *p, const void *data, size_t size,
                        struct err *err)
{
    (void)p;
    (void)err;
    buf_put (&sent, data, size);
    return 0;
}

static size_t read_pages (const struct result *result,
                          const struct facts_table *t,
                          const struct buf *begins, struct buf *to)
{
    struct lines *l = calloc (1, sizeof (*l));
    size_t n;
    int failed;

    assert_non_null (l);
    buf_init (&l->out.buf, 64 << 20);
    assert_int_equal (result_put (result, t, begins, &l->out, &failed, NULL), 0);
    assert_int_equal (failed, 0);
    buf_put (&sent, l->out.buf.data, l->out.buf.size);
    buf_fini (&l->out.buf);
    l->out.buf = sent;
    buf_init (&sent, 64 << 20);
    divide (l, strlen (t->types));
    assert_int_equal (l->n, l->out.rows);
    sort (l, to);
    buf_fini (&l->out.buf);
    n = l->n;
    free (l);
    return n;
}

/* ---- tests ---- */

static void test_rows (void **state)
{
    struct root *r = *state;
    sqlite3 *db = make (r);
    struct result result = open_pages ();
    const struct buf begins = { .data = (uint8_t *)"+", .size = 1 };

    buf_init (&sent, 64 << 20);
    for (size_t i = 0; i < FACTS_TABLES; i++) {
        const struct facts_table *t = &facts_tables[i];
        struct buf truth, is;
        size_t n;

        if (t->source != FACTS_RESULT)
            continue;
        n = read_truth (db, t, &begins, &truth);
        assert_true (n > 1);
        assert_int_equal (read_pages (&result, t, &begins, &is), n);
        if (truth.size != is.size || memcmp (truth.data, is.data, is.size) != 0)
            fail_msg ("%s differs", t->name);
        buf_fini (&truth);
        buf_fini (&is);
    }
    result_close (&result);
    (void)sqlite3_close (db);
}

/* A result without a table is none. */
static void test_missing (void **state)
{
    struct root *r = *state;
    sqlite3 *db = make (r);
    struct page_source *pages;
    struct result result;

    assert_int_equal (db_exec (db, "DROP TABLE LeftOut", NULL), 0);
    (void)sqlite3_close (db);
    assert_int_equal (page_source_open (path, &pages, NULL), 0);
    assert_int_equal (result_open (&result, pages), -EBADMSG);
    assert_null (result.pages);
}

/* What cannot be read to its end is told, and is no failure of the connection. */
static void test_damaged (void **state)
{
    static const char *const tables[] = {
        "Roster", "StepTraceTime", "LeftOut", "Link", "GroupTime", "CommGroup",
        "CommGroupMember",
    };
    struct root *r = *state;
    sqlite3 *db = make (r);
    const struct buf begins = { .data = (uint8_t *)"+", .size = 1 };
    const int64_t size = db_int (db, "PRAGMA page_size", 0);
    unsigned failures;

    buf_init (&sent, 64 << 20);
    for (size_t i = 0; i < sizeof (tables) / sizeof (tables[0]); i++) {
        struct copy_rows out = { .rows = 0 };
        int64_t root = db_number (db_rows (db, NULL, "SELECT rootpage FROM "
                                           "sqlite_schema WHERE name=?1",
                                           tables[i]), 0);
        uint8_t kind = 0, none = 0x77;
        struct result result;
        int fd = open (path, O_RDWR), failed;

        assert_int_equal (pread (fd, &kind, 1, (root - 1) * size), 1);
        assert_int_equal (pwrite (fd, &none, 1, (root - 1) * size), 1);
        result = open_pages ();
        failures = 0;
        for (size_t k = 0; k < FACTS_TABLES; k++) {
            if (facts_tables[k].source != FACTS_RESULT)
                continue;
            buf_init (&out.buf, 64 << 20);
            assert_int_equal (result_put (&result, &facts_tables[k], &begins,
                                          &out, &failed, NULL), 0);
            failures += failed == -EBADMSG;
            buf_fini (&out.buf);
        }
        buf_clear (&sent);
        assert_int_equal (failures, 1);
        result_close (&result);
        assert_int_equal (pwrite (fd, &kind, 1, (root - 1) * size), 1);
        (void)close (fd);
    }
    buf_fini (&sent);
    (void)sqlite3_close (db);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        ROOT_TEST (test_rows), ROOT_TEST (test_missing),
        ROOT_TEST (test_damaged),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
