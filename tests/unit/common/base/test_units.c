/* tests/unit/common/base/test_units.c - numbers from text */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/units.h"

#include <math.h>
#include <errno.h>
#include <float.h>
#include <locale.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UNTOUCHED INT64_C (-424242)

static void check_int (const char *s, int64_t min, int64_t max, int want_rc,
                       int64_t want)
{
    int64_t v = UNTOUCHED;
    int rc = units_int (s, min, max, &v);

    if (rc != want_rc || v != (rc == 0 ? want : UNTOUCHED))
        fail_msg ("units_int (\"%s\"): rc %d, value %lld", s, rc,
                  (long long)v);
}

static void test_int (void **state)
{
    (void)state;
    check_int ("0", 0, 10, 0, 0);
    check_int ("10", 0, 10, 0, 10);
    check_int ("007", 0, 10, 0, 7);
    check_int ("9223372036854775807", 0, INT64_MAX, 0, INT64_MAX);
    check_int ("-9223372036854775808", INT64_MIN, 0, 0, INT64_MIN);
    check_int ("-1", -1, 10, 0, -1);
    // a bound that is off by one, or an overflow that wraps
    check_int ("11", 0, 10, -ERANGE, 0);
    check_int ("-2", -1, 10, -ERANGE, 0);
    check_int ("9223372036854775808", 0, INT64_MAX, -ERANGE, 0);
    check_int ("-9223372036854775809", INT64_MIN, 0, -ERANGE, 0);
    check_int ("18446744073709551616", 0, INT64_MAX, -ERANGE, 0);
    check_int ("99999999999999999999999999", 0, INT64_MAX, -ERANGE, 0);
}

static void test_rank (void **state)
{
    int64_t rank = UNTOUCHED;

    (void)state;
    assert_int_equal (units_rank ("2", &rank), 0);
    assert_int_equal (rank, 2);
    assert_int_equal (units_rank ("rank17", &rank), 0);
    assert_int_equal (rank, 17);
    assert_int_equal (units_rank ("rank", &rank), -EINVAL);
    assert_int_equal (units_rank ("-1", &rank), -EINVAL);
    assert_int_equal (units_rank ("node0_rank2", &rank), -EINVAL);
    assert_int_equal (rank, 17);
}

static void test_int_refused (void **state)
{
    static const char *const bad[] = {
        "", "-", "+1", " 1", "1 ", "1x", "x", "1.0", "1e3", "0x10", "--1",
        "1\n", "\xd9\xa1",
    };

    (void)state;
    for (size_t i = 0; i < sizeof (bad) / sizeof (bad[0]); i++) {
        check_int (bad[i], INT64_MIN, INT64_MAX, -EINVAL, 0);
        check_int (bad[i], 0, INT64_MAX, -EINVAL, 0);
    }
    // no sign where nothing negative can come: a "-0" is a typing error
    check_int ("-0", 0, 10, -EINVAL, 0);
    check_int ("-5", 0, 10, -EINVAL, 0);
}

static bool same_bits (double a, double b)
{
    return memcmp (&a, &b, sizeof (a)) == 0;
}

static void check_real (const char *s, size_t n, int want_rc, double want)
{
    double v = -42;
    int rc = units_real (s, n, &v);

    if (rc != want_rc || !same_bits (v, rc == 0 ? want : -42))
        fail_msg ("units_real (\"%s\"): rc %d, value %.17g", s, rc, v);
}

static void test_real (void **state)
{
    static const char *const bad[] = {
        "", "-", ".", "-.", "+1", " 1", "1 ", "1,5", "1x", "x", "inf", "-inf",
        "nan", "-nan", "infinity", "-infinity", "0x10", "-0x1p3", "1e", "1e+",
        "1e5.5", "1-2", "--1", "1.2.3", "e5",
    };

    (void)state;
    check_real ("0", 1, 0, 0.0);
    check_real ("-0", 2, 0, -0.0);
    check_real ("12345", 3, 0, 123);            // what is behind is not read
    check_real ("-.5", 3, 0, -0.5);
    check_real ("1e-3", 4, 0, 0.001);
    check_real ("20.90254161267816", 17, 0, 20.90254161267816);
    check_real ("1.7976931348623157e308", 22, 0, DBL_MAX);
    check_real ("4.9e-324", 8, 0, 4.9406564584124654e-324);
    check_real ("1e-400", 6, 0, 0.0);           // too small is zero
    check_real ("1e999", 5, -ERANGE, 0);        // too large is not infinity
    check_real ("-1e999", 6, -ERANGE, 0);
    check_real ("12\0" "3", 4, -EINVAL, 0);     // a NUL must not hide a tail
    check_real ("12\0", 3, -EINVAL, 0);
    for (size_t i = 0; i < sizeof (bad) / sizeof (bad[0]); i++)
        check_real (bad[i], strlen (bad[i]), -EINVAL, 0);
}

