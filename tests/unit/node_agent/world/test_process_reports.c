/* tests/unit/node_agent/world/test_process_reports.c - what COMMANDs have said
 * of themselves */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "store/fileio.h"
#include "world/process_reports.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define SEEN_MAX 8

struct seen {
    struct process_report all[SEEN_MAX];
    size_t n;
};

static char dir[] = "/tmp/test-told-XXXXXX";

static int begin (void **state)
{
    char path[PATH_MAX];

    (void)state;
    (void)strcpy (dir + strlen (dir) - 6, "XXXXXX");
    return mkdtemp (dir) && fileio_join (path, sizeof (path), dir, PRELOAD_DIR)
               ? mkdir (path, 0700) : -1;
}

static int end (void **state)
{
    (void)state;
    return fileio_remove_tree (dir, NULL);
}

static void put (const char *name, const char *text)
{
    char path[PATH_MAX];

    (void)snprintf (path, sizeof (path), "%s/" PRELOAD_DIR "/%s", dir, name);
    assert_int_equal (fileio_replace (path, text, strlen (text), 0600, NULL),
                      0);
}

static void see (void *arg, const struct process_report *t)
{
    struct seen *s = arg;

    assert_true (s->n < SEEN_MAX);
    s->all[s->n++] = *t;
}

static void test_said (void **state)
{
    struct seen s = { .n = 0 };

    (void)state;
    put ("said-3-4", "parent 1\nlocal_rank 3\npid 77\n");
    process_reports_read (dir, see, &s);
    assert_int_equal (s.n, 1);
    assert_false (s.all[0].mpi);
    assert_int_equal (s.all[0].rank, 3);
    assert_int_equal (s.all[0].size, 4);
    assert_int_equal (s.all[0].parent, 1);
    assert_int_equal (s.all[0].local_rank, 3);
}

static void test_mpi (void **state)
{
    struct seen s = { .n = 0 };

    (void)state;
    put ("mpi-2-3-4", "parent 2\npid 77\nhost node-7\n");
    process_reports_read (dir, see, &s);
    assert_int_equal (s.n, 1);
    assert_true (s.all[0].mpi);
    assert_int_equal (s.all[0].from, 2);
    assert_int_equal (s.all[0].rank, 3);
    assert_string_equal (s.all[0].host, "node-7");
    assert_int_equal (s.all[0].local_rank, -1);
}

/* Drafts, and what anybody may have put there. */
static void test_others (void **state)
{
    static const char *const names[] = {
        ".77.12", "said-4-4", "said--1-4", "said-1-4x", "said-1", "misfit",
        "mpi-1-2", "said-1-99999999999",
    };
    struct seen s = { .n = 0 };

    (void)state;
    for (size_t i = 0; i < sizeof (names) / sizeof (names[0]); i++)
        put (names[i], "parent 0\n");
    put ("said-1-4", "");               // not whole
    put ("said-2-4", "local_rank 2\n");
    process_reports_read (dir, see, &s);
    assert_int_equal (s.n, 0);
    assert_int_equal (fileio_remove_tree (dir, NULL), 0);
    process_reports_read (dir, see, &s);
    assert_int_equal (s.n, 0);
}

int main (void)
{
#define FRESH(f) cmocka_unit_test_setup_teardown (f, begin, end)
    const struct CMUnitTest tests[] = {
        FRESH (test_said), FRESH (test_mpi), FRESH (test_others),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
