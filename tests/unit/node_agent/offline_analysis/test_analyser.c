/* tests/unit/node_agent/offline_analysis/test_analyser.c - captures that are analysed:
 * which, when, and what is said of it */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "offline_analysis/analyser.h"
#include "offline_analysis/memory.h"
#include "offline_analysis/process.h"
#include "base/clock.h"
#include "store/fileio.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define MEMORY (200 << 20)      // of a shell: small, so that there is room

static char top[64], logs[128];

struct watcher {
    struct loop *loop;
    struct analyser *x;
    enum own_analysis own;      // of those that are added
    char told[2048];            // "<capture>:<how> " of each, in order
    char why[ANALYSER_WHY_MAX];
    size_t expected;            // stop behind so many
    size_t n;
    const char *add_then;       // a capture to be added when one is told
    int found;                  // what was found; -1: nothing was looked for
    size_t put_off;             // so often that was told
};

static int make_top (void **state)
{
    (void)state;
    (void)snprintf (top, sizeof (top), "/tmp/rollcall-analyse-XXXXXX");
    if (!mkdtemp (top))
        return -1;
    (void)snprintf (logs, sizeof (logs), "%s/logs", top);
    return 0;
}

static int remove_top (void **state)
{
    (void)state;
    return fileio_remove_tree (top, NULL);
}

static const char *capture (char out[128], const char *name)
{
    (void)snprintf (out, 128, "%s/%s", top, name);
    assert_int_equal (fileio_mkdirs (out, 0700, NULL), 0);
    return out;
}

static void add (struct watcher *w, const char *name)
{
    char path[128];

    assert_int_equal (analyser_add (w->x, capture (path, name), w->own), 0);
}

static void done (void *arg, const char *path, enum analysed how,
                  const char *why)
{
    struct watcher *w = arg;
    const char *next = w->add_then;
    size_t used = strlen (w->told);

    (void)snprintf (w->told + used, sizeof (w->told) - used, "%s:%d ",
                    strrchr (path, '/') + 1, (int)how);
    (void)snprintf (w->why, sizeof (w->why), "%s", why);
    w->add_then = NULL;
    if (next)
        add (w, next);
    if (++w->n == w->expected)
        loop_stop (w->loop, 0);
}

static void found (void *arg, enum own_analysis own, bool yes)
{
    struct watcher *w = arg;

    assert_int_equal (own, w->own);
    w->found = yes;
}

/* The log's directory can be made now, if something was in its way. */
static void put_off (void *arg, const char *path, const char *why)
{
    struct watcher *w = arg;

    (void)path;
    w->put_off++;
    (void)snprintf (w->why, sizeof (w->why), "%s", why);
    (void)unlink (logs);
}

/* A test that hangs is one that fails. */
static void too_late (void *arg)
{
    struct watcher *w = arg;

    loop_stop (w->loop, -ETIMEDOUT);
}

static void open_one (struct watcher *w, const char *command, int64_t jobs,
                      int64_t timeout_ns, bool once)
{
    const struct analyser_options opt = {
        .set = { .command = command, .jobs = jobs, .timeout_ns = timeout_ns,
                 .memory = MEMORY },
        .log_dir = logs, .found = found,
        .put_off = put_off, .once = once,
    };

    *w = (struct watcher){ .loop = loop_create (), .found = -1 };
    assert_non_null (w->loop);
    assert_non_null (w->x = analyser_create (w->loop, &opt, done, w));
    assert_int_equal (loop_add_timer (w->loop, 60 * NS_PER_S, too_late, w), 0);
}

static void open_watcher (struct watcher *w, const char *command, int64_t jobs,
                          int64_t timeout_ns)
{
    open_one (w, command, jobs, timeout_ns, false);
}

static void until (struct watcher *w, size_t expected)
{
    w->expected = expected;
    assert_int_equal (loop_run (w->loop), 0);
}

static void close_watcher (struct watcher *w)
{
    analyser_destroy (w->x);
    loop_destroy (w->loop);
}

static void has (const char *text, const char *part)
{
    if (!strstr (text, part))
        fail_msg ("no \"%s\" in \"%s\"", part, text);
}

/* What runs may not have taken its memory yet, so it counts in full. */
static void test_room (void **state)
{
    const uint64_t gib = UINT64_C (1) << 30;

    (void)state;
    assert_int_equal (analyser_free_slots (1, 0, gib, 8 * gib), 1);
    assert_int_equal (analyser_free_slots (1, 1, gib, 8 * gib), 0);
    assert_int_equal (analyser_free_slots (4, 1, gib, 8 * gib), 3);
    assert_int_equal (analyser_free_slots (4, 1, gib, 3 * gib), 2);
    assert_int_equal (analyser_free_slots (4, 3, gib, 3 * gib), 0);
    assert_int_equal (analyser_free_slots (4, 0, gib, gib - 1), 0);
    assert_int_equal (analyser_free_slots (2, 3, gib, 8 * gib), 0);
    assert_int_equal (analyser_free_slots (2, 0, 0, 0), 2);
    assert_int_equal (analyser_free_slots (2, 0, gib, UINT64_MAX), 2);
}

