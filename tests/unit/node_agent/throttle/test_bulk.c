/* tests/unit/node_agent/throttle/test_bulk.c - when bulk work gives way, and
 * how far */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "throttle/bucket.h"
#include "throttle/bulk.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct bulk_situation calm = {
    .job_alive = true, .limit_ns = 60 * NS_PER_S, .spool_quota = 100,
};

static void check (const struct bulk_situation *s, enum bulk_class class,
                   bool hold, bool budgeted)
{
    struct bulk_decision d = bulk_decide (s);

    assert_int_equal (d.class, class);
    assert_int_equal (d.hold, hold);
    assert_int_equal (d.budgeted, budgeted);
}

static void test_decide (void **state)
{
    struct bulk_situation s = calm;

    (void)state;
    check (&s, BULK_IDLE, false, true);
    s.waited_ns = s.limit_ns;
    check (&s, BULK_IDLE, false, true);
    s.waited_ns++;              // on a busy node it would wait for ever
    check (&s, BULK_NICE, false, true);
    s = calm;
    s.spool_used = 49;
    check (&s, BULK_IDLE, false, true);
    s.spool_used = 50;
    check (&s, BULK_NICE, false, true);
    s.spool_quota = 0;          // unknown
    check (&s, BULK_IDLE, false, true);
}

/* A job that collects without end must not hold up delivery without end. */
static void test_decide_hold (void **state)
{
    struct bulk_situation s = calm;

    (void)state;
    s.collecting = true;
    check (&s, BULK_IDLE, true, true);
    s.waited_ns = s.limit_ns + 1;
    check (&s, BULK_NICE, false, true);
    s = calm;
    s.collecting = true;
    s.spool_used = 99;
    check (&s, BULK_NICE, false, true);
}

static void test_decide_ended (void **state)
{
    struct bulk_situation s = calm;

    (void)state;
    s.job_alive = false;
    s.collecting = true;
    check (&s, BULK_NORMAL, false, false);
    s.waited_ns = 2 * s.limit_ns;
    check (&s, BULK_NORMAL, false, false);
}

static void test_bucket (void **state)
{
    struct bucket b;

    (void)state;
    bucket_init (&b, 100, 50, 0);
    assert_int_equal (bucket_wait_ns (&b, 0), 0);
    bucket_spend (&b, 150, 0);              // 100 owed
    assert_in_range (bucket_wait_ns (&b, 0), NS_PER_S,
                     NS_PER_S + 20 * NS_PER_MS);
    assert_in_range (bucket_wait_ns (&b, NS_PER_S / 2), NS_PER_S / 2,
                     NS_PER_S / 2 + 20 * NS_PER_MS);
    assert_int_equal (bucket_wait_ns (&b, NS_PER_S + 20 * NS_PER_MS), 0);
    // an hour of rest gives no more than what may gather
    bucket_spend (&b, 50, 3600 * NS_PER_S);
    assert_true (bucket_wait_ns (&b, 3600 * NS_PER_S) > 0);
    bucket_init (&b, 0, 0, 0);
    bucket_spend (&b, INT64_MAX, 0);
    assert_int_equal (bucket_wait_ns (&b, 0), 0);
}

/* Asked every microsecond, a slow bucket still fills. */
static void test_bucket_slow (void **state)
{
    struct bucket b;

    (void)state;
    bucket_init (&b, 10, 10, 0);
    bucket_spend (&b, 10, 0);
    for (int64_t t = 0; t < 200 * NS_PER_MS; t += 1000)
        (void)bucket_wait_ns (&b, t);
    assert_int_equal (bucket_wait_ns (&b, 200 * NS_PER_MS), 0);
}

/* 1 % of each CPU: what was used is paid by rest, until the job has ended. */
static void test_budget (void **state)
{
    struct bulk *b = bulk_create (10000);
    struct bulk_decision d = { .budgeted = true };
    int64_t second = sysconf (_SC_NPROCESSORS_ONLN) * 10 * NS_PER_MS;
    int64_t now = clock_mono_ns (), cpu = 2 * second;

    (void)state;
    bulk_set (b, &d);
    assert_int_equal (bulk_pause_ns (b, now, cpu - 1), 0);      // the burst
    cpu += second;
    assert_in_range (bulk_pause_ns (b, now, cpu), NS_PER_S * 9 / 10,
                     NS_PER_S * 11 / 10);
    now += NS_PER_S - 1;        // a millisecond's wait would be mostly waking
    assert_true (bulk_pause_ns (b, now, cpu) >= 50 * NS_PER_MS);
    d.hold = true;
    bulk_set (b, &d);
    assert_int_equal (bulk_pause_ns (b, now, cpu), -1);
    d = (struct bulk_decision){ .class = BULK_NORMAL };
    bulk_set (b, &d);
    assert_int_equal (bulk_pause_ns (b, now, cpu + second), 0);
    bulk_destroy (b);
}

/* ---- in a thread ---- */

struct worker {
    struct bulk *bulk;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pid_t tid;
};

static void *work (void *arg)
{
    struct worker *w = arg;

    bulk_attach (w->bulk);
    (void)pthread_mutex_lock (&w->lock);
    w->tid = (pid_t)syscall (SYS_gettid);
    (void)pthread_cond_signal (&w->changed);
    (void)pthread_mutex_unlock (&w->lock);
    return bulk_pause (w->bulk) == -ECANCELED ? w : NULL;       // on hold
}

/* The class follows the decision, and an agent that ends need not wait: what is
 * under way is told to break off.
 */
static void test_thread (void **state)
{
    struct worker w = { .bulk = bulk_create (10000),
                        .lock = PTHREAD_MUTEX_INITIALIZER,
                        .changed = PTHREAD_COND_INITIALIZER };
    struct bulk_decision d = { .class = BULK_IDLE, .hold = true };
    int idle = bulk_probe_idle () == 0 ? SCHED_IDLE : SCHED_OTHER;
    pthread_t thread;
    void *told;

    (void)state;
    bulk_set (w.bulk, &d);
    assert_int_equal (pthread_create (&thread, NULL, work, &w), 0);
    (void)pthread_mutex_lock (&w.lock);
    while (w.tid == 0)
        (void)pthread_cond_wait (&w.changed, &w.lock);
    (void)pthread_mutex_unlock (&w.lock);
    assert_int_equal (sched_getscheduler (w.tid), idle);
    d.class = BULK_NICE;
    bulk_set (w.bulk, &d);
    assert_int_equal (sched_getscheduler (w.tid), SCHED_OTHER);
    bulk_end (w.bulk);
    assert_int_equal (pthread_join (thread, &told), 0);
    assert_ptr_equal (told, &w);
    bulk_destroy (w.bulk);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_decide),
        cmocka_unit_test (test_decide_hold),
        cmocka_unit_test (test_decide_ended),
        cmocka_unit_test (test_bucket),
        cmocka_unit_test (test_bucket_slow),
        cmocka_unit_test (test_budget),
        cmocka_unit_test (test_thread),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
