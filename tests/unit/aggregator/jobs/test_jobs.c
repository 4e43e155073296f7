/* tests/unit/aggregator/jobs/test_jobs.c - which captures are of one job: each
 * rule of doc/jobs.md, and what it must not say */
#include "aggregator/jobs/divide_check.h"

#include <stdio.h>

/* ---- one job ---- */

static void test_nothing (void **state)
{
    (void)state;
    assert_int_equal (divide (), 0);
    anonymous (add (CAPTURE_NO_RANK, 0, 0));
    assert_int_equal (divide (), 1);
}

static void test_one_job (void **state)
{
    (void)state;
    for (int r = 0; r < 4; r++) {
        struct capture *c = add (r, 100 + r, NOW + r);

        step (c, "10");
        ops (c, "10", "5", 1, 0);
    }
    assert_int_equal (divide (), 1);
    assert_true (jobs.jobs[0].assumed);
    assert_int_equal (jobs.jobs[0].nranks, 4);
    assert_int_equal (jobs.jobs[0].ncaptures, 4);
}

/* Captures without steps are of no equal step: a process was profiled again. */
static void test_nameless_again (void **state)
{
    (void)state;
    for (int64_t k = 0; k < 3; k++) {
        for (int r = 0; r < 2; r++) {
            struct capture *c = add (r, 100 + r, NOW + 300 * k * S);

            step (c, "");
            ops (c, "", "5", (uint64_t)k, 0);
        }
    }
    assert_int_equal (divide (), 1);
}

/* Captures of other programs lie in a directory, older and newer ones. */
static void test_silence (void **state)
{
    struct capture *c;

    (void)state;
    for (int64_t r = 0; r < 2; r++) {   // clocks of one job's hosts
        c = anonymous (add (r, 0, 0));
        c->started_ns = c->ended_ns = BOOT + r * 26 * 3600 * S;
    }
    assert_int_equal (divide_gap (JOBS_GAP_NS), 1);
    captures[0].started_ns = captures[0].ended_ns -= S;
    assert_int_equal (divide_gap (JOBS_GAP_NS), 2);
    why_has (" capture of the other");
    assert_int_equal (divide (), 1);
    // the time of a file that was copied
    c = anonymous (add (2, 0, 0));
    c->order_ns = BOOT + 10000 * 3600 * S;
    assert_int_equal (divide_gap (JOBS_GAP_NS), 2);
}

/* A job of many days, of which a rank is profiled now and then: no silence is
 * longer than the gap.
 */
static void test_silences_of_a_long_job (void **state)
{
    struct capture *c;

    (void)state;
    for (int64_t k = 0; k < 8; k++) {
        c = anonymous (add (k, 0, 0));
        c->started_ns = c->ended_ns = BOOT + k * 20 * 3600 * S;
    }
    assert_int_equal (divide_gap (JOBS_GAP_NS), 1);
    for (int64_t k = 0; k < 8; k++)
        captures[k].rank = 0;
    assert_int_equal (divide_gap (JOBS_GAP_NS), 1);
    captures[3].started_ns = captures[3].ended_ns -= 10 * 3600 * S;
    assert_int_equal (divide_gap (JOBS_GAP_NS), 2);     // 30 h
    assert_true (together (2, 3) && !together (3, 4) && together (4, 7));
}

/* ... rank 0 now, rank 1 in an hour, as somebody asked for it. */
static void test_nameless_by_turns (void **state)
{
    char world[CAPTURE_HASH_MAX];

    (void)state;
    capture_group_hash ("hccl_world_group", world);
    for (int r = 0; r < 3; r++) {
        struct capture *c = add (r, 100 + r, NOW + 3600 * r * S);

        step (c, "");
        ops (c, "", world, (uint64_t)r, 0);
    }
    assert_int_equal (divide (), 1);
}

/* Two processes are two, with steps or without. */
static void test_nameless_of_others (void **state)
{
    (void)state;
    step (add (0, 100, NOW), "");
    step (add (0, 101, NOW + 300 * S), "");
    assert_int_equal (divide (), 2);
    for (size_t i = 0; i < n; i++)
        captures[i].evidence.pid = 0;
    assert_int_equal (divide (), 2);
    why_has ("(nameless) twice");
}

