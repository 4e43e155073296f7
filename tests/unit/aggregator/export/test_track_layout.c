/* tests/unit/aggregator/export/test_track_layout.c - spans that do not overlap
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "export/track_layout.h"

static struct track_layout l;

/* A span at 'start' for 'dur': its lane, and what is made of it. */
static void put (int64_t start, int64_t dur, unsigned lane, bool first,
                 int64_t start_got, int64_t dur_got)
{
    bool is_first;

    assert_int_equal (track_layout_put (&l, &start, &dur, &is_first), lane);
    assert_int_equal (is_first, first);
    assert_int_equal (start, start_got);
    assert_int_equal (dur, dur_got);
}

static void test_lanes (void **state)
{
    (void)state;
    track_layout_clear (&l);
    put (0, 10000, 0, true, 0, 10000);
    put (10000, 10000, 0, false, 10000, 10000);         // right behind it
    put (15000, 10000, 1, true, 15000, 10000);          // during it
    put (16000, 1000, 2, true, 16000, 1000);
    put (20000, 1000, 0, false, 20000, 1000);           // the first again
    put (22000, 1000, 0, false, 22000, 1000);
    track_layout_clear (&l);
    put (0, 1, 0, true, 0, 1);                          // a new track
}

/* Rounding is no overlap, and leaves none. */
static void test_rounding (void **state)
{
    (void)state;
    track_layout_clear (&l);
    put (0, 10000, 0, true, 0, 10000);
    put (9750, 5000, 0, false, 10000, 4750);
    put (14600, 100, 0, false, 14750, 0);               // all of it was
    put (14249, 100, 1, true, 14249, 100);
}

/* One that is longer than all lanes are many is drawn, and counted. */
static void test_crowded (void **state)
{
    (void)state;
    track_layout_clear (&l);
    l.crowded = 0;
    for (unsigned i = 0; i < TRACK_LANES_MAX; i++)
        put (i, 1000000, i, true, i, 1000000);
    put (1000, 10, TRACK_LANES_MAX - 1, false, 1000, 10);
    assert_int_equal (l.crowded, 1);
    // the long one is still there
    put (2000, 10, TRACK_LANES_MAX - 1, false, 2000, 10);
    assert_int_equal (l.crowded, 2);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_lanes),
        cmocka_unit_test (test_rounding),
        cmocka_unit_test (test_crowded),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
