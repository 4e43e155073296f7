/* tests/unit/common/json/test_scan_text.c - strings: escapes, UTF-8, their
 * limit */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/json/scan_check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what they mean ---- */

static void test_strings (void **state)
{
    (void)state;
    check ("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "8'\"\\/\b\f\n\r\t'");
    check ("\"\\u0041\\u00e9\\u20AC\"", "6'A\xc3\xa9\xe2\x82\xac'");
    check ("\"\\ud83d\\ude00\"", "4'\xf0\x9f\x98\x80'");
    check ("\"\\uDBFF\\uDFFF\"", "4'\xf4\x8f\xbf\xbf'");
    check ("\"\\uD800\\uDC00\"", "4'\xf0\x90\x80\x80'");
    check ("\"\\uFFFF\\ud7ff\\ue000\"",
           "9'\xef\xbf\xbf\xed\x9f\xbf\xee\x80\x80'");
    check ("\"\x7f \xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"",
           "11'\x7f \xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80'");
    check ("{\"\\u0061\":1,\"\xc3\xa9\":2}", "{1'a':1,2'\xc3\xa9':2,}");
    check ("\"0123456789abcdef0123456789abcdef\"",
           "32'0123456789abcdef0123456789abcdef'");
}

#define BAD "\xef\xbf\xbd"

static void check_utf8 (const char *doc, const char *want, uint64_t bad,
                        uint64_t at)
{
    struct source src = source (doc, strlen (doc), 0, 1);
    struct scan s;
    const char *text;
    size_t n;

    assert_int_equal (scan_init (&s, source_read, &src), 0);
    assert_true (scan_text (&s, &text, &n));
    assert_int_equal (n, strlen (want));
    assert_memory_equal (text, want, n);
    assert_true (scan_end (&s));
    assert_int_equal (s.bad_utf8, bad);
    assert_int_equal (s.bad_utf8_at, at);
    scan_fini (&s);
    // the same bytes are let pass where nobody wants them
    src = source (doc, strlen (doc), 0, 1);
    assert_int_equal (scan_init (&s, source_read, &src), 0);
    assert_true (scan_skip (&s));
    assert_true (scan_end (&s));
    scan_fini (&s);
}

static void test_bad_utf8 (void **state)
{
    (void)state;
    check_utf8 ("\"\xff\"", BAD, 1, 1);
    check_utf8 (" \"ab\x80" "c\xfe\"", "ab" BAD "c" BAD, 2, 4);
    check_utf8 ("\"\xe2\x82\"", BAD BAD, 2, 1);             // cut
    check_utf8 ("\"\xe2\x82\\n\"", BAD BAD "\n", 2, 1);
    check_utf8 ("\"\xc0\xaf\"", BAD BAD, 2, 1);             // overlong '/'
    check_utf8 ("\"\xed\xa0\x80\"", BAD BAD BAD, 3, 1);     // surrogate
    check_utf8 ("\"\xf4\x90\x80\x80\"", BAD BAD BAD BAD, 4, 1);
    check_utf8 ("\"\xc3\xa9\"", "\xc3\xa9", 0, 0);
    check ("\"\xe2\x82", "!byte 3: the file ends where the rest of a string "
                         "was expected");
    check ("{\"\xff\":\"\xfe\"}", "{3'" BAD "':3'" BAD "',}");
}

/* ---- the limit ---- */

/* scan_text's answer for '"' what * times tail '"', as a string. */
static void check_text_limit (const char *what, size_t times,
                              const char *tail, size_t decoded)
{
    for (size_t i = 0; i < CHUNKS; i += 4) {
        char close[32], want[80];
        struct source src;
        struct scan s;
        const char *text;
        size_t size, n;
        char *doc;
        bool ok;

        (void)snprintf (close, sizeof (close), "%s\"", tail);
        doc = repeat ("\"", what, times, close, &size);
        src = source (doc, size, 0, chunks[i] < 64 ? 64 : chunks[i]);
        assert_int_equal (scan_init (&s, source_read, &src), 0);
        ok = scan_text (&s, &text, &n);
        assert_int_equal (ok, decoded <= SCAN_TEXT_MAX);
        if (ok) {
            assert_int_equal (n, decoded);
            assert_true (scan_end (&s));
        } else if (what[0] == 'x' && tail[0] == '\0') {
            (void)snprintf (want, sizeof (want), "byte %u: a string is "
                            "longer than %u bytes", SCAN_TEXT_MAX + 1,
                            SCAN_TEXT_MAX);
            assert_string_equal (s.err.text, want);
        } else {
            assert_non_null (strstr (s.err.text, "a string is longer than "
                                                 "65536 bytes"));
        }
        scan_fini (&s);
        // a string that nobody wants may have any length
        src = source (doc, size, 0, chunks[i] < 64 ? 64 : chunks[i]);
        assert_int_equal (scan_init (&s, source_read, &src), 0);
        assert_true (scan_skip (&s));
        assert_true (scan_end (&s));
        scan_fini (&s);
        free (doc);
    }
}

static void test_text_limit (void **state)
{
    (void)state;
    check_text_limit ("x", 65535, "", 65535);
    check_text_limit ("x", 65536, "", 65536);
    check_text_limit ("x", 65537, "", 65537);
    check_text_limit ("x", 400000, "", 400000);     // beyond the buffer
    check_text_limit ("\\n", 65536, "", 65536);
    check_text_limit ("\\n", 65537, "", 65537);
    check_text_limit ("\xc3\xa9", 32768, "", 65536);
    check_text_limit ("\xc3\xa9", 32769, "", 65538);
    check_text_limit ("\xff", 21845, "x", 65536);   // 3 bytes for 1
    check_text_limit ("\xff", 21846, "", 65538);
    check_text_limit ("\\ud83d\\ude00", 16384, "", 65536);
    check_text_limit ("\\ud83d\\ude00", 16385, "", 65540);
    // the last bytes that fit, and a long one behind them
    check_text_limit ("x", 65535, "\\u0041", 65536);
    check_text_limit ("x", 65536, "\xf0\x9f\x98\x80", 65540);
    check_text_limit ("x", 65533, "\xf0\x9f\x98\x80", 65537);
    check_text_limit ("x", 65532, "\xf0\x9f\x98\x80", 65536);
    check_text_limit ("x", 65535, "\\nx", 65537);
}

/* A string that begins with an escape takes another way through the scanner;
 * its limit is the same.
 */
static void test_text_limit_escaped (void **state)
{
    (void)state;
    for (size_t n = SCAN_TEXT_MAX - 2; n < SCAN_TEXT_MAX + 2; n++) {
        size_t size;
        char *doc = repeat ("\"\\n", "x", n, "\"", &size);
        struct source src = source (doc, size, 0, 5000);
        struct scan s;
        const char *text;

        assert_int_equal (scan_init (&s, source_read, &src), 0);
        if (n < SCAN_TEXT_MAX) {
            assert_true (scan_text (&s, &text, &size));
            assert_int_equal (size, n + 1);
        } else {
            assert_false (scan_text (&s, &text, &size));
            assert_string_equal (s.err.text, "byte 65538: a string is longer "
                                             "than 65536 bytes");
        }
        scan_fini (&s);
        free (doc);
    }
}

static void test_key_limit (void **state)
{
    size_t size;
    char *doc = repeat ("{\"", "k", SCAN_TEXT_MAX, "\":1}", &size);
    struct source src = source (doc, size, 0, 1000);
    struct scan s;
    bool first = true;

    (void)state;
    assert_int_equal (scan_init (&s, source_read, &src), 0);
    assert_true (scan_object (&s));
    assert_true (scan_member (&s, &first));
    assert_int_equal (s.key_size, SCAN_TEXT_MAX);
    assert_true (scan_skip (&s));
    assert_false (scan_member (&s, &first));
    assert_true (scan_end (&s));
    scan_fini (&s);
    free (doc);
    doc = repeat ("{\"", "k", SCAN_TEXT_MAX + 1, "\":1}", &size);
    src = source (doc, size, 0, 1000);
    first = true;
    assert_int_equal (scan_init (&s, source_read, &src), 0);
    assert_true (scan_object (&s));
    assert_false (scan_member (&s, &first));
    assert_string_equal (s.err.text,
                         "byte 65538: a string is longer than 65536 bytes");
    scan_fini (&s);
    free (doc);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_strings),
        cmocka_unit_test (test_bad_utf8),
        cmocka_unit_test (test_text_limit),
        cmocka_unit_test (test_text_limit_escaped),
        cmocka_unit_test (test_key_limit),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
