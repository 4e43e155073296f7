/* tests/unit/aggregator/waits/test_ends.c - whether ops of several ranks end
 * together */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "waits/ends.h"

#include <math.h>
#include <string.h>

#define RANKS 4
#define OPS 6

static struct end v[RANKS * OPS + 4];
static size_t n;
static double offset[RANKS], residue[RANKS];
static struct ends got;

/* Clocks that are 0, 100, 200 ... ms ahead; ops of 10 ms, one a second. */
static void make (void)
{
    n = 0;
    for (uint32_t op = 0; op < OPS; op++) {
        for (uint32_t r = 0; r < RANKS; r++) {
            double end = 1000.0 * op + 100 * r;

            v[n++] = (struct end){ 7 + op, r, end - 10, end };
        }
    }
}

static bool agree (bool device)
{
    assert_true (ends_compare (v, n, RANKS, device, offset, residue, &got));
    return ends_agree (&got, device);
}

static void test_offsets (void **state)
{
    (void)state;
    make ();
    assert_true (agree (true));
    assert_int_equal (got.common, OPS);
    assert_true (fabs (got.median_ms - 10) < 1e-9);
    for (uint32_t r = 0; r < RANKS; r++) {
        assert_true (fabs (offset[r] - (100.0 * r - 150)) < 1e-9);
        assert_true (residue[r] < 1e-9);
    }
}

/* Of a device one op that ends elsewhere is enough to refuse; of a host, whose
 * scheduler has its say, the median counts.
 */
static void test_tolerance (void **state)
{
    (void)state;
    make ();
    v[1].end_ms += 0.09;        // 100 us is more than 1 %
    assert_true (agree (true));
    make ();
    v[1].end_ms += 0.25;
    assert_false (agree (true));
    assert_true (agree (false));
    make ();
    for (uint32_t op = 0; op < OPS; op++)       // a rank of another group
        v[op * RANKS + 3].end_ms += op % 2 ? 3 : 0;
    assert_false (agree (false));
}

/* Whoever ended before the last one came was not waiting for that one. */
static void test_early (void **state)
{
    (void)state;
    make ();
    for (uint32_t op = 0; op < OPS; op++)
        v[op * RANKS + 2].start_ms = v[op * RANKS + 2].end_ms + 5;
    assert_false (agree (true));
    assert_int_equal (got.early, OPS);
    assert_false (agree (false));
}

/* Only what all have counts, and each once; one such op proves nothing. */
static void test_common (void **state)
{
    (void)state;
    make ();
    v[n++] = (struct end){ 99, 0, 0, 1 };
    v[n++] = (struct end){ 7, 2, 5000, 5010 };      // twice
    assert_true (agree (true));
    assert_int_equal (got.common, OPS - 1);
    make ();
    n = RANKS;
    assert_false (agree (true));
    assert_int_equal (got.common, 1);
    n = 0;
    assert_false (agree (true));
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_offsets),
        cmocka_unit_test (test_tolerance),
        cmocka_unit_test (test_early),
        cmocka_unit_test (test_common),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
