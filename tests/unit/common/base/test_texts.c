/* tests/unit/common/base/test_texts.c - texts as numbers */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/texts.h"

#define MANY 3000

static void fill (struct texts *t)
{
    char name[24];

    for (int i = 0; i < MANY; i++) {
        int n = snprintf (name, sizeof (name), "step%d", i);

        assert_int_equal (texts_intern (t, name, (size_t)n), i);
    }
}

/* Numbers are by first appearance, also when memory has moved, and a text that
 * begins another one is a text of its own.
 */
static void test_numbers (void **state)
{
    struct texts t = { .used = 0 };

    (void)state;
    assert_int_equal (texts_find (&t, "a", 1), TEXTS_NONE);
    fill (&t);
    assert_int_equal (texts_intern (&t, "step77", 6), 77);
    assert_int_equal (texts_intern (&t, "step77", 5), 7);
    assert_int_equal (texts_find (&t, "step3000", 8), TEXTS_NONE);
    assert_int_equal (texts_intern (&t, "", 0), MANY);
    assert_int_equal (texts_intern (&t, "", 0), MANY);
    assert_string_equal (texts_at (&t, 2999), "step2999");
    assert_string_equal (texts_at (&t, MANY), "");
    assert_int_equal (texts_size (&t, 7), 5);
    texts_fini (&t);
    assert_int_equal (texts_find (&t, "step77", 6), TEXTS_NONE);
}

/* Texts are bytes: what differs behind a NUL is two texts. */
static void test_bytes (void **state)
{
    struct texts t = { .used = 0 };

    (void)state;
    assert_int_equal (texts_intern (&t, "a\0b", 3), 0);
    assert_int_equal (texts_intern (&t, "a\0c", 3), 1);
    assert_int_equal (texts_intern (&t, "a", 1), 2);
    assert_int_equal (texts_size (&t, 1), 3);
    assert_memory_equal (texts_at (&t, 1), "a\0c", 4);
    texts_fini (&t);
}

/* What was cleared is gone, and numbers begin again. */
static void test_clear (void **state)
{
    struct texts t = { .used = 0 };

    (void)state;
    texts_clear (&t);
    for (int i = 0; i < 3; i++) {
        fill (&t);
        texts_clear (&t);
        assert_int_equal (texts_find (&t, "step77", 6), TEXTS_NONE);
        assert_int_equal (t.map.n, 0);
    }
    texts_fini (&t);
}

/* A text that is larger than all room that there was. */
static void test_long (void **state)
{
    static char text[100000];
    struct texts t = { .used = 0 };

    (void)state;
    for (size_t i = 0; i < sizeof (text); i++)
        text[i] = (char)('a' + i % 26);
    assert_int_equal (texts_intern (&t, text, 4095), 0);
    assert_int_equal (texts_intern (&t, text, sizeof (text)), 1);
    assert_int_equal (texts_size (&t, 1), sizeof (text));
    assert_memory_equal (texts_at (&t, 1), text, sizeof (text));
    assert_int_equal (texts_find (&t, text, 4095), 0);
    texts_fini (&t);
}

static uint64_t mix (uint64_t h)        // as in texts.c
{
    h *= UINT64_C (0xd6e8feb86659fd93);
    return h ^ h >> 32;
}

/* Two texts of one hash, as anybody can make them, are two. */
static void test_one_hash (void **state)
{
    uint64_t start = 16 * UINT64_C (0x9e3779b97f4a7c15);
    uint64_t a[2] = { 1, 2 }, b[2] = { 3, 0 };
    struct texts t = { .used = 0 };

    (void)state;
    b[1] = a[1] ^ mix (start ^ a[0]) ^ mix (start ^ b[0]);
    assert_true (texts_hash ((char *)a, 16) == texts_hash ((char *)b, 16));
    assert_int_equal (texts_intern (&t, (char *)a, 16), 0);
    assert_int_equal (texts_find (&t, (char *)b, 16), TEXTS_NONE);
    assert_int_equal (texts_intern (&t, (char *)b, 16), 1);
    assert_int_equal (texts_find (&t, (char *)a, 16), 0);
    assert_int_equal (texts_find (&t, (char *)b, 16), 1);
    assert_memory_equal (texts_at (&t, 1), b, 16);
    texts_fini (&t);
}

/* Names of cluster_analysis.db have it: it must not change. */
static void test_hash (void **state)
{
    (void)state;
    assert_true (texts_hash ("", 0) == UINT64_C (0x0000000000000000));
    assert_true (texts_hash ("hcom_allReduce_", 15) == 
                 UINT64_C (0xbfdbe0a263e60cfb));
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_numbers), cmocka_unit_test (test_bytes),
        cmocka_unit_test (test_clear),   cmocka_unit_test (test_long),
        cmocka_unit_test (test_one_hash), cmocka_unit_test (test_hash),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
