/* tests/unit/aggregator/jobs/test_jobs_result.c - names of jobs, their order, and the
 * one that a user names
 */
#include "aggregator/jobs/divide_check.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Two jobs whose first captures are alike have two names. */
static void test_names_differ (void **state)
{
    (void)state;
    for (int k = 0; k < 3; k++) {
        struct capture *c = anonymous (add (0, 0, 0));

        (void)snprintf (c->name, sizeof (c->name), "rank_0");
        c->order_ns = NOW;
        c->world_size = 4 + k;
    }
    assert_int_equal (divide (), 3);
    for (size_t i = 0; i < 3; i++)
        assert_string_not_equal (jobs.jobs[i].name,
                                 jobs.jobs[(i + 1) % 3].name);
}

static void find (const char *what, int rc, size_t job)
{
    struct err err = { "" };
    size_t i = JOBS_NONE;

    assert_int_equal (jobs_find (&jobs, what, &i, &err), rc);
    if (rc == 0)
        assert_int_equal (i, job);
    else
        assert_string_not_equal (err.text, "");
}

static void test_find (void **state)
{
    static const char *const ids[] = { "run", "run-2", "2", "4", "5000" };

    (void)state;
    for (int i = 0; i < 5; i++) {       // the last is the newest
        struct capture *c = add (0, 100 + i, NOW + 100 * i * S);

        (void)snprintf (c->evidence.job, sizeof (c->evidence.job), "%s",
                        ids[i]);
    }
    assert_int_equal (divide (), 5);
    find ("1", 0, 0);
    find ("run", 0, 4);
    find ("run-", 0, 3);
    find ("5000", 0, 0);
    find ("50", 0, 0);
    find ("3", 0, 2);
    find ("2", -EINVAL, 0);             // that is the name of 3
    find ("4", -EINVAL, 0);
    find ("r", -EINVAL, 0);
    find ("0", -ENOENT, 0);
    find ("6", -ENOENT, 0);
    find (" 1", -ENOENT, 0);
    find ("+1", -ENOENT, 0);
    find ("-1", -ENOENT, 0);
    find ("", -ENOENT, 0);
    find ("18446744073709551617", -ENOENT, 0);
}

/* Of jobs that ran at the same time the one with more ranks comes first; else the
 * newest.
 */
static void test_larger_first (void **state)
{
    (void)state;
    for (int r = 0; r < 4; r++) {       // rank 3 of another world, 1 s longer
        struct capture *c = add (r, 100 + r, NOW + (r == 3) * S);

        c->world_size = r == 3 ? 9 : 3;
    }
    assert_int_equal (divide (), 2);
    assert_int_equal (jobs.jobs[0].nranks, 3);
    assert_int_equal (jobs.jobs[1].nranks, 1);
    captures[3].evidence.mono_start_ns += 3600 * S;     // and an hour later
    captures[3].evidence.mono_end_ns += 3600 * S;
    assert_int_equal (divide (), 2);
    assert_int_equal (jobs.jobs[0].nranks, 1);
    assert_int_equal (jobs.jobs[1].nranks, 3);
}

int main (void)
{
#define CASE(f) cmocka_unit_test_setup_teardown (f, setup, teardown)
    const struct CMUnitTest tests[] = {
        CASE (test_names_differ),
        CASE (test_find),
        CASE (test_larger_first),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