static void put (const char *name, const char *text)
{
    char path[256], *slash;
    FILE *f;

    (void)snprintf (path, sizeof (path), "%s/%s", top, name);
    slash = strrchr (path, '/');
    *slash = '\0';
    assert_int_equal (fileio_mkdirs (path, 0700, NULL), 0);
    *slash = '/';
    assert_non_null (f = fopen (path, "w"));
    assert_true (fputs (text, f) >= 0);
    assert_int_equal (fclose (f), 0);
}

/* The batch system's limit may be far below what the machine has. */
static void test_memory (void **state)
{
    (void)state;
    assert_int_equal (memory_available (top), 0);
    put ("proc/meminfo", "MemTotal:  1000 kB\nMemFree: 1 kB\n"
                         "MemAvailable:     800 kB\n");
    assert_int_equal (memory_total (top), 1024000);
    assert_int_equal (memory_available (top), 819200);
    put ("proc/self/cgroup", "1:name=x:/y\n0::/job/step\n");
    put ("sys/fs/cgroup/job/step/memory.max", "max\n");
    put ("sys/fs/cgroup/job/step/memory.current", "5\n");
    assert_int_equal (memory_available (top), 819200);
    put ("sys/fs/cgroup/job/memory.max", "500000\n");
    put ("sys/fs/cgroup/job/memory.current", "100000\n");
    assert_int_equal (memory_total (top), 500000);
    assert_int_equal (memory_available (top), 400000);
    put ("sys/fs/cgroup/job/memory.stat", "anon 1\ninactive_file 70000\n");
    assert_int_equal (memory_available (top), 470000);
    put ("sys/fs/cgroup/job/memory.current", "600000\n");
    assert_int_equal (memory_available (top), 0);
    put ("sys/fs/cgroup/job/memory.max", "nonsense\n");
    assert_int_equal (memory_available (top), 819200);
}

/* In the order in which they came, each once; the queue goes on behind one
 * that fails, and one may be added from within.
 */
static void test_order (void **state)
{
    struct watcher w;

    (void)state;
    open_watcher (&w, "/bin/sh -c 'test ! -e \"$1/bad\"' sh", 1, NS_PER_S * 30);
    add (&w, "a");
    add (&w, "b/bad");
    add (&w, "b");
    add (&w, "c");
    add (&w, "a");              // is there already
    w.add_then = "d";
    assert_int_equal (analyser_pending (w.x), 4);
    until (&w, 5);
    assert_string_equal (w.told, "a:0 bad:0 b:1 c:0 d:0 ");
    assert_int_equal (analyser_pending (w.x), 0);
    close_watcher (&w);
}

