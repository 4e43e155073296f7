/* tests/unit/aggregator/job_build/test_job_roll.c - what is known of ranks beside
 * their shipments
 */
#include "aggregator/job_build/job_build_check.h"

#include <string.h>

static const struct shipped one = { "alpha", "", 1000, "a", "prof" };

static struct job_build *begin (struct root *r, struct roster *roster)
{
    struct job_build *b = NULL;
    struct err err = { "" };

    if (job_build_create (r->l, r->s, "j", 1, &b, &err) < 0)
        fail_msg ("%s", err.text);
    roster_init (roster);
    return b;
}

static void end (struct job_build *b, struct roster *roster)
{
    roster_fini (roster);
    job_build_destroy (b);
}

/* A rank of which nothing was delivered ran on a host, and its COMMAND ended there.
 */
static void test_fates (void **state)
{
    static const struct ledger_heard rank_1 = {
        .rank = 1, .host = "beta", .command = { .ns = 5, .status = 3 } };
    struct root *r = *state;
    struct roster roster;
    struct job_build *b;

    ship (r, &one);
    assert_true (ledger_set_heard (r->l, "j", &rank_1, NULL) >= 0);
    b = begin (r, &roster);
    assert_int_equal (roster_expect_world (&roster, 3, "--world-size"), 0);
    job_build_say_fates (b, &roster);
    assert_null (roster_at (&roster, 0)->host);
    assert_string_equal (roster_at (&roster, 1)->host, "beta");
    assert_int_equal (roster_at (&roster, 1)->command.status, 3);
    assert_null (roster_at (&roster, 2)->host);
    end (b, &roster);
}

/* MPI's rank of a world that is smaller than the job is a program's own. */
static void test_mpi (void **state)
{
    static const struct ledger_heard heard[] = {
        { .rank = 0, .mpi_rank = 0, .mpi_size = 1 },
        { .rank = 1, .mpi_rank = 0, .mpi_size = 2 } };
    struct root *r = *state;
    struct roster roster;
    struct job_build *b;

    ship (r, &one);
    for (int i = 0; i < 2; i++)
        assert_true (ledger_set_heard (r->l, "j", &heard[i], NULL) >= 0);
    b = begin (r, &roster);
    assert_int_equal (roster_expect_world (&roster, 2, "--world-size"), 0);
    job_roll_note (b, &roster);
    assert_int_equal (roster.nnotes, 1);
    assert_non_null (strstr (roster.notes[0], "rank 1 is rank 0 of 2 in MPI"));
    assert_null (b->items[0].mpi);
    end (b, &roster);
}

static void removed (struct root *r, int64_t rank, int64_t at_ns)
{
    struct ledger_deletion d = { .rank = rank, .newest_ns = 1, .at_ns = at_ns };

    PRINT (d.scope, "j");
    PRINT (d.job, "j");
    PRINT (d.capture, "c%lld", (long long)rank);
    PRINT (d.by, "alice");
    assert_int_equal (ledger_delete (r->l, &d, NULL), 1);
}

/* Who removed the captures of a rank is said if it has no others, and the rank is
 * one of the job.
 */
static void test_gone (void **state)
{
    struct root *r = *state;
    struct roster roster;
    struct job_build *b;

    ship (r, &one);
    removed (r, 0, 1);
    removed (r, 1, 2);
    removed (r, 9, 3);
    b = begin (r, &roster);
    assert_int_equal (roster_expect_world (&roster, 2, "--world-size"), 0);
    assert_int_equal (job_build_say_gone (b, &roster), 0);
    assert_null (roster_at (&roster, 0)->reason);
    assert_string_equal (roster_at (&roster, 1)->reason, "its captures were removed "
                         "on 1970-01-01 00:00 UTC by alice");
    assert_int_equal (roster.n, 2);
    end (b, &roster);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        ROOT_TEST (test_fates), ROOT_TEST (test_mpi), ROOT_TEST (test_gone),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
