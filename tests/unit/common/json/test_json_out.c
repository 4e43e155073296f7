/* tests/unit/common/json/test_json_out.c - JSON, written as it comes */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "json/json_out.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void writes (const char *s, size_t n, const char *want)
{
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream (&text, &size);

    assert_non_null (f);
    json_out_string (f, s, n);
    assert_int_equal (fclose (f), 0);
    assert_string_equal (text, want);
    free (text);
}

static void test_strings (void **state)
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
        writes (rows[i][0], strlen (rows[i][0]), rows[i][1]);
    writes ("a\0b", 3, "\"a\\u0000b\"");    // as long as it is said
}

static void test_structure (void **state)
{
    char *text = NULL;
    size_t size;
    struct json_out j = { .f = open_memstream (&text, &size), .comma = ", ",
                          .colon = ": " };

    (void)state;
    assert_non_null (j.f);
    json_out_open (&j, '{');
    json_out_key (&j, "a\"");
    json_out_open (&j, '[');
    json_out_int (&j, INT64_MIN);
    json_out_real (&j, 0.1);
    json_out_real (&j, NAN);
    json_out_raw (&j, "1.50");
    json_out_close (&j, ']');
    json_out_text_of (&j, "b", "x");
    json_out_key (&j, "c");
    json_out_open (&j, '[');
    json_out_open_line (&j, '{');
    json_out_close (&j, '}');
    json_out_open_line (&j, '{');
    json_out_int_of (&j, "d", 3);
    json_out_close (&j, '}');
    json_out_close (&j, ']');
    json_out_close (&j, '}');
    assert_int_equal (fclose (j.f), 0);
    assert_string_equal (text, "{\"a\\\"\": [-9223372036854775808, 0.1, null, "
                         "1.50], \"b\": \"x\", \"c\": [\n{},\n{\"d\": 3}]}");
    free (text);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_strings),
        cmocka_unit_test (test_structure),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
