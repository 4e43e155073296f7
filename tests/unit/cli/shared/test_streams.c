/* tests/unit/cli/shared/test_streams.c - output of several processes, which are pipes
 * here
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "shared/command.h"
#include "shared/streams.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define STREAMS 3

static int ends[STREAMS];       // where they are written
static struct pollfd streams[STREAMS];
static char came[STREAMS][16];
static size_t ended[STREAMS];
static int answer;              // to the second stream

static int setup (void **state)
{
    int p[2];

    (void)state;
    memset (came, 0, sizeof (came));
    memset (ended, 0, sizeof (ended));
    answer = 0;
    for (size_t i = 0; i < STREAMS; i++) {
        assert_int_equal (pipe (p), 0);
        ends[i] = p[1];
        streams[i] = (struct pollfd)STREAM (p[0]);
    }
    return 0;
}

static void say (size_t i, const char *text)
{
    assert_int_equal (write (ends[i], text, strlen (text)), strlen (text));
}

static void end (size_t i)
{
    assert_int_equal (close (ends[i]), 0);
    ends[i] = -1;
}

static int take (void *arg, size_t i, const void *data, size_t size)
{
    (void)arg;
    assert_true (i < STREAMS && strlen (came[i]) + size < sizeof (came[i]));
    memcpy (came[i] + strlen (came[i]), data, size);
    ended[i] += size == 0;
    // the others end only when this one has been read
    if (i == 1) {
        end (0);
        end (2);
    }
    return i == 1 ? answer : 0;
}

static int read_all (void)
{
    int rc;

    (void)alarm (60);
    rc = streams_read (streams, STREAMS, take, NULL);
    (void)alarm (0);
    for (size_t i = 0; i < STREAMS; i++) {
        assert_int_equal (streams[i].fd, -1);
        if (ends[i] >= 0)
            end (i);
    }
    return rc;
}

/* In any order; a stream that nobody wants more of is closed. */
static void test_all (void **state)
{
    (void)state;
    say (0, "a");
    say (1, "b");
    answer = 1;
    assert_int_equal (read_all (), 0);
    assert_string_equal (came[0], "a");
    assert_string_equal (came[1], "b");
    assert_int_equal (ended[0], 1);
    assert_int_equal (ended[1], 0);
    assert_int_equal (ended[2], 1);
}

static void test_no_more (void **state)
{
    (void)state;
    say (1, "b");
    answer = -EBADMSG;
    assert_int_equal (read_all (), -EBADMSG);
    assert_int_equal (ended[0], 0);
}

/* An interrupt ends it, although nobody says anything. */
static void test_cancelled (void **state)
{
    (void)state;
    atomic_store (&cli_cancelled, true);
    assert_int_equal (read_all (), -ECANCELED);
    atomic_store (&cli_cancelled, false);
}

static void test_none (void **state)
{
    (void)state;
    assert_int_equal (streams_read (streams, 0, take, NULL), 0);
    for (size_t i = 0; i < STREAMS; i++) {
        (void)close (streams[i].fd);
        streams[i].fd = -1;
        end (i);
    }
    assert_int_equal (streams_read (streams, STREAMS, take, NULL), 0);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup (test_all, setup),
        cmocka_unit_test_setup (test_no_more, setup),
        cmocka_unit_test_setup (test_cancelled, setup),
        cmocka_unit_test_setup (test_none, setup),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
