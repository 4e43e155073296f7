/* tests/unit/common/base/test_map.c - records by their keys */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/map.h"

struct pair {
    uint64_t a, b;              // the key
    uint64_t value;
};

#define MANY 10000u

/* What was put in is there after it has grown, in the order in which it came,
 * and nothing else is.  Keys differ in a few of their bits only, as addresses
 * and times do.
 */
static void test_many (void **state)
{
    const int shifts[] = { 0, 20, 40, 50 };

    (void)state;
    for (int i = 0; i < 4; i++) {
        struct map m = MAP (struct pair, 2);
        bool is_new;

        for (uint64_t k = 0; k < MANY; k++) {
            struct pair key = { k << shifts[i], 7, 99 };
            struct pair *p = map_put (&m, &key, &is_new);

            assert_non_null (p);
            assert_true (is_new);
            assert_int_equal (p->value, 0);     // not what lies behind the key
            p->value = k;
        }
        assert_int_equal (m.n, MANY);
        for (uint64_t k = 0; k < MANY; k++) {
            struct pair key = { k << shifts[i], 7, 0 };
            struct pair other = { k << shifts[i], 8, 0 };
            struct pair *p = map_get (&m, &key);

            assert_ptr_equal (p, map_at (&m, (uint32_t)k));
            assert_int_equal (p->value, k);
            assert_ptr_equal (map_put (&m, &key, &is_new), p);
            assert_false (is_new);
            assert_null (map_get (&m, &other));
        }
        map_fini (&m);
        assert_int_equal (m.n, 0);
        assert_null (map_get (&m, &(struct pair){ 0, 7, 0 }));
    }
}

/* Of half a million keys some have one hash in the table: they are not taken
 * for each other.
 */
static void test_alike (void **state)
{
    struct map m = MAP (uint64_t, 1);
    uint64_t key = 1;
    bool is_new;

    (void)state;
    for (uint32_t i = 0; i < 1u << 19; i++) {
        key = key * UINT64_C (6364136223846793005) + 1;
        assert_non_null (map_put (&m, &key, &is_new));
        assert_true (is_new);
    }
    map_fini (&m);
}

/* Halves of a key and their sum are not mixed up. */
static void test_words (void **state)
{
    struct map m = MAP (struct pair, 2);
    bool is_new;

    (void)state;
    for (uint64_t a = 0; a < 100; a++) {
        for (uint64_t b = 0; b < 100; b++) {
            (void)map_put (&m, &(struct pair){ a, b, 0 }, &is_new);
            assert_true (is_new);
        }
    }
    assert_int_equal (m.n, 10000);
    map_fini (&m);
}

/* What was cleared is gone, and what comes next is numbered from 0 on. */
static void test_clear (void **state)
{
    struct map m = MAP (struct pair, 2);
    const struct pair key = { 1, 2, 0 }, next = { 3, 4, 0 };
    bool is_new;

    (void)state;
    map_clear (&m);             // nothing is there yet
    for (int i = 0; i < 3; i++) {
        struct pair *p = map_put (&m, &key, &is_new);

        assert_true (is_new);
        assert_int_equal (p->value, 0);
        p->value = 5;
        assert_null (map_get (&m, &next));
        (void)map_put (&m, &next, &is_new);
        assert_ptr_equal (map_get (&m, &next), map_at (&m, 1));
        map_clear (&m);
        assert_int_equal (m.n, 0);
        assert_null (map_get (&m, &key));
    }
    map_fini (&m);
}

/* When the count of clearings goes round, slots of the first ones are free. */
static void test_round (void **state)
{
    struct map m = MAP (struct pair, 2);
    const struct pair key = { 1, 2, 0 };
    bool is_new;

    (void)state;
    (void)map_put (&m, &key, &is_new);
    map_clear (&m);
    m.generation = UINT32_MAX;
    map_clear (&m);
    assert_int_equal (m.generation, 1);
    (void)map_put (&m, &key, &is_new);
    assert_true (is_new);
    assert_int_equal (m.n, 1);
    map_fini (&m);
}

static int by_b (const void *pa, const void *pb)
{
    const struct pair *a = pa, *b = pb;

    return (a->b > b->b) - (a->b < b->b);
}

/* Records are a plain list: it may be sorted, if nothing is sought behind. */
static void test_sort (void **state)
{
    struct map m = MAP (struct pair, 1);
    const struct pair *p;
    bool is_new;

    (void)state;
    for (uint64_t k = 0; k < 1000; k++)
        ((struct pair *)map_put (&m, &k, &is_new))->b = 1000 - k;
    qsort (m.records, m.n, m.size, by_b);
    p = m.records;
    for (uint64_t k = 0; k < 1000; k++)
        assert_int_equal (p[k].a, 999 - k);
    map_clear (&m);
    assert_null (map_get (&m, &(uint64_t){ 1 }));
    (void)map_put (&m, &(uint64_t){ 1 }, &is_new);
    assert_true (is_new);
    map_fini (&m);
}

/* A key of two numbers tells their order. */
static void test_key (void **state)
{
    (void)state;
    assert_true (map_key (1, 2) != map_key (2, 1));
    assert_true (map_key (0, 1) != map_key (0, 2));
    assert_true (map_key (1, 0) != map_key (0, 0));
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_many),  cmocka_unit_test (test_alike),
        cmocka_unit_test (test_words), cmocka_unit_test (test_clear),
        cmocka_unit_test (test_round), cmocka_unit_test (test_sort),
        cmocka_unit_test (test_key),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
