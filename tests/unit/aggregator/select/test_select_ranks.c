/* tests/unit/aggregator/select/test_select_ranks.c - which rank a capture has
 * that does not say it: by names, numbers of hosts and devices, and processes
 */
#include "aggregator/select/select_check.h"

#include "select/select_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void add_trace (struct job *j, int64_t rank, const char *name)
{
    job_add (j, rank, name, "", 0, CAPTURE_COMPLETE);
    // torch_npu exports such files, too
    (void)snprintf (j->items[j->n - 1].capture.framework, CAPTURE_TEXT_MAX,
                    "%s", j->n == 2 ? "ascend_pt" : "kineto");
}

/* The ranks of three traces of these names, the first of which says 'rank', by
 * their places in the list; -1: none.
 */
static void check_names (int64_t rank, const char *const names[3],
                         const int64_t ranks[3], const char *reason)
{
    struct job j = { .n = 0 };
    struct capture c;

    for (size_t i = 0; i < 3; i++)
        add_trace (&j, i == 0 ? rank : CAPTURE_NO_RANK, names[i]);
    select_plan (j.items, j.n);
    for (size_t i = 0; i < 3; i++) {
        struct select_item *item = &j.items[i];

        assert_int_equal (item->rank, ranks[item->source]);
        if (item->source != 2)
            continue;
        capture_init (&c);      // as read: it does not say its rank either
        select_take (item, &c);
        assert_int_equal (item->capture.rank, ranks[2]);
        assert_true (strstr (item->capture.reason, reason) != NULL);
    }
    job_fini (&j);
}

/* A number that is unique and dense, of a worker whose traces have dates; nobody
 * is given a rank that another one says it has, and none by the order of files.
 */
static void test_names_of_traces (void **state)
{
    static const char *const rank[] = { "j1_rank2.json", "j1_rank_0.json",
                                        "j1_rank-1.json" };
    static const char *const place[] = { "run7.2.json", "run7.0.json",
                                         "run7.1.json" };
    static const char *const order[] = { "c.json", "a5.json", "b3.json" };
    static const char *const twice[] = { "w0.json", "w0.json", "w1.json" };
    static const char *const dated[] = { "w0.1733768789947.pt.trace.json",
                                         "w0.1733768790785.pt.trace.json",
                                         "w1.1733768790785.pt.trace.json" };
    static const char *const one[] = { "rank0.1733768789947.pt.trace.json",
                                       "rank0.1733768790785.pt.trace.json",
                                       "rank0.1733768790786.pt.trace.json.gz"
                                     };
    static const char *const pid[] = { "h_0.1733768789947.pt.trace.json",
                                       "h_0.1733768790785.pt.trace.json",
                                       "h_0.1733768790786.pt.trace.json" };

    (void)state;
    check_names (-1, rank, (const int64_t[]){ 2, 0, 1 }, "from the file's name");
    check_names (-1, place, (const int64_t[]){ 2, 0, 1 }, "from the file's name");
    check_names (-1, order, (const int64_t[]){ -1, -1, -1 }, "");
    check_names (-1, twice, (const int64_t[]){ -1, -1, -1 }, "");
    check_names (-1, dated, (const int64_t[]){ 0, 0, 1 }, "from the file's name");
    check_names (1, dated, (const int64_t[]){ 1, -1, -1 }, "");
    check_names (-1, one, (const int64_t[]){ 0, 0, 0 }, "from the file's name");
    check_names (-1, pid, (const int64_t[]){ -1, -1, -1 }, "");
    check_names (2, order, (const int64_t[]){ 2, -1, -1 }, "");
    check_names (0, order, (const int64_t[]){ 0, -1, -1 }, "");
    check_names (0, twice, (const int64_t[]){ 0, -1, -1 }, "");
    check_names (2, place, (const int64_t[]){ 2, 0, 1 }, "from the file's name");
}

static void test_alone_without_rank (void **state)
{
    const char *by = NULL;
    struct job j = { .n = 0 };

    (void)state;
    job_add (&j, CAPTURE_NO_RANK, "x", "h", 1, CAPTURE_COMPLETE);
    select_plan (j.items, j.n);
    assert_int_equal (j.items[0].rank, 0);
    assert_false (j.items[0].skip);
    assert_int_equal (select_world_size (j.items, j.n, &by), 1);
    job_fini (&j);
}

static void add_prof (struct job *j, const char *name, const char *uid,
                      int64_t device)
{
    struct capture *c;

    job_add (j, CAPTURE_NO_RANK, name, "h", 1, CAPTURE_COMPLETE);
    c = &j->items[j->n - 1].capture;
    (void)snprintf (c->framework, sizeof (c->framework), "msprof");
    (void)snprintf (c->host_uid, sizeof (c->host_uid), "%s", uid);
    c->device_id = device;
}

/* Nobody knows of ranks: hosts by their ids, then devices.  What was read
 * later says so, too.
 */