/* The buffer of units_real is bounded: longer is refused, not cut. */
static void test_real_long (void **state)
{
    char text[2000];

    (void)state;
    memset (text, '0', sizeof (text));
    text[0] = '1';
    text[1] = '.';
    check_real (text, 1000, 0, 1.0);
    check_real (text, 1099, 0, 1.0);
    check_real (text, 1100, -EINVAL, 0);
    check_real (text, sizeof (text), -EINVAL, 0);
}

static void check_duration (const char *s, int want_rc, int64_t want)
{
    int64_t v = UNTOUCHED;
    int rc = units_duration_ns (s, &v);

    if (rc != want_rc || v != (rc == 0 ? want : UNTOUCHED))
        fail_msg ("units_duration_ns (\"%s\"): rc %d, value %lld", s, rc,
                  (long long)v);
}

static void test_duration_text (void **state)
{
    static const char *const texts[] = {
        "0s", "0.5s", "1s", "1.5s", "7s", "45s", "1m", "90s", "5m", "1h", "5400.25s",
        "90m", "48h", "0.000000001s",
    };
    char out[UNITS_DURATION_TEXT];

    (void)state;
    for (size_t i = 0; i < sizeof (texts) / sizeof (texts[0]); i++) {
        int64_t ns = -1;

        assert_int_equal (units_duration_ns (texts[i], &ns), 0);
        units_duration_text (ns, out);
        assert_string_equal (out, texts[i]);
    }
}

static void test_duration (void **state)
{
    (void)state;
    check_duration ("90", 0, INT64_C (90000000000));
    check_duration ("1.5", 0, INT64_C (1500000000));
    check_duration ("500ms", 0, INT64_C (500000000));
    check_duration ("90s", 0, INT64_C (90000000000));
    check_duration ("5m", 0, INT64_C (300000000000));
    check_duration ("2h", 0, INT64_C (7200000000000));
    check_duration ("0", 0, 0);
    check_duration ("1000000000", 0, INT64_C (1000000000000000000));
    check_duration ("1000000001", -ERANGE, 0);
    check_duration ("99999999999999999999h", -ERANGE, 0);
    check_duration ("", -EINVAL, 0);
    check_duration ("ms", -EINVAL, 0);
    check_duration ("-1", -EINVAL, 0);
    check_duration ("1e3", -EINVAL, 0);
    check_duration ("5 m", -EINVAL, 0);
    check_duration ("5min", -EINVAL, 0);
    check_duration ("5M", -EINVAL, 0);
    check_duration ("1.5.5", -EINVAL, 0);
    check_duration ("inf", -EINVAL, 0);
}

static void check_us (const char *s, int want_rc, int64_t want)
{
    int64_t v = UNTOUCHED;
    int rc = units_us_to_ns (s, strlen (s), &v);

    if (rc != want_rc || v != (rc == 0 ? want : UNTOUCHED))
        fail_msg ("units_us_to_ns (\"%s\"): rc %d, value %lld", s, rc,
                  (long long)v);
}

