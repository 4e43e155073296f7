/* tests/unit/aggregator/cluster_db/test_parallel_layout.c - indexes and stages
 * of ranks */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cluster_db/parallel_layout.h"

#include <string.h>

static void assert_index (const struct parallel_sizes *s, int64_t rank,
                          int64_t data, int64_t pipeline, int64_t tensor)
{
    struct parallel_index x = parallel_of (s, rank);

    assert_int_equal (x.data, data);
    assert_int_equal (x.pipeline, pipeline);
    assert_int_equal (x.tensor, tensor);
}

/* Context parallel ranks are beside each other between tensor and data. */
static void test_context (void **state)
{
    struct parallel_sizes s = { .tensor = 2, .pipeline = 2, .data = 3,
                                .context = 2, .world = 24 };

    (void)state;
    assert_true (parallel_usable (&s, 23));
    assert_index (&s, 0, 0, 0, 0);
    assert_index (&s, 1, 0, 0, 1);
    assert_index (&s, 2, 0, 0, 0);      // the other context rank
    assert_index (&s, 4, 1, 0, 0);
    assert_index (&s, 11, 2, 0, 1);
    assert_index (&s, 12, 0, 1, 0);
    assert_index (&s, 23, 2, 1, 1);
}

/* Without context, as users' tools have always told it. */
static void test_no_context (void **state)
{
    struct parallel_sizes s = { .tensor = 1, .pipeline = 2, .data = 2,
                                .world = 4 };

    (void)state;
    assert_true (parallel_usable (&s, 1));
    assert_index (&s, 1, 1, 0, 0);
    assert_index (&s, 2, 0, 1, 0);
    assert_index (&s, 3, 1, 1, 0);
}

static void test_context_in_data (void **state)
{
    struct parallel_sizes s = { .tensor = 1, .pipeline = 1, .data = 8,
                                .context = 2, .world = 8 };

    (void)state;
    assert_true (parallel_usable (&s, 7));
    assert_int_equal (s.data, 4);
    assert_index (&s, 1, 0, 0, 0);
    assert_index (&s, 7, 3, 0, 0);
}

static void test_not_usable (void **state)
{
    static const struct {
        struct parallel_sizes s;
        int64_t highest;
    } bad[] = {
        { { .tensor = 0 }, 0 },                 // nothing is known
        { { 2, 2, 2, 1, 1, 9 }, 7 },            // does not multiply
        { { 2, 2, 2, 1, 1, 8 }, 8 },            // a rank too many
        { { 1 << 30, 1 << 30, 1 << 30, 1, 1, 8 }, 1 },
        { { 2, 2, 3, 2, 1, 12 }, 1 },           // 3 is not context and data
        { { 2, 2, -2, 1, 1, -8 }, -9 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof (bad) / sizeof (bad[0]); i++) {
        struct parallel_sizes s = bad[i].s;

        assert_false (parallel_usable (&s, bad[i].highest));
    }
}

/* ---- stages ---- */

#define RANKS(...) (const int32_t[]){ __VA_ARGS__ }, \
    sizeof ((const int32_t[]){ __VA_ARGS__ }) / sizeof (int32_t)

static void assert_stages (const struct parallel_group *g, size_t n,
                           const int32_t *of, size_t nranks)
{
    struct stages s;

    assert_int_equal (stages_find (g, n, &s, NULL), 0);
    assert_true (s.any);
    assert_int_equal (s.nranks, nranks);
    assert_memory_equal (s.of, of, nranks * sizeof (*of));
    stages_fini (&s);
}

/* Tensor 2, data 2, pipeline 2; groups of all, and of a model, do not make one
 * stage of two.
 */
static void test_stages (void **state)
{
    static const int32_t of[] = { 0, 0, 0, 0, 4, 4, 4, 4 };
    const struct parallel_group g[] = {
        { "default_group", false, RANKS (0, 1, 2, 3, 4, 5, 6, 7) },
        { "tp", false, RANKS (0, 1) }, { "tp", false, RANKS (2, 3) },
        { "tp", false, RANKS (4, 5) }, { "tp", false, RANKS (6, 7) },
        { "mp", false, RANKS (0, 1, 4, 5) },
        { "dp", false, RANKS (0, 2) }, { "dp", false, RANKS (1, 3) },
        { "dp", false, RANKS (4, 6) }, { "dp", false, RANKS (5, 7) },
        { "pp", true, RANKS (0, 4) }, { "PP", true, RANKS (1, 5) },
        { "pp", true, RANKS (2, 6) }, { "pp_1", false, RANKS (3, 7) },
    };

    (void)state;
    assert_stages (g, sizeof (g) / sizeof (g[0]), of, 8);
}

/* A pipeline alone; one that is known by its pairs; a rank of neither. */
static void test_stages_alone (void **state)
{
    static const int32_t of[] = { 0, 1, 2, -1, 4, 5, 6 };
    const struct parallel_group g[] = {
        { "pp", true, RANKS (1, 2) }, { "pp", true, RANKS (0, 1) },
        { "pp", true, RANKS (4, 6) }, { "pp", true, RANKS (5, 6) },
        { "world", false, RANKS (0, 1, 2, 4, 5, 6) },
    };

    (void)state;
    assert_stages (g, sizeof (g) / sizeof (g[0]), of, 7);
}

static void test_no_pipelines (void **state)
{
    const struct parallel_group g[] = { { "tp", false, RANKS (0, 1) },
                                        { "", true, RANKS (1, 2) } };
    struct stages s;

    (void)state;
    assert_int_equal (stages_find (g, 2, &s, NULL), 0);
    assert_false (s.any);
    stages_fini (&s);
    assert_int_equal (stages_find (NULL, 0, &s, NULL), 0);
    assert_false (s.any);
    stages_fini (&s);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_context),
        cmocka_unit_test (test_no_context),
        cmocka_unit_test (test_context_in_data),
        cmocka_unit_test (test_not_usable),
        cmocka_unit_test (test_stages),
        cmocka_unit_test (test_stages_alone),
        cmocka_unit_test (test_no_pipelines),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
