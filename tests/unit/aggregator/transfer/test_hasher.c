/* tests/unit/aggregator/transfer/test_hasher.c - chunks that are hashed in a
 * thread */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "transfer/hasher.h"

#include <errno.h>
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
        hasher_begin (h, &(struct hasher_chunk){ CODEC_PLAIN, data, size,
                                                 size });
        assert_int_equal (digest_of (data, size, &want), 0);
        assert_int_equal (hasher_end (h, &got), 0);
        assert_memory_equal (&got, &want, sizeof (got));
    }
    hasher_destroy (h);
}

/* It is the digest of what a frame unpacks to; damage is told. */
static void test_packed (void **state)
{
    struct hasher *h = hasher_create ();
    static uint8_t data[1 << 20];
    struct hasher_chunk chunk = { .codec = CODEC_LZ4, .size = sizeof (data) };
    struct digest want, got;
    struct buf frame;

    (void)state;
    memset (data, 7, sizeof (data));
    buf_init (&frame, 2 * sizeof (data));
    assert_int_equal (pack_frame (data, sizeof (data), &frame, NULL), 0);
    assert_int_equal (digest_of (data, sizeof (data), &want), 0);
    chunk.stored = frame.data;
    chunk.n = frame.size;
    hasher_begin (h, &chunk);
    assert_int_equal (hasher_end (h, &got), 0);
    assert_memory_equal (&got, &want, sizeof (got));
    frame.data[frame.size / 2] ^= 1;
    hasher_begin (h, &chunk);
    assert_int_equal (hasher_end (h, &got), -EBADMSG);
    frame.data[frame.size / 2] ^= 1;
    chunk.size--;
    hasher_begin (h, &chunk);
    assert_int_equal (hasher_end (h, &got), -EBADMSG);
    buf_fini (&frame);
    hasher_destroy (h);
}

/* One that nobody asks for any more holds nothing up. */
static void test_ends_while_at_work (void **state)
{
    static uint8_t data[1 << 20];
    const struct hasher_chunk chunk = { CODEC_PLAIN, data, sizeof (data),
                                        sizeof (data) };

    (void)state;
    for (unsigned i = 0; i < 50; i++) {
        struct hasher *h = hasher_create ();

        assert_non_null (h);
        if (i % 2)
            hasher_begin (h, &chunk);
        hasher_destroy (h);
    }
    hasher_destroy (NULL);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_same_as_digest_of),
        cmocka_unit_test (test_packed),
        cmocka_unit_test (test_ends_while_at_work),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
