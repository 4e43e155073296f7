/* tests/unit/common/base/test_map.c - numbers by keys */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/map.h"

/* What was put in is there after it has grown, and nothing else is. */
static void test_many (void **state)
{
    struct map m;

    (void)state;
    map_init (&m);
    assert_true (map_get (&m, 0) == MAP_NONE);
    for (uint64_t i = 0; i < 10000; i++) {
        size_t *v = map_at (&m, i << 40);

        assert_non_null (v);
        assert_true (*v == MAP_NONE);
        *v = (size_t)i;
    }
    for (uint64_t i = 0; i < 10000; i++) {
        assert_true (map_get (&m, i << 40) == i);
        assert_true (*map_at (&m, i << 40) == i);
        assert_true (map_get (&m, i << 40 | 1) == MAP_NONE);
    }
    assert_int_equal (m.n, 10000);
    map_fini (&m);
    assert_true (map_get (&m, 0) == MAP_NONE);
}

int main (void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test (test_many) };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
