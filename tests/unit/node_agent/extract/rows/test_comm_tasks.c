/* tests/unit/node_agent/extract/rows/test_comm_tasks.c - what the tasks of an
 * op come to */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "extract/rows/comm_tasks.h"

#include <math.h>
#include <string.h>

#define NEAR(a, b) assert_true (fabs ((a) - (b)) <= 1e-9)

static struct comm_work *work;

static int make_work (void **state)
{
    (void)state;
    return (work = comm_work_create ()) ? 0 : -1;
}

static int free_work (void **state)
{
    (void)state;
    comm_work_destroy (work);
    return 0;
}

static struct comm_figures figures (const char *name, int64_t start,
                                    int64_t elapse,
                                    const struct comm_task *tasks, size_t n)
{
    struct comm_op op = { .name = name, .group = "1", .step = "step1",
                          .start = start, .elapse = (double)elapse };
    struct comm_figures f;

    assert_int_equal (comm_figures (work, &op, tasks, n, &f), 0);
    return f;
}

#define TASK(at, ns, bytes, k, tr, li) \
    { .start = at, .dur = ns, .size = bytes, .plane = 1, .kind = k, \
      .transport = tr, .link = li, .src = 0, .dst = 1 }
#define WAIT(at, ns) \
    TASK (at, ns, 0, COMM_NOTIFY_WAIT, COMM_OTHER_TRANSPORT, COMM_OTHER_LINK)
#define RECORD(at, ns) \
    TASK (at, ns, 0, COMM_OTHER_TASK, COMM_OTHER_TRANSPORT, COMM_OTHER_LINK)

/* A real op's plane 1: what its own analysis said, to 1e-9 ms of whole ns. */
static void test_real_times (void **state)
{
    static const struct comm_task tasks[] = {
        RECORD (0, 720), WAIT (1000, 3517730),
        TASK (3600000, 127563, 2064384, COMM_REDUCE_INLINE, COMM_SDMA,
              COMM_HCCS),
        RECORD (3800000, 1080), WAIT (3810000, 19200), RECORD (3840000, 680),
        WAIT (3850000, 0),
        TASK (3860000, 101002, 1937312, COMM_MEMCPY, COMM_SDMA, COMM_HCCS),
        RECORD (3970000, 1000), WAIT (3980000, 31960),
    };
    struct comm_figures f;

    (void)state;
    f = figures ("hcom_allReduce__210_0_1", 1736410576431631806, 88750993,
                 tasks, sizeof (tasks) / sizeof (tasks[0]));
    assert_true (f.start_us == 1736410576431631.806);
    NEAR (f.elapse, 88.750993);
    NEAR (f.transit, 0.228565);
    NEAR (f.wait, 3.56889);
    NEAR (f.sync, 3.51773);
    NEAR (f.idle, 84.953538);
    // two packet sizes and one link, which is HCCS
    assert_int_equal (f.nitems, 3);
    NEAR (f.buckets[COMM_BUCKET_HCCS].size, 4.001696);
    NEAR (f.buckets[COMM_BUCKET_SDMA].size, 4.001696);
    NEAR (f.buckets[COMM_BUCKET_SDMA].large, 0);
    assert_string_equal (f.items[1].transport, "HCCS");
    assert_int_equal (f.items[1].count, 2);
}

static const struct comm_task rdma[] = {
#define PAYLOAD(at, ns, bytes) \
    { .start = at, .dur = ns, .size = bytes, .kind = COMM_OTHER_TASK, \
      .transport = COMM_RDMA, .payload = true, .src = 0, .dst = 1 }
#define NOTIFY(at, ns, k) { .start = at, .dur = ns, .kind = k, .src = 0, \
                            .dst = 1, .transport = COMM_RDMA }
    PAYLOAD (0, 10, 1000000), PAYLOAD (20, 10, 500000),
    NOTIFY (40, 5, COMM_OTHER_TASK), NOTIFY (50, 200, COMM_NOTIFY_WAIT),
    NOTIFY (255, 5, COMM_OTHER_TASK), NOTIFY (265, 100, COMM_NOTIFY_WAIT),
    NOTIFY (400, 50, COMM_NOTIFY_WAIT),
};

static void check_burst (const char *name, double transit_ns, double wait_ns,
                         double idle_ns)
{
    struct comm_figures f = figures (name, 0, 450, rdma, 7);
    const struct comm_bucket *b = &f.buckets[COMM_BUCKET_RDMA];

    NEAR (f.transit, transit_ns / 1e6);
    NEAR (f.wait, wait_ns / 1e6);
    NEAR (f.sync, 0);
    NEAR (f.elapse, 450e-6);
    NEAR (f.idle, idle_ns / 1e6);
    NEAR (b->size, 1.5);
    NEAR (b->time, transit_ns / 1e6);
    NEAR (b->large, 1);
    assert_int_equal (f.nitems, 2);     // one packet of 1.5 MB, one link
    NEAR (f.items[0].size, 1.5);
    assert_string_equal (f.items[1].transport, "RDMA");
    assert_int_equal (f.items[1].key, 1);
    NEAR (f.buckets[COMM_BUCKET_SDMA].size, 0);
}

