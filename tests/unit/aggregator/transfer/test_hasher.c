/* tests/unit/aggregator/transfer/test_hasher.c - chunks that are hashed in a
 * thread */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "transfer/hasher.h"

#include <string.h>

/* Whoever comes first makes it, the thread or hasher_end: never another one's.
 */
static void test_same_as_digest_of (void **state)
{
    struct hasher *h = hasher_create ();
    uint8_t data[4096];
    struct digest want, got;

    (void)state;
    assert_non_null (h);
    for (unsigned i = 0; i < 2000; i++) {
        size_t size = 1 + i * 7 % sizeof (data);

        memset (data, (int)i, size);
        hasher_begin (h, data, size);
        assert_int_equal (digest_of (data, size, &want), 0);
        assert_int_equal (hasher_end (h, &got), 0);
        assert_memory_equal (&got, &want, sizeof (got));
    }
    hasher_destroy (h);
}

/* One that nobody asks for any more holds nothing up. */
static void test_ends_while_at_work (void **state)
{
    static uint8_t data[1 << 20];

    (void)state;
    for (unsigned i = 0; i < 50; i++) {
        struct hasher *h = hasher_create ();

        assert_non_null (h);
        if (i % 2)
            hasher_begin (h, data, sizeof (data));
        hasher_destroy (h);
    }
    hasher_destroy (NULL);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_same_as_digest_of),
        cmocka_unit_test (test_ends_while_at_work),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
