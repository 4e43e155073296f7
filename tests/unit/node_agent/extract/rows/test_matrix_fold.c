/* tests/unit/node_agent/extract/rows/test_matrix_fold.c - link records folded
 * into rows */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "extract/rows/matrix_fold.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define GROUP "3985310405473756128"

static void check_kind (const char *op, const char *want)
{
    char kind[64];

    matrix_op_kind (op, kind, sizeof (kind));
    assert_string_equal (kind, want);
}

/* The profiler's own reading of names, oddities included. */
static void test_kinds (void **state)
{
    (void)state;
    check_kind ("hcom_allReduce__097_4_1", "allreduce");
    check_kind ("hcom_reduceScatter__097_4_1", "reduce");
    check_kind ("hcom_alltoallv__097_4_1", "alltoall");
    check_kind ("hcom_batchSendRecv__128_4_1", "batchsendrecv");
    check_kind ("hcom_send__822_0", "send");
    check_kind ("HCOM_BROADCAST__1_1", "broadcast");
    check_kind ("hcom_Barrier__097_4_1", "hcom_Barrier");
    check_kind ("odd", "odd");
    check_kind ("", "");
}

/* Rows as text, one below the other. */
static int add_row (void *arg, const struct matrix_row *r)
{
    char *text = arg;
    size_t used = strlen (text);

    (void)snprintf (text + used, 4096 - used, "%s %s %s %.9g %g %g %s\n",
                    r->kind, r->link, r->transport ? r->transport : "-",
                    r->size_mb, r->time_ms, r->bandwidth, r->op);
    return strcmp (r->group, GROUP) == 0 ? 0 : -1;
}

/* The worked example of doc/formats.md: a real rank's three ops. */
static void test_worked_example (void **state)
{
    static const struct matrix_record records[] = {
        { "hcom_batchSendRecv__128_3_1@" GROUP, "1-1", "LOCAL",
          8.388615999999999, 0.02778, 301.966 },
        { "hcom_batchSendRecv__128_3_1@" GROUP, "1-0", "HCCS", 8.388608,
          0.40092, 20.9234 },
        { "hcom_batchSendRecv__128_4_1@" GROUP, "1-1", "LOCAL", 16.777224,
          0.42068, 39.8812 },
        { "hcom_batchSendRecv__128_4_1@" GROUP, "1-0", "HCCS", 8.388608,
          0.40172, 20.8817 },
        { "hcom_batchSendRecv__128_5_1@" GROUP, "1-1", "LOCAL", 8.388616,
          0.02484, 337.706 },
    };
    static const char want[] =
        "batchsendrecv-top1 1-1 LOCAL 8.388616 0.02484 337.706 "
        "hcom_batchSendRecv__128_5_1\n"
        "batchsendrecv-top1 1-0 HCCS 8.388608 0.40092 20.9234 "
        "hcom_batchSendRecv__128_3_1\n"
        "batchsendrecv-middle 1-1 LOCAL 8.388616 0.02778 301.966 "
        "hcom_batchSendRecv__128_3_1\n"
        "batchsendrecv-middle 1-0 HCCS 8.388608 0.40172 20.8817 "
        "hcom_batchSendRecv__128_4_1\n"
        "batchsendrecv-bottom1 1-1 LOCAL 16.777224 0.42068 39.8812 "
        "hcom_batchSendRecv__128_4_1\n"
        "batchsendrecv-bottom1 1-0 HCCS 8.388608 0.40172 20.8817 "
        "hcom_batchSendRecv__128_4_1\n"
        "batchsendrecv-total 1-1 LOCAL 33.554456 0.4733 70.8947 \n"
        "batchsendrecv-total 1-0 HCCS 16.777216 0.80264 20.9025 \n"
        "batchsendrecv-bottom2 1-1 LOCAL 8.388616 0.02778 301.966 "
        "hcom_batchSendRecv__128_3_1\n"
        "batchsendrecv-bottom2 1-0 HCCS 8.388608 0.40092 20.9234 "
        "hcom_batchSendRecv__128_3_1\n"
        "batchsendrecv-bottom3 1-1 LOCAL 8.388616 0.02484 337.706 "
        "hcom_batchSendRecv__128_5_1\n";
    struct matrix_room room = { MATRIX_ROOM };
    struct matrix_fold *f = matrix_fold_create (&room);
    char text[4096] = "";

    (void)state;
    assert_non_null (f);
    for (size_t i = 0; i < sizeof (records) / sizeof (records[0]); i++)
        assert_int_equal (matrix_fold_add (f, &records[i]), 0);
    assert_int_equal (matrix_fold_rows (f, add_row, text), 0);
    assert_string_equal (text, want);
    // they are forgotten: the next step starts anew
    text[0] = '\0';
    assert_int_equal (matrix_fold_rows (f, add_row, text), 0);
    assert_string_equal (text, "");
    matrix_fold_destroy (f);
}

