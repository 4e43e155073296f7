/* tests/unit/aggregator/test_jobs.c - which captures are of one job: each rule
 * of doc/jobs.md, what it must not say, and hostile evidence
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "jobs/jobs.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX 4096
#define S INT64_C (1000000000)
#define BOOT (INT64_C (1763000000) * S)
#define NOW (1000 * S)          // since boot

static struct capture captures[MAX];
static struct group_list groups[MAX];
static struct jobs_capture list[MAX];
static size_t n;
static struct jobs jobs;

static int setup (void **state)
{
    (void)state;
    n = 0;
    memset (&jobs, 0, sizeof (jobs));
    return 0;
}

static int teardown (void **state)
{
    (void)state;
    for (size_t i = 0; i < n; i++) {
        free (groups[i].list);
        memset (&groups[i], 0, sizeof (groups[i]));
        capture_fini (&captures[i]);
    }
    jobs_fini (&jobs);
    return 0;
}

/* A capture of host "h": one window from 'at' on that is 2 s long. */
static struct capture *add (int64_t rank, int64_t pid, int64_t at)
{
    struct capture *c = &captures[n];
    struct evidence *e = &c->evidence;

    assert_true (n < MAX);
    capture_init (c);
    c->rank = rank;
    c->world_size = 4;
    (void)snprintf (c->name, sizeof (c->name), "c%zu", n);
    (void)snprintf (e->host_name, sizeof (e->host_name), "h");
    e->pid = pid;
    e->boot_ns = BOOT;
    e->mono_start_ns = at;
    e->mono_end_ns = at + 2 * S;
    list[n] = (struct jobs_capture){ c, &groups[n], rank, JOBS_NONE };
    n++;
    return c;
}

/* It has no host, process and window of its own. */
static struct capture *anonymous (struct capture *c)
{
    struct evidence *e = &c->evidence;

    e->host_name[0] = '\0';
    e->pid = e->boot_ns = e->mono_start_ns = e->mono_end_ns = 0;
    return c;
}

/* A step that begins with the window and takes 1 s. */
static struct evidence_span *step (struct capture *c, const char *id)
{
    struct evidence *e = &c->evidence;
    struct evidence_span *s = evidence_span_at (e, id, strlen (id));

    assert_non_null (s);
    assert_int_equal (capture_note_step (c, id, strlen (id)), 0);
    s->start_ns = e->boot_ns + e->mono_start_ns;
    s->end_ns = s->start_ns + S;
    s->host = s->device = true;
    return s;
}

/* Of job 'seed': 8 all-reduces of a step in a group; 'clock' is what the host's
 * is ahead.
 */
static void ops (struct capture *c, const char *id, const char *group,
                 uint64_t seed, int64_t clock)
{
    int64_t at = c->evidence.boot_ns + c->evidence.mono_start_ns + clock;

    for (uint64_t i = 0; i < 8; i++) {
        char name[32];

        (void)snprintf (name, sizeof (name), "allReduce_%" PRIu64, i);
        at += (int64_t)(evidence_hash (seed + i, "gap", 3) % 100 + 1) * 1000000;
        assert_int_equal (evidence_note_op (&c->evidence, id, strlen (id),
                                            group, name, strlen (name), at,
                                            1000), 0);
    }
}

/* The metadata of the capture list a group. */
static void lists (struct capture *c, struct comm_group *g)
{
    struct group_list *l = &groups[c - captures];

    capture_group_hash (g->id, g->name);
    l->list = realloc (l->list, (l->n + 1) * sizeof (*l->list));
    assert_non_null (l->list);
    l->list[l->n++] = g;
}

static size_t divide (void)
{
    struct err err = { "" };

    jobs_fini (&jobs);
    assert_int_equal (jobs_divide (list, n, 0, &jobs, &err), 0);
    return jobs.n;
}

static bool together (size_t a, size_t b)
{
    return jobs.of[a] == jobs.of[b];
}

static void why_has (const char *text)
{
    for (size_t i = 0; i < jobs.n; i++) {
        if (strstr (jobs.jobs[i].why, text))
            return;
    }
    fail_msg ("no job is another one because \"%s\"", text);
}

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
    why_has ("world's group is another one");
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
        CASE (test_nothing),
        CASE (test_one_job),
        CASE (test_nameless_again),
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
        CASE (test_hosts_booted_at_once),
        CASE (test_ends),
        CASE (test_ends_of_each_group),
        CASE (test_nearest),
        CASE (test_any_order),
        CASE (test_names_differ),
        CASE (test_find),
        CASE (test_extreme_numbers),
        CASE (test_empty_samples),
        CASE (test_many_steps),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
