/* tests/unit/cli/several/test_result_cache.c - results of other aggregators that
 * are kept, and for how long
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/store/dir_check.h"
#include "several/result_cache.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static struct {
    const char *printed;        // by the aggregator
    int status;                 // of it
    unsigned asked;
} f;

int __wrap_place_begin (const struct cli_place *place,
                        const struct json *request, struct place_view *v,
                        struct err *err);
int __wrap_place_print (const struct command_spec *c, struct place_view *v);

int __wrap_place_begin (const struct cli_place *place,
                        const struct json *request, struct place_view *v,
                        struct err *err)
{
    int fds[2];

    (void)place;
    (void)request;
    (void)err;
    f.asked++;
    assert_int_equal (pipe (fds), 0);
    assert_int_equal (write (fds[1], f.printed, strlen (f.printed)),
                      strlen (f.printed));
    (void)close (fds[1]);
    *v = (struct place_view){ .out = fds[0], .said = -1 };
    return 0;
}

int __wrap_place_print (const struct command_spec *c, struct place_view *v)
{
    (void)c;
    assert_int_equal (v->out, -1);
    return f.status;
}

static int setup (void **state)
{
    memset (&f, 0, sizeof (f));
    f.printed = "hello";
    return dir_setup (state) || setenv ("XDG_CACHE_HOME", dir, 1);
}

static const struct command_spec command = { "rollcall query", "", "", NULL,
                                             0 };
static const struct net_security key = { .server_key = "k" },
                                 other_key = { .server_key = "o" };
static const struct cli_place place = { "tcp://a:1", &key };
static const struct job_copy job = { .place = &place, .job = "j",
                                     .built = "2026-01", .result_bytes = 5 };

static int get (const struct job_copy *c, char path[PATH_MAX])
{
    return result_cache_get (&command, c, path);
}

static unsigned kept (void)
{
    return count_entries ("rollcall/results");
}

static void used_before (const char *path, int64_t s)
{
    const time_t at = time (NULL) - s;
    const struct timespec times[2] = { { .tv_sec = at }, { .tv_sec = at } };

    assert_int_equal (utimensat (AT_FDCWD, path, times, 0), 0);
}

static void test_once (void **state)
{
    char path[PATH_MAX], again[PATH_MAX];

    (void)state;
    assert_int_equal (get (&job, path), 0);
    assert_int_equal (get (&job, again), 0);
    assert_string_equal (again, path);
    assert_int_equal (f.asked, 1);
    assert_file (path, "hello");
}

/* None is taken for another one, also if somebody else has the port now. */
static void test_others (void **state)
{
    const struct cli_place places[] = { { "tcp://b:1", &key },
                                        { "tcp://a:1", &other_key },
                                        { "tcp://a:1", NULL } };
    struct job_copy c = job;
    char path[PATH_MAX];

    (void)state;
    assert_int_equal (get (&job, path), 0);
    for (size_t i = 0; i < 3; i++) {
        c.place = &places[i];
        assert_int_equal (get (&c, path), 0);
        assert_int_equal (kept (), i + 2);
    }
    c = job;
    c.job = "i";
    assert_int_equal (get (&c, path), 0);
    c = job;
    c.captures = 2;
    assert_int_equal (get (&c, path), 0);
    assert_int_equal (kept (), 6);
}

/* Another size than was said is no result, and what cannot be kept is not blamed
 * on the aggregator.
 */
static void test_size (void **state)
{
    char path[PATH_MAX];

    (void)state;
    f.printed = "hello, world";
    f.status = EX_IOERR;        // it was not all taken
    assert_int_equal (get (&job, path), EX_TEMPFAIL);
    f.printed = "hell";
    f.status = EX_UNAVAILABLE;
    assert_int_equal (get (&job, path), EX_UNAVAILABLE);
    f.status = 0;
    assert_int_equal (get (&job, path), EX_TEMPFAIL);
    assert_int_equal (kept (), 0);
}

/* Builds that have been replaced go soon, as does what was not whole when its
 * reader was killed; others stay for a week.
 */
static void test_old (void **state)
{
    char first[PATH_MAX], other[PATH_MAX], path[PATH_MAX], left[PATH_MAX + 16];
    struct job_copy c = job;

    (void)state;
    c.job = "i";
    assert_int_equal (get (&c, other), 0);
    assert_int_equal (get (&job, first), 0);
    (void)snprintf (left, sizeof (left), "%s.left", other);
    assert_int_equal (link (other, left), 0);
    used_before (other, 7200);          // and what was left
    used_before (first, 60);
    c = job;
    c.built = "2026-02";
    assert_int_equal (get (&c, path), 0);
    assert_int_equal (access (first, F_OK), 0);         // it may be opened now
    assert_int_equal (access (other, F_OK), 0);
    assert_int_not_equal (access (left, F_OK), 0);
    used_before (first, 7200);
    used_before (other, 8 * 24 * 3600);
    c.built = "2026-03";
    assert_int_equal (get (&c, path), 0);
    assert_int_not_equal (access (first, F_OK), 0);
    assert_int_not_equal (access (other, F_OK), 0);
    assert_int_equal (kept (), 2);
}

/* What others can write there is not trusted. */
static void test_of_others (void **state)
{
    char path[PATH_MAX];

    (void)state;
    assert_int_equal (get (&job, path), 0);
    assert_int_equal (chmod ("rollcall/results", 0777), 0);
    assert_int_equal (get (&job, path), EX_CANTCREAT);
}

#define TEST(name) cmocka_unit_test_setup_teardown (name, setup, dir_teardown)

int main (void)
{
    const struct CMUnitTest tests[] = {
        TEST (test_once), TEST (test_others), TEST (test_size),
        TEST (test_old), TEST (test_of_others),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
