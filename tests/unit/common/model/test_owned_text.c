/* tests/unit/common/model/test_owned_text.c - texts that are mostly empty */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/owned_text.h"

/* Its reader never meets NULL; the address sanitizer sees what is not freed. */
static void test_life (void **state)
{
    char *a, *b = NULL;

    (void)state;
    owned_text_init (&a);
    assert_string_equal (a, "");
    assert_int_equal (owned_text_set (&a, "seven", 5), 0);
    assert_int_equal (owned_text_set (&a, "six and more", 3), 0);
    assert_string_equal (a, "six");
    assert_int_equal (owned_text_set (&a, a + 1, 2), 0);        // of itself
    assert_string_equal (a, "ix");
    assert_int_equal (owned_text_set (&a, "", 0), 0);
    assert_string_equal (a, "");
    assert_int_equal (owned_text_set (&a, "again", 5), 0);
    owned_text_fini (&a);
    assert_string_equal (a, "");
    owned_text_fini (&b);       // of a zeroed struct
    assert_string_equal (b, "");
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_life),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
