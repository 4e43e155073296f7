/* tests/unit/common/store/test_checksum.c - the CRC-32 of gzip */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "store/checksum.h"

/* The value that descriptions of the CRC give, in one piece and in two. */
static void test_known (void **state)
{
    (void)state;
    assert_int_equal (checksum_add (0, "", 0), 0);
    assert_int_equal (checksum_add (0, "123456789", 9), 0xcbf43926);
    assert_int_equal (checksum_add (checksum_add (0, "1234", 4), "56789", 5),
                      0xcbf43926);
}

int main (void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test (test_known) };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
