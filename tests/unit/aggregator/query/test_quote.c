/* tests/unit/aggregator/query/test_quote.c - values as JSON and as CSV have
 * them */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "query/quote.h"

#include <stdlib.h>
#include <string.h>

/* What 'put' writes of a text. */
static void writes (void (*put) (FILE *f, const char *s, size_t n),
                    const char *s, size_t n, const char *want)
{
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream (&text, &size);

    assert_non_null (f);
    put (f, s, n);
    assert_int_equal (fclose (f), 0);
    assert_string_equal (text, want);
    free (text);
}

static void test_csv (void **state)
{
    static const char *const rows[][2] = {
        { "plain", "plain" },           { "", "\"\"" },
        { "a,b", "\"a,b\"" },           { "a\"b", "\"a\"\"b\"" },
        { "\"\"", "\"\"\"\"\"\"" },     { "a\nb", "\"a\nb\"" },
        { "a\r\nb", "\"a\r\nb\"" },     { " a", "\" a\"" },
        { "a ", "\"a \"" },             { "a b", "a b" },
        { "back\\slash", "back\\slash" },
        { "\xe6\xbc\xa2", "\xe6\xbc\xa2" },
        { "x\xff,", "\"x\xef\xbf\xbd,\"" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof (rows) / sizeof (rows[0]); i++)
        writes (quote_csv, rows[i][0], strlen (rows[i][0]), rows[i][1]);
}

/* A spreadsheet runs what begins so; programs want what is there. */
static void test_formulas (void **state)
{
    static const char *const rows[][3] = {
        { "=1+1", "'=1+1", "=1+1" },
        { "+cmd|'/c x'!A1", "'+cmd|'/c x'!A1", "+cmd|'/c x'!A1" },
        { "-x", "'-x", "-x" },          { "@sum", "'@sum", "@sum" },
        { "\tx", "'\tx", "\tx" },
        { "\rx", "\"'\rx\"", "\"\rx\"" },
        { "=a,b", "\"'=a,b\"", "\"=a,b\"" },
        { "-1.5e3", "-1.5e3", "-1.5e3" },       // a number
        { "a=1", "a=1", "a=1" },        { "-", "'-", "-" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof (rows) / sizeof (rows[0]); i++) {
        writes (quote_csv, rows[i][0], strlen (rows[i][0]), rows[i][1]);
        writes (quote_raw_csv, rows[i][0], strlen (rows[i][0]), rows[i][2]);
    }
}

static void test_json (void **state)
{
    static const char *const rows[][2] = {
        { "plain", "\"plain\"" },       { "", "\"\"" },
        { "a\"b\\c", "\"a\\\"b\\\\c\"" },
        { "\b\t\n\f\r", "\"\\b\\t\\n\\f\\r\"" },
        { "\x01\x1b\x7f", "\"\\u0001\\u001b\\u007f\"" },
        { "\xc2\x9b", "\"\\u009b\"" },  { "\xc2\xa0", "\"\xc2\xa0\"" },
        { "/</script>", "\"/</script>\"" },
        // directions: the first and last of both ranges, and their neighbours
        { "\xe2\x80\xaa\xe2\x80\xae\xe2\x81\xa6\xe2\x81\xa9",
          "\"\\u202a\\u202e\\u2066\\u2069\"" },
        { "\xe2\x80\xa9\xe2\x80\xaf\xe2\x81\xa5\xe2\x81\xaa",
          "\"\xe2\x80\xa9\xe2\x80\xaf\xe2\x81\xa5\xe2\x81\xaa\"" },
        { "\xf0\x9f\x98\x80", "\"\xf0\x9f\x98\x80\"" },
        // cut short, alone, and a surrogate: three bytes, each wrong
        { "\xe6\xbc", "\"\xef\xbf\xbd\xef\xbf\xbd\"" },
        { "a\xff", "\"a\xef\xbf\xbd\"" },
        { "\xed\xa0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof (rows) / sizeof (rows[0]); i++)
        writes (quote_json, rows[i][0], strlen (rows[i][0]), rows[i][1]);
    writes (quote_json, "a\0b", 3, "\"a\\u0000b\"");    // as long as it is said
}

static void put_blob (FILE *f, const char *s, size_t n)
{
    quote_blob (f, s, n);
}

static void test_blob (void **state)
{
    (void)state;
    writes (put_blob, "\x00\xff\x1a", 3, "X'00FF1A'");
    writes (put_blob, "", 0, "X''");
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_csv),
        cmocka_unit_test (test_formulas),
        cmocka_unit_test (test_json),
        cmocka_unit_test (test_blob),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
