/* tests/unit/node_agent/extract/kineto/test_kineto_known.c - what is remembered
 * of names: as if it were found out each time
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "extract/kineto/kineto_known.h"

#include <stdio.h>
#include <string.h>

static struct kineto_known known[KINETO_KNOWN];

static struct kineto_known *know (const char *cat, const char *name)
{
    const struct span c = { cat, strlen (cat) }, n = { name, strlen (name) };
    struct kineto_known *k = kineto_know (known, c, n);

    assert_int_equal (k->kind, kineto_gpu_kind (c, n));
    assert_int_equal (k->starts, kineto_starts_work (n));
    return k;
}

/* More names than there is room for, twice; some differ in one letter. */
static void test_names (void **state)
{
    static const char *const cats[] = { "kernel", "cuda_sync", "gpu_memcpy",
                                        "cuda_runtime",
                                        "a category without room" };
    static const char *const words[] = { "gemm", "ncclDevKernel_x", "Memcpy",
                                         "Stream Sync", "Launch" };

    (void)state;
    for (unsigned i = 0; i < 8 * KINETO_KNOWN; i++) {
        char name[400];
        unsigned n = i % (4 * KINETO_KNOWN);

        (void)snprintf (name, sizeof (name), "%s%*s%u%s", n & 1 ? "a" : "b",
                        (int)(n % 19 * 16), "", n / 5, words[n % 5]);
        (void)know (cats[n % 4], name);
        (void)know (cats[n % 5], name);
    }
    (void)know ("kernel", "");
    (void)know ("", "x");
}

static void test_numbers (void **state)
{
    struct kineto_known *k = know ("kernel", "gemm");

    (void)state;
    assert_false (k->has_number);
    k->has_number = true;
    k->number = 7;
    k = know ("kernel", "gemm");
    assert_true (k->has_number);
    assert_int_equal (k->number, 7);
    // another kind of the same name has another number
    assert_false (know ("Memcpy", "gemm")->has_number);
    // what has no room, or gives its place away, is forgotten
    know ("a category without room", "gemm")->has_number = true;
    assert_false (know ("a category without room", "gemm")->has_number);
    know ("kernel", "")->has_number = true;
    assert_false (know ("kernel", "")->has_number);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_names),
        cmocka_unit_test (test_numbers),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
