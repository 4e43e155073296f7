/* tests/unit/aggregator/jobs/test_jobs_choice.c - who goes to which job, and
 * hostile evidence
 */
#include "aggregator/jobs/divide_check.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- who goes where ---- */

/* Ranks 1 and 2 of the newer, 0 and 1 of the older one: that the two ranks 1
 * are of two jobs shows late, but rank 0 must not have gone to the newer one.
 */
static void test_nearest (void **state)
{
    static const int64_t boots[] = { 0, -100, 200 };

    (void)state;
    for (int k = 0; k < 2; k++) {
        for (int r = 0; r < 2; r++) {
            struct capture *c = add (r + k, 100 + 2 * k + r,
                                     NOW + k * 86400 * S + 1000 * (r + k));

            (void)snprintf (c->evidence.host_name,
                            sizeof (c->evidence.host_name), "h%d", r + k);
            c->evidence.boot_ns += boots[r + k] * S;
            step (c, "10");
        }
    }
    for (int turn = 0; turn < 2; turn++) {
        struct jobs_capture swap = list[0];

        assert_int_equal (divide (), 2);
        assert_true (together (0, 1) && together (2, 3) && !together (1, 2));
        list[0] = list[1];
        list[1] = swap;
    }
}

static struct capture *on_host (struct capture *c, int host, int64_t ahead)
{
    (void)snprintf (c->evidence.host_name, sizeof (c->evidence.host_name),
                    "h%d", host);
    c->evidence.boot_ns += 1000 * host * S + ahead;
    c->evidence.mono_start_ns -= 1000 * host * S;
    c->evidence.mono_end_ns -= 1000 * host * S;
    return c;
}

/* Jobs 0 and 1 of a rank on each of 'hosts', half a second apart; a host's
 * clock is so far ahead.
 */
static void two_jobs (int hosts, const int64_t ahead[])
{
    for (int k = 0; k < 2; k++) {
        for (int h = 0; h < hosts; h++) {
            struct capture *c = add (h, 100 + 10 * k + h,
                                     NOW + 1000 * hosts * S + k * S / 2 + h);

            step (on_host (c, h, ahead[h]), "10");
        }
    }
}

static void two_together (int hosts)
{
    assert_int_equal (divide (), 2);
    for (int h = 1; h < hosts; h++) {
        assert_true (together (0, (size_t)h));
        assert_true (together ((size_t)hosts, (size_t)(hosts + h)));
    }
}

/* A clock is off for all captures of its host: each by itself would be nearest
 * to the other job.
 */
static void test_clock_is_off (void **state)
{
    static const int64_t off[][4] = { { 0, 3600 * S },
                                      { 0, -3600 * S },
                                      { 3600 * S, 0, 0 },
                                      { 0, 5 * S, 0 },
                                      { 0, -S / 2, 0 },
                                      { 3600 * S, 3600 * S, 0, 0 } };
    static const int hosts[] = { 2, 2, 3, 3, 3, 4 };

    for (size_t i = 0; i < sizeof (hosts) / sizeof (hosts[0]); i++) {
        (void)teardown (state);
        (void)setup (state);
        two_jobs (hosts[i], off[i]);
        two_together (hosts[i]);
    }
}

/* Nobody knows the host, but which captures are of one worker, or rank. */
static void test_clock_of_nobody (void **state)
{
    static const int64_t off[] = { 0, 3600 * S, 0 };

    (void)state;
    two_jobs (3, off);
    for (size_t i = 0; i < n; i++) {
        struct evidence *e = &captures[i].evidence;

        anonymous (&captures[i]);
        e->pid = 100 + (int64_t)i;
    }
    two_together (3);
}

/* Right clocks of two hosts, a job on each: nobody's clock is moved so that
 * their steps meet, and they would be of either.
 */
static void test_clocks_are_right (void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        for (int r = 0; r < 2; r++) {
            struct capture *c = add (2 * k + r, 100 + 2 * k + r,
                                     NOW + 2000 * S + 7200 * k * S + r);

            step (on_host (c, k, 0), "10");
            c->world_size = r == 0 ? 4 + k : 0;
        }
    }
    assert_int_equal (divide (), 2);
    assert_true (together (0, 1) && together (2, 3));
}

/* A host that saw one of the jobs goes where the lengths of its steps fit.  As
 * the newest by its clock it is the first one of a job, until it is found to
 * contradict nobody itself.
 */