/* Equal bandwidths keep the order of the ops; kinds that of appearance; no
 * time gives no bandwidth; an unknown transport stays unknown.
 */
static void test_order (void **state)
{
    static const struct matrix_record records[] = {
        { "hcom_send__1_1@" GROUP, "0-1", NULL, 1, 0, 0 },
        { "hcom_allReduce__1_1@" GROUP, "0-1", "SIO", 1, 1, 5 },
        { "hcom_allReduce__1_2@" GROUP, "0-1", "SIO", 2, 1, 5 },
    };
    struct matrix_room room = { MATRIX_ROOM };
    struct matrix_fold *f = matrix_fold_create (&room);
    char text[4096] = "";

    (void)state;
    for (size_t i = 0; i < sizeof (records) / sizeof (records[0]); i++)
        assert_int_equal (matrix_fold_add (f, &records[i]), 0);
    assert_int_equal (matrix_fold_rows (f, add_row, text), 0);
    assert_string_equal (text,
                         "send-top1 0-1 - 1 0 0 hcom_send__1_1\n"
                         "send-middle 0-1 - 1 0 0 hcom_send__1_1\n"
                         "send-bottom1 0-1 - 1 0 0 hcom_send__1_1\n"
                         "send-total 0-1 - 1 0 0 \n"
                         "allreduce-top1 0-1 SIO 1 1 5 hcom_allReduce__1_1\n"
                         "allreduce-middle 0-1 SIO 2 1 5 "
                         "hcom_allReduce__1_2\n"
                         "allreduce-bottom1 0-1 SIO 2 1 5 "
                         "hcom_allReduce__1_2\n"
                         "allreduce-total 0-1 SIO 3 2 1.5 \n"
                         "allreduce-bottom2 0-1 SIO 1 1 5 "
                         "hcom_allReduce__1_1\n");
    matrix_fold_destroy (f);
}

static int stop (void *arg, const struct matrix_row *r)
{
    (void)r;
    (*(int *)arg)++;
    return -7;
}

/* A sink that fails is not asked again, and nothing leaks. */
static void test_stop (void **state)
{
    const struct matrix_record r = { "hcom_send__1_1@" GROUP, "0-1", "SIO",
                                     1, 1, 1 };
    struct matrix_room room = { MATRIX_ROOM };
    struct matrix_fold *f = matrix_fold_create (&room);
    int calls = 0;

    (void)state;
    assert_int_equal (matrix_fold_add (f, &r), 0);
    assert_int_equal (matrix_fold_rows (f, stop, &calls), -7);
    assert_int_equal (calls, 1);
    matrix_fold_destroy (f);
    matrix_fold_destroy (NULL);
}

static int skip_row (void *arg, const struct matrix_row *r)
{
    (void)arg;
    (void)r;
    return 0;
}

/* Folds share their room, so that memory has a bound: without any nothing is
 * taken, and what is forgotten or destroyed gives it back.
 */
static void test_room (void **state)
{
    struct matrix_room room = { 1u << 16 };
    struct matrix_fold *f = matrix_fold_create (&room);
    struct matrix_fold *g = matrix_fold_create (&room);
    struct matrix_record r = { .link = "0-1", .transport = "SIO" };
    char op[64];
    int rc = 0, n = 0;

    (void)state;
    r.op = op;
    for (; rc == 0 && n < 5000; n++) {
        (void)snprintf (op, sizeof (op), "hcom_send__1_%d@" GROUP, n);
        rc = matrix_fold_add (n % 2 ? f : g, &r);
    }
    assert_int_equal (rc, -E2BIG);
    assert_in_range (n, 300, 900);
    assert_int_equal (matrix_fold_rows (f, skip_row, NULL), 0);
    assert_int_equal (matrix_fold_add (f, &r), 0);
    matrix_fold_destroy (f);
    matrix_fold_destroy (g);
    assert_int_equal (room.left, 1u << 16);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_kinds),
        cmocka_unit_test (test_worked_example),
        cmocka_unit_test (test_order),
        cmocka_unit_test (test_stop),
        cmocka_unit_test (test_room),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