static void test_us_to_ns (void **state)
{
    (void)state;
    // a double has no room for this one: it would end in ...327488 or so
    check_us ("1764246877386327.5", 0, INT64_C (1764246877386327500));
    check_us ("1764246877386327.512", 0, INT64_C (1764246877386327512));
    check_us ("1764246877386327.5129", 0, INT64_C (1764246877386327512));
    check_us ("1764246877386327.999999999", 0, INT64_C (1764246877386327999));
    check_us ("1764246877386327", 0, INT64_C (1764246877386327000));
    check_us ("1764246877386327.05\t", 0, INT64_C (1764246877386327050));
    check_us ("1764246877386327.5\t\r", 0, INT64_C (1764246877386327500));
    check_us ("0", 0, 0);
    check_us ("0.001", 0, 1);
    check_us ("0.0009", 0, 0);
    check_us ("1.", 0, 1000);
    check_us ("9223372036854775.807", 0, INT64_MAX);
    check_us ("9223372036854775.808", -ERANGE, 0);
    check_us ("9999999999999999", -ERANGE, 0);
    check_us ("99999999999999999999999999", -EINVAL, 0);
    check_us ("", -EINVAL, 0);
    check_us ("\t", -EINVAL, 0);
    check_us (".5", -EINVAL, 0);
    check_us ("-1", -EINVAL, 0);
    check_us ("+1", -EINVAL, 0);
    check_us (" 1", -EINVAL, 0);
    check_us ("1 ", -EINVAL, 0);
    check_us ("\t1", -EINVAL, 0);
    check_us ("1.5.5", -EINVAL, 0);
    check_us ("1.5e3", -EINVAL, 0);
    check_us ("1.0000x", -EINVAL, 0);   // the cut digits are still looked at
    check_us ("N/A", -EINVAL, 0);
}

/* 's' and 'n' are a field within a longer line: nothing behind it is read. */
static void test_us_to_ns_field (void **state)
{
    int64_t v;

    (void)state;
    assert_int_equal (units_us_to_ns ("12.5999,7", 4, &v), 0);
    assert_int_equal (v, 12500);
}

static void check_round4 (double x, double want)
{
    double v = units_round4 (x);

    if (!same_bits (v, want))
        fail_msg ("units_round4 (%.17g) is %.17g, not %.17g", x, v, want);
}

/* Values of Python's round (x, 4). */
static void test_round4 (void **state)
{
    (void)state;
    check_round4 (20.90254161267816, 20.9025);
    check_round4 (0, 0);
    check_round4 (1, 1);
    check_round4 (0.00004, 0);
    check_round4 (0.00005, 0.0001);         // the double is above the tie
    check_round4 (0.00015, 0.0001);         // and this one below it
    check_round4 (0.03125, 0.0312);         // true ties: to even
    check_round4 (0.09375, 0.0938);
    check_round4 (-0.03125, -0.0312);
    check_round4 (-0.00001, -0.0);
    check_round4 (2.67545, 2.6755);
    check_round4 (399999.96875, 399999.9688);       // a tie, below the limit
    check_round4 (399999.99985, 399999.9999);       // of the quick way
    check_round4 (400000.00015, 400000.0001);       // and above it
    check_round4 (1.00005, 1.0001);
    check_round4 (123456789.123456789, 123456789.1235);
    check_round4 (1e22, 1e22);
    check_round4 (DBL_MAX, DBL_MAX);        // 309 digits fit
    check_round4 (-DBL_MAX, -DBL_MAX);
    check_round4 (4.9e-324, 0);
}

/* A user's locale with a decimal comma must change no number. */
static void test_locale (void **state)
{
    static const char *const names[] = { "de_DE.UTF-8", "de_DE.utf8", "de_DE",
                                         "fr_FR.UTF-8", "fr_FR.utf8" };
    const char *name = NULL;

    (void)state;
    for (size_t i = 0; !name && i < sizeof (names) / sizeof (names[0]); i++)
        name = setlocale (LC_ALL, names[i]);
    if (!name || strcmp (localeconv ()->decimal_point, ",") != 0) {
        setlocale (LC_ALL, "C");
        print_message ("SKIPPED: no locale with a decimal comma (locales-all)\n");
        skip ();
    }
    test_real (NULL);
    test_duration (NULL);
    test_us_to_ns (NULL);
    test_round4 (NULL);
    setlocale (LC_ALL, "C");
}

static void check_bytes (uint64_t n, const char *want)
{
    char text[16];

    units_bytes_text (n, text);
    assert_string_equal (text, want);
}

static void test_bytes_text (void **state)
{
    (void)state;
    check_bytes (0, "0 B");
    check_bytes (999, "999 B");
    check_bytes (1000, "1.0 kB");
    check_bytes (9949, "9.9 kB");
    check_bytes (9951, "10 kB");            // never "10.0 kB"
    check_bytes (999499, "999 kB");
    check_bytes (999500, "1.0 MB");         // never "1000 kB"
    check_bytes (311000000, "311 MB");
    check_bytes (UINT64_MAX, "18 EB");
}

