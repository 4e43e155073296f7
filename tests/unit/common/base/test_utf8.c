/* tests/unit/common/base/test_utf8.c - UTF-8, checked as RFC 3629 has it */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/utf8.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* The valid sequences by the table of RFC 3629, written down independently
 * of the code under test.
 */
static size_t reference_size (const unsigned char *p)
{
    static const struct {
        unsigned char lo[4], hi[4];
        size_t n;
    } rows[] = {
        { { 0x00 }, { 0x7f }, 1 },
        { { 0xc2, 0x80 }, { 0xdf, 0xbf }, 2 },
        { { 0xe0, 0xa0, 0x80 }, { 0xe0, 0xbf, 0xbf }, 3 },
        { { 0xe1, 0x80, 0x80 }, { 0xec, 0xbf, 0xbf }, 3 },
        { { 0xed, 0x80, 0x80 }, { 0xed, 0x9f, 0xbf }, 3 },
        { { 0xee, 0x80, 0x80 }, { 0xef, 0xbf, 0xbf }, 3 },
        { { 0xf0, 0x90, 0x80, 0x80 }, { 0xf0, 0xbf, 0xbf, 0xbf }, 4 },
        { { 0xf1, 0x80, 0x80, 0x80 }, { 0xf3, 0xbf, 0xbf, 0xbf }, 4 },
        { { 0xf4, 0x80, 0x80, 0x80 }, { 0xf4, 0x8f, 0xbf, 0xbf }, 4 },
    };

    for (size_t r = 0; r < sizeof (rows) / sizeof (rows[0]); r++) {
        size_t i = 0;

        while (i < rows[r].n && p[i] >= rows[r].lo[i] &&
               p[i] <= rows[r].hi[i])
            i++;
        if (i == rows[r].n)
            return i;
    }
    return 0;
}

/* Every first two bytes with the third and fourth ones at their edges. */
static void test_size_all (void **state)
{
    static const unsigned char edges[] = { 0x00, 0x41, 0x7f, 0x80, 0x8f, 0x90,
                                           0x9f, 0xa0, 0xbf, 0xc0, 0xff };

    (void)state;
    for (unsigned a = 0; a < 65536; a++) {
        for (size_t c = 0; c < sizeof (edges); c++) {
            for (size_t d = 0; d < sizeof (edges); d++) {
                char s[5] = { (char)(a >> 8), (char)(a & 255),
                              (char)edges[c], (char)edges[d], '\0' };
                size_t want = reference_size ((unsigned char *)s);

                if (utf8_size (s) != want)
                    fail_msg ("%02x %02x %02x %02x", a >> 8, a & 255,
                              edges[c], edges[d]);
            }
        }
    }
}

/* Every scalar value is written so that it reads as one valid sequence. */
static void test_put_all (void **state)
{
    (void)state;
    for (unsigned code = 0; code <= 0x10ffff; code++) {
        char s[8] = { 0 };
        size_t n = utf8_put (s, code);
        size_t want = code < 0x80 ? 1 : code < 0x800 ? 2
                                    : code < 0x10000 ? 3 : 4;

        assert_int_equal (n, want);
        if (code >= 0xd800 && code <= 0xdfff)
            assert_int_equal (utf8_size (s), 0);    // a surrogate is none
        else
            assert_int_equal (utf8_size (s), n);
    }
}

static void test_put_bytes (void **state)
{
    char s[4];

    (void)state;
    assert_int_equal (utf8_put (s, 0x20ac), 3);
    assert_memory_equal (s, "\xe2\x82\xac", 3);
    assert_int_equal (utf8_put (s, 0x1f600), 4);
    assert_memory_equal (s, "\xf0\x9f\x98\x80", 4);
    assert_int_equal (utf8_put (s, UTF8_REPLACEMENT), 3);
    assert_memory_equal (s, "\xef\xbf\xbd", 3);
}

/* A character is whole or gone; what is no text is cut all the same. */
static void test_cut (void **state)
{
    static const char text[] = "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80z";
    static const size_t want[] = { 0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 11, 11 };

    (void)state;
    for (size_t max = 0; max < sizeof (want) / sizeof (want[0]); max++)
        assert_int_equal (utf8_cut (text, sizeof (text) - 1, max), want[max]);
    assert_int_equal (utf8_cut ("\x80\x80\x80\x80\x80\x80", 6, 5), 5);
    assert_int_equal (utf8_cut (NULL, 0, 3), 0);
}

