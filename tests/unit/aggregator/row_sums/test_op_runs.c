/* tests/unit/aggregator/row_sums/test_op_runs.c - rows in by rank, out by op */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "row_sums/op_runs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RANKS 7
#define THREADS 3

struct seen {
    size_t ops, rows;
    uint64_t digest;
    struct op_row last;         // first row of the last op
    size_t fail_at;             // op
    bool numbered;              // rows are kept
};

/* Each op has the rows of all ranks, once, in their order. */
static int look (void *arg, const struct op_row *a, size_t n, struct err *err)
{
    struct seen *s = arg;

    assert_int_equal (n, RANKS);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal (a[i].rank, i);
        assert_true (a[i].key == a->key && a[i].group == a->group &&
                     a[i].step == a->step);
        assert_int_equal (a[i].size, RANKS);
        assert_int_equal (a[i].guessed, i % 2);
        assert_true (a[i].start_us == (double)a->key + (double)i &&
                     a[i].elapse_ms == 0.5);
        assert_int_equal (a[i].row, s->numbered ? (int64_t)a->key : 0);
        s->digest = (s->digest ^ a[i].key) * 31 + a[i].group;
    }
    if (s->ops > 0) {
        assert_true (a->group > s->last.group ||
                     (a->group == s->last.group &&
                      (a->step > s->last.step ||
                       (a->step == s->last.step && a->key > s->last.key))));
    }
    s->last = *a;
    s->ops++;
    s->rows += n;
    return s->ops == s->fail_at ? err_set (err, EIO, "enough") : 0;
}

/* Keys are in no order; steps are numbered backwards. */
static void add_rank (struct op_runs *x, uint32_t rank, uint32_t ops)
{
    const uint32_t numbers[] = { 1, 0 };

    for (uint32_t i = 0; i < ops; i++) {
        uint64_t key = (i * UINT64_C (977)) % 1000003;
        const struct op_row a = {
            .key = key, .start_us = (double)key + rank, .elapse_ms = 0.5,
            .row = (int64_t)key, .group = 1 + i % 3, .size = RANKS,
            .step = (uint32_t)(key % 2), .rank = rank & 0xffffff,
            .guessed = rank & 1 };

        assert_int_equal (op_runs_add (x, &a, NULL), 0);
    }
    assert_int_equal (op_runs_end (x, NULL), 0);
    op_runs_number_steps (x, numbers);
}

/* Let 'threads' add the ranks, the last ones first. */
static int merge (unsigned threads, uint32_t ops, bool rows, struct seen *s)
{
    char dir[] = "/tmp/test_op_runs.XXXXXX", path[64];
    struct op_runs *runs[THREADS] = { NULL };
    struct op_merge *m = NULL;
    int rc = 0;

    assert_non_null (mkdtemp (dir));
    for (unsigned i = 0; i < threads; i++) {
        (void)snprintf (path, sizeof (path), "%s/%u", dir, i);
        assert_int_equal (op_runs_create (i == 2 ? NULL : path, rows, &runs[i],
                                          NULL), 0);
    }
    for (uint32_t r = RANKS; r-- > 0;)
        add_rank (runs[r % threads], r, ops);
    assert_int_equal (rmdir (dir), 0);          // their files have no names
    assert_int_equal (op_merge_create (runs, threads, &m, NULL), 0);
    assert_int_equal (op_merge_pieces (m), ops < 6 ? ops : 6);
    s->numbered = rows;
    for (size_t i = 0; i < op_merge_pieces (m) && rc == 0; i++)
        rc = op_merge_piece (m, i, look, s, NULL);
    op_merge_destroy (m);
    for (unsigned i = 0; i < threads; i++)
        op_runs_destroy (runs[i]);
    return rc;
}

/* In memory and in files; however many threads add them. */
static void test_ops (void **state)
{
    static const uint32_t sizes[] = { 0, 6, 100, 20000, 70000 };

    (void)state;
    for (size_t i = 0; i < sizeof (sizes) / sizeof (sizes[0]); i++) {
        struct seen all = { 0 }, other;

        assert_int_equal (merge (1, sizes[i], true, &all), 0);
        assert_int_equal (all.ops, sizes[i]);
        assert_int_equal (all.rows, RANKS * (size_t)sizes[i]);
        for (unsigned threads = 2; threads <= THREADS; threads++) {
            memset (&other, 0, sizeof (other));
            assert_int_equal (merge (threads, sizes[i], threads == 2, &other),
                              0);
            assert_true (other.digest == all.digest);
        }
    }
}

static void test_stops (void **state)
{
    struct seen s = { .fail_at = 7 };

    (void)state;
    assert_int_equal (merge (2, 100, true, &s), -EIO);
    assert_int_equal (s.ops, 7);
}

static int count (void *arg, const struct op_row *a, size_t n, struct err *err)
{
    size_t *rows = arg;

    (void)err;
    for (size_t i = 1; i < n; i++)
        assert_true (a[i].row > a[i - 1].row);
    *rows = n;
    return 0;
}

/* One op repeated by one rank: all rows in order, or the first ones. */
static void test_repeated (void **state)
{
    struct op_row a = { .key = 1, .group = 1, .size = 2 };

    (void)state;
    for (uint32_t n = 100; n <= 400000; n += 399900) {
        struct op_runs *x = NULL;
        struct op_merge *m = NULL;
        size_t rows = 0;

        assert_int_equal (op_runs_create (NULL, true, &x, NULL), 0);
        for (a.row = 1; a.row <= n; a.row++)
            assert_int_equal (op_runs_add (x, &a, NULL), 0);
        assert_int_equal (op_runs_end (x, NULL), 0);
        assert_int_equal (op_merge_create (&x, 1, &m, NULL), 0);
        assert_int_equal (op_merge_pieces (m), 1);
        assert_int_equal (op_merge_piece (m, 0, count, &rows, NULL), 0);
        assert_int_equal (rows, n < OP_ROWS_MAX ? n : OP_ROWS_MAX);
        op_merge_destroy (m);
        op_runs_destroy (x);
    }
}

/* A file that is there already belongs to somebody else. */
static void test_taken (void **state)
{
    char path[] = "/tmp/test_op_runs.XXXXXX";
    struct op_row a = { .key = 1, .group = 1, .size = 2 };
    struct op_runs *x = NULL;
    int fd = mkstemp (path), rc = 0;

    (void)state;
    assert_true (fd >= 0);
    assert_int_equal (op_runs_create (path, true, &x, NULL), 0);
    for (int i = 0; i < 100000 && rc == 0; i++)
        rc = op_runs_add (x, &a, NULL);
    assert_int_equal (rc, -EEXIST);
    op_runs_destroy (x);
    (void)close (fd);
    assert_int_equal (unlink (path), 0);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_ops),      cmocka_unit_test (test_stops),
        cmocka_unit_test (test_repeated), cmocka_unit_test (test_taken),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
