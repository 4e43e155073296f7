/* tests/unit/node_agent/control/test_family.c - the processes of this run */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "control/family.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define JOB "a job"

/* A process that begins as 'shell' says and lives until it is killed; $$ is
 * what it says first.
 */
static pid_t begin (const char *shell, char *const env[])
{
    char *const argv[] = { (char *)"sh", (char *)"-c", (char *)shell, NULL };
    char text[32] = "";
    int pipes[2];
    pid_t pid;

    assert_int_equal (pipe (pipes), 0);
    if ((pid = fork ()) == 0) {
        // a test that fails ends at once, and nothing is left of it
        (void)prctl (PR_SET_PDEATHSIG, SIGKILL);
        (void)dup2 (pipes[1], STDOUT_FILENO);
        (void)dup2 (pipes[1], STDERR_FILENO);
        (void)execve ("/bin/sh", argv, env);
        _exit (127);
    }
    (void)close (pipes[1]);
    assert_true (read (pipes[0], text, sizeof (text) - 1) > 0);
    (void)close (pipes[0]);
    return (pid_t)strtol (text, NULL, 10);
}

static void end (pid_t pid)
{
    assert_int_equal (kill (pid, SIGKILL), 0);
    (void)waitpid (pid, NULL, 0);
}

static char *none[] = { NULL };
static char *ours[] = { (char *)"ROLLCALL_JOB=" JOB, NULL };
static char *others[] = { (char *)"ROLLCALL_JOB=another", NULL };

static enum family_says had (const struct family *f, pid_t pid)
{
    return family_had (f, pid, clock_wall_ns ());
}

/* A variable tells, and nothing else of a process that is in no tree. */
static void test_variable (void **state)
{
    struct family *f = family_create (JOB);
    pid_t a = begin ("echo $$; exec sleep 1000", ours);
    pid_t b = begin ("echo $$; exec sleep 1000", others);
    pid_t c = begin ("echo $$; exec sleep 1000", none);

    (void)state;
    assert_int_equal (had (f, a), FAMILY_NO);   // nobody has looked
    family_look (f);
    assert_int_equal (had (f, a), FAMILY_SURE);
    assert_int_equal (had (f, b), FAMILY_NO);
    assert_int_equal (had (f, c), FAMILY_NO);
    assert_int_equal (family_living (f), 1);
    // not what was made long before it began
    assert_int_equal (family_had (f, a, clock_wall_ns () - 3600 * NS_PER_S),
                      FAMILY_NO);
    end (a);
    family_look (f);
    assert_int_equal (family_living (f), 0);
    // known, but not as the writer of what is made long after its end
    assert_int_equal (had (f, a), FAMILY_SURE);
    assert_int_equal (family_had (f, a, clock_wall_ns () + 3600 * NS_PER_S),
                      FAMILY_NO);
    end (b);
    end (c);
    family_destroy (f);
}

/* Below a wrapper (a shell): without variables, and as an orphan; but not what
 * has another job's.
 */
static void test_tree (void **state)
{
    struct family *f = family_create (JOB);
    char shell[512], *line = NULL;
    int pipes[2];
    pid_t wrapper, child, orphan, stranger;

    (void)state;
    (void)snprintf (shell, sizeof (shell),
                    "sleep 1000 & echo $!; "
                    "env -i setsid sh -c '/bin/sleep 1000 & echo $!'; "
                    "ROLLCALL_JOB=another /bin/sleep 1000 & echo $!; wait");
    assert_int_equal (pipe (pipes), 0);
    if ((wrapper = fork ()) == 0) {
        (void)prctl (PR_SET_CHILD_SUBREAPER, 1);
        (void)dup2 (pipes[1], STDOUT_FILENO);
        (void)dup2 (pipes[1], STDERR_FILENO);
        (void)close (pipes[1]);
        (void)execl ("/bin/sh", "sh", "-c", shell, (char *)NULL);
        _exit (127);
    }
    (void)close (pipes[1]);
    FILE *said = fdopen (pipes[0], "r");
    size_t size = 0;

    assert_true (getline (&line, &size, said) > 0);
    child = (pid_t)strtol (line, NULL, 10);
    assert_true (getline (&line, &size, said) > 0);
    orphan = (pid_t)strtol (line, NULL, 10);
    assert_true (getline (&line, &size, said) > 0);
    stranger = (pid_t)strtol (line, NULL, 10);
    family_add_wrapper (f, wrapper);
    // until the stranger has its variable
    for (int i = 0; i < 1000 && family_living (f) != 2; i++) {
        family_look (f);
        (void)usleep (5000);
    }
    assert_int_equal (family_living (f), 2);
    assert_int_equal (had (f, child), FAMILY_SURE);
    assert_int_equal (had (f, orphan), FAMILY_SURE);
    assert_int_equal (had (f, stranger), FAMILY_NO);
    // the wrapper ends: who was known stays so
    (void)kill (wrapper, SIGKILL);
    (void)waitpid (wrapper, NULL, 0);
    family_look (f);
    assert_int_equal (had (f, orphan), FAMILY_SURE);
    assert_int_equal (family_living (f), 2);
    (void)kill (child, SIGKILL);
    (void)kill (orphan, SIGKILL);
    (void)kill (stranger, SIGKILL);
    (void)fclose (said);
    free (line);
    family_destroy (f);
}

/* Who has a file open to read it writes nothing. */
static void test_files (void **state)
{
    struct family *f = family_create (JOB);
    char dir[] = "/tmp/test_family.XXXXXX", shell[256], path[64];
    pid_t reader, writer;

    (void)state;
    assert_non_null (mkdtemp (dir));
    (void)snprintf (path, sizeof (path), "%s/file", dir);
    assert_true (close (open (path, O_CREAT | O_WRONLY, 0600)) == 0);
    (void)snprintf (shell, sizeof (shell),
                    "exec 7<%s; echo $$; exec sleep 1000", path);
    reader = begin (shell, ours);
    family_look (f);
    assert_false (family_writes (f, dir));
    (void)snprintf (shell, sizeof (shell),
                    "exec 7>>%s; echo $$; exec sleep 1000", path);
    writer = begin (shell, ours);
    family_look (f);
    assert_true (family_writes (f, dir));
    assert_true (family_writes (f, path));
    assert_false (family_writes (f, "/tmp/test_famil"));
    end (writer);
    family_look (f);
    assert_false (family_writes (f, dir));
    end (reader);
    (void)unlink (path);
    (void)rmdir (dir);
    family_destroy (f);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_variable),
        cmocka_unit_test (test_tree),
        cmocka_unit_test (test_files),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
