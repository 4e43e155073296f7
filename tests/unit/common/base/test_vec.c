/* tests/unit/common/base/test_vec.c - lists that grow */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/vec.h"

#include <malloc.h>
#include <stdlib.h>

#define THINGS 1000

/* There is room for each, also where others were taken away before: valgrind
 * and the address sanitizer see a write behind the end.
 */
static void test_grow (void **state)
{
    int64_t *list = NULL;
    size_t n = 0;

    (void)state;
    for (int round = 0; round < 3; round++) {
        for (int64_t i = 0; i < THINGS; i++) {
            int64_t *p = vec_one_more (list, n, sizeof (*p));

            assert_non_null (p);
            list = p;
            assert_true (malloc_usable_size (p) >= (n + 1) * sizeof (*p));
            p[n++] = i;
        }
        assert_int_equal (list[n - 1], THINGS - 1);
        n = round == 0 ? 3 : 8;
        assert_int_equal (list[2], 2);
    }
    free (list);
}

/* A list that cannot be is refused, and what there is stays. */
static void test_too_large (void **state)
{
    char *list = malloc (8);

    (void)state;
    assert_non_null (list);
    assert_null (vec_one_more (list, SIZE_MAX / 2 + 1, 2));
    free (list);
}

/* What is added is zero, also where something else was taken away. */
static void test_add (void **state)
{
    int64_t *list = NULL, *p;
    size_t n = 0;

    (void)state;
    for (int64_t i = 1; i <= THINGS; i++) {
        p = vec_add (&list, &n, sizeof (*p));
        assert_non_null (p);
        assert_int_equal (*p, 0);
        *p = i;
    }
    assert_int_equal (n, THINGS);
    assert_int_equal (list[THINGS - 1], THINGS);
    n--;
    p = vec_add (&list, &n, sizeof (*p));
    assert_ptr_equal (p, &list[THINGS - 1]);
    assert_int_equal (*p, 0);
    free (list);
}

static void test_insert (void **state)
{
    int64_t *list = NULL, *p;
    size_t n = 0;

    (void)state;
    for (int64_t i = 1; i <= 4; i++) {
        assert_int_equal (vec_push (&list, &n, &i, sizeof (i)), 0);
        assert_int_equal (n, i);
    }
    p = vec_insert (&list, &n, 1, sizeof (*p));
    assert_ptr_equal (p, &list[1]);
    assert_int_equal (*p, 0);
    assert_int_equal (n, 5);
    assert_int_equal (list[0], 1);
    assert_int_equal (list[2], 2);
    assert_int_equal (list[4], 4);
    free (list);
}

static void test_texts (void **state)
{
    char **list = NULL;
    size_t n = 0;

    (void)state;
    assert_int_equal (vec_add_text (&list, &n, "a"), 0);
    assert_int_equal (vec_add_text (&list, &n, ""), 0);
    assert_int_equal (vec_print_text (&list, &n, "%s %d", "b", 7), 0);
    assert_int_equal (n, 3);
    assert_string_equal (list[0], "a");
    assert_string_equal (list[1], "");
    assert_string_equal (list[2], "b 7");
    vec_free_texts (list, n);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_grow),
        cmocka_unit_test (test_too_large),
        cmocka_unit_test (test_add),
        cmocka_unit_test (test_insert),
        cmocka_unit_test (test_texts),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
