/* tests/unit/aggregator/archive/test_capture_place.c - captures of one name are
 * kept apart
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "archive/capture_place.h"

#include <stdio.h>
#include <string.h>

static struct ledger_item item_at (const char *job, const char *dir,
                                   enum item_kind kind, int64_t newest_ns)
{
    struct ledger_item i = { .kind = kind, .rank = 3, .newest_ns = newest_ns,
                             .capture = "c", .scope = "s" };

    PRINT (i.job, "%s", job);
    PRINT (i.dir, "%s", dir);
    return i;
}

/* Rows and raw files of a capture are together, in whatever order they come. */
static void test_directories (void **state)
{
    char first[CAPTURE_PLACE_MAX], other[CAPTURE_PLACE_MAX];
    char again[CAPTURE_PLACE_MAX];
    struct capture_places p;
    struct ledger_item i;

    (void)state;
    capture_places_init (&p);
    i = item_at ("j", "a", ITEM_ROWS, 1);
    assert_int_equal (capture_place (&p, &i, first), 0);
    assert_string_equal (first, "");
    i = item_at ("j", "b", ITEM_RAW, 1);
    assert_int_equal (capture_place (&p, &i, other), 0);
    assert_memory_equal (other, "place-", 6);
    i = item_at ("j", "b", ITEM_ROWS, 2);       // a version of the same
    assert_int_equal (capture_place (&p, &i, again), 0);
    assert_string_equal (again, other);
    i = item_at ("j", "a", ITEM_RAW, 2);
    assert_int_equal (capture_place (&p, &i, again), 0);
    assert_string_equal (again, "");
    capture_places_fini (&p);
}

/* Versions that are not divided into jobs are captures of their own. */
static void test_versions (void **state)
{
    char places[3][CAPTURE_PLACE_MAX];
    struct capture_places p;

    (void)state;
    capture_places_init (&p);
    for (int n = 0; n < 3; n++) {
        struct ledger_item i = item_at ("s", "a", ITEM_ROWS, n);

        assert_int_equal (capture_place (&p, &i, places[n]), 0);
    }
    assert_string_equal (places[0], "");
    assert_memory_equal (places[1], "place-", 6);
    assert_memory_equal (places[2], "place-", 6);
    assert_string_not_equal (places[1], places[2]);
    capture_places_fini (&p);
}

static void test_ranks (void **state)
{
    char place[CAPTURE_PLACE_MAX];
    struct capture_places p;
    struct ledger_item i = item_at ("j", "a", ITEM_ROWS, 1);

    (void)state;
    capture_places_init (&p);
    i.shared_name = true;
    assert_int_equal (capture_place (&p, &i, place), 0);
    assert_string_equal (place, "rank3/");
    i.rank = 4;
    (void)strcpy (i.dir, "b");
    assert_int_equal (capture_place (&p, &i, place), 0);
    assert_string_equal (place, "rank4/");
    (void)strcpy (i.dir, "a");
    assert_int_equal (capture_place (&p, &i, place), 0);
    assert_memory_equal (place, "rank4/place-", 12);
    capture_places_fini (&p);
}

/* A root that has files of one rank only does not know that its name is shared. */
static void test_several_roots (void **state)
{
    char place[CAPTURE_PLACE_MAX];
    struct capture_places p;
    struct ledger_item i = item_at ("j", "a", ITEM_ROWS, 1);

    (void)state;
    capture_places_init (&p);
    i.shared_name = true;
    assert_int_equal (capture_place (&p, &i, place), 0);
    i = item_at ("j", "a", ITEM_RAW, 1);
    assert_int_equal (capture_place (&p, &i, place), 0);
    assert_string_equal (place, "rank3/");
    (void)strcpy (i.capture, "other");
    assert_int_equal (capture_place (&p, &i, place), 0);
    assert_string_equal (place, "");
    capture_places_fini (&p);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_directories), cmocka_unit_test (test_versions),
        cmocka_unit_test (test_ranks), cmocka_unit_test (test_several_roots),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
