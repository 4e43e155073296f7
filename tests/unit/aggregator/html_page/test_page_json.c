/* tests/unit/aggregator/html_page/test_page_json.c - JSON as a page has it */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "html_page/page_json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct text {
    struct json_out json;
    char *text;
    size_t size;
};

static void begin (struct text *t)
{
    memset (t, 0, sizeof (*t));
    t->json.comma = ",";
    t->json.colon = ":";
    t->json.f = open_memstream (&t->text, &t->size);
    assert_non_null (t->json.f);
}

static void is (struct text *t, const char *want)
{
    assert_int_equal (fclose (t->json.f), 0);
    assert_string_equal (t->text, want);
    free (t->text);
}

/* What could end the script element, or begin a comment in it. */
static void test_embed (void **state)
{
    static const char *const rows[][2] = {
        { "[\"</script>\"]", "[\"\\u003c/script>\"]" },
        { "\"<!--<script\"", "\"\\u003c!--\\u003cscript\"" },
        { "<", "\\u003c" },             { "", "" },
        { "\xe2\x80\xa8", "\\u2028" },  { "a\xe2\x80\xa9z", "a\\u2029z" },
        // neighbours of these two, and what is cut short
        { "\xe2\x80\xa7<", "\xe2\x80\xa7\\u003c" },
        { "\xe2\x80", "\xe2\x80" },     { "\xe2", "\xe2" },
        { "plain", "plain" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof (rows) / sizeof (rows[0]); i++) {
        struct text t;

        begin (&t);
        page_json_embed (t.json.f, rows[i][0], strlen (rows[i][0]));
        is (&t, rows[i][1]);
    }
}

/* A browser obeys them, however they are written in JSON: they are shown. */
static void test_directions (void **state)
{
    struct text t;

    (void)state;
    begin (&t);
    page_json_text (&t.json, "a\xe2\x80\xae" "b\xe2\x81\xa6", 8);
    is (&t, "\"a\\\\u202eb\\\\u2066\"");
}

static void test_structure (void **state)
{
    struct text t;

    (void)state;
    begin (&t);
    json_out_open (&t.json, '{');
    json_out_key (&t.json, "a");
    json_out_open (&t.json, '[');
    json_out_int (&t.json, -1);
    page_json_real (&t.json, 0.123456789);
    page_json_real (&t.json, NAN);
    page_json_real (&t.json, -INFINITY);
    json_out_close (&t.json, ']');
    json_out_key (&t.json, "b");
    page_json_text (&t.json, "x\"y", 3);
    json_out_key (&t.json, "c");
    json_out_open (&t.json, '[');
    json_out_close (&t.json, ']');
    json_out_close (&t.json, '}');
    is (&t, "{\"a\":[-1,0.123457,null,null],\"b\":\"x\\\"y\",\"c\":[]}");
}

/* Long texts are cut, between characters. */
static void test_cut (void **state)
{
    char in[PAGE_TEXT_MAX + 10], want[PAGE_TEXT_MAX + 10];
    struct text t;

    (void)state;
    memset (in, 'x', sizeof (in));
    (void)snprintf (want, sizeof (want), "\"%.*s\"", PAGE_TEXT_MAX, in);
    begin (&t);
    page_json_text (&t.json, in, PAGE_TEXT_MAX);
    is (&t, want);
    // an e-acute across the limit
    memcpy (in + PAGE_TEXT_MAX - 1, "\xc3\xa9", 2);
    (void)snprintf (want, sizeof (want), "\"%.*s...\"", PAGE_TEXT_MAX - 1, in);
    begin (&t);
    page_json_text (&t.json, in, PAGE_TEXT_MAX + 1);
    is (&t, want);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_embed),
        cmocka_unit_test (test_directions),
        cmocka_unit_test (test_structure),
        cmocka_unit_test (test_cut),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
