/* tests/unit/common/json/test_json.c - small JSON documents as trees */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "json/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Parse a copy of exactly that size, so that a sanitizer sees a byte read
 * behind it.
 */
static struct json *parse (const char *text, size_t n, struct err *err)
{
    char *copy = malloc (n ? n : 1);
    struct json *j;

    assert_non_null (copy);
    memcpy (copy, text, n);
    j = json_parse (copy, n, err);
    free (copy);
    return j;
}

static void test_read (void **state)
{
    static const char text[] =
        " {\"text\": \"a\\u00e9\\n\", \"int\": -12, \"real\": 1.5,\r\n"
        "\t\"yes\": true, \"no\": false, \"null\": null,"
        "\"list\": [1, \"two\", {}], \"Int\": 13} \n";
    struct json *j = parse (text, sizeof (text) - 1, NULL);
    const struct json *e;
    double d = 0;
    int64_t i = 0;

    (void)state;
    assert_non_null (j);
    assert_true (json_is_object (j));
    assert_int_equal (json_count (j), 8);
    assert_string_equal (json_text (json_get (j, "text"), ""), "a\xc3\xa9\n");
    assert_true (json_int (json_get (j, "int"), &i));
    assert_true (i == -12);
    assert_true (json_int (json_get (j, "Int"), &i));   // case matters
    assert_int_equal (i, 13);
    assert_true (json_number (json_get (j, "real"), &d));
    assert_true (d == 1.5);
    assert_true (json_is_true (json_get (j, "yes")));
    assert_false (json_is_true (json_get (j, "no")));
    e = json_first (json_get (j, "list"));
    assert_true (json_is_array (json_get (j, "list")));
    assert_int_equal (json_count (json_get (j, "list")), 3);
    assert_string_equal (json_key (e), "");
    e = json_next (e);
    assert_string_equal (json_text (e, ""), "two");
    e = json_next (e);
    assert_true (json_is_object (e));
    assert_null (json_first (e));
    assert_null (json_next (e));
    assert_string_equal (json_key (json_first (j)), "text");
    json_free (j);
}

/* A missing or differently typed member gives the fallback, never a crash. */
static void test_fallbacks (void **state)
{
    static const char text[] = "{\"s\": \"x\", \"n\": 1, \"a\": []}";
    struct json *j = parse (text, sizeof (text) - 1, NULL);
    double d = 7;
    int64_t i = 7;

    (void)state;
    assert_non_null (j);
    assert_null (json_get (j, "absent"));
    assert_null (json_get (NULL, "x"));
    assert_null (json_get (json_get (j, "s"), "x"));
    assert_null (json_get (json_get (j, "a"), "x"));
    assert_string_equal (json_text (json_get (j, "n"), "none"), "none");
    assert_null (json_text (NULL, NULL));
    assert_false (json_number (json_get (j, "s"), &d));
    assert_false (json_number (NULL, &d));
    assert_true (d == 7);
    assert_false (json_int (json_get (j, "s"), &i));
    assert_false (json_int (NULL, &i));
    assert_int_equal (i, 7);
    assert_false (json_is_true (NULL));
    assert_false (json_is_object (NULL));
    assert_false (json_is_array (NULL));
    assert_int_equal (json_count (NULL), 0);
    assert_null (json_first (NULL));
    assert_null (json_next (NULL));
    assert_string_equal (json_key (NULL), "");
    json_free (j);
    json_free (NULL);
}

static void check_int (const char *text, bool want, int64_t value)
{
    struct json *j = parse (text, strlen (text), NULL);
    int64_t v = 7;

    assert_non_null (j);
    assert_int_equal (json_int (j, &v), want);
    assert_true (v == (want ? value : 7));
    json_free (j);
}

/* Whole and below 2^53: a double tells no difference further up. */
static void test_int (void **state)
{
    (void)state;
    check_int ("0", true, 0);
    check_int ("-3", true, -3);
    check_int ("3.0", true, 3);
    check_int ("3e2", true, 300);
    check_int ("3.5", false, 0);
    check_int ("9007199254740991", true, INT64_C (9007199254740991));
    check_int ("-9007199254740991", true, -INT64_C (9007199254740991));
    check_int ("9007199254740992", false, 0);
    check_int ("9007199254740993", false, 0);   // would read as ...992
    check_int ("-9007199254740992", false, 0);
    check_int ("1e300", false, 0);
    check_int ("1e999", false, 0);              // infinity is no integer
}