/* A burst ends with its fifth task behind the payload, or the third of a send:
 * one too few would count waiting as moving, one too many the other way.
 */
static void test_bursts (void **state)
{
    struct comm_figures f;

    (void)state;
    check_burst ("hcom_allReduce_", 365, 50, 35);
    check_burst ("hcom_send_", 250, 150, 50);
    // cut short: its payload moves nothing, what waits behind it counts
    f = figures ("hcom_allReduce_", 0, 450, rdma, 4);
    NEAR (f.transit, 0);
    NEAR (f.wait, 200e-6);
    NEAR (f.sync, 200e-6);
    assert_int_equal (f.nitems, 0);
}

/* With a master plane its tasks say when the op begins and ends. */
static void test_master (void **state)
{
    struct comm_task tasks[] = {
        WAIT (100, 50), WAIT (120, 1000), WAIT (200, 10),
    };
    struct comm_figures f;

    (void)state;
    tasks[0].plane = tasks[2].plane = 7;
    tasks[2].master = true;
    f = figures ("hcom_broadcast__1", 5, 5, tasks, 3);
    NEAR (f.start_us, 0.2);             // of the master task itself
    NEAR (f.elapse, 110e-6);            // of its plane
    NEAR (f.wait, 60e-6);
    NEAR (f.idle, 50e-6);
    // without: plane 1, here the second task's
    tasks[2].master = false;
    f = figures ("hcom_broadcast__1", 5000, 5, tasks, 3);
    NEAR (f.start_us, 5);
    NEAR (f.wait, 1000e-6);
    // without that either: the lowest
    tasks[1].plane = 9;
    f = figures ("hcom_broadcast__1", 5000, 5, tasks, 3);
    NEAR (f.wait, 60e-6);
}

/* Copies on the device are links, but no traffic; ranks that are not valid are
 * no links; an unknown link is SDMA only.
 */
static void test_links (void **state)
{
    struct comm_task tasks[] = {
        TASK (0, 10, 1000000, COMM_MEMCPY, COMM_SDMA, COMM_ON_CHIP),
        TASK (20, 10, 64000000, COMM_MEMCPY, COMM_SDMA, COMM_SIO),
        TASK (40, 10, 1000000, COMM_MEMCPY, COMM_SDMA, COMM_OTHER_LINK),
        TASK (60, 10, 1000000, COMM_MEMCPY, COMM_SDMA, COMM_PCIE),
        TASK (80, 10, 1000000, COMM_OTHER_TASK, COMM_SDMA, COMM_PCIE),
    };
    struct comm_figures f;

    (void)state;
    tasks[0].dst = COMM_RANK_SELF;
    tasks[2].src = COMM_RANK_NONE;
    tasks[3].dst = COMM_RANK_NONE;
    f = figures ("x", 0, 100, tasks, 5);
    NEAR (f.buckets[COMM_BUCKET_SIO].size, 64);
    NEAR (f.buckets[COMM_BUCKET_SIO].large, 1);
    NEAR (f.buckets[COMM_BUCKET_PCIE].size, 1);
    NEAR (f.buckets[COMM_BUCKET_SDMA].size, 66);
    assert_int_equal (f.nitems, 5);     // 0-0, SIO and 0-1, SDMA, PCIE
    assert_int_equal (f.items[0].key, 0);
    assert_string_equal (f.items[0].transport, "LOCAL");
    // without tasks: begin and end are known, the rest is not
    f = figures ("x", 2000, 1000000, tasks, 0);
    NEAR (f.start_us, 2);
    NEAR (f.elapse, 1);
    assert_true (isnan (f.transit) && isnan (f.idle));
}

static void test_names (void **state)
{
    (void)state;
    assert_int_equal (comm_task_link ("HCCS_SW", 7), COMM_HCCS_SW);
    assert_int_equal (comm_task_link ("ROCE", 4), COMM_OTHER_LINK);
    assert_int_equal (comm_task_kind ("", 0), COMM_OTHER_TASK);
}

int main (void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_real_times),
        cmocka_unit_test (test_bursts),
        cmocka_unit_test (test_master),
        cmocka_unit_test (test_links),
        cmocka_unit_test (test_names),
    };

    return cmocka_run_group_tests (tests, make_work, free_work);
}
