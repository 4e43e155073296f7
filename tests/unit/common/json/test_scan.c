/* tests/unit/common/json/test_scan.c - read JSON of any size in one pass
 *
 * Structure: values, errors, depth, fields.  Strings, numbers and the buffer's
 * end have programs of their own beside this one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/json/scan_check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what there is ---- */

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
        { "1.", "0: a number without digits after its point" },
        { "1.e5", "0: a number without digits after its point" },
        { "[1.]", "1: a number without digits after its point" },
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
    struct predicted_key fields[] = { SCAN_FIELD ("a") };

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

/* ---- depth ---- */

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

/* ---- fields ---- */

static const struct predicted_key fields[] = {
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

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_values),
        cmocka_unit_test (test_errors),
        cmocka_unit_test (test_nul),
        cmocka_unit_test (test_other_kind),
        cmocka_unit_test (test_fail),
        cmocka_unit_test (test_depth_limit),
        cmocka_unit_test (test_fields),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
