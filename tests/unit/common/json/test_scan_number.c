/* tests/unit/common/json/test_scan_number.c - numbers, bit by bit as strtod */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/json/scan_check.h"
#include "json/scan_number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what they mean, and their limit ---- */

static void test_numbers (void **state)
{
    (void)state;
    check ("-0", "#8000000000000000");
    check ("-0.0", "#8000000000000000");
    check ("0.0", "0");
    check ("0e5", "0");
    check ("-1", "#bff0000000000000");
    check ("0.1", "#3fb999999999999a");
    check ("1E2", "100");
    check ("1e+2", "100");
    check ("100e-2", "1");
    check ("1.5e3", "1500");
    check ("20.90254161267816", "#4034e70cf795bb57");
    check ("1764246877386327.5", "#4319124af1b0d95e");
    check ("9007199254740993", "#4340000000000000");
    check ("1e22", "#4480f0cf064dd592");
    check ("1e23", "#44b52d02c7e14af6");
    check ("1.7976931348623157e308", "#7fefffffffffffff");
    check ("4.9e-324", "#0000000000000001");
    check ("1e-999", "0");                  // too small: zero, as strtod
    check ("0e999", "0");
    check ("0e99999999999999999999", "0");
    check ("0.000000000000000000000000000001", "#39b4484bfeebc2a0");
    // digits that wrap 64 bits to zero: they still count
    check ("18446744073709551616", "#43f0000000000000");
    check ("184467440737095516160", "#4424000000000000");
    check ("36893488147419103232", "#4400000000000000");
    check ("1.8446744073709551616", "#3ffd83c94fb6d2ac");
    check ("-18446744073709551616.0", "#c3f0000000000000");
    // 19 digits fill 64 bits, 20 do not
    check ("9999999999999999999", "#43e158e460913d00");
    check ("18446744073709551615", "#43f0000000000000");
    check ("00", "!byte 0: '0' where a number was expected");
}

/* 63 bytes are the most that is taken: some cJSON cut what is longer. */
static void test_number_length (void **state)
{
    char doc[80], want[96];
    double v;
    struct buf b;

    (void)state;
    for (size_t n = 50; n < 75; n++) {
        doc[0] = '0';
        doc[1] = '.';
        for (size_t i = 2; i < n; i++)
            doc[i] = (char)('1' + i % 9);
        doc[n] = '\0';
        v = strtod (doc, NULL);
        buf_init (&b, 100);
        dump_real (&b, v);
        if (n <= 63)
            check (doc, buf_text (&b));
        else
            check (doc, "!byte 0: a number is longer than 63 bytes");
        buf_fini (&b);
        (void)snprintf (want, sizeof (want), "[%s]", doc);
        if (n > 63)
            check (want, "!byte 1: a number is longer than 63 bytes");
    }
}

static void test_number_endless (void **state)
{
    size_t n = 3 * SCAN_BUFFER;
    char *doc = malloc (n);

    (void)state;
    assert_non_null (doc);
    memset (doc, '7', n);
    check_n (doc, n, "!byte 0: a number is longer than 63 bytes");
    doc[1] = '.';
    check_n (doc, n, "!byte 0: a number is longer than 63 bytes");
    memset (doc, '0', n);
    doc[1] = '.';
    check_n (doc, n, "!byte 0: a number is longer than 63 bytes");
    doc[1] = 'e';
    check_n (doc, n, "!byte 0: a number is longer than 63 bytes");
    memset (doc, '9', n);
    doc[1] = 'e';
    check_n (doc, n, "!byte 0: a number is longer than 63 bytes");
    free (doc);
}

/* ---- taken apart ---- */

static void check_plain (const char *doc, size_t size, uint64_t want,
                         unsigned want_places)
{
    char text[64] = "";         // eight bytes behind it are readable
    unsigned places;
    uint64_t w;
    const char *end;

    (void)snprintf (text, sizeof (text), "%s", doc);
    end = scan_plain (text, &w, &places);
    if (size == 0) {
        if (end)
            fail_msg ("%s: taken", doc);
        return;
    }
    if (end != text + size || w != want || places != want_places)
        fail_msg ("%s: %zd bytes, %llu with %u places", doc,
                  end ? end - text : -1, (unsigned long long)w, places);
}