/* Windows that touch: the time of boot is known to some ms only. */
static void test_touching_windows (void **state)
{
    struct capture *c;

    (void)state;
    step (add (0, 0, NOW), "10");
    c = add (0, 0, NOW + 2 * S);
    c->evidence.boot_ns -= 5000000;
    step (c, "11");
    assert_int_equal (divide (), 1);
}

/* A clock that runs 50 ppm too fast is 30 s ahead after a week. */
static void test_clock_drifts (void **state)
{
    struct capture *c;

    (void)state;
    step (add (0, 100, NOW), "10");
    step (add (1, 101, NOW), "10");
    for (int r = 0; r < 2; r++) {
        c = add (r, 100 + r, NOW + INT64_C (7) * 86400 * S);
        c->evidence.boot_ns += 30 * S;
        step (c, "90000");
    }
    assert_int_equal (divide (), 1);
}

/* A virtual machine that slept: its clock was set, the process goes on. */
static void test_clock_jumps (void **state)
{
    struct capture *c;

    (void)state;
    step (add (0, 100, NOW), "10");
    c = add (0, 100, NOW + 60 * S);
    c->evidence.boot_ns += 3600 * S;
    step (c, "20");
    assert_int_equal (divide (), 1);
    assert_true (jobs.jobs[0].assumed);
    captures[1].evidence.pid = 101;     // ... but no other process
    assert_int_equal (divide (), 2);
}

/* ---- rule 1 ---- */

static void test_given (void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        struct capture *c = add (i % 2, 100 + i, NOW + 5000 * i * S);

        (void)snprintf (c->evidence.job, sizeof (c->evidence.job), "j%d",
                        i / 2);
        step (c, "10");
    }
    assert_int_equal (divide (), 2);
    assert_true (together (0, 1) && together (2, 3));
    assert_string_equal (jobs.jobs[0].name, "j1");
    assert_true (jobs.jobs[0].given);
    // nobody gave it one: it is nearest to the older
    step (add (2, 0, NOW + 1), "10");
    assert_int_equal (divide (), 2);
    assert_true (together (4, 0));
    assert_true (jobs.assumed[4]);
}

static void test_fixed (void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++)
        step (add (i, 100 + i, NOW), "10");
    list[0].fixed = 7;
    list[1].fixed = 8;
    assert_int_equal (divide (), 2);
    assert_false (together (0, 1));
}

/* ---- rule 2 ---- */

static int32_t all[] = { 0, 1, 2, 3 }, pair[] = { 2, 3 }, cross[] = { 1, 2 };
static char of_all[] = "default_group", tp[] = "tp";

static void test_root_info (void **state)
{
    static char id[] = "10.0.0.1%eth0_60000_0_1763978400000000";
    static char other[] = "10.0.0.1%eth0_60000_0_1763978500000000";
    struct comm_group g = { .id = id, .pg_name = of_all, .members = all,
                            .nmembers = 4 };
    struct comm_group h = { .id = other, .pg_name = of_all, .members = all,
                            .nmembers = 4 };

    (void)state;
    for (int i = 0; i < 3; i++) {
        struct capture *c = add (i % 2, 100 + i, NOW + 500 * i * S);

        step (c, "10");
        lists (c, &g);          // a rank began anew, the group did not
    }
    assert_int_equal (divide (), 1);
    lists (add (3, 103, NOW), &h);
    assert_int_equal (divide (), 2);
    why_has ("world's group differs");
}

/* One process cannot be in two windows at once: equal numbers in two
 * containers.
 */
static void test_equal_pids_at_once (void **state)
{
    (void)state;
    step (add (0, 100, NOW), "10");
    step (add (0, 100, NOW + S), "30");
    assert_int_equal (divide (), 2);
    why_has ("overlap");
}

/* ... but what ends one window and begins the next takes its time. */
static void test_windows_share_a_moment (void **state)
{
    (void)state;
    for (int64_t k = 0; k < 4; k++)
        step (add (0, 100, NOW + k * (2 * S - S / 5)),
              (const char *[]){ "10", "11", "12", "13" }[k]);
    assert_int_equal (divide (), 1);
    assert_false (jobs.jobs[0].assumed);
}

