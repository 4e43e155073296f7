/* tests/unit/node_agent/extract/rows/test_comm_rows.c - rows of the
 * communication tables
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "extract/rows/comm_rows.h"

#include <math.h>

static struct batch batch;

static const struct comm_texts texts = { "hcom_send__1", NULL, "step3",
                                         "p2p" };

static void start (enum table_id table)
{
    struct err err = { "" };

    assert_int_equal (batch_init (&batch, table, &err), 0);
}

static void is (int column, uint32_t row, double value)
{
    assert_true (batch.real[column][row] == value);
}

static void is_text (int column, uint32_t row, const char *value)
{
    uint32_t ref = batch.text[column][row];
    size_t n;

    if (value)
        assert_string_equal (batch_text_at (&batch, ref, &n), value);
    else
        assert_int_equal (ref, BATCH_NULL_TEXT);
}

/* Ops of text files, of tasks and of marks: all are judged alike. */
static void test_p2p (void **state)
{
    (void)state;
    assert_true (comm_op_is_p2p ("hcom_batchSendRecv__128_4_1"));
    assert_true (comm_op_is_p2p ("HCOM_SEND__1"));
    assert_true (comm_op_is_p2p ("hcom_receive__1"));
    assert_true (comm_op_is_p2p ("HcclRecv"));
    assert_false (comm_op_is_p2p ("hcom_allReduce__1"));
    assert_false (comm_op_is_p2p ("hcom_"));
    assert_string_equal (comm_type (true), "p2p");
    assert_string_equal (comm_type (false), "collective");
}

static void test_time (void **state)
{
    const struct comm_figures f = { .start_us = 1, .elapse = 2, .transit = 3,
                                    .wait = 4, .sync = 5, .idle = 6 };
    const struct comm_figures call = comm_figures_of_call (7, 8);

    (void)state;
    start (TABLE_TIME);
    comm_time_put (&batch, &texts, &f);
    comm_time_put (&batch, &texts, &call);
    assert_int_equal (batch.nrows, 2);
    is_text (TIME_OP, 0, "hcom_send__1");
    is_text (TIME_GROUP, 0, NULL);
    is (TIME_START, 0, 1);
    is (TIME_ELAPSE, 0, 2);
    is (TIME_TRANSIT, 0, 3);
    is (TIME_WAIT, 0, 4);
    is (TIME_SYNC, 0, 5);
    is (TIME_IDLE, 0, 6);
    is_text (TIME_STEP, 0, "step3");
    is_text (TIME_TYPE, 0, "p2p");
    is (TIME_START, 1, 7);
    is (TIME_ELAPSE, 1, 8);
    assert_true (isnan (batch.real[TIME_TRANSIT][1]));
    assert_true (isnan (batch.real[TIME_IDLE][1]));
    batch_fini (&batch);
}

/* A row for each size of packet; one of zeros where there is none; nothing
 * for a transport that was not used, nor of links.
 */
static void test_buckets (void **state)
{
    struct comm_item items[] = {
        { .bucket = COMM_BUCKET_HCCS, .size = 2, .count = 3, .time = 0.5 },
        { .bucket = COMM_BUCKETS, .size = 9, .count = 9, .time = 9 },
        { .bucket = COMM_BUCKET_HCCS, .size = 4, .count = 1, .time = 0.25 },
    };
    struct comm_figures f = { .items = items, .nitems = 3 };
    struct err err = { "" };

    (void)state;
    f.buckets[COMM_BUCKET_HCCS] = (struct comm_bucket){ 10, 0.75, 13, 1 };
    f.buckets[COMM_BUCKET_SDMA] = (struct comm_bucket){ 10, 0.75, 13, 0 };
    start (TABLE_BANDWIDTH);
    assert_true (comm_buckets_put (&batch, &texts, &f, NULL, &err));
    assert_int_equal (batch.nrows, 3);
    is_text (BW_TRANSPORT, 0, "HCCS");
    is (BW_SIZE, 0, 10);
    is (BW_TIME, 0, 0.75);
    is (BW_BANDWIDTH, 0, 13);
    is (BW_LARGE, 0, 1);
    is (BW_PACKAGE, 0, 2);
    is (BW_COUNT, 0, 3);
    is (BW_TOTAL, 0, 0.5);
    is_text (BW_STEP, 0, "step3");
    is_text (BW_TYPE, 0, "p2p");
    is (BW_PACKAGE, 1, 4);
    is_text (BW_TRANSPORT, 2, "SDMA");
    is (BW_PACKAGE, 2, 0);
    is (BW_COUNT, 2, 0);
    batch_fini (&batch);
}

/* A link that is not of two ranks makes no row. */
static void test_link (void **state)
{
    struct matrix_row m = { .kind = "send-total", .group = "5", .link = "3-12",
                            .op = "", .size_mb = 1, .time_ms = 2,
                            .bandwidth = 0.5 };

    (void)state;
    start (TABLE_MATRIX);
    assert_true (comm_link_put (&batch, &m, "step3", "p2p"));
    m.link = "3";
    assert_false (comm_link_put (&batch, &m, "step3", "p2p"));
    assert_int_equal (batch.nrows, 1);
    is_text (MATRIX_OP, 0, "send-total");
    is_text (MATRIX_SRC, 0, "3");
    is_text (MATRIX_DST, 0, "12");
    is_text (MATRIX_STEP, 0, "step3");
    is_text (MATRIX_TYPE, 0, "p2p");
    is_text (MATRIX_OP_NAME, 0, "");
    is (MATRIX_BANDWIDTH, 0, 0.5);
    batch_fini (&batch);
}

static int first_link (void *arg, const struct matrix_row *m)
{
    struct matrix_row *ret = arg;

    assert_string_equal (m->link, "10-4294967295");
    *ret = *m;
    return 1;
}

/* The text of a link is that of its key, up to the largest number; without
 * time there is no bandwidth.
 */
static void test_link_text (void **state)
{
    struct comm_item link = { .key = UINT64_C (10) << 32 | UINT32_MAX,
                              .bucket = COMM_BUCKETS, .size = 5,
                              .transport = "HCCS" };
    struct matrix_room room = { MATRIX_ROOM };
    struct matrix_fold *fold = matrix_fold_create (&room);
    struct matrix_row row = { .bandwidth = -1 };

    (void)state;
    assert_non_null (fold);
    assert_int_equal (comm_link_add (fold, "hcom_send__1@5", &link), 0);
    assert_int_equal (matrix_fold_rows (fold, first_link, &row), 1);
    assert_true (row.bandwidth == 0);
    matrix_fold_destroy (fold);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_p2p),     cmocka_unit_test (test_time),
        cmocka_unit_test (test_buckets), cmocka_unit_test (test_link),
        cmocka_unit_test (test_link_text),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