static void check_bad (const char *text, size_t n)
{
    struct err err = { "" };

    if (parse (text, n, &err))
        fail_msg ("accepted: %s", text);
    assert_non_null (strstr (err.text, "byte "));
    assert_null (parse (text, n, NULL));
}

static void test_refused (void **state)
{
    static const char *const bad[] = {
        "", " ", "{", "[", "[1,", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "[1,]",
        "{a:1}", "'a'", "\"a", "\"\\x\"", "tru", "nul", "1 2", "{} x", "[]]",
        "{}{}", "\"\\ud800\"",
    };

    (void)state;
    for (size_t i = 0; i < sizeof (bad) / sizeof (bad[0]); i++)
        check_bad (bad[i], strlen (bad[i]));
    check_bad ("{}\0", 3);
    check_bad ("{}\0x", 4);
}

/* A cut document is not a shorter one. */
static void test_cut (void **state)
{
    static const char text[] = "{\"a\": [1, \"b\\n\", true, null], \"c\": {}}";

    (void)state;
    for (size_t n = 0; n < sizeof (text) - 1; n++)
        check_bad (text, n);
}

static void test_error_offset (void **state)
{
    struct err err = { "" };

    (void)state;
    assert_null (parse ("[1, 2, x]", 9, &err));
    assert_string_equal (err.text, "not valid JSON at byte 7");
    assert_null (parse ("[1] \n]", 6, &err));
    assert_string_equal (err.text, "text after the JSON document at byte 5");
}

/* Nested without end: refused, the stack stays whole. */
static void test_deep (void **state)
{
    size_t n = 1000000;
    char *text = malloc (n);

    (void)state;
    assert_non_null (text);
    memset (text, '[', n);
    assert_null (json_parse (text, n, NULL));
    free (text);
}

/* Values take more memory than their texts. */
static void test_many (void **state)
{
    size_t n = 2 * JSON_VALUES_MAX + 1;
    char *text = malloc (n);
    struct err err = { "" };

    (void)state;
    assert_non_null (text);
    for (size_t i = 0; i < n; i += 2) {
        text[i] = i ? '0' : '[';
        text[i + 1 < n ? i + 1 : i] = ',';
    }
    text[1] = '0';
    text[n - 1] = ']';
    assert_null (json_parse (text, n, &err));
    assert_string_equal (err.text, "more than 5000000 values in a JSON "
                                   "document");
    free (text);
}

static void test_build (void **state)
{
    struct json *j = json_object (), *list, *back;
    double d = 0;
    char *text;

    (void)state;
    assert_non_null (j);
    json_add_text (j, "text", "a\"\\\n\x01\xc3\xa9");
    json_add_text (j, "null", NULL);
    json_add_int (j, "int", -INT64_C (9007199254740991));
    json_add_real (j, "real", 0.1);
    json_add_bool (j, "yes", true);
    json_add_bool (j, "no", false);
    json_add_int (json_add_object (j, "inner"), "x", 1);
    list = json_add_array (j, "list");
    json_push_int (list, 1);
    json_push_text (list, "two");
    json_push_text (list, NULL);
    json_add_int (json_push_object (list), "y", 2);
    text = json_print (j, false);
    assert_non_null (text);
    assert_string_equal (text,
        "{\"text\":\"a\\\"\\\\\\n\\u0001\xc3\xa9\",\"null\":null,"
        "\"int\":-9007199254740991,\"real\":0.1,\"yes\":true,\"no\":false,"
        "\"inner\":{\"x\":1},\"list\":[1,\"two\",\"\",{\"y\":2}]}");
    back = json_parse (text, strlen (text), NULL);
    assert_non_null (back);
    assert_string_equal (json_text (json_get (back, "text"), ""),
                         "a\"\\\n\x01\xc3\xa9");
    assert_true (json_number (json_get (back, "real"), &d));
    assert_true (d == 0.1);
    free (text);
    text = json_print (j, true);
    assert_non_null (text);
    assert_non_null (strchr (text, '\n'));
    free (text);
    json_free (back);
    json_free (j);
}

