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
    struct json *status;        // the last one
};

static int64_t number (const struct json *j, const char *key)
{
    int64_t n = -1;

    (void)json_int (json_get (j, key), &n);
    return n;
}

static bool is_so (struct wait *w)
{
    const struct json *j;
    const char *why;

    json_free (w->status);
    w->status = json_object ();
    pusher_add_status (w->p, w->status);
    j = json_get (w->status, "postgres");
    why = json_text (json_get (j, "why"), "");
    return number (j, "backlog") == w->backlog &&
           number (j, "pushed") == w->pushed &&
           (w->why ? strstr (why, w->why) != NULL : !*why);
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
    struct pusher_options opt = { "here", "/root/dir", program };

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
    json_free (w->status);
    loop_destroy (w->l);
}

/* What is behind and what is pushed; a job counts once, however often it has
 * changed; names go to the process.
 */
static void test_backlog (void **state)
{
    char path[PATH_MAX], line[200] = "";
    struct wait w;
    FILE *f;

    (void)state;
    script ("echo \"$*\" >$DIR/words\n"
            "echo behind 1000 old\necho behind 2000 older\n"
            "read job; read other; read again\n"
            "echo pushed 3 $job\necho pushed 3 old\nexec sleep 100");
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
    end (&w);
}

/* What was told before a try is done when that has succeeded, whether the job was
 * found or not; what was told after it began is not.
 */
static void test_ok (void **state)
{
    struct wait w;

    (void)state;
    script ("read a\nread b\necho behind 1000 old\nread c\n"
            "[ $a$b$c = onetwoone ] && echo ok 2\nexec sleep 100");
    w = start ();
    pusher_changed (w.p, "one");
    pusher_changed (w.p, "two");
    pusher_changed (w.p, "one");
    until (&w, 1, 0, NULL);     // "one", which has changed again
    assert_int_equal (number (json_get (w.status, "postgres"), "oldest_s"), 0);
    end (&w);
    // one that was pushed, but as it was before
    script ("read a\nread b\nread a\necho pushed 2 one\necho pushed 2 two\n"
            "exec sleep 100");
    w = start ();
    pusher_changed (w.p, "one");
    pusher_changed (w.p, "two");
    pusher_changed (w.p, "one");
    until (&w, 1, 2, NULL);
    end (&w);
}

/* A name that is no line: any job may have changed. */
static void test_odd_name (void **state)
{
    struct wait w;

    (void)state;
    script ("read a\nread b\n[ \"$a $b\" = 'plain *' ] && echo ok 2\n"
            "exec sleep 100");
    w = start ();
    pusher_changed (w.p, "plain");
    pusher_changed (w.p, "two\nlines");
    until (&w, 0, 0, NULL);
    end (&w);
}

/* How long the first one waits; many are no burden. */
static void test_many (void **state)
{
    struct wait w;

    (void)state;
    script ("seq 100000 | sed 's/^/behind 1000000000 job-/'\n"
            "seq 100000 | sed 1d | sed 's/^/pushed 0 job-/'\nexec sleep 100");
    w = start ();
    until (&w, 1, 99999, NULL);
    assert_true (number (json_get (w.status, "postgres"), "oldest_s") >
                 1000000000);
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

/* When it reads again, it hears that anything may have changed. */
static void test_full_once (void **state)
{
    char job[32], path[PATH_MAX];
    struct wait w;
    FILE *f;

    (void)state;
    (void)snprintf (path, sizeof (path), "%.200s/go", dir);
    assert_int_equal (mkfifo (path, 0600), 0);
    (void)signal (SIGALRM, on_alarm);
    (void)alarm (20);
    script ("read go <$DIR/go\n"
            "while read job; do\n"
            "echo why $job; [ \"$job\" != '*' ] || echo ok 1000000\ndone");
    w = start ();
    for (int i = 0; i < 20000; i++) {
        (void)snprintf (job, sizeof (job), "job-number-%d", i % 100);
        pusher_changed (w.p, job);
    }
    assert_non_null (f = fopen (path, "w"));    // it has not read until now
    (void)fclose (f);
    until (&w, 0, 0, NULL);
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

/* Jobs that are left out are named though the others are there, until none is. */
static void test_left (void **state)
{
    struct wait w;

    (void)state;
    script ("read a\necho left job old is left out\necho ok 1\nexec sleep 100");
    w = start ();
    pusher_changed (w.p, "a");
    until (&w, 0, 0, "job old is left out");
    end (&w);
    script ("echo left job old is left out\necho why it is away\necho 'left '\n"
            "exec sleep 100");
    w = start ();
    until (&w, 0, 0, "it is away");
    end (&w);
}

/* A database that does not answer is named, for as long as that is so. */
static void test_silent (void **state)
{
    struct wait w;

    (void)state;
    script ("echo why it is away\necho silent 60 database d of h\n"
            "read a\necho silent 0 database d of h\nread b\necho ok 2\n"
            "exec sleep 100");
    w = start ();
    until (&w, 0, 0, "database d of h has not answered for ");
    pusher_changed (w.p, "a");
    until (&w, 1, 0, "it is away");
    pusher_changed (w.p, "b");
    until (&w, 0, 0, NULL);
    end (&w);
    // it ends meanwhile
    script ("echo silent 60 database d of h\nread a\nexit 1");
    w = start ();
    until (&w, 0, 0, "has not answered");
    pusher_changed (w.p, "a");
    until (&w, 1, 0, "rollcall push has ended with exit status 1");
    end (&w);
}

/* It ends, or cannot be started: that is said, and tried again later. */
static void test_ends (void **state)
{
    struct wait w;

    (void)state;
    script ("echo behind 1 a\nexit 1");
    w = start ();
    until (&w, 1, 0, "rollcall push has ended with exit status 1");
    end (&w);
    script ("kill -KILL $$");
    w = start ();
    until (&w, 0, 0, "rollcall push has ended by signal 9");
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
        cmocka_unit_test_setup_teardown (test_ok, set_up, tear_down),
        cmocka_unit_test_setup_teardown (test_odd_name, set_up, tear_down),
        cmocka_unit_test_setup_teardown (test_many, set_up, tear_down),
        cmocka_unit_test_setup_teardown (test_full, set_up, tear_down),
        cmocka_unit_test_setup_teardown (test_full_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown (test_why, set_up, tear_down),
        cmocka_unit_test_setup_teardown (test_left, set_up, tear_down),
        cmocka_unit_test_setup_teardown (test_silent, set_up, tear_down),
        cmocka_unit_test_setup_teardown (test_ends, set_up, tear_down),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
