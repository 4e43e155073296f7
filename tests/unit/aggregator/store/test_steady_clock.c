/* tests/unit/aggregator/store/test_steady_clock.c - a wall clock that jumps, or
 * goes on as it should
 */
#include "aggregator/store/root_check.h"

#include "store/steady_clock.h"
#include "base/clock.h"

#define HOUR (3600 * NS_PER_S)
#define DAY (24 * HOUR)
#define NOW (20000 * DAY)

static int look (struct root *r, struct steady_clock *c, int64_t wall_ns,
                 int64_t mono_ns)
{
    return steady_clock_look (c, r->dir, wall_ns, mono_ns, NULL);
}

static void test_steady (void **state)
{
    struct steady_clock c = { .wall_ns = 0 };

    for (int i = 1; i < 100; i++)
        assert_int_equal (look (*state, &c, NOW + i * HOUR, i * HOUR), 0);
    assert_int_equal (look (*state, &c, NOW + 101 * DAY, 101 * DAY), 0);
}

static void test_jumps (void **state)
{
    static const int jumps[] = { 300, -300 };

    for (int i = 0; i < 2; i++) {
        struct steady_clock c = { .wall_ns = 0 };
        int64_t wall = NOW + jumps[i] * DAY;

        assert_int_equal (look (*state, &c, NOW, HOUR), i == 0 ? 0 : -EAGAIN);
        c.jumped_ns = 0;
        assert_int_equal (look (*state, &c, wall, 2 * HOUR), -EAGAIN);
        assert_int_equal (look (*state, &c, wall + 71 * HOUR, 73 * HOUR),
                          -EAGAIN);
        assert_int_equal (look (*state, &c, wall + 73 * HOUR, 75 * HOUR), 0);
        assert_int_equal (look (*state, &c, wall + 74 * HOUR, 76 * HOUR), 0);
    }
}

/* The next process goes on with the note, and waits no longer than this one. */
static void test_restart (void **state)
{
    struct steady_clock c[5] = { { .wall_ns = 0 } };

    assert_int_equal (look (*state, &c[0], NOW, 5 * HOUR), 0);
    assert_int_equal (look (*state, &c[1], NOW + 23 * HOUR, 1 * HOUR), 0);
    assert_int_equal (look (*state, &c[2], NOW + 90 * DAY, 1 * HOUR), -EAGAIN);
    for (int i = 1; i < 4; i++)
        assert_int_equal (look (*state, &c[3], NOW + 90 * DAY + i * 20 * HOUR,
                                i * 20 * HOUR), -EAGAIN);
    assert_int_equal (look (*state, &c[4], NOW + 93 * DAY, 1 * HOUR), 0);
}

/* A host that is on one day of three waits for three days of these, not for ever;
 * a clock that is wrong after a start is not believed at once.
 */
static void test_off_often (void **state)
{
    for (int i = 0; i < 4; i++) {
        struct steady_clock c = { .wall_ns = 0 };
        int64_t wall = NOW + 3 * i * DAY;

        for (int h = 0; h <= 24; h++)
            assert_int_equal (look (*state, &c, wall + h * HOUR,
                                    (1 + h) * HOUR),
                              i == 0 || (i == 3 && h == 24) ? 0 : -EAGAIN);
    }
}

static void test_damaged (void **state)
{
    struct root *r = *state;
    struct steady_clock c = { .wall_ns = 0 }, other = { .wall_ns = 0 };
    char path[PATH_MAX];

    assert_true (fileio_join (path, sizeof (path), r->dir,
                              STEADY_CLOCK_NAME));
    assert_int_equal (look (r, &c, NOW, HOUR), 0);
    assert_int_equal (fileio_replace (path, "{", 1, FILEIO_FILE_MODE, NULL), 0);
    assert_int_equal (look (r, &other, NOW + 90 * DAY, HOUR), 0);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        ROOT_TEST (test_steady), ROOT_TEST (test_jumps),
        ROOT_TEST (test_restart), ROOT_TEST (test_off_often),
        ROOT_TEST (test_damaged),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
