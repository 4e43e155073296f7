/* tests/unit/common/model/test_job_origin.c - what a launch knows of its job */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/job_origin.h"
#include "store/fileio.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char dir[] = "/tmp/test_job_origin.XXXXXX";

static int make_dir (void **state)
{
    (void)state;
    memcpy (dir + strlen (dir) - 6, "XXXXXX", 6);
    return mkdtemp (dir) ? 0 : -1;
}

static int remove_dir (void **state)
{
    (void)state;
    return fileio_remove_tree (dir, NULL);
}

static void check (const char *const command[], const char *want)
{
    struct job_origin a;

    assert_int_equal (job_origin_write (dir, "4711", "me",
                                        (char *const *)command,
                                        NULL), 0);
    assert_int_equal (job_origin_take (dir, &a), 0);
    assert_string_equal (a.scheduler_id, "4711");
    assert_string_equal (a.user, "me");
    assert_string_equal (a.command, want);
}

/* Results are read by a group, and kept for years. */
static void test_secrets (void **state)
{
    const char *plain[] = { "python", "a b.py", "--lr=0.1", NULL };
    const char *with[] = { "x", "--token=abc", "--token", "abc", "--token", "-v",
                     "y", NULL };
    const char *none[] = { NULL };
    const char *forms[] = { "x", "http://u:p@h/a", "--api-key", "k",
                            "hf_0123456789abcdefghij", "--test_key1", "z",
                            NULL };

    (void)state;
    check (plain, "python a b.py --lr=0.1");
    check (forms, "x (not shown) --api-key (not shown) (not shown) "
                  "--test_key1 z");
    check (with, "x --token= (not shown) --token (not shown) --token -v y");
    check (none, "");
}

/* A long command is cut, not left out. */
static void test_long (void **state)
{
    char word[1000], x[] = "x", *command[] = { x, word, x, NULL };
    struct job_origin a;

    (void)state;
    memset (word, 'w', sizeof (word) - 1);
    word[sizeof (word) - 1] = '\0';
    assert_int_equal (job_origin_write (dir, "", "", command, NULL), 0);
    assert_int_equal (job_origin_take (dir, &a), 0);
    assert_int_equal (strlen (a.command), JOB_ORIGIN_COMMAND_MAX - 1);
    assert_string_equal (a.user, "");
}

static void test_bad (void **state)
{
    struct job_origin a = { .user = "x" };
    char path[128];

    (void)state;
    (void)snprintf (path, sizeof (path), "%s/%s", dir, JOB_ORIGIN_NAME);
    // it was taken away by the test before
    assert_int_equal (job_origin_take (dir, &a), -ENOENT);
    assert_string_equal (a.user, "");
    assert_int_equal (fileio_replace (path, "{", 1, 0600, NULL), 0);
    assert_int_equal (job_origin_take (dir, &a), -EBADMSG);
    assert_int_equal (job_origin_take ("/nowhere", &a), -ENOENT);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_secrets),
        cmocka_unit_test (test_long),
        cmocka_unit_test (test_bad),
    };

    return cmocka_run_group_tests (tests, make_dir, remove_dir);
}
