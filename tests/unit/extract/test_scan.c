/* tests/unit/extract/test_scan.c - read JSON of any size in one pass
 *
 * Most tests turn a document into a text ("dump") in which values that differ
 * in any bit look different, and do so for many sizes of read(2) and with the
 * end of the scanner's buffer at many places.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/buf.h"
#include "extract/scan.h"
#include "extract/scan_number.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- a source of bytes ---- */

/* The input is '["xxx...",' ('prefix' bytes, none if 0) and the document. */
struct source {
    const char *doc;
    size_t size;
    size_t prefix;
    size_t chunk;               // bytes of the document per read
    uint64_t at;
    uint64_t fail_at;           // the read there fails; UINT64_MAX: none
};

static struct source source (const char *doc, size_t size, size_t prefix,
                             size_t chunk)
{
    return (struct source){ .doc = doc, .size = size, .prefix = prefix,
                            .chunk = chunk, .fail_at = UINT64_MAX };
}

static ssize_t source_read (void *arg, void *buf, size_t n)
{
    struct source *src = arg;
    size_t room = n;            // stale bytes there must not pass for input

    assert_true (n > 0);        // a read of no bytes would look like the end
    if (src->at >= src->fail_at)
        return -EIO;
    if (src->at < src->prefix) {
        if (n > src->prefix - src->at)
            n = (size_t)(src->prefix - src->at);
        memset (buf, 'x', n);
        for (size_t i = 0; i < 4; i++) {    // its four other bytes
            size_t place = i < 2 ? i : src->prefix - 4 + i;

            if (place >= src->at && place < src->at + n)
                ((char *)buf)[place - src->at] = "[\"\","[i];
        }
        src->at += n;
        return (ssize_t)n;
    }
    if (n > src->chunk)
        n = src->chunk;
    if (n > src->prefix + src->size - src->at)
        n = (size_t)(src->prefix + src->size - src->at);
    if (n > src->fail_at - src->at)
        n = (size_t)(src->fail_at - src->at);
    if (src->at == src->prefix + src->size)
        memset (buf, 'S', src->prefix || room < 8192 ? room : 8192);
    memcpy (buf, src->doc + (src->at - src->prefix), n);
    src->at += n;
    return (ssize_t)n;
}

/* ---- dumps ---- */

static void dump_value (struct scan *s, struct buf *out);

static void dump_text (struct buf *out, const char *text, size_t n)
{
    buf_printf (out, "%zu'", n);
    buf_put (out, text, n);
    buf_printf (out, "'");
}

static void dump_real (struct buf *out, double v)
{
    uint64_t bits;

    memcpy (&bits, &v, sizeof (bits));
    if (v == floor (v) && fabs (v) < 1e6 && bits >> 63 == 0)
        buf_printf (out, "%.0f", v);
    else
        buf_printf (out, "#%016" PRIx64, bits);
}

static void dump_container (struct scan *s, struct buf *out, char open)
{
    bool object = open == '{';

    buf_printf (out, "%c", open);
    if (object ? !scan_object (s) : !scan_array (s))
        return;
    for (bool first = true;
         object ? scan_member (s, &first) : scan_element (s, &first);) {
        if (object) {
            dump_text (out, s->key, s->key_size);
            buf_printf (out, ":");
        }
        dump_value (s, out);
        buf_printf (out, ",");
    }
    buf_printf (out, "%c", object ? '}' : ']');
}

static void dump_value (struct scan *s, struct buf *out)
{
    char c = scan_peek (s);
    const char *text;
    size_t n;
    double v;

    if (c == '{' || c == '[') {
        dump_container (s, out, c);
    } else if (c == '"') {
        if (scan_text (s, &text, &n))
            dump_text (out, text, n);
    } else if (c == '-' || (c >= '0' && c <= '9')) {
        if (scan_real (s, &v))
            dump_real (out, v);
    } else if (c == 'n') {
        if (scan_null (s))
            buf_printf (out, "n");
    } else {
        if (scan_skip (s))
            buf_printf (out, "%c", c);
    }
}

/* The prefix, up to the document, which scan_end then must end: the list
 * that the prefix opened stays open.
 */
static void enter_prefix (struct scan *s, const struct source *src)
{
    bool first = true;

    if (src->prefix == 0)
        return;
    if (scan_array (s) && scan_element (s, &first) && scan_skip (s) &&
        scan_element (s, &first))
        assert_true (scan_offset (s) >= src->prefix);
    else
        assert_true (src->fail_at != UINT64_MAX);
}

/* The dump of one value and nothing behind it, or "!" and the error. */
static void dump (struct source src, struct buf *out)
{
    struct scan s;

    buf_clear (out);
    assert_int_equal (scan_init (&s, source_read, &src), 0);
    enter_prefix (&s, &src);
    dump_value (&s, out);
    if (scan_end (&s)) {
        assert_false (s.failed);
        assert_int_equal (scan_offset (&s), src.prefix + src.size);
    } else {
        assert_true (s.failed);
        buf_clear (out);
        buf_printf (out, "!%s", s.err.text);
    }
    scan_fini (&s);
}

