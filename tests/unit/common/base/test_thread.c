/* tests/unit/common/base/test_thread.c - pieces of work, by several threads */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/thread.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>

#define PIECES 400
#define THREADS_MAX 8

/* What the pieces do, and what they saw; a state for each thread. */
struct work {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    size_t begun, done;                 // pieces
    size_t pairs;                       // below: even ones end behind odd ones
    bool worked[PIECES];
    size_t turns, order[PIECES];        // of in_turn
    size_t fails, too;                  // pieces, from 1 on
    size_t turn_fails;
    size_t patient;                     // pieces that are done before the first
};

struct mine {
    struct work *work;
    pthread_t thread[PIECES];           // that did the piece
};

static struct work w;
static struct mine mines[THREADS_MAX];
static void *states[THREADS_MAX];

static void reset (void)
{
    w = (struct work){ .lock = PTHREAD_MUTEX_INITIALIZER,
                       .changed = PTHREAD_COND_INITIALIZER };
    for (unsigned i = 0; i < THREADS_MAX; i++) {
        memset (&mines[i], 0, sizeof (mines[i]));
        mines[i].work = &w;
        states[i] = &mines[i];
    }
}

/* An even piece may wait until the next one has been done. */
static int work (void *state, size_t piece, struct err *err)
{
    struct mine *m = state;
    bool fails = piece + 1 == w.fails, waits = piece < w.pairs && piece % 2 == 0;

    m->thread[piece] = pthread_self ();
    (void)pthread_mutex_lock (&w.lock);
    assert_false (w.worked[piece]);
    w.begun++;
    while (waits && !w.worked[piece + 1])
        (void)pthread_cond_wait (&w.changed, &w.lock);
    while (piece == 0 && w.done < w.patient)
        (void)pthread_cond_wait (&w.changed, &w.lock);
    w.worked[piece] = true;
    w.done++;
    (void)pthread_cond_broadcast (&w.changed);
    (void)pthread_mutex_unlock (&w.lock);
    if (fails || piece + 1 == w.too)
        return err_set (err, fails ? EIO : ENOSPC, "piece %zu", piece);
    return 0;
}

static int in_turn (void *state, size_t piece, struct err *err)
{
    struct mine *m = state;

    assert_true (pthread_equal (m->thread[piece], pthread_self ()));
    w.order[w.turns++] = piece;
    return piece + 1 == w.turn_fails ? err_set (err, EDOM, "turn %zu", piece)
                                     : 0;
}

static int each (size_t n, unsigned threads, struct err *err)
{
    const struct thread_pieces pieces = { n, work, in_turn };

    if (err)
        *err = (struct err){ "" };
    return thread_each (&pieces, states, threads, err);
}

static void in_order (size_t turns)
{
    assert_int_equal (w.turns, turns);
    for (size_t i = 0; i < turns; i++)
        assert_int_equal (w.order[i], i);
}

static void test_order (void **state)
{
    static const unsigned threads[] = { 1, 2, 3, 8 };
    struct err err;

    (void)state;
    for (size_t i = 0; i < sizeof (threads) / sizeof (threads[0]); i++) {
        for (int round = 0; round < 20; round++) {
            reset ();
            w.pairs = threads[i] > 1 ? PIECES : 0;
            assert_int_equal (each (PIECES, threads[i], &err), 0);
            assert_int_equal (w.done, PIECES);
            in_order (PIECES);
        }
    }
}

static void test_few (void **state)
{
    const struct thread_pieces pieces = { 3, work, NULL };
    struct err err;

    (void)state;
    for (unsigned threads = 1; threads <= THREADS_MAX; threads++) {
        for (size_t n = 0; n <= 3; n++) {
            reset ();
            assert_int_equal (each (n, threads, &err), 0);
            assert_int_equal (w.done, n);
            in_order (n);
        }
        reset ();
        assert_int_equal (thread_each (&pieces, states, threads, NULL), 0);
        assert_int_equal (w.done, 3);
    }
}

