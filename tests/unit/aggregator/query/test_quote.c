/* tests/unit/aggregator/query/test_quote.c - values as CSV has them */
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
        cmocka_unit_test (test_blob),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