/* A sequence cut by the end of a heap block: a sanitizer sees a read behind
 * the guarding NUL.
 */
static void test_size_cut (void **state)
{
    static const char full[] = "\xf0\x9f\x98\x80";

    (void)state;
    for (size_t n = 1; n < 4; n++) {
        char *s = malloc (n + 1);

        assert_non_null (s);
        memcpy (s, full, n);
        s[n] = '\0';
        assert_int_equal (utf8_size (s), 0);
        free (s);
    }
}

static void check_repair (const char *in, size_t n, const char *want,
                          uint64_t want_bad)
{
    char *copy = malloc (n + 1), *out = malloc (3 * n + 1);
    uint64_t bad = 7;           // counted up, not set
    size_t used;

    assert_non_null (copy);
    assert_non_null (out);
    memcpy (copy, in, n);
    copy[n] = '\0';
    used = utf8_repair (copy, n, out, &bad);
    assert_int_equal (used, strlen (want));
    assert_memory_equal (out, want, used);
    assert_int_equal (bad, 7 + want_bad);
    free (copy);
    free (out);
}

#define BAD "\xef\xbf\xbd"

static void test_repair (void **state)
{
    (void)state;
    check_repair ("", 0, "", 0);
    check_repair ("plain", 5, "plain", 0);
    check_repair ("\xc3\xa9\xe2\x82\xac", 5, "\xc3\xa9\xe2\x82\xac", 0);
    check_repair ("a\xff" "b", 3, "a" BAD "b", 1);
    check_repair ("\xff\xfe\xfd", 3, BAD BAD BAD, 3);  // the most it grows
    check_repair ("\xe2\x82", 2, BAD BAD, 2);           // cut at the end
    check_repair ("\xe2\x82x", 3, BAD BAD "x", 2);
    check_repair ("\xc0\x80", 2, BAD BAD, 2);           // an overlong NUL
    check_repair ("\xed\xa0\x80", 3, BAD BAD BAD, 3);   // a surrogate
    check_repair ("\xf4\x90\x80\x80", 4, BAD BAD BAD BAD, 4);
}

static void check_escape (const char *s, enum utf8_escape how,
                          const char *want)
{
    char out[UTF8_ESCAPED (64)];

    assert_string_equal (utf8_escape (s, how, out), want);
}

/* What somebody has called a file goes to the terminal of another. */
static void test_escape (void **state)
{
    (void)state;
    check_escape ("", UTF8_COLUMN, "");
    check_escape ("a b\xc3\xa9\xf0\x9f\x98\x80", UTF8_COLUMN,
                  "a b\xc3\xa9\xf0\x9f\x98\x80");
    check_escape ("a\tb\nc\\t", UTF8_COLUMN, "a\\tb\\nc\\\\t");
    check_escape ("a\tb\nc\\t", UTF8_LINES, "a\\tb\nc\\t");
    check_escape ("\x1b]0;x\x07\x7f", UTF8_LINES, "\\x1b]0;x\\x07\\x7f");
    check_escape ("\xc2\x9b" "31m", UTF8_LINES, "\\xc2\\x9b31m");
    // what follows would be read in another order
    check_escape ("a\xe2\x80\xae" "b\xe2\x81\xa6", UTF8_LINES,
                  "a\\xe2\\x80\\xaeb\\xe2\\x81\\xa6");
    check_escape ("\xff\xe2\x82", UTF8_COLUMN, "\\xff\\xe2\\x82");
}

static void test_columns (void **state)
{
    static const struct {
        const char *text;
        unsigned columns;
    } rows[] = {
        { "a", 1 },
        { "\xc3\xa9", 1 },              // e acute
        { "\xcc\x81", 0 },              // an accent that joins
        { "\xe6\xbc\xa2", 2 },          // han
        { "\xef\xbc\xa1", 2 },          // wide A
        { "\xf0\x9f\x98\x80", 2 },      // emoji
        { "\xf0\x9d\x84\x9e", 1 },      // clef
    };

    (void)state;
    for (size_t i = 0; i < sizeof (rows) / sizeof (rows[0]); i++)
        assert_int_equal (utf8_columns (rows[i].text, strlen (rows[i].text)),
                          rows[i].columns);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_size_all),
        cmocka_unit_test (test_put_all),
        cmocka_unit_test (test_put_bytes),
        cmocka_unit_test (test_cut),
        cmocka_unit_test (test_size_cut),
        cmocka_unit_test (test_repair),
        cmocka_unit_test (test_escape),
        cmocka_unit_test (test_columns),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
