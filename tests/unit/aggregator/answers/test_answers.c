/* tests/unit/aggregator/answers/test_answers.c - what is printed, in pieces */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "answers/answers.h"
#include "base/clock.h"
#include "store/fileio.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct {
    struct loop *loop;
    struct answers *all;
    int pipes[ANSWER_STREAMS];
    char out[ANSWER_WINDOW + 16], said[256];       // that was sent
    size_t nout, nsaid, empty, ends, tries;
    struct message end;
    int rc;                     // of sending
    unsigned gone;
    int64_t ahead_ns;           // of the clock
} f;

int64_t __real_clock_mono_ns (void);
int64_t __wrap_clock_mono_ns (void);

int64_t __wrap_clock_mono_ns (void)
{
    return __real_clock_mono_ns () + f.ahead_ns;
}

static const struct net_peer alice = { .id = "a", .size = 1, .who = "alice" };
static const struct net_peer bob = { .id = "b", .size = 1, .who = "bob" };

int __wrap_net_send (struct net *n, const struct net_peer *to,
                     const struct message *m);

int __wrap_net_send (struct net *n, const struct net_peer *to,
                     const struct message *m)
{
    (void)n;
    (void)to;
    f.tries++;
    if (f.rc < 0)
        return f.rc;
    if (m->type == MESSAGE_END) {
        f.ends++;
        f.end = *m;
        return 0;
    }
    assert_int_equal (m->type, MESSAGE_OUTPUT);
    f.empty += m->data_size == 0;
    assert_true (m->data_size <= ANSWER_PIECE_MAX);
    assert_int_equal (m->offset, m->stream == ANSWER_OUT ? f.nout : f.nsaid);
    if (m->data_size > 0)
        memcpy (m->stream == ANSWER_OUT ? f.out + f.nout : f.said + f.nsaid,
                m->data, m->data_size);
    if (m->stream == ANSWER_OUT)
        f.nout += m->data_size;
    else
        f.nsaid += m->data_size;
    return 0;
}

static int setup (void **state)
{
    (void)state;
    memset (&f, 0, sizeof (f));
    f.loop = loop_create ();
    f.all = answers_create (f.loop, NULL);
    return f.all ? 0 : -1;
}

static int teardown (void **state)
{
    (void)state;
    answers_destroy (f.all);
    loop_destroy (f.loop);
    return 0;
}

static void gone (void *arg)
{
    (void)arg;
    f.gone++;
}

static struct answer *begin (void)
{
    struct err err = { "" };
    struct answer *x = answers_begin (f.all, &alice, 1, f.pipes, &err);

    if (!x)
        fail_msg ("%s", err.text);
    answer_runs (x, gone, NULL);
    return x;
}

static void more (uint64_t size)
{
    struct message m = { .type = MESSAGE_MORE, .item = 1, .size = size };

    answers_more (f.all, &alice, &m);
}

static void print (int stream, const char *text)
{
    assert_int_equal (write (f.pipes[stream], text, strlen (text)),
                      strlen (text));
}

static void stop (void *arg)
{
    (void)arg;
    loop_stop (f.loop, 0);
}

/* Let the loop see what there is. */
static void turn (void)
{
    assert_int_equal (loop_add_timer (f.loop, 300 * NS_PER_MS, stop, NULL), 0);
    (void)loop_run (f.loop);
}

static void no_more_output (void)
{
    (void)close (f.pipes[ANSWER_OUT]);
    (void)close (f.pipes[ANSWER_SAID]);
}

/* No byte is sent that nobody has asked for, and the end comes last. */
static void test_credit (void **state)
{
    struct answer *x = begin ();
    struct digest d;

    (void)state;
    print (ANSWER_OUT, "hello");
    turn ();
    assert_int_equal (f.nout, 0);
    more (3);
    assert_memory_equal (f.out, "hel", 3);
    assert_int_equal (f.nout, 3);
    print (ANSWER_SAID, "why");
    no_more_output ();
    answer_ended (x, 1, "so");
    assert_int_equal (f.ends, 0);
    more (3);
    assert_int_equal (f.nout + f.nsaid, 3);
    more (6);
    assert_int_equal (f.nout, 5);
    assert_int_equal (f.nsaid, 1);
    assert_int_equal (f.ends, 0);
    more (100);
    assert_memory_equal (f.said, "why", 3);
    assert_int_equal (f.ends, 1);
    assert_int_equal (f.end.status, 1);
    assert_int_equal (f.end.size, 5);
    assert_string_equal (f.end.text, "so");
    assert_int_equal (digest_of ("hello", 5, &d), 0);
    assert_true (digest_is (&d, &f.end.content));
    assert_int_equal (f.gone, 0);       // it had ended by itself
    // nothing is known of it any more
    more (200);
    assert_int_equal (f.ends, 2);
    assert_int_equal (f.end.status, 75);
}

/* What the process prints later goes out when it comes. */
static void test_later (void **state)
{
    struct answer *x = begin ();

    (void)state;
    more (1 << 20);
    assert_int_equal (f.empty, 1);      // it lives
    print (ANSWER_OUT, "one");
    turn ();
    assert_int_equal (f.nout, 3);
    answer_ended (x, 0, "");
    assert_int_equal (f.ends, 0);       // the pipes are open
    no_more_output ();
    turn ();
    assert_int_equal (f.ends, 1);
}

/* Nothing is lost while there is no room, and it is sent by itself then; nobody is
 * kept busy with that.
 */
