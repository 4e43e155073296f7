/* tests/unit/aggregator/service/test_job.c - what agents report, and why ranks
 * are missing */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "service/job.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static struct job job;

static int setup (void **state)
{
    (void)state;
    job_init (&job, "j");
    return 0;
}

static int teardown (void **state)
{
    (void)state;
    job_fini (&job);
    return 0;
}

static struct net_peer peer_of (unsigned n)
{
    struct net_peer p = { .size = sizeof (n) };

    memcpy (p.id, &n, sizeof (n));
    return p;
}

/* A HELLO of connection 'peer' from host 'n'. */
static struct job_agent *hello (unsigned peer, unsigned n, int64_t world_size,
                                int64_t now_ns, struct net_peer *old)
{
    struct message m = { .type = MESSAGE_HELLO, .world_size = world_size };
    struct net_peer from = peer_of (peer);

    (void)snprintf (m.host, sizeof (m.host), "host%u", n);
    (void)snprintf (m.host_key, sizeof (m.host_key), "key%u", n);
    return job_hello (&job, &from, &m, now_ns, old);
}

static int report (struct job_agent *a, int64_t rank, enum rank_phase phase,
                   int64_t status, const char *text)
{
    struct message m = { .type = MESSAGE_RANK, .rank = rank, .phase = phase,
                         .status = status };

    (void)snprintf (m.text, sizeof (m.text), "%s", text);
    return job_rank (&job, a, &m);
}

static void check_reason (struct roster *r, int64_t rank, const char *want)
{
    struct roster_entry *e = roster_at (r, rank);

    assert_non_null (e);
    if (!want)
        assert_null (e->reason);
    else if (!e->reason || !strstr (e->reason, want))
        fail_msg ("rank %d: \"%s\", not \"%s\"", (int)rank,
                  e->reason ? e->reason : "", want);
}

/* Whoever misses a rank at 3 a.m. reads these and nothing else. */
static void test_reasons (void **state)
{
    struct net_peer old;
    struct job_agent *a;
    struct roster r;

    (void)state;
    a = hello (0, 0, 7, 0, &old);
    assert_int_equal (report (a, 0, RANK_ENDED, 0, ""), 0);
    assert_int_equal (report (a, 1, RANK_ENDED, 0, "no capture in /tmp"), 0);
    assert_int_equal (job_done (&job, a, "", 0), 0);
    a = hello (1, 1, 7, 0, &old);
    assert_int_equal (report (a, 2, RANK_RUNNING, 0, ""), 0);
    assert_int_equal (report (a, 3, RANK_ENDED, 0, ""), 0);
    a = hello (2, 2, 7, 0, &old);
    assert_int_equal (report (a, 4, RANK_RUNNING, 0, ""), 0);
    assert_int_equal (report (a, 5, RANK_ENDED, 0, ""), 0);
    a->heard_ns = 50 * NS_PER_S;
    assert_non_null (job_lose_silent (&job, 100 * NS_PER_S, 60 * NS_PER_S));
    assert_null (job_lose_silent (&job, 100 * NS_PER_S, 60 * NS_PER_S));
    roster_init (&r);
    assert_int_equal (roster_expect_world (&r, 7, "test"), 0);
    assert_int_equal (job_fill_roster (&job, &r), 0);
    check_reason (&r, 0, NULL);
    check_reason (&r, 1, "no capture in /tmp");
    check_reason (&r, 2, "the agent of its host fell silent");
    check_reason (&r, 3, "fell silent before it had delivered everything");
    check_reason (&r, 4, "it is not known whether its COMMAND has ended");
    check_reason (&r, 5, "had not delivered everything when the deadline "
                         "passed");
    check_reason (&r, 6, "or its host could not reach the aggregator");
    job.resumed = true;
    roster_set_text (&roster_at (&r, 6)->host, "host3");
    assert_int_equal (job_fill_roster (&job, &r), 0);
    check_reason (&r, 6, "it has not reported since the aggregator restarted: its "
                         "undelivered captures are still on host host3: "
                         "rollcall wait ");
    assert_string_equal (roster_at (&r, 3)->host, "host1");
    roster_fini (&r);
}

/* MPI's word of a rank stays when its agent, started again, does not know it
 * yet, and its world counts; a smaller one is that of some other program.
 */
static void test_mpi (void **state)
{
    struct message m = { .type = MESSAGE_RANK, .rank = 2,
                         .phase = RANK_RUNNING };
    const struct job_rank *r;
    struct net_peer old;
    struct job_agent *a;

    (void)state;
    a = hello (1, 0, 4, 0, &old);
    assert_int_equal (report (a, 1, RANK_RUNNING, 0, ""), 0);
    m.mpi_rank = 3;
    m.mpi_size = 8;
    assert_int_equal (job_rank (&job, a, &m), 0);
    assert_int_equal (job.world_size, 8);
    assert_int_equal (report (a, 2, RANK_ENDED, 0, ""), 0);
    r = job_find_rank (&job, 2);
    assert_non_null (r);
    assert_true (r->mpi_rank == 3 && r->mpi_size == 8 && !r->noted);
    m.rank = m.mpi_rank = 1;
    m.mpi_size = 2;
    assert_int_equal (job_rank (&job, a, &m), 0);
    assert_int_equal (job.world_size, 8);
    assert_int_equal (job_find_rank (&job, 1)->mpi_size, 2);
    assert_null (job_find_rank (&job, 0));
    assert_null (job_find_rank (&job, 3));
}

