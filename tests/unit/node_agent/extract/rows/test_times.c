/* tests/unit/node_agent/extract/rows/test_times.c - us of times in ns */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "extract/rows/times.h"

/* Times of a real trace, and what communication.json of the same capture says:
 * division by 1000.0 gives another double for each of them.
 */
static void test_text (void **state)
{
    static const struct {
        int64_t ns;
        double text, divided;
    } times[] = {
        { 1736408883732241564, 1736408883732241.5, 1736408883732241.75 },
        { 1736408883811334844, 1736408883811334.75, 1736408883811335.0 },
        { 1736408883816026238, 1736408883816026.25, 1736408883816026.0 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof (times) / sizeof (times[0]); i++) {
        assert_true (time_us_of_text (times[i].ns) == times[i].text);
        assert_true (time_us (times[i].ns) == times[i].divided);
    }
}

/* Short ones do not differ: all durations may be divided. */
static void test_short (void **state)
{
    (void)state;
    for (int64_t ns = -5000; ns < 5000; ns++)
        assert_true (time_us (ns) == (double)ns / 1e3);
    assert_true (time_us_of_text (123456789) == 123456.789);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_text),
        cmocka_unit_test (test_short),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
