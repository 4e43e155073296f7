/* tests/unit/common/model/test_beside.c - what is beside a capture, by its path
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/beside.h"

/* What is taken for it by mistake would be put, or removed, where it is not. */
static void test_paths (void **state)
{
    static const struct {
        const char *path;
        bool begins;
        size_t size;
    } cases[] = {
        { "a_op_args/x", true, 9 }, { "a_op_arg/t/x", true, 8 },
        { "a_op_args", true, 0 }, { "a_op_args2/x", false, 0 },
        { "b_op_args/x", false, 0 }, { "aa_op_args/x", false, 0 },
        { "a/a_op_args/x", false, 0 }, { "a_op_", false, 0 },
        { "a", false, 0 }, { "a/x", false, 0 }, { "_op_args/x", false, 0 },
        { "", false, 0 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof (cases) / sizeof (cases[0]); i++) {
        assert_int_equal (beside_begins ("a", cases[i].path),
                          cases[i].begins);
        assert_int_equal (beside_size ("a", cases[i].path), cases[i].size);
    }
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_paths),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
