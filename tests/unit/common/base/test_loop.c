/* tests/unit/common/base/test_loop.c - one thread that waits for descriptors
 * and times */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/loop.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define DONE 7                  // what these tests stop a loop with
#define LATE_NS (10 * NS_PER_S) // does not come while a test runs

/* What was called, a letter each, until 'last' was. */
struct calls {
    struct loop *loop;
    char said[16];
    char last;
    int fd;                     // read by on_byte
};

static void say (struct calls *c, char letter)
{
    size_t n = strlen (c->said);

    assert_true (n + 1 < sizeof (c->said));
    c->said[n] = letter;
    if (letter == c->last)
        loop_stop (c->loop, DONE);
}

static void on_byte (void *arg)
{
    struct calls *c = arg;
    char byte;

    assert_int_equal (read (c->fd, &byte, 1), 1);
    say (c, byte);
}

static void on_time (void *arg)
{
    say (arg, 't');
}

static void on_late (void *arg)
{
    say (arg, 'l');
}

static void on_signal (void *arg, int signo)
{
    say (arg, signo == SIGTERM ? 'T' : signo == SIGINT ? 'I' : '?');
}

static struct calls calls (char last)
{
    struct calls c = { .loop = loop_create (), .last = last, .fd = -1 };

    assert_non_null (c.loop);
    return c;
}

static void test_descriptor (void **state)
{
    struct calls c = calls ('z');
    int p[2];

    (void)state;
    assert_int_equal (pipe (p), 0);
    c.fd = p[0];
    assert_int_equal (write (p[1], "abz-", 4), 4);
    assert_int_equal (loop_add_fd (c.loop, p[0], on_byte, &c), 0);
    assert_int_equal (loop_run (c.loop), DONE);
    assert_string_equal (c.said, "abz");
    // one that was removed is not read, though there is a byte
    loop_del_fd (c.loop, p[0]);
    c.last = 't';
    assert_int_equal (loop_add_timer (c.loop, 0, on_time, &c), 0);
    assert_int_equal (loop_run (c.loop), DONE);
    assert_string_equal (c.said, "abzt");
    loop_destroy (c.loop);
    (void)close (p[0]);
    (void)close (p[1]);
}

/* Once each; the same one added again moves. */
static void test_timers (void **state)
{
    struct calls c = calls ('l');

    (void)state;
    assert_int_equal (loop_add_timer (c.loop, LATE_NS, on_late, &c), 0);
    assert_int_equal (loop_add_timer (c.loop, 0, on_time, &c), 0);
    assert_int_equal (loop_add_timer (c.loop, NS_PER_MS, on_late, &c), 0);
    assert_int_equal (loop_run (c.loop), DONE);
    assert_string_equal (c.said, "tl");
    loop_destroy (c.loop);
}

static void test_signals (void **state)
{
    struct calls c = calls ('T');

    (void)state;
    assert_int_equal (loop_add_signals (c.loop, on_signal, &c), 0);
    assert_int_equal (raise (SIGTERM), 0);      // does not end this test
    assert_int_equal (loop_run (c.loop), DONE);
    assert_int_equal (raise (SIGINT), 0);
    c.last = 'I';
    assert_int_equal (loop_run (c.loop), DONE);
    assert_string_equal (c.said, "TI");
    loop_destroy (c.loop);
    // still blocked, so that one that comes at the end changes nothing
    assert_int_equal (raise (SIGTERM), 0);
}

/* When no descriptor can be had nothing is added. */
static void test_signals_refused (void **state)
{
    struct calls c = calls ('t');
    struct rlimit old, none;

    (void)state;
    assert_int_equal (getrlimit (RLIMIT_NOFILE, &old), 0);
    none = (struct rlimit){ 0, old.rlim_max };
    assert_int_equal (setrlimit (RLIMIT_NOFILE, &none), 0);
    assert_int_equal (loop_add_signals (c.loop, on_signal, &c), -EMFILE);
    assert_int_equal (setrlimit (RLIMIT_NOFILE, &old), 0);
    assert_int_equal (raise (SIGTERM), 0);
    assert_int_equal (loop_add_timer (c.loop, 0, on_time, &c), 0);
    assert_int_equal (loop_run (c.loop), DONE);
    assert_string_equal (c.said, "t");
    loop_destroy (c.loop);
}

/* What ends a program may be met while it starts. */
static void test_stopped_before (void **state)
{
    struct calls c = { .loop = loop_create (), .last = 't' };

    (void)state;
    assert_non_null (c.loop);
    loop_stop (c.loop, DONE);
    assert_int_equal (loop_run (c.loop), DONE);
    // and once only
    assert_int_equal (loop_add_timer (c.loop, 0, on_time, &c), 0);
    assert_int_equal (loop_run (c.loop), DONE);
    assert_string_equal (c.said, "t");
    loop_destroy (c.loop);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_descriptor),
        cmocka_unit_test (test_timers),
        cmocka_unit_test (test_signals),
        cmocka_unit_test (test_signals_refused),
        cmocka_unit_test (test_stopped_before),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
