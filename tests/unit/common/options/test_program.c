/* tests/unit/common/options/test_program.c - another program, started */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "options/program.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* The exit status of a script with these descriptors. */
static int run (const char *script, const int fds[], int n)
{
    const char *const words[] = { "sh", "-c", script, NULL };
    char *const env[] = { NULL };
    int status = 0;
    pid_t pid;

    assert_int_equal (program_start ("/bin/sh", words, env, fds, n, &pid), 0);
    assert_int_equal (waitpid (pid, &status, 0), pid);
    return WIFEXITED (status) ? WEXITSTATUS (status) : -WTERMSIG (status);
}

/* It has the descriptors that it was given, and no other one. */
static void test_files (void **state)
{
    char said[16] = "";
    int out[2], stays;

    (void)state;
    assert_int_equal (pipe (out), 0);
    assert_true ((stays = dup (2)) > 2);        // without FD_CLOEXEC
    assert_int_equal (run ("read x || echo none; exit 2",
                           (const int[]){ -1, out[1], 2 }, 3), 2);
    assert_int_equal (read (out[0], said, sizeof (said) - 1), 5);
    assert_string_equal (said, "none\n");
    assert_int_equal (dup2 (stays, 9), 9);
    assert_int_equal (run ("[ ! -e /proc/$$/fd/9 ]",
                           (const int[]){ -1, out[1], 2 }, 3), 0);
    (void)close (9);
    (void)close (stays);
    (void)close (out[0]);
    (void)close (out[1]);
}

/* What is blocked or ignored here is neither there. */
static void test_signals (void **state)
{
    const int fds[] = { -1, 2, 2 };
    sigset_t term;

    (void)state;
    (void)sigemptyset (&term);
    (void)sigaddset (&term, SIGTERM);
    (void)sigprocmask (SIG_BLOCK, &term, NULL);
    (void)signal (SIGPIPE, SIG_IGN);
    assert_int_equal (run ("kill -TERM $$", fds, 3), -SIGTERM);
    assert_int_equal (run ("kill -PIPE $$", fds, 3), -SIGPIPE);
    (void)signal (SIGPIPE, SIG_DFL);
    (void)sigprocmask (SIG_UNBLOCK, &term, NULL);
}

static void test_none (void **state)
{
    const char *const words[] = { "x", NULL };
    char *const env[] = { NULL };
    char path[PATH_MAX];
    pid_t pid;

    (void)state;
    assert_int_equal (program_start ("/nothing/such", words, env,
                                     (const int[]){ -1 }, 1, &pid), -ENOENT);
    assert_true (program_beside ("test_other", path));
    assert_non_null (strstr (path, "/test_other"));
    assert_null (strstr (path, "test_program"));
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_files), cmocka_unit_test (test_signals),
        cmocka_unit_test (test_none),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