/* As dump, without the values. */
static void skip_over (struct source src, struct buf *out)
{
    struct scan s;

    buf_clear (out);
    assert_int_equal (scan_init (&s, source_read, &src), 0);
    enter_prefix (&s, &src);
    if (!scan_skip (&s) || !scan_end (&s))
        buf_printf (out, "!%s", s.err.text);
    scan_fini (&s);
}

static const size_t chunks[] = { 1, 2, 3, 7, 64, 4095, 4096, 4097, 1 << 20 };

#define CHUNKS (sizeof (chunks) / sizeof (chunks[0]))

/* The document gives this dump whatever the size of reads, and scan_skip
 * takes it, too; or both refuse it with the same sentence.
 */
static void check_n (const char *doc, size_t size, const char *want)
{
    struct buf out;

    buf_init (&out, 64u << 20);
    for (size_t i = 0; i < CHUNKS; i++) {
        dump (source (doc, size, 0, chunks[i]), &out);
        if (strcmp (buf_text (&out), want) != 0)
            fail_msg ("%.60s: reads of %zu: %.200s, not %.200s", doc,
                      chunks[i], buf_text (&out), want);
        skip_over (source (doc, size, 0, chunks[i]), &out);
        if (strcmp (buf_text (&out), want[0] == '!' ? want : "") != 0)
            fail_msg ("%.60s: reads of %zu: skipped: %.200s", doc, chunks[i],
                      buf_text (&out));
    }
    buf_fini (&out);
}

static void check (const char *doc, const char *want)
{
    check_n (doc, strlen (doc), want);
}

/* ---- every kind of token ---- */

static void test_values (void **state)
{
    (void)state;
    check ("{}", "{}");
    check ("[]", "[]");
    check ("\"\"", "0''");
    check ("\"abc\"", "3'abc'");
    check ("0", "0");
    check ("true", "t");
    check ("false", "f");
    check ("null", "n");
    check ("[1,2,3]", "[1,2,3,]");
    check ("{\"a\":1,\"b\":{}}", "{1'a':1,1'b':{},}");
    check ("[[],{},[[]],\"x\",null,true,false]",
           "[[],{},[[],],1'x',n,t,f,]");
    check ("{\"\":{\"\":[{}]}}", "{0'':{0'':[{},],},}");
    check ("{\"a\":1,\"a\":2}", "{1'a':1,1'a':2,}");   // both, in order
    check (" \t\r\n{ \"a\" \n:\t1 , \"b\" : [ ] } \n",
           "{1'a':1,1'b':[],}");
    check ("[ 1 , 2 ]", "[1,2,]");
}

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

/* ---- every error ---- */