/* A restarted agent takes the place of the former: one host, one agent. */
static void test_restarted (void **state)
{
    struct net_peer old, first = peer_of (1);
    struct job_agent *a;

    (void)state;
    a = hello (1, 0, 0, 0, &old);
    assert_int_equal (job_done (&job, a, "all", 0), 0);
    a = hello (1, 0, 0, 0, &old);       // it repeats itself
    assert_int_equal (old.size, 0);
    assert_true (a->done);
    a = hello (2, 0, 0, 0, &old);
    assert_int_equal (old.size, first.size);
    assert_memory_equal (old.id, first.id, first.size);
    assert_false (a->done);             // it may have more
    assert_int_equal (job.nagents, 1);
    assert_memory_not_equal (a->peer.id, first.id, first.size);
}

/* Whoever looks for a host of the roll knows it by the name that it has now. */
static void test_renamed (void **state)
{
    struct message m = { .type = MESSAGE_HELLO, .host = "localhost",
                         .host_key = "key0" };
    struct net_peer from = peer_of (1), old;
    struct job_agent *a;

    (void)state;
    a = job_hello (&job, &from, &m, 0, &old);
    a->clock_known = a->clock_noted = true;
    a = job_hello (&job, &from, &m, 1, &old);
    assert_true (a->clock_noted);
    (void)strcpy (m.host, "node7");
    from = peer_of (2);
    a = job_hello (&job, &from, &m, 2, &old);
    assert_int_equal (job.nagents, 1);
    assert_string_equal (a->host, "node7");
    assert_false (a->clock_noted);      // the ledger has the old name
}

/* A job is over when all have ended and delivered, not before. */
static void test_over (void **state)
{
    struct net_peer old;
    struct job_agent *a;

    (void)state;
    assert_false (job_ended (&job) || job_delivered (&job));
    a = hello (0, 0, 2, 0, &old);
    assert_int_equal (report (a, 0, RANK_ENDED, 0, ""), 0);
    assert_int_equal (job_done (&job, a, "", 0), 0);
    assert_true (job_ended (&job) && job_delivered (&job));
    assert_false (job_all_reported (&job));     // rank 1 may still start
    assert_int_equal (report (a, 1, RANK_RUNNING, 0, ""), 0);
    assert_true (job_all_reported (&job));
    assert_false (job_ended (&job) || job_delivered (&job));
    assert_null (job_failed (&job));
    assert_int_equal (report (a, 1, RANK_ENDED, -1, "on request"), 0);
    assert_null (job_failed (&job));
    assert_int_equal (report (a, 0, RANK_ENDED, 3, "exit status 3"), 0);
    assert_int_equal (job_failed (&job)->rank, 0);
}

/* Whatever agents send, memory has an end; repetitions cost nothing. */
static void test_caps (void **state)
{
    struct net_peer old;
    struct job_agent *a = NULL;
    char text[32];

    (void)state;
    for (unsigned i = 0; i < JOB_AGENTS_MAX; i++)
        assert_non_null ((a = hello (i, i, 0, 0, &old)));
    assert_null (hello (JOB_AGENTS_MAX, JOB_AGENTS_MAX, 0, 0, &old));
    assert_non_null (hello (7, 7, 0, 0, &old));
    for (int64_t i = 0; i < capture_world_max; i++)
        assert_int_equal (report (a, i, RANK_RUNNING, 0, ""), 0);
    assert_int_equal (report (a, capture_world_max, RANK_RUNNING, 0, ""), -E2BIG);
    assert_int_equal (report (a, 5, RANK_ENDED, 0, "again"), 0);
    for (unsigned i = 0; i < JOB_NOTES_MAX; i++) {
        (void)snprintf (text, sizeof (text), "note %u", i);
        assert_int_equal (job_note (&job, text), 0);
    }
    assert_int_equal (job_note (&job, "one more"), -E2BIG);
    assert_int_equal (job_note (&job, "note 3"), 0);
    assert_int_equal (job.nnotes, JOB_NOTES_MAX);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown (test_reasons, setup, teardown),
        cmocka_unit_test_setup_teardown (test_mpi, setup, teardown),
        cmocka_unit_test_setup_teardown (test_restarted, setup, teardown),
        cmocka_unit_test_setup_teardown (test_renamed, setup, teardown),
        cmocka_unit_test_setup_teardown (test_over, setup, teardown),
        cmocka_unit_test_setup_teardown (test_caps, setup, teardown),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