/* A terminal or a reader would obey them; read back they are what they were. */
static void test_print_controls (void **state)
{
    static const char odd[] = "a\x7f\xc2\x9b\xe2\x80\xae\xe2\x81\xa9"
                              "\xe2\x80\xa6z";
    struct json *j = json_object (), *back;
    char *text;

    (void)state;
    json_add_text (j, "x", odd);
    text = json_print (j, false);
    assert_string_equal (text, "{\"x\":\"a\\u007f\\u009b\\u202e\\u2069"
                               "\xe2\x80\xa6z\"}");
    back = json_parse (text, strlen (text), NULL);
    assert_string_equal (json_text (json_get (back, "x"), ""), odd);
    json_free (back);
    json_free (j);
    free (text);
}

/* Numbers come back bit by bit: cJSON alone would round these. */
static void test_build_exact (void **state)
{
    static const double reals[] = { 0.1, 0.30000000000000004, -0.0, 1e22,
                                    5e-324, 1.7976931348623157e308,
                                    20.90254161267816, 123456789.12345679 };
    static const int64_t ints[] = { INT64_C (2147483648),
                                    INT64_C (999999999999999),
                                    INT64_C (1234567890123457),
                                    -INT64_C (9007199254740991) };
    struct json *j;
    int64_t i;
    double d;
    char *text;

    (void)state;
    for (size_t k = 0; k < sizeof (reals) / sizeof (reals[0]); k++) {
        j = json_object ();
        json_add_real (j, "x", reals[k]);
        text = json_print (j, false);
        json_free (j);
        assert_non_null (text);
        j = json_parse (text, strlen (text), NULL);
        assert_true (json_number (json_get (j, "x"), &d));
        if (memcmp (&d, &reals[k], sizeof (d)) != 0)
            fail_msg ("%.17g is %s", reals[k], text);
        json_free (j);
        free (text);
    }
    for (size_t k = 0; k < sizeof (ints) / sizeof (ints[0]); k++) {
        j = json_object ();
        json_add_int (j, "x", ints[k]);
        json_push_int (json_add_array (j, "a"), ints[k]);
        text = json_print (j, false);
        json_free (j);
        assert_non_null (text);
        j = json_parse (text, strlen (text), NULL);
        assert_true (json_int (json_get (j, "x"), &i));
        assert_true (i == ints[k]);
        assert_true (json_int (json_first (json_get (j, "a")), &i));
        assert_true (i == ints[k]);
        json_free (j);
        free (text);
    }
}

/* JSON has no infinity: null, never a word that nobody can read. */
static void test_build_not_finite (void **state)
{
    struct json *j = json_object ();
    char *text;

    (void)state;
    json_add_real (j, "a", HUGE_VAL);
    json_add_real (j, "b", -HUGE_VAL);
    json_add_real (j, "c", NAN);
    text = json_print (j, false);
    assert_non_null (text);
    assert_string_equal (text, "{\"a\":null,\"b\":null,\"c\":null}");
    free (text);
    json_free (j);
}

/* What could not be allocated is NULL, and NULL may be used on. */
static void test_build_null (void **state)
{
    (void)state;
    json_add_text (NULL, "a", "b");
    json_add_int (NULL, "a", 1);
    json_add_real (NULL, "a", 1);
    json_add_bool (NULL, "a", true);
    assert_null (json_add_object (NULL, "a"));
    assert_null (json_add_array (NULL, "a"));
    assert_null (json_push_object (NULL));
    json_push_text (NULL, "a");
    json_push_int (NULL, 1);
    assert_null (json_print (NULL, false));
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_read),
        cmocka_unit_test (test_fallbacks),
        cmocka_unit_test (test_int),
        cmocka_unit_test (test_refused),
        cmocka_unit_test (test_cut),
        cmocka_unit_test (test_error_offset),
        cmocka_unit_test (test_deep),
        cmocka_unit_test (test_many),
        cmocka_unit_test (test_build),
        cmocka_unit_test (test_print_controls),
        cmocka_unit_test (test_build_exact),
        cmocka_unit_test (test_build_not_finite),
        cmocka_unit_test (test_build_null),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
