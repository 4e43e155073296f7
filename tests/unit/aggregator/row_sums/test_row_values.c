/* tests/unit/aggregator/row_sums/test_row_values.c - numbers of rows with gaps */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "row_sums/row_values.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char dir[64];
static char path[100];

static int start (void **state)
{
    struct row_values *w = calloc (1, sizeof (*w));

    (void)snprintf (dir, sizeof (dir), "/tmp/row_values.XXXXXX");
    if (!w || !mkdtemp (dir))
        return -1;
    (void)snprintf (path, sizeof (path), "%s/rows", dir);
    *state = w;
    return 0;
}

static int end (void **state)
{
    row_values_fini (*state);
    free (*state);
    return rmdir (dir);                 // there is nothing left in it
}

static void create (struct row_values *w, int64_t rows)
{
    struct err err = { "" };

    if (row_values_create (w, path, rows, &err) < 0)
        fail_msg ("%s", err.text);
}

static void add (struct row_values *w, int64_t first, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        assert_int_equal (row_values_add (w, first + i, NULL), 0);
}

static void has (const struct row_values *w, int64_t rowid, double ms)
{
    double v = row_values_get (w, rowid);

    if (!(v >= ms && v <= ms))
        fail_msg ("row %lld: %g is not %g", (long long)rowid, v, ms);
}

static void lacks (const struct row_values *w, int64_t rowid)
{
    if (!isnan (row_values_get (w, rowid)))
        fail_msg ("row %lld has a number", (long long)rowid);
}

/* A zero is a number, unlike none. */
static void test_zero (void **state)
{
    struct row_values *w = *state;

    create (w, 3);
    add (w, 1, 3);
    row_values_set (w, 1, 0);
    row_values_set (w, 3, 2.5);
    has (w, 1, 0);
    assert_false (signbit (row_values_get (w, 1)));
    lacks (w, 2);
    has (w, 3, 2.5);
    assert_int_equal (w->nruns, 1);
    row_values_set (w, 3, 0.25);
    has (w, 3, 0.25);
}

/* Runs of 1 to 9 rows, with gaps of 1 to 5 between; each in any order. */
static void test_gaps (void **state)
{
    struct row_values *w = *state;
    int64_t rowid = -300, rows = 0;
    char kind[2000] = "";               // of rowid - 1000: 'r'ow

    create (w, 1000);
    for (int run = 0; run < 100; run++) {
        int64_t n = 1 + run * 5 % 9;

        add (w, rowid, n);
        for (int64_t i = 0; i < n; i++)
            kind[1000 + rowid + i] = 'r';
        rows += n;
        rowid += n + 1 + run % 5;
    }
    assert_int_equal (w->nruns, 100);
    assert_int_equal (w->used, rows);
    for (int64_t k = 999; k >= -1000; k--)
        row_values_set (w, k * 7 % 1000, fabs ((double)(k * 7 % 1000)));
    for (int64_t k = -1000; k < 1000; k++) {
        if (kind[1000 + k] == 'r')
            has (w, k, fabs ((double)k));
        else
            lacks (w, k);
    }
}

/* As far from each other as rowids can be. */
static void test_ends (void **state)
{
    struct row_values *w = *state;

    create (w, 6);
    add (w, INT64_MIN, 2);
    add (w, -1, 2);
    add (w, INT64_MAX - 1, 2);
    assert_int_equal (w->nruns, 3);
    row_values_set (w, INT64_MIN, 1);
    row_values_set (w, -1, 2);
    row_values_set (w, 0, 3);
    row_values_set (w, INT64_MAX, 4);
    row_values_set (w, INT64_MAX - 2, 5);
    has (w, INT64_MIN, 1);
    lacks (w, INT64_MIN + 1);
    lacks (w, INT64_MIN + 2);
    lacks (w, -2);
    has (w, -1, 2);
    has (w, 0, 3);
    lacks (w, 1);
    lacks (w, INT64_MAX - 2);
    lacks (w, INT64_MAX - 1);
    has (w, INT64_MAX, 4);
}

/* Rows that were not told of, and those that there is no room for. */
static void test_others (void **state)
{
    struct row_values *w = *state;

    create (w, 2);
    lacks (w, 1);
    row_values_set (w, 1, 5);
    add (w, 1, 1);
    lacks (w, 1);
    add (w, 5, 2);
    row_values_set (w, 5, 6);
    row_values_set (w, 6, 7);
    has (w, 5, 6);
    lacks (w, 6);
    add (w, 9, 1);
    row_values_set (w, 9, 8);
    lacks (w, 9);
}

static void test_errors (void **state)
{
    struct row_values *w = *state, none = { 0 };
    struct err err = { "" };
    FILE *f = fopen (path, "w");

    assert_non_null (f);
    (void)fclose (f);
    assert_int_equal (row_values_create (w, path, 2, &err), -EEXIST);
    assert_non_null (err.text[0] ? err.text : NULL);
    (void)unlink (path);
    row_values_fini (&none);
}

int main (void)
{
#define TEST(f) cmocka_unit_test_setup_teardown (f, start, end)
    const struct CMUnitTest tests[] = {
        TEST (test_zero),
        TEST (test_gaps),
        TEST (test_ends),
        TEST (test_others),
        TEST (test_errors),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