static void test_reasons (void **state)
{
    static const struct {
        const char *command, *why;
    } cases[] = {
        { "/bin/sh -c 'echo one; echo two; exit 7' sh", "ended with status 7" },
        { "/bin/sh -c 'echo one; echo two; exit 7' sh", "ends with: two" },
        { "/bin/sh -c 'kill -SEGV $$' sh", "signal 11" },
        { "/no/such/thing", "status 127" },
        { "/bin/sh -c 'exit 1' sh", "; its log is " },
        { "sleep 600 && true", "after 0.2 s (--analyse-timeout)" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof (cases) / sizeof (cases[0]); i++) {
        struct watcher w;

        // "exec sleep 600 && true CAPTURE": it need not know of captures
        open_watcher (&w, cases[i].command, 1,
                      i == 5 ? NS_PER_S / 5 : 30 * NS_PER_S);
        add (&w, "a");
        until (&w, 1);
        assert_string_equal (w.told, "a:1 ");
        has (w.why, cases[i].why);
        close_watcher (&w);
    }
}

/* One that is analysed by somebody else waits; one that is gone does not. */
static void test_locked (void **state)
{
    struct watcher w;
    char path[128];
    int fd;

    (void)state;
    open_watcher (&w, "true", 1, 30 * NS_PER_S);
    fd = open (capture (path, "mine"), O_RDONLY | O_DIRECTORY);
    assert_true (fd >= 0);
    assert_int_equal (flock (fd, LOCK_EX), 0);
    add (&w, "mine");
    add (&w, "other");
    add (&w, "gone");
    (void)snprintf (path, sizeof (path), "%s/gone", top);
    assert_int_equal (rmdir (path), 0);
    until (&w, 2);
    assert_string_equal (w.told, "other:0 gone:1 ");
    has (w.why, "cannot open");
    assert_int_equal (analyser_pending (w.x), 1);
    (void)snprintf (path, sizeof (path), "%s/mine", top);
    assert_false (analyser_is_running (w.x, path));
    analyser_drop (w.x, path);
    assert_int_equal (analyser_pending (w.x), 0);
    (void)close (fd);
    close_watcher (&w);
}

/* With --once nobody comes back: it is told who has it, and given up. */
static void test_given_up (void **state)
{
    struct watcher w;
    char path[128], who[64];
    int fd;

    (void)state;
    open_one (&w, "true", 1, NS_PER_S / 5, true);
    fd = open (capture (path, "mine"), O_RDONLY | O_DIRECTORY);
    assert_true (fd >= 0);
    assert_int_equal (flock (fd, LOCK_EX), 0);
    add (&w, "mine");
    until (&w, 1);
    assert_string_equal (w.told, "mine:3 ");
    assert_int_equal (w.put_off, 1);
    (void)snprintf (who, sizeof (who), "process %d (test_analyser)",
                    (int)getpid ());
    has (w.why, "has locked it");
    if (!strstr (w.why, "somebody else"))       // file systems of parts
        has (w.why, who);
    (void)close (fd);
    close_watcher (&w);
}

/* A full disk is not the capture's doing: it would never be analysed. */
static void test_own_trouble (void **state)
{
    struct watcher w;

    (void)state;
    put ("logs", "in the way of the directory");
    open_one (&w, "true", 1, 2 * NS_PER_S, true);
    add (&w, "mine");
    until (&w, 1);
    assert_string_equal (w.told, "mine:0 ");
    assert_int_equal (w.put_off, 1);
    close_watcher (&w);
}

static void stop_at_file (void *arg)
{
    struct watcher *w = arg;
    char path[160];

    (void)snprintf (path, sizeof (path), "%s/begun", top);
    if (access (path, F_OK) == 0)
        loop_stop (w->loop, 0);
    else
        (void)loop_add_timer (w->loop, 10 * NS_PER_MS, stop_at_file, w);
}

/* What is under way when all ends is killed, whatever it ignores. */
static void test_destroy (void **state)
{
    struct watcher w;
    char path[160], command[512], pid[32] = "";
    FILE *f;

    (void)state;
    (void)snprintf (command, sizeof (command), "/bin/sh -c 'trap \"\" TERM; "
                    "echo $$ >%s/pid; mv %s/pid %s/begun; sleep 600' sh", top,
                    top, top);
    open_watcher (&w, command, 1, 60 * NS_PER_S);
    add (&w, "a");
    stop_at_file (&w);
    assert_int_equal (loop_run (w.loop), 0);
    assert_true (analyser_is_running (w.x, capture (path, "a")));
    analyser_drop (w.x, path);          // it has begun: too late
    assert_int_equal (analyser_pending (w.x), 1);
    close_watcher (&w);
    (void)snprintf (path, sizeof (path), "%s/begun", top);
    assert_non_null (f = fopen (path, "r"));
    assert_non_null (fgets (pid, sizeof (pid), f));
    (void)fclose (f);
    assert_int_equal (kill ((pid_t)strtol (pid, NULL, 10), 0), -1);
    assert_string_equal (w.told, "");
}

static void test_none (void **state)
{
    struct watcher w;

    (void)state;
    open_watcher (&w, ANALYSER_NONE, 1, 30 * NS_PER_S);
    add (&w, "a");
    add (&w, "b");
    until (&w, 2);
    assert_string_equal (w.told, "a:2 b:2 ");
    assert_int_equal (w.found, -1);
    close_watcher (&w);
}

/* It is looked for once, and not before it is needed. */
static void test_probe (void **state)
{
    struct watcher w;
    char dir[128], path[160];
    FILE *f;

    (void)state;
    (void)snprintf (path, sizeof (path), "%s/python3",
                    capture (dir, "bin"));
    assert_non_null (f = fopen (path, "w"));
    (void)fprintf (f, "#!/bin/sh\necho x >>%s/asked\nexit 1\n", top);
    (void)fclose (f);
    assert_int_equal (chmod (path, 0700), 0);
    assert_int_equal (setenv ("PATH", dir, 1), 0);
    open_watcher (&w, NULL, 1, 30 * NS_PER_S);
    add (&w, "a");
    add (&w, "b");
    w.add_then = "c";
    until (&w, 3);
    assert_string_equal (w.told, "a:2 b:2 c:2 ");
    assert_int_equal (w.found, 0);
    assert_int_equal (setenv ("PATH", "/usr/bin:/bin", 1), 0);
    (void)snprintf (path, sizeof (path), "%s/asked", top);
    assert_non_null (f = fopen (path, "r"));
    assert_int_equal (fseek (f, 0, SEEK_END), 0);
    assert_int_equal (ftell (f), 2);
    (void)fclose (f);
    close_watcher (&w);
}

/* What a foreign program says is shown to people. */
static void test_last_line (void **state)
{
    static const struct {
        const char *said, *line;
    } cases[] = {
        { "", "" }, { "\n\n", "" }, { "one", "one" },
        { "one\ntwo\n\n  \n", "two" }, { "10 %\r50 %\r", "50 %" },
        { "a\nb\x1b[31m\x7f!", "b [31m !" },
    };
    struct process *p = calloc (1, sizeof (*p));
    char line[16];

    (void)state;
    assert_non_null (p);
    for (size_t i = 0; i < sizeof (cases) / sizeof (cases[0]); i++) {
        p->said = strlen (cases[i].said);
        memcpy (p->tail, cases[i].said, p->said);
        process_last_line (p, line, sizeof (line));
        assert_string_equal (line, cases[i].line);
    }
    memset (p->tail, 'x', sizeof (p->tail));    // no end of a line in it
    p->said = 1000000;
    process_last_line (p, line, sizeof (line));
    assert_string_equal (line, "xxxxxxxxxxxxxxx");
    free (p);
}

static void check_told (enum capture_state before, bool failed,
                        enum capture_state after, const char *reason)
{
    struct capture c;

    capture_init (&c);
    c.state = before;
    capture_reason (&c, "first");
    analyser_tell (&c, "it ended", failed);
    assert_int_equal (c.state, after);
    assert_string_equal (c.reason, reason);
    capture_fini (&c);
}

/* Results that were only begun are none, and what can be read is not raw. */
static void test_tell (void **state)
{
    (void)state;
    check_told (CAPTURE_RAW, true, CAPTURE_RAW, "never analysed: it ended");
    check_told (CAPTURE_ANALYSING, true, CAPTURE_RAW,
                "never analysed: it ended");
    check_told (CAPTURE_RAW, false, CAPTURE_RAW,
                "never analysed: there is no result, though it ended");
    check_told (CAPTURE_PARTIAL, true, CAPTURE_PARTIAL, "first; it ended");
    check_told (CAPTURE_PARTIAL, false, CAPTURE_PARTIAL, "first");
    check_told (CAPTURE_COMPLETE, true, CAPTURE_PARTIAL, "first; it ended");
    check_told (CAPTURE_COMPLETE, false, CAPTURE_COMPLETE, "first");
    check_told (CAPTURE_FAILED, true, CAPTURE_FAILED, "first; it ended");
    check_told (CAPTURE_FAILED, false, CAPTURE_FAILED, "first; it ended");
}

static void check_kept (int64_t before, int64_t after, int64_t rank,
                        const char *host, enum capture_state state)
{
    struct capture b, c;

    capture_init (&b);
    capture_init (&c);
    c.state = CAPTURE_COMPLETE;
    b.rank = before;
    c.rank = after;
    (void)snprintf (b.host, sizeof (b.host), "old");
    (void)snprintf (c.host, sizeof (c.host), "new");
    analyser_keep (&c, &b);
    assert_int_equal (c.rank, rank);
    assert_string_equal (c.host, host);
    assert_int_equal (c.state, state);
    capture_fini (&b);
    capture_fini (&c);
}

/* A rank whose capture is gone is not lost, nor is it another one's. */
static void test_keep (void **state)
{
    (void)state;
    check_kept (3, 3, 3, "new", CAPTURE_COMPLETE);
    check_kept (CAPTURE_NO_RANK, 3, 3, "new", CAPTURE_COMPLETE);
    check_kept (3, CAPTURE_NO_RANK, 3, "old", CAPTURE_COMPLETE);
    check_kept (3, 4, 3, "old", CAPTURE_FAILED);
}

int main (void)
{
#define IN_TOP(f) cmocka_unit_test_setup_teardown (f, make_top, remove_top)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_room),      IN_TOP (test_memory),
        IN_TOP (test_order),
        IN_TOP (test_reasons),             IN_TOP (test_locked),
        IN_TOP (test_given_up),            IN_TOP (test_own_trouble),
        IN_TOP (test_destroy),             IN_TOP (test_none),
        IN_TOP (test_probe),               cmocka_unit_test (test_last_line),
        cmocka_unit_test (test_tell),      cmocka_unit_test (test_keep),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
