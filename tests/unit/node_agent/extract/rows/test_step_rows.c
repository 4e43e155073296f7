/* tests/unit/node_agent/extract/rows/test_step_rows.c - one row of each table
 * of steps
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "extract/rows/step_rows.h"

#include <math.h>

static struct batch batch;

static void start (enum table_id table)
{
    struct err err = { "" };

    assert_int_equal (batch_init (&batch, table, &err), 0);
}

static void is (int column, double value)
{
    assert_true (batch.real[column][0] == value);
}

static const struct step_sums sums = {
    .id = "7", .device = 3, .computing = 5000, .communication = 2000,
    .overlapped = 500, .idle = 1500, .span = 8000, .bubble = 1000,
    .preparing = 2.5 };

/* Each column is in us, and what is derived comes of the right two. */
static void test_columns (void **state)
{
    size_t n;

    (void)state;
    start (TABLE_STEP);
    step_row_put (&batch, &sums);
    assert_int_equal (batch.nrows, 1);
    is (STEP_DEVICE, 3);
    assert_string_equal (batch_text_at (&batch, batch.text[STEP_STEP][0], &n),
                         "7");
    is (STEP_COMPUTING, 5);
    is (STEP_NOT_OVERLAPPED, 1.5);
    is (STEP_OVERLAPPED, 0.5);
    is (STEP_COMMUNICATION, 2);
    is (STEP_FREE, 1.5);
    is (STEP_STAGE, 7);
    is (STEP_BUBBLE, 1);
    is (STEP_EXCLUDE_RECEIVE, 0.5);
    is (STEP_PREPARING, 2.5);
    batch_fini (&batch);
}

/* A bubble of more than what was waited for is not less than nothing. */
static void test_clamp (void **state)
{
    struct step_sums s = sums;

    (void)state;
    s.bubble = 1501;
    start (TABLE_STEP);
    step_row_put (&batch, &s);
    is (STEP_EXCLUDE_RECEIVE, 0);
    batch_fini (&batch);
}

/* Without what computes the device's span and what was sent are known. */
static void test_hidden (void **state)
{
    static const int unknown[] = { STEP_COMPUTING, STEP_NOT_OVERLAPPED,
                                   STEP_OVERLAPPED, STEP_FREE,
                                   STEP_EXCLUDE_RECEIVE };
    struct step_sums s = sums;

    (void)state;
    s.hidden = true;
    s.id = "";
    start (TABLE_STEP);
    step_row_put (&batch, &s);
    for (size_t i = 0; i < sizeof (unknown) / sizeof (unknown[0]); i++)
        assert_true (isnan (batch.real[unknown[i]][0]));
    is (STEP_COMMUNICATION, 2);
    is (STEP_STAGE, 7);
    assert_int_equal (batch.text[STEP_STEP][0], BATCH_NULL_TEXT);
    batch_fini (&batch);
}

static void test_extra (void **state)
{
    (void)state;
    start (TABLE_STEP_EXTRA);
    step_extra_put (&batch, "7", 3, 10, 20, NAN);
    assert_int_equal (batch.nrows, 1);
    is (EXTRA_DEVICE, 3);
    is (EXTRA_HOST_START, 10);
    is (EXTRA_HOST_END, 20);
    assert_true (isnan (batch.real[EXTRA_MEMORY_ONLY][0]));
    batch_fini (&batch);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_columns),
        cmocka_unit_test (test_clamp),
        cmocka_unit_test (test_hidden),
        cmocka_unit_test (test_extra),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