static void test_numbered (void **state)
{
    struct job j = { .n = 0 };
    struct capture fresh;

    (void)state;
    add_prof (&j, "b1", "22", 1);
    add_prof (&j, "a4", "11", 4);
    add_prof (&j, "b0", "22", 0);
    add_prof (&j, "a4 again", "11", 4);
    select_plan (j.items, j.n);
    assert_string_equal (j.items[0].capture.name, "a4");
    assert_string_equal (j.items[1].capture.name, "a4 again");
    assert_int_equal (j.items[1].rank, 0);
    assert_string_equal (j.items[2].capture.name, "b0");
    assert_string_equal (j.items[3].capture.name, "b1");
    assert_int_equal (j.items[3].rank, 2);
    assert_false (j.items[3].skip);
    capture_init (&fresh);
    select_take (&j.items[3], &fresh);
    assert_int_equal (j.items[3].capture.rank, 2);
    assert_non_null (strstr (j.items[3].capture.reason, "from the order of"));
    job_fini (&j);
}

/* One that has a rank shows that the others should have one. */
static void test_not_numbered (void **state)
{
    struct job j = { .n = 0 };

    (void)state;
    add_prof (&j, "a", "11", 0);
    job_add (&j, 0, "b", "h", 1, CAPTURE_COMPLETE);
    add_prof (&j, "c", "11", CAPTURE_NO_DEVICE);
    select_plan (j.items, j.n);
    take_no_rank (&j.items[1]);
    take_no_rank (&j.items[2]);
    job_fini (&j);
}

/* Fewer places than the world has ranks: which of them are they? */
static void test_too_few_to_number (void **state)
{
    struct job j = { .n = 0 };

    (void)state;
    add_prof (&j, "a", "11", 0);
    add_prof (&j, "b", "11", 1);
    j.items[1].capture.world_size = 4;
    select_plan (j.items, j.n);
    take_no_rank (&j.items[0]);
    take_no_rank (&j.items[1]);
    job_fini (&j);
    j = (struct job){ .n = 0 };
    add_prof (&j, "a", "11", 0);
    add_prof (&j, "b", "11", 1);
    j.items[1].capture.world_size = 2;
    select_plan (j.items, j.n);
    assert_int_equal (j.items[1].rank, 1);
    job_fini (&j);
}

/* A trace as read, of process 7: 10 ns from 'start' on. */
static void add_read (struct job *j, int64_t start)
{
    struct capture *c;

    add_trace (j, CAPTURE_NO_RANK, "t.json");
    c = &j->items[j->n - 1].capture;
    j->items[j->n - 1].rank = CAPTURE_NO_RANK;
    c->state = CAPTURE_UNEXPECTED;
    c->evidence.pid = 7;
    c->started_ns = start;
    c->ended_ns = start + 10;
}

static void check_process (struct job *j, bool one)
{
    bool again = false;

    assert_int_equal (select_name_processes (j->items, j->n, &again), 0);
    assert_int_equal (again, one);
    for (size_t i = 0; i < j->n; i++) {
        assert_int_equal (j->items[i].rank, one ? 0 : CAPTURE_NO_RANK);
        assert_int_equal (j->items[i].capture.world_size, one ? 1 : 0);
    }
    job_fini (j);
    j->n = 0;
}

/* Traces of one process are of one rank, if they do not overlap. */
static void test_one_process (void **state)
{
    struct job j = { .n = 0 };

    (void)state;
    add_read (&j, 100);
    add_read (&j, 90);
    add_read (&j, 500);
    check_process (&j, true);
    add_read (&j, 100);
    add_read (&j, 91);
    check_process (&j, false);
    add_read (&j, 100);
    add_read (&j, 200);
    j.items[1].capture.device_id = 3;
    check_process (&j, false);
    add_read (&j, 100);
    add_read (&j, 200);
    (void)snprintf (j.items[0].capture.host, CAPTURE_NAME_MAX, "a");
    (void)snprintf (j.items[1].capture.host, CAPTURE_NAME_MAX, "b");
    check_process (&j, false);
    add_read (&j, 100);
    add_read (&j, 200);
    j.items[0].capture.evidence.pid = j.items[1].capture.evidence.pid = 0;
    check_process (&j, false);
    add_read (&j, 100);
    j.items[0].capture.evidence.pid = 0;
    check_process (&j, true);           // it is alone
}

/* Somebody has a rank: the others are of no world that is known. */
static void test_process_beside_others (void **state)
{
    struct job j = { .n = 0 };
    bool again = false;

    (void)state;
    add_read (&j, 100);
    add_read (&j, 200);
    job_add (&j, 3, "x", "h", 1, CAPTURE_COMPLETE);
    j.items[2].rank = 3;
    assert_int_equal (select_name_processes (j.items, j.n, &again), 0);
    assert_false (again);
    job_fini (&j);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_names_of_traces),
        cmocka_unit_test (test_alone_without_rank),
        cmocka_unit_test (test_numbered),
        cmocka_unit_test (test_not_numbered),
        cmocka_unit_test (test_too_few_to_number),
        cmocka_unit_test (test_one_process),
        cmocka_unit_test (test_process_beside_others),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
