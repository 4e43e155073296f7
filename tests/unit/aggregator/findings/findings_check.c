/* tests/unit/aggregator/findings/findings_check.c - tables of jobs with defects,
 * and what is found in them */
#include "aggregator/findings/findings_check.h"

#include "builder/rollup.h"
#include "store/db.h"

#include <stdio.h>
#include <string.h>

int findings_setup (void **state)
{
    struct job *j = job_make ();

    assert_int_equal (rollup_links (j->db, NULL), 0);
    assert_int_equal (rollup_derive (j->db, NULL, NULL), 0);
    *state = j;
    return 0;
}

int findings_teardown (void **state)
{
    job_destroy (*state);
    return 0;
}

void ranks (struct job *j, int n, int steps)
{
    struct err err = { "" };

    if (db_execf (j->db, &err,
                  "WITH r(i) AS (SELECT 0 UNION ALL SELECT i+1 FROM r WHERE"
                  " i+1<%d) INSERT INTO Roster SELECT i, 'h'||(i/4), i, i, 1,"
                  " 'present', NULL, 0, NULL, NULL, NULL FROM r;"
                  "WITH s(i) AS (SELECT 10 UNION ALL SELECT i+1 FROM s WHERE"
                  " i+1<10+%d) INSERT INTO StepTraceTime (step, computing,"
                  " communication_not_overlapped, overlapped, free, rank)"
                  " SELECT i, 60000, 20000, 40000, 1000, rank FROM Roster"
                  " JOIN s", n, steps) < 0)
        fail_msg ("%s", err.text);
}

void links (struct job *j, const char *where)
{
    struct err err = { "" };

    if (db_execf (j->db, &err,
                  "INSERT INTO Link SELECT 'step10', NULL, s.rank, d.rank,"
                  " CASE WHEN s.host=d.host THEN 'HCCS' ELSE 'RDMA' END,"
                  " 'collective', 100, CASE WHEN %s THEN 20 ELSE 5 END, NULL,"
                  " NULL, NULL"
                  " FROM Roster s JOIN Roster d ON s.rank<>d.rank",
                  where) < 0)
        fail_msg ("%s", err.text);
}

void found (struct job *j, const struct findings_options *opt,
            const char *want)
{
    struct err err = { "" };
    sqlite3_stmt *st = NULL;
    char got[2048] = "";
    size_t used = 0;

    if (findings_derive (j->db, opt, 1 + (unsigned)(*want % 3), NULL,
                         &err) < 0)
        fail_msg ("%s", err.text);
    assert_int_equal (db_prepare (
        j->db, "SELECT kind||'|'||ifnull(rank, ifnull(step, ''))||'|'||"
               "ifnull(round(effect_ms, 2), '') FROM Finding ORDER BY id", &st,
        NULL), 0);
    while (sqlite3_step (st) == SQLITE_ROW)
        used += (size_t)snprintf (got + used, sizeof (got) - used, "%s%s",
                                  used ? " " : "",
                                  sqlite3_column_text (st, 0));
    (void)sqlite3_finalize (st);
    assert_string_equal (got, want);
    // nothing temporary is left, so that it can be done again
    assert_int_equal (db_int (j->db, "SELECT count(*) FROM temp.sqlite_master",
                              -1), 0);
}

void says (struct job *j, const char *part)
{
    sqlite3_stmt *st = NULL;

    assert_int_equal (db_prepare (j->db, "SELECT text FROM Finding", &st,
                                  NULL), 0);
    assert_int_equal (sqlite3_step (st), SQLITE_ROW);
    if (!strstr ((const char *)sqlite3_column_text (st, 0), part))
        fail_msg ("no \"%s\" in: %s", part, sqlite3_column_text (st, 0));
    (void)sqlite3_finalize (st);
}