/* Both of a pair fail, the second one first: the first one is told. */
static void test_failures (void **state)
{
    struct err err;

    (void)state;
    for (int round = 0; round < 50; round++) {
        for (unsigned threads = 2; threads <= THREADS_MAX; threads += 3) {
            reset ();
            w.pairs = 102;
            w.fails = 101;
            w.too = 102;
            assert_int_equal (each (PIECES, threads, &err), -EIO);
            assert_string_equal (err.text, "piece 100");
            in_order (100);
            // those that were begun, and no more
            assert_in_range (w.done, 101, 101 + 2 * THREADS_MAX);
            assert_int_equal (w.begun, w.done);
        }
    }
    reset ();
    w.fails = 1;
    assert_int_equal (each (PIECES, 1, &err), -EIO);
    assert_int_equal (w.done, 1);
    in_order (0);
    reset ();
    w.fails = PIECES;
    assert_int_equal (each (PIECES, 3, NULL), -EIO);
    in_order (PIECES - 1);
}

/* Without turns nobody waits for the first piece. */
static void test_no_turns (void **state)
{
    const struct thread_pieces pieces = { PIECES, work, NULL };
    struct err err = { "" };

    (void)state;
    for (unsigned threads = 2; threads <= THREADS_MAX; threads += 3) {
        reset ();
        w.patient = PIECES - 1;
        assert_int_equal (thread_each (&pieces, states, threads, &err), 0);
        assert_int_equal (w.done, PIECES);
        reset ();
        w.pairs = 102;
        w.fails = 101;
        w.too = 102;
        assert_int_equal (thread_each (&pieces, states, threads, &err), -EIO);
        assert_string_equal (err.text, "piece 100");
    }
}

static void test_failing_turn (void **state)
{
    struct err err;

    (void)state;
    for (unsigned threads = 1; threads <= THREADS_MAX; threads++) {
        reset ();
        w.pairs = threads > 1 ? 52 : 0;
        w.turn_fails = 51;
        w.too = 52;
        assert_int_equal (each (PIECES, threads, &err), -EDOM);
        assert_string_equal (err.text, "turn 50");
        in_order (51);
    }
}

static void *masked (void *arg)
{
    (void)pthread_sigmask (SIG_SETMASK, NULL, arg);
    return NULL;
}

static void test_signals (void **state)
{
    sigset_t inside, before, after;
    pthread_t thread;

    (void)state;
    (void)pthread_sigmask (SIG_SETMASK, NULL, &before);
    assert_int_equal (thread_start (&thread, masked, &inside), 0);
    (void)pthread_join (thread, NULL);
    (void)pthread_sigmask (SIG_SETMASK, NULL, &after);
    assert_true (sigismember (&inside, SIGTERM) == 1 &&
                 sigismember (&inside, SIGCHLD) == 1);
    assert_int_equal (sigismember (&before, SIGTERM),
                      sigismember (&after, SIGTERM));
}

/* Those that are left to this process, not those of the machine. */
static void test_processors (void **state)
{
    cpu_set_t all, one;
    unsigned n;

    (void)state;
    assert_int_equal (sched_getaffinity (0, sizeof (all), &all), 0);
    assert_int_equal (thread_processors (), CPU_COUNT (&all));
    CPU_ZERO (&one);
    for (n = 0; !CPU_ISSET (n, &all); n++)
        ;
    CPU_SET (n, &one);
    assert_int_equal (sched_setaffinity (0, sizeof (one), &one), 0);
    assert_int_equal (thread_processors (), 1);
    assert_int_equal (sched_setaffinity (0, sizeof (all), &all), 0);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_order),
        cmocka_unit_test (test_few),
        cmocka_unit_test (test_failures),
        cmocka_unit_test (test_no_turns),
        cmocka_unit_test (test_failing_turn),
        cmocka_unit_test (test_signals),
        cmocka_unit_test (test_processors),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
