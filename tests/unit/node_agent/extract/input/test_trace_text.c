/* tests/unit/node_agent/extract/input/test_trace_text.c - times of a trace,
 * exactly
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "extract/input/trace_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define NOT_A_TIME INT64_MIN
#define LARGEST INT64_C (2305843009213699)      // us, of all digits

/* The time between 'before' and 'after', of which nothing is read. */
static int64_t time_in (const char *before, const char *text, const char *after)
{
    char own[64 + TRACE_PAD] = "";
    int n = snprintf (own, 64, "%s%s%s", before, text, after);
    int64_t ns = 7;
    bool good = false;
    const char *p = trace_time (own, own + n, &ns, &good);

    if (p)
        assert_ptr_equal (p, own + n - strlen (after) + (*before == '"'));
    return p && good ? ns : NOT_A_TIME;
}

static int64_t time_of (const char *text)
{
    int64_t ns = time_in ("", text, ",");

    assert_int_equal (time_in ("", text, "}"), ns);
    assert_int_equal (time_in ("", text, "\n"), ns);
    assert_int_equal (time_in ("\"", text, "\"}"), ns);
    assert_int_equal (time_in ("", text, ""), NOT_A_TIME);      // cut off
    return ns;
}

static void test_times (void **state)
{
    static const struct {
        const char *text;
        int64_t ns;
    } times[] = {
        { "0", 0 }, { "7", 7000 }, { "1.5", 1500 }, { "12.", 12000 },
        { "0.001", 1 }, { "-3.25", -3250 }, { "007", 7000 },
        { "12345678", 12345678000 }, { "123456789.1", 123456789100 },
        { "4458676416788.066", 4458676416788066 },
        { "1711964646000100.123", 1711964646000100123 },
        { "1.0004", 1000 }, { "1.0005", 1001 }, { "37.502999999999986", 37503 },
        { "12345678.12345678", 12345678123 }, { "1e3", 1000000 },
        { "2.5E-1", 250 }, { "", NOT_A_TIME },
        { ".5", NOT_A_TIME }, { "x", NOT_A_TIME }, { "1x", NOT_A_TIME },
        { "1.5x", NOT_A_TIME }, { "1.5.5", NOT_A_TIME }, { "-", NOT_A_TIME },
        { "2305843009213699", LARGEST * 1000 },
        { "2305843009213699.999", LARGEST * 1000 + 999 },
        { "2305843009213700", NOT_A_TIME },
        { "23058430092136990", NOT_A_TIME },
        { "99999999999999999", NOT_A_TIME },
    };

    (void)state;
    for (unsigned i = 0; i < sizeof (times) / sizeof (times[0]); i++) {
        if (time_of (times[i].text) != times[i].ns)
            fail_msg ("%s is %" PRId64, times[i].text, time_of (times[i].text));
    }
}

/* As sums of its digits, of each number of them. */
static void test_digits (void **state)
{
    unsigned seed = 21;

    (void)state;
    for (unsigned i = 0; i < 100000; i++) {
        unsigned whole = 1 + i % 18, behind = (unsigned)rand_r (&seed) % 6;
        int64_t us = 0, ns = 0, unit = 1000;
        char text[64];
        unsigned n = 0;

        for (; n < whole; n++) {
            text[n] = (char)('0' + rand_r (&seed) % 10);
            us = 10 * us + text[n] - '0';
        }
        if (behind > 0)
            text[n++] = '.';
        for (unsigned d = 0; d < behind; d++) {
            text[n++] = (char)('0' + rand_r (&seed) % 10);
            unit /= 10;
            ns += d < 3 ? unit * (text[n - 1] - '0')
                        : d == 3 && text[n - 1] >= '5';
        }
        text[n] = '\0';
        if (time_of (text) != (us > LARGEST ? NOT_A_TIME : us * 1000 + ns))
            fail_msg ("%s is %" PRId64, text, time_of (text));
    }
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_times),
        cmocka_unit_test (test_digits),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