static void test_plain (void **state)
{
    (void)state;
    check_plain ("0", 1, 0, 0);
    check_plain ("0,", 1, 0, 0);
    check_plain ("0.5]", 3, 5, 1);
    check_plain ("1763978400230730.480\"", 20, 1763978400230730480u, 3);
    check_plain ("9999999999999999999", 19, 9999999999999999999u, 0);
    check_plain ("0.000000000000000001", 20, 1, 18);
    check_plain ("10000000000000000000", 0, 0, 0);
    check_plain ("0.0000000000000000001", 0, 0, 0);
    check_plain ("", 0, 0, 0);
    check_plain ("-1", 0, 0, 0);
    check_plain ("01", 0, 0, 0);
    check_plain (".5", 0, 0, 0);
    check_plain ("5.", 0, 0, 0);
    check_plain ("1e5", 0, 0, 0);
    check_plain ("1.5E5", 0, 0, 0);
}

/* ---- against strtod ---- */

static uint64_t seed;

static uint64_t next_random (void)      // splitmix64
{
    uint64_t z = (seed += UINT64_C (0x9e3779b97f4a7c15));

    z = (z ^ z >> 30) * UINT64_C (0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C (0x94d049bb133111eb);
    return z ^ z >> 31;
}

static unsigned long rounds (unsigned long n)
{
    const char *more = getenv ("ROLLCALL_TEST_ROUNDS");     // times as many

    return n * (more ? strtoul (more, NULL, 10) : 1);
}

static void check_decimal (uint64_t w, int e)
{
    char text[48], *p = text + 24;
    uint64_t rest = w;
    bool ok;
    double v = scan_decimal (w, e, &ok), want;

    if (!ok)
        return;
    do {
        *--p = (char)('0' + rest % 10);
    } while (rest /= 10);
    (void)snprintf (text + 24, 24, "e%d", e);
    want = strtod (p, NULL);
    if (memcmp (&v, &want, sizeof (v)) != 0)
        fail_msg ("%s is %a, not %a", p, v, want);
}

static void test_decimal_random (void **state)
{
    (void)state;
    seed = 1;
    for (unsigned long i = rounds (1000000); i > 0; i--) {
        uint64_t r = next_random ();
        uint64_t w = next_random () >> (r & 63);

        check_decimal (w, (int)(r >> 8 & 63) - 36);
    }
    for (int e = -40; e < 40; e++) {
        for (unsigned bit = 0; bit < 64; bit++) {
            check_decimal (UINT64_C (1) << bit, e);
            check_decimal ((UINT64_C (1) << bit) - 1, e);
            check_decimal (~UINT64_C (0) << bit, e);
        }
        check_decimal (0, e);
    }
    // quotients that are exact powers of two
    for (uint64_t w = 1, q = 0; q <= 27; q++, w *= 5) {
        for (int shift = __builtin_clzll (w); shift >= 0; shift--) {
            check_decimal (w << shift, -(int)q);
            check_decimal ((w << shift) + 1, -(int)q);
            check_decimal ((w << shift) - 1, -(int)q);
        }
    }
}

/* Which powers are done without strtod: fewer would only be slow, and that
 * nobody would notice.
 */
static void test_decimal_range (void **state)
{
    bool ok;

    (void)state;
    for (int e = -27; e <= 22; e++) {
        (void)scan_decimal (UINT64_C (1234567890123456), e, &ok);
        assert_true (ok);
    }
    (void)scan_decimal (UINT64_MAX, -1, &ok);
    assert_true (ok);
    (void)scan_decimal (1, -28, &ok);
    assert_false (ok);
    (void)scan_decimal (1, 23, &ok);
    assert_false (ok);
    (void)scan_decimal (UINT64_MAX, 1, &ok);
    assert_false (ok);
}

/* The 17 digits of random doubles, of the sizes that profilers write. */
static void test_decimal_doubles (void **state)
{
    (void)state;
    seed = 2;
    for (unsigned long i = rounds (200000); i > 0; i--) {
        uint64_t r = next_random ();
        double d = (double)(next_random () >> 11) * 0x1p-53 *
                   pow (10, (double)(r % 26) - 8);
        char text[40];
        uint64_t w = 0;
        int e = 0;
        char *p = text;

        (void)snprintf (text, sizeof (text), "%.16e", d);
        for (; *p != 'e'; p++) {
            if (*p != '.')
                w = w * 10 + (uint64_t)(*p - '0');
        }
        e = (int)strtol (p + 1, NULL, 10) - 16;
        check_decimal (w, e);
        {
            bool ok;
            double v = scan_decimal (w, e, &ok);

            if (ok && v != d)
                fail_msg ("%s is not read back", text);
        }
    }
}

/* Halfway between two doubles, exactly, and the nearest to it on both sides
 * that 19 digits can name.
 */
static void test_decimal_halfway (void **state)
{
    static const uint64_t pow5[] = { 1, 5, 25, 125, 625 };

    (void)state;
    seed = 3;
    for (unsigned long i = rounds (50000); i > 0; i--) {
        uint64_t r = next_random ();
        uint64_t odd = (UINT64_C (1) << 53 | r >> 11) | 1;  // 54 bits
        int q = 1 + (int)(r % 4);

        // odd / 2^q: between two doubles, and exactly so in decimal
        check_decimal (odd * pow5[q], -q);
        check_decimal (odd * pow5[q] - 1, -q);
        check_decimal (odd * pow5[q] + 1, -q);
    }
    for (unsigned long i = rounds (50000); i > 0; i--) {
        double d = (double)(next_random () >> 11) * 0x1p-53 *
                   pow (10, (double)(next_random () % 26) - 8);
        long double half = ((long double)d + nextafter (d, HUGE_VAL)) / 2;
        char text[48], *p;
        uint64_t w = 0;
        int e;

        (void)snprintf (text, sizeof (text), "%.18Le", half);
        for (p = text; *p != 'e'; p++) {
            if (*p != '.')
                w = w * 10 + (uint64_t)(*p - '0');
        }
        e = (int)strtol (p + 1, NULL, 10) - 18;
        check_decimal (w, e);
        check_decimal (w - 1, e);
        check_decimal (w + 1, e);
    }
}

/* Numbers as text, in one long list that is read in odd pieces. */
static void test_real_random (void **state)
{
    enum { COUNT = 60000 };
    char *doc = malloc (COUNT * 64 + 3);
    double *want = calloc (COUNT, sizeof (*want));
    struct source src;
    struct scan s;
    bool first = true;
    size_t used = 0;
    unsigned got = 0;
    double v;

    (void)state;
    assert_non_null (doc);
    assert_non_null (want);
    seed = 4;
    doc[used++] = '[';
    for (int i = 0; i < COUNT; i++) {
        uint64_t r = next_random (), bits = next_random ();
        char *text = doc + used;
        double d;

        memcpy (&d, &bits, sizeof (d));
        if (!isfinite (d))
            d = 0;
        switch (r % 6) {
        case 0:                     // any double there is
            used += (size_t)snprintf (text, 60, "%.*g", (int)(r >> 8 & 31),
                                      d);
            break;
        case 1:
            used += (size_t)snprintf (text, 60, "%lld",
                                      (long long)bits >> (r >> 8 & 63));
            break;
        case 2:                     // many digits
            used += (size_t)snprintf (text, 60, "%llu%llu.%llu",
                                      (unsigned long long)r | 1,
                                      (unsigned long long)bits >> 30,
                                      (unsigned long long)bits >> 40);
            break;
        case 3:
            used += (size_t)snprintf (text, 60, "-0.%0*llu",
                                      (int)(r >> 8 & 31),
                                      (unsigned long long)bits >> 20);
            break;
        case 4:
            used += (size_t)snprintf (text, 60, "%lluE%d",
                                      (unsigned long long)bits >> 8,
                                      (int)(r >> 8 & 511) - 330);
            break;
        default:
            used += (size_t)snprintf (text, 60, "%llu.%04llu",
                                      (unsigned long long)bits >> 40,
                                      (unsigned long long)r % 10000);
            break;
        }
        want[i] = strtod (text, NULL);
        doc[used++] = i + 1 < COUNT ? ',' : ']';
    }
    src = source (doc, used, 0, 4093);
    assert_int_equal (scan_init (&s, source_read, &src), 0);
    assert_true (scan_array (&s));
    while (scan_element (&s, &first) && scan_real (&s, &v)) {
        if (memcmp (&v, &want[got], sizeof (v)) != 0)
            fail_msg ("number %u is %a, not %a", got, v, want[got]);
        got++;
    }
    if (!scan_end (&s))
        fail_msg ("%s", s.err.text);
    assert_int_equal (got, COUNT);
    scan_fini (&s);
    free (doc);
    free (want);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_numbers),
        cmocka_unit_test (test_number_length),
        cmocka_unit_test (test_number_endless),
        cmocka_unit_test (test_plain),
        cmocka_unit_test (test_decimal_random),
        cmocka_unit_test (test_decimal_range),
        cmocka_unit_test (test_decimal_doubles),
        cmocka_unit_test (test_decimal_halfway),
        cmocka_unit_test (test_real_random),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