static void test_copies (void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++)
        step (add (0, 100, NOW), "10");
    captures[1].evidence.boot_ns += 256;
    step (anonymous (add (1, 0, NOW)), "10");
    step (anonymous (add (1, 0, NOW)), "10");
    assert_int_equal (divide (), 1);
}

/* ---- rule 3 ---- */

static void test_one_step_twice (void **state)
{
    (void)state;
    step (add (0, 0, NOW), "10");
    step (add (0, 0, NOW + 10 * S), "10");
    assert_int_equal (divide (), 2);
    why_has ("rank 0 has step 10 twice");
    assert_true (jobs.of[1] == 0);      // the newer
}

static void test_other_process (void **state)
{
    (void)state;
    step (add (0, 100, NOW), "10");
    step (add (0, 101, NOW + 10 * S), "20");
    assert_int_equal (divide (), 2);
    why_has ("another process");
}

/* ---- rule 4 ---- */

static void test_worlds (void **state)
{
    (void)state;
    step (add (0, 100, NOW), "10");
    step (add (1, 101, NOW), "10");
    captures[1].world_size = 8;
    assert_int_equal (divide (), 2);
    captures[1].world_size = 0;
    evidence_group_at (&captures[1].evidence, "5", 1)->highest = 4;
    assert_int_equal (divide (), 2);
    why_has ("position 4");
    evidence_group_at (&captures[1].evidence, "5", 1)->highest = 3;
    assert_int_equal (divide (), 1);
}

static void test_members (void **state)
{
    static char id[] = "group_name_1";
    struct comm_group a = { .id = id, .pg_name = tp, .members = pair,
                            .nmembers = 2 };
    struct comm_group b = { .id = id, .pg_name = tp, .members = cross,
                            .nmembers = 2 };
    struct comm_group c = { .id = id, .pg_name = tp, .members = all,
                            .nmembers = 2 };

    (void)state;
    lists (add (3, 103, NOW), &a);
    lists (add (2, 102, NOW), &b);      // rank 2 is in the list of 3
    assert_int_equal (divide (), 2);
    why_has ("has other members");
    groups[1].list[0] = &a;
    lists (add (0, 100, NOW), &c);      // 0 and 1 have one of that name, too
    lists (add (1, 101, NOW), &c);
    assert_int_equal (divide (), 1);
}

/* What a trace calls its groups is no root info. */
static void test_world_of_traces (void **state)
{
    static char id[] = "group_name_0", zero[] = "0";
    struct comm_group a = { .id = id, .pg_name = of_all, .members = all,
                            .nmembers = 4 };
    struct comm_group b = { .id = zero, .pg_name = of_all, .members = all,
                            .nmembers = 4 };
    struct capture *c;

    (void)state;
    for (int swap = 0; swap < 2; swap++) {
        (void)teardown (NULL);
        (void)setup (NULL);
        c = add (0, 100, NOW + swap);
        lists (c, &b);
        (void)snprintf (c->framework, sizeof (c->framework), "kineto");
        c = add (1, 101, NOW + 1 - swap);
        lists (c, &a);
        (void)snprintf (c->framework, sizeof (c->framework), "ascend_pt");
        assert_int_equal (divide (), 1);
    }
}

/* ---- rule 5 ---- */

static void test_apart_on_one_host (void **state)
{
    (void)state;
    step (add (0, 100, NOW), "10");
    step (add (1, 101, NOW + 50 * S), "10");
    assert_int_equal (divide (), 1);
    step (add (2, 102, NOW + 7200 * S), "10");
    assert_int_equal (divide (), 2);
    why_has ("apart on one host");
}

/* All hosts of a cluster were booted at once: the second one's ranks are
 * compared among themselves.
 */
static void test_hosts_booted_at_once (void **state)
{
    (void)state;
    step (add (0, 100, NOW + 7200 * S), "10");
    for (int r = 1; r < 3; r++) {
        struct capture *c = add (r, 100 + r, NOW + (r == 1 ? 7200 * S : 0));

        (void)snprintf (c->evidence.host_name, sizeof (c->evidence.host_name),
                        "other");
        step (c, "10");
    }
    assert_int_equal (divide (), 2);
    assert_true (together (0, 1));
}

