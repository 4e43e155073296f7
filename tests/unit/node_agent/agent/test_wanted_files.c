/* tests/unit/node_agent/agent/test_wanted_files.c - which files a WANT names */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent/wanted_files.h"

#include <string.h>

static void test_patterns (void **state)
{
    (void)state;
    assert_true (wanted_matches ("", "any/file"));
    assert_true (wanted_matches ("a/b.json", "a/b.json"));
    assert_false (wanted_matches ("a/b.json", "a/b.jso"));
    assert_false (wanted_matches ("a/b.jso", "a/b.json"));
    assert_true (wanted_matches ("a/*.json", "a/b/c.json"));
    assert_true (wanted_matches ("*", "a"));
    assert_true (wanted_matches ("a*", "a"));
    assert_true (wanted_matches ("?/?", "a/b"));
    assert_false (wanted_matches ("?", ""));
    assert_true (wanted_matches ("*b*b*c", "abbbbbc"));
    assert_false (wanted_matches ("*b*b*c", "abbbbbcd"));
}

/* A name without a slash is that of a file, wherever it is. */
static void test_last_name (void **state)
{
    (void)state;
    assert_true (wanted_matches ("b.json", "a/b.json"));
    assert_true (wanted_matches ("*.json", "a/b.json"));
    assert_false (wanted_matches ("b.json", "a/xb.json"));
    assert_false (wanted_matches ("x/b.json", "a/x/b.json"));
    assert_false (wanted_matches ("a", "a/b.json"));
}

/* Each * could take any number of bytes: to try them all would take for ever.
 */
static void test_many_stars (void **state)
{
    char pattern[1024], path[1024];

    (void)state;
    for (size_t i = 0; i + 2 < sizeof (pattern); i += 2)
        memcpy (pattern + i, "*a", 2);
    pattern[sizeof (pattern) - 2] = 'b';
    pattern[sizeof (pattern) - 1] = '\0';
    memset (path, 'a', sizeof (path) - 1);
    path[sizeof (path) - 1] = '\0';
    assert_false (wanted_matches (pattern, path));
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_patterns), cmocka_unit_test (test_last_name),
        cmocka_unit_test (test_many_stars),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
