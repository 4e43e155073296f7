/* tests/unit/aggregator/query/test_queries.c - what the named queries answer, and
 * which tables they read for it */
#include "aggregator/findings/job_check.h"

#include "builder/rollup.h"
#include "query/query.h"
#include "store/db_rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* All rows of a query: columns by '|', rows by newlines.  The caller frees. */
static char *answer (struct job *j, const char *name,
                     const struct query_values *v)
{
    sqlite3_stmt *st = NULL;
    struct err err = { "" };
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream (&text, &size);

    assert_non_null (f);
    if (query_prepare (j->db, query_find (name)->sql, v, &st, &err) < 0)
        fail_msg ("%s: %s", name, err.text);
    for (int64_t row = 0; sqlite3_step (st) == SQLITE_ROW &&
                          (v->rows_max == 0 || row < v->rows_max); row++) {
        for (int i = 0; i < sqlite3_column_count (st); i++) {
            const char *cell = (const char *)sqlite3_column_text (st, i);

            (void)fprintf (f, "%s%s", i ? "|" : "", cell ? cell : "-");
        }
        (void)fputc ('\n', f);
    }
    assert_int_equal (sqlite3_finalize (st), SQLITE_OK);
    assert_int_equal (fclose (f), 0);
    return text;
}

static void answers (struct job *j, const char *name,
                     const struct query_values *v, const char *want)
{
    char *got = answer (j, name, v);

    assert_string_equal (got, want);
    free (got);
}

static int64_t lines_of (const char *text)
{
    int64_t n = 0;

    for (; *text; text++)
        n += *text == '\n';
    return n;
}

static struct job *make (void)
{
    struct job *j = job_make ();

    assert_int_equal (rollup_links (j->db, NULL), 0);
    assert_int_equal (rollup_derive (j->db, NULL, NULL), 0);
    return j;
}

#define ALL { .rank = -1, .peer = -1 }

/* The first rows are the same with and without WaitTotal, and if it has fewer
 * rows than are asked for.
 */
static void test_waits (void **state)
{
    struct job *j = make ();
    struct query_values all = ALL, few = ALL, step = ALL, rank = ALL;
    char *got, *first;

    (void)state;
    run (j, "INSERT INTO CommGroup (id, pg_name) VALUES (1, 'dp'), (2, 'tp');"
            "WITH r(x) AS (VALUES (0) UNION ALL SELECT x + 1 FROM r WHERE"
            " x < 199) INSERT INTO Wait SELECT 'step'||(x / 100), 1 + x % 2,"
            " x % 7, x % 11, 1, x * 37 % 101, 0.5 FROM r;");
    got = answer (j, "waits", &all);
    run (j, "INSERT INTO WaitTotal SELECT late_rank, waiting_rank, comm_group,"
            " sum(ops), sum(wait_ms), max(clock_error_ms) FROM Wait"
            " GROUP BY 1, 2, 3 ORDER BY 5 DESC, 1, 2, 3 LIMIT 20");
    for (few.rows_max = 1; few.rows_max < 30; few.rows_max++) {
        first = answer (j, "waits", &few);
        assert_int_equal (lines_of (first), few.rows_max);
        assert_memory_equal (first, got, strlen (first));
        free (first);
    }
    free (got);
    step.step = "0";
    step.rows_max = rank.rows_max = 1;
    rank.rank = 3;
    answers (j, "waits", &step, "2|8|1|dp|1|100.0|0.5\n");
    run (j, "DELETE FROM Wait WHERE late_rank<>3 AND waiting_rank<>3");
    got = answer (j, "waits", &rank);
    assert_non_null (strstr (got, "|0.5\n"));
    assert_true (atoi (got) == 3 || atoi (strchr (got, '|') + 1) == 3);
    free (got);
    job_destroy (j);
}

static void test_groups (void **state)
{
    const struct query_values all = ALL, step = { -1, -1, "1", 0, NULL },
                              rank = { 2, -1, NULL, 0, NULL };
    struct job *j = make ();

    (void)state;
    run (j, "INSERT INTO CommGroup VALUES (1, 'a', 'i', 'dp', 'collective', 2),"
            " (2, 'b', 'k', 'tp', 'p2p', 3), (3, 'c', NULL, NULL, NULL, NULL);"
            "INSERT INTO CommGroupMember VALUES (2, 0, 10), (1, 0, 2),"
            " (2, 1, 9), (1, 1, 1), (2, 2, 2);"
            "INSERT INTO GroupTime VALUES ('step1', 1, 1, 4, 1.5, 0.25, 0, 0),"
            " ('step2', 1, 2, 3, 1, NULL, 0, 0), ('step1', 2, 2, 1, 8, 1, 0, 0)");
    answers (j, "groups", &all, "1|dp|collective|2|1,2|7|2.5|0.25|a\n"
                                "2|tp|p2p|3|2,9,10|1|8.0|1.0|b\n"
                                "3|-|-|-|-|0|-|-|c\n");
    answers (j, "groups", &step, "1|dp|collective|2|1,2|4|1.5|0.25|a\n"
                                 "2|tp|p2p|3|2,9,10|1|8.0|1.0|b\n"
                                 "3|-|-|-|-|0|-|-|c\n");
    answers (j, "groups", &rank, "1|dp|collective|2|1,2|7|2.5|0.25|a\n"
                                 "2|tp|p2p|3|2,9,10|1|8.0|1.0|b\n");
    job_destroy (j);
}

/* Values that differ, and those that some ranks lack. */
static void test_differ (void **state)
{
    const struct query_values all = ALL;
    struct job *j = make ();

    (void)state;
    run (j, "INSERT INTO CaptureInfo (kind, name, value, rank) VALUES"
            " ('config', 'a', 'x', 0), ('config', 'a', 'x', 1),"
            " ('config', 'b', 'x', 0), ('config', 'b', 'y', 1),"
            " ('config', 'c', 'x', 1), ('config', 'd', 'x', 0),"
            " ('config', 'd', NULL, 1), ('clock', 'e', '1', 0),"
            " ('config', 'f', NULL, 0), ('config', 'f', '', 1)");
    answers (j, "differ", &all, "config|b|x|1|0\nconfig|b|y|1|1\n"
                                "config|c|x|1|1\nconfig|d|-|1|1\n"
                                "config|d|x|1|0\n");
    job_destroy (j);
}

/* A query that reads one of the large tables takes the longer the more ops there
 * are; for a rank it may.
 */
static void test_reads_sums (void **state)
{
    struct job *j = make ();

    (void)state;
    for (unsigned i = 0; i < query_count; i++) {
        struct db_rows r;
        const char *detail;
        char *sql;

        if (strcmp (queries[i].name, "longest") == 0)
            continue;
        assert_true (asprintf (&sql, "EXPLAIN QUERY PLAN %s",
                               queries[i].sql) > 0);
        r = db_rows (j->db, NULL, sql);
        while (db_step (&r)) {
            detail = (const char *)sqlite3_column_text (r.st, 3);
            if (strstr (detail, "CommAnalyzer"))
                fail_msg ("%s: %s", queries[i].name, detail);
        }
        assert_int_equal (db_end (&r), 0);
        free (sql);
    }
    job_destroy (j);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_waits),
        cmocka_unit_test (test_groups),
        cmocka_unit_test (test_differ),
        cmocka_unit_test (test_reads_sums),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