static void test_clock_saw_one_job (void **state)
{
    static const int64_t off[] = { 0, 5400 * S, 0 };

    (void)state;
    two_jobs (3, off);
    for (size_t i = 0; i < n; i++) {
        struct evidence_span *s = step (&captures[i], "11");

        s->start_ns += i < 3 ? S : S + S / 10;
        s->end_ns = s->start_ns + S / 10;
    }
    list[4] = list[5];          // only the older one was on the wrong clock
    n--;
    assert_int_equal (divide (), 2);
    assert_true (together (0, 1) && together (1, 2));
    assert_true (together (3, 4) && !together (0, 3));
    n++;
}

/* The order in which captures are found changes nothing. */
static void test_any_order (void **state)
{
    char names[2][JOBS_NAME_MAX];

    (void)state;
    for (int k = 0; k < 2; k++) {
        for (int r = 0; r < 4; r++)
            step (add (r, 100 + 10 * k + r, NOW + 100 * k * S), "10");
    }
    assert_int_equal (divide (), 2);
    for (int k = 0; k < 2; k++)
        (void)snprintf (names[k], sizeof (names[k]), "%s", jobs.jobs[k].name);
    assert_string_not_equal (names[0], names[1]);
    for (size_t i = 0; i < n / 2; i++) {
        struct jobs_capture swap = list[i];

        list[i] = list[n - 1 - i];
        list[n - 1 - i] = swap;
    }
    assert_int_equal (divide (), 2);
    for (int k = 0; k < 2; k++)
        assert_string_equal (jobs.jobs[k].name, names[k]);
}

/* ---- hostile evidence ---- */

/* It comes over the wire: any number of 64 bits may be there. */
static void test_extreme_numbers (void **state)
{
    static const int64_t v[] = { INT64_MIN, INT64_MIN + 1, -1, 0, 1,
                                 INT64_MAX - 1, INT64_MAX };
    const size_t nv = sizeof (v) / sizeof (v[0]);
    char world[CAPTURE_HASH_MAX];

    (void)state;
    capture_group_hash ("hccl_world_group", world);
    for (size_t i = 0; i < nv * nv; i++) {
        struct capture *c = add ((int64_t)i % 5, (int64_t)i % 3, NOW);
        struct evidence *e = &c->evidence;
        struct evidence_span *s = step (c, "10");

        e->boot_ns = i % 4 ? (v[i / nv] > 0 ? v[i / nv] : 0) : BOOT;
        e->mono_start_ns = v[i % nv] > 0 ? v[i % nv] : 0;
        e->mono_end_ns = i % 2 ? INT64_MAX : e->mono_start_ns;
        s->start_ns = v[i / nv];
        s->end_ns = v[i % nv];
        c->order_ns = v[i % nv];
        e->ranks.group = i % 7 ? EVIDENCE_UNKNOWN : v[i % nv];
        for (uint64_t k = 0; k < 4; k++)
            (void)evidence_note_op (e, "10", 2, world, (char *)&k, sizeof (k),
                                    v[(i + k) % nv], v[i / nv]);
    }
    assert_true (divide () > 0);
}

/* ... and a sample that says it had ops, but has none. */
static void test_empty_samples (void **state)
{
    char world[CAPTURE_HASH_MAX];

    (void)state;
    capture_group_hash ("hccl_world_group", world);
    for (int r = 0; r < 2; r++) {
        struct capture *c = add (r, 100 + r, NOW);

        step (c, "10");
        ops (c, "10", world, (uint64_t)r, 0);
        c->evidence.samples[0].n = 0;
    }
    assert_int_equal (divide (), 1);
}

/* Two captures of thousands of steps: not each with each. */
static void test_many_steps (void **state)
{
    (void)state;
    for (int64_t k = 0; k < 24; k++) {
        struct capture *c = add (0, 0, NOW + 100 * k * S);

        c->nsteps = 4096;
        c->steps = calloc (c->nsteps, sizeof (*c->steps));
        assert_non_null (c->steps);
        for (uint32_t i = 0; i < c->nsteps; i++) {
            char id[24];

            (void)snprintf (id, sizeof (id), "step-%08" PRId64,
                            4096 * k + i);
            assert_non_null (c->steps[i] = strdup (id));
        }
    }
    assert_int_equal (divide (), 1);
}

int main (void)
{
#define CASE(f) cmocka_unit_test_setup_teardown (f, setup, teardown)
    const struct CMUnitTest tests[] = {
        CASE (test_nearest),
        CASE (test_clock_is_off),
        CASE (test_clock_of_nobody),
        CASE (test_clocks_are_right),
        CASE (test_clock_saw_one_job),
        CASE (test_any_order),
        CASE (test_extreme_numbers),
        CASE (test_empty_samples),
        CASE (test_many_steps),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
