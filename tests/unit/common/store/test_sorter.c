/* tests/unit/common/store/test_sorter.c - more records than there is memory for
 *
 * A record that is lost, doubled or out of place would be a wrong sum.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "store/sorter.h"

#include <stdlib.h>
#include <string.h>

enum order { RISING, NEARLY, FALLING, RANDOM, EQUAL };

static int64_t key_of (enum order order, int64_t i, int64_t n)
{
    switch (order) {
    case RISING:
        return i;
    case NEARLY:
        return i + (int64_t)(random () % 50);
    case FALLING:
        return n - i;
    case RANDOM:
        return (int64_t)(random () % 1000) - 500;
    default:
        return 7;
    }
}

/* All records come back once, by key, and in order of arrival among equals. */
static void check (enum order order, unsigned words, int64_t n)
{
    struct sorter *s = sorter_create (words, 1);
    int64_t record[SORTER_WORDS_MAX] = { 0 }, before = INT64_MIN, last = -1;
    int64_t sum = 0, count = 0;
    struct err err = { "" };

    assert_non_null (s);
    srandom (3);
    for (int64_t i = 0; i < n; i++) {
        record[0] = key_of (order, i, n);
        record[1] = i;
        assert_int_equal (sorter_add (s, record, &err), 0);
    }
    assert_int_equal (sorter_finish (s, &err), 0);
    while (sorter_next (s, record, &err) == 1) {
        if (record[0] < before || (record[0] == before && record[1] <= last))
            fail_msg ("record %lld is out of place", (long long)count);
        before = record[0];
        last = record[1];
        sum += record[1];
        count++;
    }
    assert_int_equal (count, n);
    assert_int_equal (sum, n * (n - 1) / 2);
    assert_int_equal (sorter_next (s, record, &err), 0);
    sorter_destroy (s);
}

static void test_few (void **state)
{
    (void)state;
    for (enum order order = RISING; order <= EQUAL; order++) {
        check (order, 2, 0);
        check (order, 2, 1);
        check (order, 3, 1000);
    }
}

static void test_many (void **state)
{
    (void)state;
    for (enum order order = RISING; order <= EQUAL; order++)
        check (order, 4, 700000);
}

/* So many runs that they are merged before the end. */
static void test_levels (void **state)
{
    (void)state;
    check (RANDOM, 8, 70 * (SORTER_MEMORY / 64));
}

/* A place that cannot be written is an error in words, not a crash. */
static void test_no_room (void **state)
{
    struct sorter *s = sorter_create (8, 1);
    int64_t record[8] = { 0 };
    struct err err = { "" };
    char *tmp = getenv ("TMPDIR");
    int rc = 0;

    (void)state;
    tmp = tmp ? strdup (tmp) : NULL;
    assert_int_equal (setenv ("TMPDIR", "/nonexistent", 1), 0);
    for (unsigned i = 0; i < SORTER_MEMORY / 64 + 2 && rc == 0; i++)
        rc = sorter_add (s, record, &err);
    assert_true (rc < 0);
    assert_non_null (strstr (err.text, "$TMPDIR"));
    assert_true (sorter_finish (s, &err) < 0);
    assert_true (sorter_next (s, record, &err) < 0);
    sorter_destroy (s);
    if (tmp)
        (void)setenv ("TMPDIR", tmp, 1);
    else
        (void)unsetenv ("TMPDIR");
    free (tmp);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_few),
        cmocka_unit_test (test_many),
        cmocka_unit_test (test_levels),
        cmocka_unit_test (test_no_room),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
