/* tests/unit/aggregator/postgres/test_pusher.c - a service and the process that
 * pushes for it, which a script plays here
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "postgres/pusher.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOOK_NS (10 * NS_PER_MS)
#define LATE_NS (30 * NS_PER_S)

static char dir[PATH_MAX], program[PATH_MAX];

static int set_up (void **state)
{
    const char *tmp = getenv ("TMPDIR");

    (void)state;
    (void)snprintf (dir, sizeof (dir), "%.200s/rollcall-pusher-XXXXXX",
                    tmp ? tmp : "/tmp");
    return mkdtemp (dir) ? 0 : -1;
}

static int tear_down (void **state)
{
    char command[PATH_MAX + 16];

    (void)state;
    (void)snprintf (command, sizeof (command), "rm -rf '%s'", dir);
    return system (command);
}

/* A program that does this, and has DIR. */
static void script (const char *text)
{
    FILE *f;

    (void)snprintf (program, sizeof (program), "%.200s/rollcall", dir);
    assert_non_null (f = fopen (program, "w"));
    (void)fprintf (f, "#!/bin/sh\nexec 2>/dev/null\nDIR='%s'\n%s\n", dir, text);
    (void)fclose (f);
    (void)chmod (program, 0755);
}

struct wait {
    struct loop *l;
    struct pusher *p;
    int64_t backlog;            // until there are so many, ...
    int64_t pushed;             // ... and so many were pushed
    const char *why;            // ... and this is said, or NULL
    int64_t until_ns;
};

static int64_t number (const struct json *j, const char *key)
{
    int64_t n = -1;

    (void)json_int (json_get (j, key), &n);
    return n;
}

static bool is_so (const struct wait *w)
{
    struct json *status = json_object ();
    const struct json *j;
    const char *why;
    bool so;

    pusher_add_status (w->p, status);
    j = json_get (status, "postgres");
    why = json_text (json_get (j, "why"), "");
    so = number (j, "backlog") == w->backlog &&
         number (j, "pushed") == w->pushed &&
         (w->why ? strstr (why, w->why) != NULL : !*why);
    json_free (status);
    return so;
}

static void look (void *arg)
{
    struct wait *w = arg;

    if (is_so (w))
        loop_stop (w->l, 1);
    else if (clock_mono_ns () > w->until_ns)
        loop_stop (w->l, 2);
    else
        (void)loop_add_timer (w->l, LOOK_NS, look, w);
}

static struct wait start (void)
{
    struct wait w = { .l = loop_create () };
    struct pusher_options opt = { "service=secret", "here", "/root/dir",
                                  program };

    assert_non_null (w.l);
    assert_int_equal (pusher_start (&opt, w.l, &w.p, NULL), 0);
    return w;
}

static void until (struct wait *w, int64_t backlog, int64_t pushed,
                   const char *why)
{
    w->backlog = backlog;
    w->pushed = pushed;
    w->why = why;
    w->until_ns = clock_mono_ns () + LATE_NS;
    (void)loop_add_timer (w->l, 0, look, w);
    assert_int_equal (loop_run (w->l), 1);
}

static void end (struct wait *w)
{
    pusher_end (w->p);
    loop_destroy (w->l);
}

/* What is behind and what is pushed; a job counts once, however often it has
 * changed; names go to the process, and the URI is in no argument of it.
 */
static void test_backlog (void **state)
{
    char path[PATH_MAX], line[200] = "";
    struct wait w;
    FILE *f;

    (void)state;
    script ("echo \"$*\" >$DIR/words; echo $ROLLCALL_POSTGRES >$DIR/uri\n"
            "echo behind 1000 old\necho behind 2000 older\n"
            "read job; read other\n"
            "echo pushed $job\necho pushed old\nexec sleep 100");
    w = start ();
    pusher_changed (w.p, "a");
    pusher_changed (w.p, "b");
    pusher_changed (w.p, "a");
    until (&w, 2, 2, NULL);     // "b" and "older"
    (void)snprintf (path, sizeof (path), "%.200s/words", dir);
    assert_non_null (f = fopen (path, "r"));
    assert_non_null (fgets (line, sizeof (line), f));
    (void)fclose (f);
    assert_string_equal (line, "push --follow --all --root /root/dir --cluster "
                               "here\n");
    (void)snprintf (path, sizeof (path), "%.200s/uri", dir);
    assert_non_null (f = fopen (path, "r"));
    assert_non_null (fgets (line, sizeof (line), f));
    (void)fclose (f);
    assert_string_equal (line, "service=secret\n");
    end (&w);
}

/* A test that waits for ever has to say so. */
static void on_alarm (int signo)
{
    static const char text[] = "the service waits for the process\n";

    (void)signo;
    (void)!write (STDERR_FILENO, text, sizeof (text) - 1);
    _exit (1);
}

/* Whoever does not read holds up nobody: more than a pipe takes. */
static void test_full (void **state)
{
    struct wait w;
    char job[32];

    (void)state;
    (void)signal (SIGALRM, on_alarm);
    (void)alarm (20);
    script ("exec sleep 100");
    w = start ();
    for (int i = 0; i < 20000; i++) {
        (void)snprintf (job, sizeof (job), "job-number-%d", i % 100);
        pusher_changed (w.p, job);
    }
    until (&w, 100, 0, NULL);
    (void)alarm (0);
    end (&w);
}

static void test_why (void **state)
{
    struct wait w;

    (void)state;
    script ("echo why it is away\nexec sleep 100");
    w = start ();
    until (&w, 0, 0, "it is away");
    end (&w);
}

/* It ends, or cannot be started: that is said, and tried again later. */
static void test_ends (void **state)
{
    struct wait w;

    (void)state;
    script ("echo behind 1 a\nexit 1");
    w = start ();
    until (&w, 1, 0, "rollcall push has ended");
    end (&w);
    (void)unlink (program);
    w = start ();
    until (&w, 0, 0, "cannot start rollcall push");
    end (&w);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown (test_backlog, set_up, tear_down),
        cmocka_unit_test_setup_teardown (test_full, set_up, tear_down),
        cmocka_unit_test_setup_teardown (test_why, set_up, tear_down),
        cmocka_unit_test_setup_teardown (test_ends, set_up, tear_down),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