static void check_parse_bytes (const char *s, int want_rc, int64_t want)
{
    int64_t v = UNTOUCHED;
    int rc = units_bytes (s, &v);

    if (rc != want_rc || v != (rc == 0 ? want : UNTOUCHED))
        fail_msg ("units_bytes (\"%s\"): rc %d, value %lld", s, rc,
                  (long long)v);
}

static void test_bytes (void **state)
{
    (void)state;
    check_parse_bytes ("0", 0, 0);
    check_parse_bytes ("1000", 0, 1000);
    check_parse_bytes ("12B", 0, 12);
    check_parse_bytes ("64k", 0, 64000);
    check_parse_bytes ("64KiB", 0, 65536);
    check_parse_bytes ("1.5G", 0, INT64_C (1500000000));
    check_parse_bytes ("1GiB", 0, INT64_C (1) << 30);
    check_parse_bytes ("2Ti", 0, INT64_C (1) << 41);
    check_parse_bytes ("", -EINVAL, 0);
    check_parse_bytes ("G", -EINVAL, 0);
    check_parse_bytes ("-1", -EINVAL, 0);
    check_parse_bytes ("1 G", -EINVAL, 0);
    check_parse_bytes ("1GBs", -EINVAL, 0);
    check_parse_bytes ("1iB", -EINVAL, 0);
    check_parse_bytes ("10E", -ERANGE, 0);  // would wrap in an int64_t
}

/* As short as it can be, and the same number when it is read back. */
static void test_real_text (void **state)
{
    static const struct {
        double x;
        const char *text;
    } rows[] = {
        { 0, "0" }, { -1.5, "-1.5" }, { 0.1, "0.1" }, { 1e300, "1e+300" },
        { 0.1 + 0.2, "0.30000000000000004" },
        { 1763978400006642.2, "1763978400006642.2" },
        { (double)INFINITY, "" }, { (double)NAN, "" },
    };
    char text[UNITS_REAL_TEXT];

    (void)state;
    for (size_t i = 0; i < sizeof (rows) / sizeof (rows[0]); i++) {
        units_real_text (rows[i].x, text);
        assert_string_equal (text, rows[i].text);
    }
}

/* Numbers of any digits and sizes: as printf prints them. */
static void test_real_texts (void **state)
{
    char text[UNITS_REAL_TEXT], other[UNITS_REAL_TEXT];
    uint64_t seed = 1;

    (void)state;
    for (int i = 0; i < 300000; i++) {
        double x, scale = 1;
        int digits = 15;

        seed = seed * UINT64_C (6364136223846793005) + 1442695040888963407;
        for (unsigned k = (unsigned)(seed >> 59); k > 0; k--)
            scale *= 10;
        x = (double)(int64_t)(seed << 20) / 1048576;
        x = nextafter (trunc (x / scale) / (double)(1 + (seed >> 40) % 1000000),
                       i % 3 ? 0 : 1);
        if (i % 2)
            x = trunc (x) / scale;
        do
            (void)snprintf (other, sizeof (other), "%.*g", digits, x);
        while (!(strtod (other, NULL) >= x && strtod (other, NULL) <= x) &&
               digits++ < 17);
        units_real_text (x, text);
        assert_string_equal (text, strcmp (other, "-0") ? other : "0");
    }
}

static void test_plural (void **state)
{
    (void)state;
    assert_string_equal (units_s (0), "s");
    assert_string_equal (units_s (1), "");
    assert_string_equal (units_s (2), "s");
    assert_string_equal (units_are (1), "is");
    assert_string_equal (units_are (0), "are");
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_int), cmocka_unit_test (test_rank),
        cmocka_unit_test (test_int_refused),
        cmocka_unit_test (test_real),
        cmocka_unit_test (test_real_long),
        cmocka_unit_test (test_duration), cmocka_unit_test (test_duration_text),
        cmocka_unit_test (test_us_to_ns),
        cmocka_unit_test (test_us_to_ns_field),
        cmocka_unit_test (test_round4),
        cmocka_unit_test (test_locale),
        cmocka_unit_test (test_bytes_text),
        cmocka_unit_test (test_real_text),
        cmocka_unit_test (test_real_texts),
        cmocka_unit_test (test_bytes),
        cmocka_unit_test (test_plural),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
