/* tests/unit/aggregator/row_sums/test_left_out.c - which rows do not count */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "store/db.h"
#include "row_sums/left_out.h"

#include <string.h>

static bool op (const struct left_out *l, int64_t capture, const char *step)
{
    return left_out_op (l, capture, step, step ? strlen (step) : 0);
}

static bool rank (const struct left_out *l, int64_t rank, const char *step)
{
    return left_out_rank (l, rank, step, step ? strlen (step) : 0);
}

static void test_rows (void **state)
{
    struct left_out l;
    sqlite3 *db = NULL;

    (void)state;
    assert_int_equal (sqlite3_open (":memory:", &db), SQLITE_OK);
    assert_int_equal (db_exec (db, "CREATE TABLE LeftOut (capture INTEGER,"
                                   " rank INTEGER, step TEXT, reason TEXT)",
                               NULL), 0);
    assert_int_equal (left_out_read (db, &l, NULL), 0);
    assert_false (left_out_capture (&l, 0));
    assert_false (op (&l, 1, "step1"));
    assert_false (rank (&l, 1, "step1"));
    left_out_fini (&l);
    assert_int_equal (db_exec (db, "INSERT INTO LeftOut VALUES"
                                   " (3, NULL, NULL, ''), (4, 1, NULL, ''),"
                                   " (5, 2, '7', ''), (6, NULL, '8', ''),"
                                   " (NULL, 9, '7', '')", NULL), 0);
    assert_int_equal (left_out_read (db, &l, NULL), 0);
    for (int64_t i = 0; i < 8; i++) {
        assert_int_equal (left_out_capture (&l, i), i == 3 || i == 4);
        assert_int_equal (op (&l, i, NULL), i == 3 || i == 4);
        assert_int_equal (op (&l, i, "step7"), i == 3 || i == 4 || i == 5);
        assert_int_equal (op (&l, i, "step8"), i == 3 || i == 4 || i == 6);
        assert_int_equal (op (&l, i, "7"), i == 3 || i == 4);
        // whole captures say nothing of their rank
        assert_int_equal (rank (&l, i, "step7"), i == 2);
        assert_false (rank (&l, i, NULL));
    }
    assert_true (rank (&l, 9, "step7"));
    assert_false (rank (&l, -1, "step8"));
    left_out_fini (&l);
    (void)sqlite3_close (db);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_rows),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