static void test_no_room (void **state)
{
    struct answer *x = begin ();

    (void)state;
    more (100);
    f.rc = -EAGAIN;
    print (ANSWER_OUT, "one");
    turn ();
    print (ANSWER_OUT, "two");
    no_more_output ();
    answer_ended (x, 0, "");
    turn ();
    assert_true (f.tries < 20);
    f.rc = 0;
    turn ();
    assert_memory_equal (f.out, "onetwo", 6);
    assert_int_equal (f.nout, 6);
    assert_int_equal (f.ends, 1);
    assert_int_equal (f.end.size, 6);
}

/* Its process is told. */
static void test_gone (void **state)
{
    (void)state;
    (void)begin ();
    f.rc = -EHOSTUNREACH;
    more (100);
    assert_int_equal (f.gone, 1);
    no_more_output ();
    f.rc = 0;
    more (100);
    assert_int_equal (f.end.status, 75);
    (void)begin ();
    answers_destroy (f.all);
    f.all = NULL;
    assert_int_equal (f.gone, 2);
    no_more_output ();
}

/* The process was stopped for an hour, or the machine: who asked says each second
 * that it is there, and that has yet to be read.
 */
static void test_stood_still (void **state)
{
    (void)state;
    (void)begin ();
    more (100);
    turn ();
    f.empty = 0;
    f.ahead_ns += 3600 * NS_PER_S;
    turn ();
    assert_int_equal (f.empty, 1);
    assert_int_equal (f.gone, 0);
    more (100);
    for (int i = 0; i < 11; i++) {
        f.ahead_ns += 5 * NS_PER_S;
        turn ();
    }
    assert_int_equal (f.gone, 0);
    f.ahead_ns += 5 * NS_PER_S;
    turn ();                    // it has heard nothing for as many looks
    assert_int_equal (f.gone, 1);
    no_more_output ();
}

/* One question at a time of a connection has a number, and all have few. */
static void test_room (void **state)
{
    struct message m = { .type = MESSAGE_MORE, .item = 1, .size = 9 };
    struct err err = { "" };
    int pipes[ANSWER_STREAMS];
    struct net_peer other = bob;
    struct answer *x = NULL;
    unsigned n = 1;

    (void)state;
    (void)begin ();
    assert_null (answers_begin (f.all, &alice, 1, pipes, &err));
    answers_more (f.all, &bob, &m);     // not his
    assert_int_equal (f.end.status, 75);
    while ((x = answers_begin (f.all, &other, n, pipes, &err))) {
        other.who[0] = (char)('b' + n / 4);
        no_more_output ();
        memcpy (f.pipes, pipes, sizeof (pipes));
        assert_true (n++ < 100);
    }
    no_more_output ();
    assert_int_equal (n, 16);
    assert_int_equal (pipes[ANSWER_OUT], -1);
}

/* One who says that he takes all gets a little in each turn of the loop, in which
 * others deliver, and no more at a time than a window.
 */
static void test_window (void **state)
{
    static char much[ANSWER_WINDOW];

    (void)state;
    (void)begin ();
    assert_int_equal (fcntl (f.pipes[ANSWER_OUT], F_SETPIPE_SZ, sizeof (much)),
                      sizeof (much));
    assert_int_equal (write (f.pipes[ANSWER_OUT], much, sizeof (much)),
                      sizeof (much));
    more (UINT64_MAX);
    assert_true (f.nout > 0 && f.nout <= 8 * ANSWER_PIECE_MAX);
    turn ();
    assert_int_equal (f.nout, ANSWER_WINDOW);
    print (ANSWER_OUT, "more");
    turn ();
    assert_int_equal (f.nout, ANSWER_WINDOW);
    more (ANSWER_WINDOW + 4);
    turn ();
    assert_int_equal (f.nout, ANSWER_WINDOW + 4);
    no_more_output ();
}

/* Answers that one leaves lying about are not in the way of others. */
static void test_share (void **state)
{
    struct err err = { "" };
    int pipes[ANSWER_STREAMS];
    unsigned n = 0;

    (void)state;
    while (answers_begin (f.all, &bob, n, pipes, &err)) {
        memcpy (f.pipes, pipes, sizeof (pipes));
        no_more_output ();
        assert_true (++n < 100);
    }
    assert_int_equal (n, 4);
    (void)begin ();
    no_more_output ();
}

/* Whoever may not ask any more gets nothing more. */
static void test_refused (void **state)
{
    (void)state;
    (void)begin ();
    answers_refuse (f.all, &bob, 1, 77, "no");
    assert_int_equal (f.gone, 0);
    answers_refuse (f.all, &alice, 1, 77, "no");
    assert_int_equal (f.gone, 1);
    assert_int_equal (f.end.status, 77);
    no_more_output ();
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown (test_credit, setup, teardown),
        cmocka_unit_test_setup_teardown (test_later, setup, teardown),
        cmocka_unit_test_setup_teardown (test_no_room, setup, teardown),
        cmocka_unit_test_setup_teardown (test_gone, setup, teardown),
        cmocka_unit_test_setup_teardown (test_stood_still, setup, teardown),
        cmocka_unit_test_setup_teardown (test_room, setup, teardown),
        cmocka_unit_test_setup_teardown (test_window, setup, teardown),
        cmocka_unit_test_setup_teardown (test_share, setup, teardown),
        cmocka_unit_test_setup_teardown (test_refused, setup, teardown),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
