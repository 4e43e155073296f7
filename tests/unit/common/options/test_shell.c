/* tests/unit/common/options/test_shell.c - words as a shell reads them */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "options/shell.h"

#include <string.h>

static void check (const char *s, const char *want)
{
    char out[256];

    assert_true (SHELL_WORD (strlen (s)) <= sizeof (out));
    assert_string_equal (shell_word (s, out), want);
    assert_true (strlen (out) < SHELL_WORD (strlen (s)));
}

static void test_words (void **state)
{
    (void)state;
    check ("/tmp/rollcall-0/run-2026:1_a", "/tmp/rollcall-0/run-2026:1_a");
    check ("", "''");
    check ("a dir", "'a dir'");
    check ("$HOME", "'$HOME'");
    check ("~", "'~'");
    check ("a=b", "'a=b'");
    check ("it's", "'it'\\''s'");
    check ("'''", "''\\'''\\'''\\'''");
    check ("caf\xc3\xa9", "'caf\xc3\xa9'");
}

int main (void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test (test_words) };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
