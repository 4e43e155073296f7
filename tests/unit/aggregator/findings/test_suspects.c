/* tests/unit/aggregator/findings/test_suspects.c - whose raw files say why */
#include "aggregator/findings/job_check.h"

#include "findings/suspects.h"
#include "store/db.h"

#include <errno.h>
#include <string.h>

static int setup (void **state)
{
    struct job *j = job_make ();

    // two hosts of four; rank r computes for 100+r ms
    run (j, "WITH r(i) AS (SELECT 0 UNION ALL SELECT i+1 FROM r WHERE i<7)"
            " INSERT INTO Roster SELECT i, 'h'||(i/4), i%4, i%4, 1, 'present',"
            " NULL, 0, NULL, NULL, NULL FROM r;"
            "INSERT INTO StepTraceTime (step, computing, rank) SELECT 1,"
            " 100000+rank*1000, rank FROM Roster");
    *state = j;
    return 0;
}

static int teardown (void **state)
{
    job_destroy (*state);
    return 0;
}

static void find (struct job *j, const char *want)
{
    int64_t ranks[SUSPECTS_MAX + 1];
    char got[256] = "";
    size_t n, used = 0;

    run (j, "COMMIT");
    assert_int_equal (suspects_find (j->path, ranks, &n, NULL), 0);
    run (j, "BEGIN");
    for (size_t i = 0; i < n; i++)
        used += (size_t)snprintf (got + used, sizeof (got) - used, "%s%lld",
                                  i ? " " : "", (long long)ranks[i]);
    assert_string_equal (got, want);
}

static void test_none (void **state)
{
    find (*state, "");
    run (*state, "INSERT INTO Finding (id, kind, severity) VALUES"
                 " (1, 'jitter', 'low')");
    find (*state, "");
}

/* The most serious first, each once; and one of the same place elsewhere. */
static void test_named (void **state)
{
    run (*state, "INSERT INTO Finding (id, kind, severity, rank, peer) VALUES"
                 " (1, 'slow_rank', 'high', 5, NULL),"
                 " (2, 'slow_link', 'low', 2, 5), (3, 'x', 'low', 2, 7)");
    find (*state, "5 2 7 1");
}

/* Without one at that place, the median of the others. */
static void test_no_other_place (void **state)
{
    run (*state, "INSERT INTO Finding (id, kind, severity, rank, peer) VALUES"
                 " (1, 'slow_rank', 'high', 5, 1)");
    find (*state, "5 1 3");             // of 0 2 3 4 6 7
}

/* The median of those at the place. */
static void test_median (void **state)
{
    run (*state, "INSERT INTO Finding (id, kind, severity, rank) VALUES"
                 " (1, 'slow_rank', 'high', 5);"
                 "UPDATE Roster SET local_rank=1 WHERE rank IN (0, 3, 6)");
    find (*state, "5 1");               // of 0 1 3 6
    run (*state, "UPDATE StepTraceTime SET computing=1 WHERE rank=6");
    find (*state, "5 0");
    run (*state, "UPDATE Roster SET state='missing' WHERE rank IN (0, 1)");
    find (*state, "5 6");
}

/* A job in which everything is slow is not gathered as a whole. */
static void test_many (void **state)
{
    run (*state, "INSERT INTO Finding (id, kind, severity, rank, peer) SELECT"
                 " rank+1, 'slow_link', 'high', rank, rank+8 FROM Roster");
    find (*state, "0 8 1 9 2 10 3 11");
}

static void test_no_result (void **state)
{
    int64_t ranks[SUSPECTS_MAX + 1];
    size_t n = 1;

    (void)state;
    assert_int_equal (suspects_find ("/nonexistent", ranks, &n, NULL),
                      -ENOENT);
    assert_int_equal (n, 0);
}

int main (void)
{
#define TEST(name) cmocka_unit_test_setup_teardown (name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST (test_none), TEST (test_named), TEST (test_no_other_place),
        TEST (test_median), TEST (test_many), TEST (test_no_result),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