static void no_boot (size_t i)
{
    struct evidence *e = &captures[i].evidence;

    e->boot_ns = e->mono_start_ns = e->mono_end_ns = 0;
}

/* A clock that is off by any time zones is less off than that. */
static void test_apart_without_boot (void **state)
{
    (void)state;
    step (add (0, 0, NOW), "10");
    step (add (1, 0, NOW + 25 * 3600 * S), "10");
    step (add (2, 0, NOW + 53 * 3600 * S), "10");
    no_boot (0);
    no_boot (1);
    no_boot (2);
    n = 2;
    assert_int_equal (divide (), 1);
    assert_true (jobs.jobs[0].assumed);
    n = 3;
    assert_int_equal (divide (), 2);
    assert_true (together (0, 1) && !together (1, 2));
    why_has ("apart on one host");
    // of other hosts, or of no name, nobody knows
    captures[2].evidence.host_name[0] = 'x';
    assert_int_equal (divide (), 1);
    captures[2].evidence.host_name[0] = '\0';
    assert_int_equal (divide (), 1);
}

/* An id of the machine is no name that several may have. */
static void test_apart_on_one_machine (void **state)
{
    (void)state;
    for (int r = 0; r < 2; r++) {
        struct capture *c = add (r, 0, NOW + 65 * r * S);

        (void)snprintf (c->host_uid, sizeof (c->host_uid), "u1");
        step (c, "10");
        no_boot ((size_t)r);
    }
    assert_int_equal (divide (), 2);
    captures[1].evidence.spans[0].start_ns -= 10 * S;
    assert_int_equal (divide (), 1);
}

static void test_ends (void **state)
{
    char world[CAPTURE_HASH_MAX];

    (void)state;
    capture_group_hash ("hccl_world_group", world);
    for (int r = 0; r < 4; r++) {
        struct capture *c = add (r, 100 + r, NOW);

        (void)snprintf (c->evidence.host_name, sizeof (c->evidence.host_name),
                        "h%d", r);
        step (c, "10");
        ops (c, "10", world, r == 3 ? 9 : 1, r == 1 ? 3600 * S : 0);
    }
    assert_int_equal (divide (), 2);
    assert_true (together (0, 1) && together (1, 2) && !together (2, 3));
    why_has ("collectives of one step end");
}

/* Each group of a name is compared, not only the first one's. */
static void test_ends_of_each_group (void **state)
{
    static char id[] = "group_name_1";
    struct comm_group a = { .id = id, .pg_name = tp, .members = all,
                            .nmembers = 2 };
    struct comm_group b = { .id = id, .pg_name = tp, .members = pair,
                            .nmembers = 2 };

    (void)state;
    for (int r = 0; r < 4; r++) {
        struct capture *c = add (r, 100 + r, NOW);

        (void)snprintf (c->evidence.host_name, sizeof (c->evidence.host_name),
                        "h%d", r);
        step (c, "10");
        lists (c, r < 2 ? &a : &b);
        ops (c, "10", r < 2 ? a.name : b.name, r == 2 ? 5 : 1 + (r > 1), 0);
    }
    assert_int_equal (divide (), 2);
    assert_false (together (2, 3));
}

int main (void)
{
#define CASE(f) cmocka_unit_test_setup_teardown (f, setup, teardown)
    const struct CMUnitTest tests[] = {
        CASE (test_nothing),
        CASE (test_one_job),
        CASE (test_nameless_again),
        CASE (test_silence),
        CASE (test_silences_of_a_long_job),
        CASE (test_nameless_by_turns),
        CASE (test_nameless_of_others),
        CASE (test_touching_windows),
        CASE (test_clock_drifts),
        CASE (test_clock_jumps),
        CASE (test_given),
        CASE (test_fixed),
        CASE (test_root_info),
        CASE (test_equal_pids_at_once),
        CASE (test_windows_share_a_moment),
        CASE (test_copies),
        CASE (test_one_step_twice),
        CASE (test_other_process),
        CASE (test_worlds),
        CASE (test_members),
        CASE (test_world_of_traces),
        CASE (test_apart_on_one_host),
        CASE (test_apart_without_boot),
        CASE (test_apart_on_one_machine),
        CASE (test_hosts_booted_at_once),
        CASE (test_ends),
        CASE (test_ends_of_each_group),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