static void test_errors (void **state)
{
    static const struct {
        const char *doc;
        const char *want;
    } cases[] = {
        { "", "0: the file ends where a number was expected" },
        { " \n", "2: the file ends where a number was expected" },
        { "{", "1: the file ends where a key in quotes was expected" },
        { "[", "1: the file ends where a number was expected" },
        { "[1", "2: the file ends where ',' or ']' was expected" },
        { "[1,", "3: the file ends where a number was expected" },
        { "[1,]", "3: ']' where a number was expected" },
        { "[,1]", "1: ',' where a number was expected" },
        { "[1,,2]", "3: ',' where a number was expected" },
        { "[1 2]", "3: '2' where ',' or ']' was expected" },
        { "[1}", "2: '}' where ',' or ']' was expected" },
        { "]", "0: ']' where a number was expected" },
        { "}", "0: '}' where a number was expected" },
        { "{1:2}", "1: '1' where a key in quotes was expected" },
        { "{a:2}", "1: 'a' where a key in quotes was expected" },
        { "{'a':2}", "1: ''' where a key in quotes was expected" },
        { "{,}", "1: ',' where a key in quotes was expected" },
        { "{\"a\"", "4: the file ends where ':' was expected" },
        { "{\"a\"}", "4: '}' where ':' was expected" },
        { "{\"a\" 1}", "5: '1' where ':' was expected" },
        { "{\"a\":}", "5: '}' where a number was expected" },
        { "{\"a\"::1}", "5: ':' where a number was expected" },
        { "{\"a\":1", "6: the file ends where ',' or '}' was expected" },
        { "{\"a\":1,", "7: the file ends where a key in quotes was expected" },
        { "{\"a\":1,}", "7: '}' where a key in quotes was expected" },
        { "{\"a\":1]", "6: ']' where ',' or '}' was expected" },
        { "{\"a\":1 \"b\":2}", "7: '\"' where ',' or '}' was expected" },
        { "{\"a", "3: the file ends where the rest of a string was expected" },
        { "\"abc",
          "4: the file ends where the rest of a string was expected" },
        { "\"ab\ncd\"", "3: control character 0x0a in a string" },
        { "\"\x01\"", "1: control character 0x01 in a string" },
        { "\"\t\"", "1: control character 0x09 in a string" },
        { "{\"\x1f\":1}", "2: control character 0x1f in a string" },
        { "\"\\", "1: invalid escape in a string" },
        { "\"a\\x\"", "2: invalid escape in a string" },
        { "\"\\N\"", "1: invalid escape in a string" },
        { "\"\\u\"", "1: invalid escape in a string" },
        { "\"\\u12\"", "1: invalid escape in a string" },
        { "\"\\u123", "1: invalid escape in a string" },
        { "\"\\u12g4\"", "1: invalid escape in a string" },
        { "\"\\u+123\"", "1: invalid escape in a string" },
        { "\"\\U0041\"", "1: invalid escape in a string" },
        { "\"\\u0000\"", "1: invalid escape in a string" },
        { "\"a\\ud800\"", "2: lone surrogate in a string" },
        { "\"a\\udc00\"", "2: lone surrogate in a string" },
        { "\"\\udfffx\"", "1: lone surrogate in a string" },
        { "\"\\udc00\\udc00\"", "1: lone surrogate in a string" },
        { "\"\\ud800x\"", "1: lone surrogate in a string" },
        { "\"\\ud800\\n\"", "1: lone surrogate in a string" },
        { "\"\\ud800\\u0041\"", "1: lone surrogate in a string" },
        { "\"\\ud800\\ud800\"", "1: lone surrogate in a string" },
        { "\"\\ud800\\udc0\"", "1: lone surrogate in a string" },
        { "\"\\ud800\\udc0", "1: lone surrogate in a string" },
        { "{\"\\ud800\":1}", "2: lone surrogate in a string" },
        { "-", "0: '-' where a number was expected" },
        { "[-]", "1: '-' where a number was expected" },
        { "-x", "0: '-' where a number was expected" },
        { "--1", "0: '-' where a number was expected" },
        { "+1", "0: '+' where a number was expected" },
        { ".5", "0: '.' where a number was expected" },
        { "-.5", "0: '-' where a number was expected" },
        { "[01]", "1: '0' where a number was expected" },
        { "-01", "0: '-' where a number was expected" },
        { "1.", "0: a number without digits behind its point" },
        { "1.e5", "0: a number without digits behind its point" },
        { "[1.]", "1: a number without digits behind its point" },
        { "1e", "0: a number without digits in its exponent" },
        { "1e+", "0: a number without digits in its exponent" },
        { "[1E-]", "1: a number without digits in its exponent" },
        { "1e999", "0: the number 1e999 is too large for a double" },
        { "[-1e999]", "1: the number -1e999 is too large for a double" },
        { "1e99999999999999999999",
          "0: the number 1e99999999999999999999 is too large for a double" },
        { "0x10", "1: 'x' where the end of the file was expected" },
        { "[0x10]", "2: 'x' where ',' or ']' was expected" },
        { "1.2.3", "3: '.' where the end of the file was expected" },
        { "[1e5e5]", "4: 'e' where ',' or ']' was expected" },
        { "NaN", "0: 'N' where a number was expected" },
        { "[Infinity]", "1: 'I' where a number was expected" },
        { "-Infinity", "0: '-' where a number was expected" },
        { "nan", "0: 'n' where a value was expected" },
        { "nul", "0: 'n' where a value was expected" },
        { "[nulL]", "1: 'n' where a value was expected" },
        { "tru", "0: 't' where a value was expected" },
        { "fals", "0: 'f' where a value was expected" },
        { "TRUE", "0: 'T' where a number was expected" },
        { "nullx", "4: 'x' where the end of the file was expected" },
        { "[truefalse]", "5: 'f' where ',' or ']' was expected" },
        { "1 2", "2: '2' where the end of the file was expected" },
        { "{} x", "3: 'x' where the end of the file was expected" },
        { "[]]", "2: ']' where the end of the file was expected" },
        { "\"\"\"", "2: '\"' where the end of the file was expected" },
        { "[1]\x0c", "3: character 0x0c where the end of the file was "
                     "expected" },
        { "[\x0b" "1]", "1: character 0x0b where a number was expected" },
        { "\xef\xbb\xbf{}", "0: character 0xef where a number was expected" },
        { "[\xc2\xa0" "1]", "1: character 0xc2 where a number was expected" },
        { "// x\n1", "0: '/' where a number was expected" },
        { "[1/**/]", "2: '/' where ',' or ']' was expected" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof (cases) / sizeof (cases[0]); i++) {
        char want[200];

        (void)snprintf (want, sizeof (want), "!byte %s", cases[i].want);
        check (cases[i].doc, want);
    }
}

/* A NUL is a byte like any other that has no place; never an end. */
static void test_nul (void **state)
{
    (void)state;
    check_n ("\0", 1, "!byte 0: character 0x00 where a number was expected");
    check_n ("{}\0", 3, "!byte 2: character 0x00 where the end of the file "
                        "was expected");
    check_n ("[\0]", 3, "!byte 1: character 0x00 where a number was "
                        "expected");
    check_n ("[1\0,2]", 6, "!byte 2: character 0x00 where ',' or ']' was "
                           "expected");
    check_n ("[1\0]", 4, "!byte 2: character 0x00 where ',' or ']' was "
                         "expected");
    check_n ("\"a\0b\"", 5, "!byte 2: control character 0x00 in a string");
    check_n ("\"\\\0\"", 4, "!byte 1: invalid escape in a string");
    check_n ("\"\\u00\0" "0\"", 8, "!byte 1: invalid escape in a string");
    check_n ("\"\xe2\0\"", 4, "!byte 2: control character 0x00 in a string");
    check_n ("{\"a\0\":1}", 8, "!byte 3: control character 0x00 in a string");
    check_n ("{\"a\"\0:1}", 8, "!byte 4: character 0x00 where ':' was "
                               "expected");
    check_n ("nu\0l", 4, "!byte 0: 'n' where a value was expected");
    check_n ("12\0", 3, "!byte 2: character 0x00 where the end of the file "
                        "was expected");
}

/* What is asked for but is not there, and what follows the failure. */
static void test_other_kind (void **state)
{
    static const char doc[] = "{\"a\":1}";
    struct scan s;
    struct source src;
    const char *text = NULL;
    size_t n;
    double v = 7;
    bool first = true;
    int next = 0;
    struct scan_field fields[] = { SCAN_FIELD ("a") };

    (void)state;
    for (int which = 0; which < 5; which++) {
        static const char *const want[] = {
            "byte 0: '{' where an array was expected",
            "byte 0: '{' where a number was expected",
            "byte 0: '{' where a string was expected",
            "byte 0: '{' where null was expected",
            "byte 0: '{' where the end of the file was expected",
        };

        src = source (doc, sizeof (doc) - 1, 0, 100);
        assert_int_equal (scan_init (&s, source_read, &src), 0);
        assert_int_equal (scan_peek (&s), '{');
        assert_false (which == 0   ? scan_array (&s)
                      : which == 1 ? scan_real (&s, &v)
                      : which == 2 ? scan_text (&s, &text, &n)
                      : which == 3 ? scan_null (&s) : scan_end (&s));
        // the first failure sticks
        assert_true (s.failed);
        assert_int_equal (scan_peek (&s), 0);
        assert_false (scan_object (&s));
        assert_false (scan_array (&s));
        assert_false (scan_member (&s, &first));
        assert_false (scan_element (&s, &first));
        assert_int_equal (scan_field (&s, &first, fields, 1, &next),
                          SCAN_DONE);
        assert_false (scan_real (&s, &v));
        assert_false (scan_text (&s, &text, &n));
        assert_false (scan_null (&s));
        assert_false (scan_skip (&s));
        assert_false (scan_end (&s));
        assert_false (scan_fail (&s, "something else"));
        assert_true (first);
        assert_true (v == 7);
        assert_null (text);
        assert_int_equal (scan_offset (&s), 0);
        assert_string_equal (s.err.text, want[which]);
        scan_fini (&s);
    }
}

static void test_fail (void **state)
{
    struct source src = source ("[1, 2]", 6, 0, 1);
    struct scan s;
    bool first = true;
    double v;

    (void)state;
    assert_int_equal (scan_init (&s, source_read, &src), 0);
    assert_true (scan_array (&s));
    assert_true (scan_element (&s, &first));
    assert_true (scan_real (&s, &v));
    assert_int_equal (scan_offset (&s), 2);
    assert_false (scan_fail (&s, "%s is %d", "size", -1));
    assert_string_equal (s.err.text, "byte 2: size is -1");
    assert_false (scan_element (&s, &first));
    scan_fini (&s);
}

/* ---- limits ---- */

static char *repeat (const char *open, const char *what, size_t times,
                     const char *close, size_t *size)
{
    size_t a = strlen (open), b = strlen (what), c = strlen (close);
    char *doc = malloc (a + b * times + c + 1), *p = doc;

    assert_non_null (doc);
    memcpy (p, open, a);
    p += a;
    for (size_t i = 0; i < times; i++, p += b)
        memcpy (p, what, b);
    memcpy (p, close, c + 1);
    *size = a + b * times + c;
    return doc;
}

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

static void check_depth (const char *open, const char *close, size_t depth,
                         const char *want)
{
    size_t n1, n2;
    char *first = repeat ("", open, depth, "1", &n1);
    char *last = repeat ("", close, depth, "", &n2);
    char *doc = malloc (n1 + n2 + 1);
    struct buf out;

    assert_non_null (doc);
    memcpy (doc, first, n1);
    memcpy (doc + n1, last, n2 + 1);
    buf_init (&out, 1 << 20);
    dump (source (doc, n1 + n2, 0, 4096), &out);
    if (want)
        assert_string_equal (buf_text (&out), want);
    else
        assert_int_not_equal (buf_text (&out)[0], '!');
    skip_over (source (doc, n1 + n2, 0, 4096), &out);
    assert_string_equal (buf_text (&out), want ? want : "");
    buf_fini (&out);
    free (first);
    free (last);
    free (doc);
}

/* 512 containers: one more is refused, and neither way of reading it uses
 * more of the stack for it.
 */
static void test_depth_limit (void **state)
{
    (void)state;
    check_depth ("[", "]", 512, NULL);
    check_depth ("[", "]", 513, "!byte 512: more than 512 nested containers");
    check_depth ("{\"\":", "}", 512, NULL);
    check_depth ("{\"\":", "}", 513,
                 "!byte 2048: more than 512 nested containers");
    check_depth ("[{\"a\":", "}]", 256, NULL);
    check_depth ("[{\"a\":", "}]", 257,
                 "!byte 1536: more than 512 nested containers");
    check_depth ("[", "]", 1000000,
                 "!byte 512: more than 512 nested containers");
    // depth is of what is open, not of what was opened
    check_depth ("[[],[[]],", "]", 500, NULL);
}

/* ---- the end of the buffer at every place ---- */

/* The same dump, or the same error that far behind the prefix, with the
 * buffer's end at 'from' to 'to' bytes behind the start of the document.
 */
static void check_ends (const char *doc, size_t size, size_t from, size_t to,
                        size_t step)
{
    struct buf want, got;
    char error[ERR_TEXT_MAX];
    unsigned long at;
    int n = 0;

    buf_init (&want, 16u << 20);
    buf_init (&got, 16u << 20);
    dump (source (doc, size, 0, 1 << 20), &want);
    for (size_t k = from; k < to; k += step) {
        size_t prefix = SCAN_BUFFER - k;
        const char *expect = buf_text (&want);

        if (sscanf (expect, "!byte %lu:%n", &at, &n) == 1) {
            (void)snprintf (error, sizeof (error), "!byte %lu:%s",
                            at + prefix, expect + n);
            expect = error;
        }
        dump (source (doc, size, prefix, chunks[k % CHUNKS]), &got);
        if (strcmp (buf_text (&got), expect) != 0)
            fail_msg ("%.40s: the buffer ends at %zu: %.200s, not %.200s",
                      doc, k, buf_text (&got), expect);
        skip_over (source (doc, size, prefix, chunks[k % CHUNKS]), &got);
        if (strcmp (buf_text (&got), expect[0] == '!' ? expect : "") != 0)
            fail_msg ("%.40s: the buffer ends at %zu: skipped: %.200s", doc,
                      k, buf_text (&got));
    }
    buf_fini (&want);
    buf_fini (&got);
}

static const char all_tokens[] =
    "{\"plain\": \"abc\", \"esc\\u0041\\n\": \"\\ud83d\\ude00\\t\xc3\xa9\xff\","
    " \"n\":[0,-0,1.5e3,20.90254161267816,1764246877386327.512,"
    "123456789012345678901234567890],\"w\":[true,false,null],\"e\":[{},[],"
    "\"\"], \"Transit Size(MB)\" :{\"a\":{\"b\":[[1]]}}}";

/* Each token is the one at which the buffer is filled again: fewer than
 * SCAN_AHEAD bytes are left there.
 */
static void test_refill_everywhere (void **state)
{
    static const char *const tails[] = {
        "[1234567890.12345678]", "null", "true", "false", "\"ab\\n\"",
        "12345", "-1.5e-7", "{\"key\":\"value\"}", "nulx", "1.e5",
    };
    size_t n = sizeof (all_tokens) - 1;
    char doc[8192];

    (void)state;
    check_ends (all_tokens, n, SCAN_AHEAD - 5, SCAN_AHEAD + n + 5, 1);
    check_ends (all_tokens, n, 0, n + 5, 1);
    // cut, too: the end of the file right behind the end of the buffer
    for (size_t cut = 1; cut < n; cut += 3) {
        check_ends (all_tokens, cut, cut, cut + 1, 1);
        check_ends (all_tokens, cut, cut + SCAN_AHEAD, cut + SCAN_AHEAD + 1,
                    1);
    }
    // many blanks before a token leave fewer bytes behind them than were
    // asked for: no number or word may be cut there
    for (size_t t = 0; t < sizeof (tails) / sizeof (tails[0]); t++) {
        size_t tail = strlen (tails[t]);

        memset (doc, ' ', SCAN_AHEAD - 1);
        memcpy (doc + SCAN_AHEAD - 1, tails[t], tail);
        check_ends (doc, SCAN_AHEAD - 1 + tail, SCAN_AHEAD,
                    SCAN_AHEAD + tail + 1, 1);
    }
}

/* Strings longer than what is ahead lie across the buffer's end: at a plain
 * byte, an escape, each byte of a sequence, the quote.
 */
static void test_long_strings (void **state)
{
    static const char *const parts[] = {
        "x", "\\u20ac", "\\ud83d\\ude00", "\xe2\x82\xac", "\\\\", "\xff",
    };

    (void)state;
    for (size_t p = 0; p < sizeof (parts) / sizeof (parts[0]); p++) {
        size_t size, times = 9000 / strlen (parts[p]);
        char *doc = repeat ("{\"k\":\"", parts[p], times, "\" , \"l\":1}",
                            &size);

        check_ends (doc, size, 5000, 5030, 1);
        check_ends (doc, size, size - 20, size + 2, 1);
        free (doc);
        doc = repeat ("{\"", parts[p], times, "\" :2,\"l\":1}", &size);
        check_ends (doc, size, 5000, 5015, 1);
        check_ends (doc, size, size - 20, size + 2, 1);
        free (doc);
    }
}

/* One escape or sequence behind many plain bytes: it is not looked at before
 * all of it is there.
 */
static void test_long_then_escape (void **state)
{
    static const char *const parts[] = {
        "\\u20acy", "\\ud83d\\ude00y", "\xe2\x82\xacy", "\\\\", "\\\"",
        "\xf0\x9f\x98\x80", "\\ud83dy", "\\u12", "\xf0\x9f\x98y", "\ny",
    };

    (void)state;
    for (size_t p = 0; p < sizeof (parts) / sizeof (parts[0]); p++) {
        char tail[40];
        size_t size;
        char *doc;

        (void)snprintf (tail, sizeof (tail), "%s\":1}", parts[p]);
        doc = repeat ("{\"", "x", 5000, tail, &size);
        check_ends (doc, size, 5000, size + 2, 1);
        free (doc);
        (void)snprintf (tail, sizeof (tail), "%s\"", parts[p]);
        doc = repeat ("\"", "x", 5000, tail, &size);
        check_ends (doc, size, 5000, size + 2, 1);
        free (doc);
    }
}

/* Blanks without end, between any two tokens. */
static void test_long_blanks (void **state)
{
    static const char *const tokens[] = { "{", "\"a\"", ":", "[", "1", ",",
                                          "\"b\"", "]", "}" };
    const size_t n = sizeof (tokens) / sizeof (tokens[0]);
    size_t size = (n + 1) * 70000;
    char *doc = malloc (size + 1);

    (void)state;
    assert_non_null (doc);
    for (size_t run = 0; run < 3; run++) {
        static const size_t runs[] = { 4095, 4099, 70000 };
        size_t used = 0;

        for (size_t t = 0; t <= n; t++) {
            for (size_t i = 0; i < runs[run] - 4; i++)
                doc[used++] = " \t\r\n"[i % 4];
            if (t < n) {
                memcpy (doc + used, tokens[t], strlen (tokens[t]));
                used += strlen (tokens[t]);
            }
        }
        doc[used] = '\0';
        check_n (doc, used, "{1'a':[1,1'b',],}");
    }
    free (doc);
}

/* '{"k":', blanks, the token, '}': asked for without a look at it first, so
 * that one call passes the blanks and takes the token.  The buffer ends at
 * 'end' bytes behind the document's start.
 */
static void check_token (const char *token, size_t blanks, size_t end,
                         size_t fail_at)
{
    size_t size;
    char *doc = repeat ("{\"k\":", " ", blanks, token, &size);
    struct source src = source (doc, size, SCAN_BUFFER - end, 100000);
    const char *text = NULL;
    bool first = true, ok;
    double v = 0;
    struct scan s;
    size_t n = 0;

    if (fail_at < size)
        src.fail_at = src.prefix + fail_at;
    assert_int_equal (scan_init (&s, source_read, &src), 0);
    enter_prefix (&s, &src);
    assert_true (scan_object (&s));
    assert_true (scan_member (&s, &first));
    if (token[0] == '1')
        ok = scan_real (&s, &v) && v == 1234567890.125;
    else if (token[0] == '"')
        ok = scan_text (&s, &text, &n) && n == 5 &&
             memcmp (text, "ab\ncd", n) == 0;
    else
        ok = token[0] == 'n' ? scan_null (&s) : scan_skip (&s);
    if (ok && fail_at < size)
        fail_msg ("%s: cut at %zu, and taken", token, fail_at);
    if (!ok && fail_at >= size)
        fail_msg ("%s: the buffer ends at %zu: %s", token, end, s.err.text);
    if (ok)
        assert_false (scan_member (&s, &first));
    assert_int_equal (scan_end (&s), ok);
    scan_fini (&s);
    free (doc);
}

/* Blanks leave fewer bytes behind them than there were before: a token there
 * must neither be cut by the buffer's end nor, cut by a failing read, pass
 * for a whole one.
 */
static void test_blanks_before_token (void **state)
{
    static const char *const tokens[] = { "1234567890.125}", "null}", "true}",
                                          "false}", "\"ab\\ncd\"}" };
    const size_t blanks = SCAN_AHEAD + 100, start = blanks + 5;

    (void)state;
    for (size_t t = 0; t < sizeof (tokens) / sizeof (tokens[0]); t++) {
        size_t n = strlen (tokens[t]);

        for (size_t i = 0; i <= n + 1; i++)
            check_token (tokens[t], blanks, start + i, SIZE_MAX);
        for (size_t i = 0; i < n; i++)
            check_token (tokens[t], blanks, SCAN_AHEAD + 50, start + i);
    }
}

/* The key stays readable while its value begins behind the buffer's end. */
static void test_key_stays (void **state)
{
    static const char doc[] = "{\"key_of_it\"   :   1}";

    (void)state;
    for (size_t k = 0; k < SCAN_AHEAD + 40; k += k < 40 ? 1 : k < SCAN_AHEAD
         - 5 ? 97 : 1) {
        struct source src = source (doc, sizeof (doc) - 1, SCAN_BUFFER - k,
                                    2);
        struct scan s;
        bool first = true;

        assert_int_equal (scan_init (&s, source_read, &src), 0);
        enter_prefix (&s, &src);
        assert_true (scan_object (&s));
        assert_true (scan_member (&s, &first));
        assert_true (scan_key_is (&s, "key_of_it"));
        assert_false (scan_key_is (&s, "key_of_i"));
        assert_false (scan_key_is (&s, "key_of_itx"));
        scan_fini (&s);
    }
}

/* ---- reading fails ---- */

/* At every byte: the failure is told, and no number or word that was cut by
 * it is handed out.
 */
static void test_read_error (void **state)
{
    static const char doc[] = "{\"a\":[12,345.678],\"b\":\"text\",\"c\":null}";
    struct buf whole, got;
    char want[80];

    (void)state;
    buf_init (&whole, 1000);
    buf_init (&got, 1000);
    dump (source (doc, sizeof (doc) - 1, 0, 100), &whole);
    for (size_t at = 0; at < sizeof (doc); at++) {
        struct source src = source (doc, sizeof (doc) - 1, 0, 3);
        struct scan s;

        src.fail_at = at;
        dump (src, &got);
        (void)snprintf (want, sizeof (want), "!byte %zu: cannot read: %s", at,
                        strerror (EIO));
        assert_string_equal (buf_text (&got), want);
        src.at = 0;
        skip_over (src, &got);
        assert_string_equal (buf_text (&got), want);
        // what was handed out before it, is right
        buf_clear (&got);
        src.at = 0;
        assert_int_equal (scan_init (&s, source_read, &src), 0);
        dump_value (&s, &got);
        assert_true (s.failed);
        assert_null (strstr (buf_text (&got), "1,"));
        assert_null (strstr (buf_text (&got), "12"));
        scan_fini (&s);
    }
    for (size_t at = 0; at < sizeof (doc); at++) {
        struct source src = source (doc, sizeof (doc) - 1, SCAN_BUFFER, 3);

        src.fail_at = src.prefix + at;
        dump (src, &got);
        (void)snprintf (want, sizeof (want), "!byte %zu: cannot read: %s",
                        src.prefix + at, strerror (EIO));
        assert_string_equal (buf_text (&got), want);
    }
    buf_fini (&whole);
    buf_fini (&got);
}

static void test_read_fd (void **state)
{
    static const char doc[] = "[1,\"two\"]";
    struct scan s;
    struct buf out;
    int p[2], closed = -1;

    (void)state;
    buf_init (&out, 1000);
    assert_int_equal (pipe (p), 0);
    assert_int_equal (write (p[1], doc, sizeof (doc) - 1), sizeof (doc) - 1);
    (void)close (p[1]);
    assert_int_equal (scan_init (&s, scan_read_fd, &p[0]), 0);
    dump_value (&s, &out);
    assert_true (scan_end (&s));
    assert_string_equal (buf_text (&out), "[1,3'two',]");
    scan_fini (&s);
    (void)close (p[0]);
    assert_int_equal (scan_init (&s, scan_read_fd, &closed), 0);
    assert_int_equal (scan_peek (&s), 0);
    assert_true (s.failed);
    assert_non_null (strstr (s.err.text, "byte 0: cannot read: "));
    scan_fini (&s);
    buf_fini (&out);
}

/* ---- fields ---- */

static const struct scan_field fields[] = {
    SCAN_FIELD ("size"), SCAN_FIELD ("time"), SCAN_FIELD ("time_us"),
    SCAN_FIELD (""),     SCAN_FIELD ("\xc3\xa9"),
};

#define FIELDS ((int)(sizeof (fields) / sizeof (fields[0])))

/* The object's members as "index=value ". */
static void check_fields (const char *doc, const char *want)
{
    // the buffer ends, or is filled again, at each of the first bytes
    for (size_t k = 0; k < SCAN_AHEAD + 60;
         k += k < 60 || k >= SCAN_AHEAD ? 1 : SCAN_AHEAD - 60) {
        size_t prefix = k ? SCAN_BUFFER - k : 0;
        struct source src = source (doc, strlen (doc), prefix, 5);
        bool first = true;
        struct scan s;
        struct buf out;
        int i, next = 0;
        double v;

        buf_init (&out, 10000);
        assert_int_equal (scan_init (&s, source_read, &src), 0);
        enter_prefix (&s, &src);
        assert_true (scan_object (&s));
        while ((i = scan_field (&s, &first, fields, FIELDS, &next)) !=
               SCAN_DONE) {
            if (i == SCAN_OTHER)
                buf_printf (&out, "%.*s", (int)s.key_size, s.key);
            else
                buf_printf (&out, "%d", i);
            if (scan_real (&s, &v))
                buf_printf (&out, "=%.0f ", v);
        }
        if (!scan_end (&s))
            buf_printf (&out, "!");
        assert_string_equal (buf_text (&out), want);
        scan_fini (&s);
        buf_fini (&out);
    }
}

static void test_fields (void **state)
{
    (void)state;
    check_fields ("{}", "");
    check_fields ("{\"size\":1,\"time\":2,\"time_us\":3,\"\":4,\"\xc3\xa9\":5}",
                  "0=1 1=2 2=3 3=4 4=5 ");
    // another order, twice, blanks, unknown ones between
    check_fields ("{\"time_us\":3,\"time\":2,\"size\":1,\"size\":7}",
                  "2=3 1=2 0=1 0=7 ");
    check_fields ("{ \"size\" : 1 ,\n\"x\" : 2 , \"time\" : 3 }",
                  "0=1 x=2 1=3 ");
    // names that begin like others
    check_fields ("{\"siz\":1,\"sizes\":2,\"time_\":3,\"tim\":4,\"Size\":5}",
                  "siz=1 sizes=2 time_=3 tim=4 Size=5 ");
    // written with escapes it is the same name
    check_fields ("{\"s\\u0069ze\":1,\"time\":2,\"\\u00e9\":3}",
                  "0=1 1=2 4=3 ");
    // as long as the one that is expected next, and with its marks
    check_fields ("{\"size_:\":1,\"size\\\":\":2,\"siz\\\":x\":3}",
                  "size_:=1 size\":=2 siz\":x=3 ");
    check_fields ("{\"size\"", "!");
    check_fields ("{\"size\":", "0!");
    check_fields ("{\"size\":1", "0=1 !");
    check_fields ("{\"size\":1,", "0=1 !");
    check_fields ("{\"size\":1,}", "0=1 !");
    check_fields ("{\"size\":1 \"time\":2}", "0=1 !");
    check_fields ("{size:1}", "!");
}

/* ---- numbers against strtod ---- */

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
        cmocka_unit_test (test_values),
        cmocka_unit_test (test_numbers),
        cmocka_unit_test (test_number_length),
        cmocka_unit_test (test_number_endless),
        cmocka_unit_test (test_strings),
        cmocka_unit_test (test_bad_utf8),
        cmocka_unit_test (test_errors),
        cmocka_unit_test (test_nul),
        cmocka_unit_test (test_other_kind),
        cmocka_unit_test (test_fail),
        cmocka_unit_test (test_text_limit),
        cmocka_unit_test (test_text_limit_escaped),
        cmocka_unit_test (test_key_limit),
        cmocka_unit_test (test_depth_limit),
        cmocka_unit_test (test_refill_everywhere),
        cmocka_unit_test (test_long_strings),
        cmocka_unit_test (test_long_then_escape),
        cmocka_unit_test (test_long_blanks),
        cmocka_unit_test (test_blanks_before_token),
        cmocka_unit_test (test_key_stays),
        cmocka_unit_test (test_read_error),
        cmocka_unit_test (test_read_fd),
        cmocka_unit_test (test_fields),
        cmocka_unit_test (test_decimal_random),
        cmocka_unit_test (test_decimal_range),
        cmocka_unit_test (test_decimal_doubles),
        cmocka_unit_test (test_decimal_halfway),
        cmocka_unit_test (test_real_random),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
