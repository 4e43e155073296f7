/* tests/unit/aggregator/store/test_root.c - the id of a root */
#include "aggregator/store/root_check.h"

#include "store/root.h"

static void test_id_is_made_once (void **state)
{
    struct root *r = *state;
    char first[ROOT_ID_SIZE], again[ROOT_ID_SIZE];

    assert_int_equal (root_read_id (r->dir, first, NULL), 0);
    assert_int_equal (strlen (first), ROOT_ID_SIZE - 1);
    root_close (r);
    root_open (r);
    assert_int_equal (root_make_id (r->dir, NULL), 0);
    assert_int_equal (root_read_id (r->dir, again, NULL), 0);
    assert_string_equal (first, again);
}

static void test_id_that_is_none (void **state)
{
    struct root *r = *state;
    char id[ROOT_ID_SIZE];

    assert_int_equal (root_write_id (r->dir, "0123", NULL), 0);
    assert_int_equal (root_read_id (r->dir, id, NULL), -ENOENT);
    assert_int_equal (root_write_id (r->dir, "0123456789abcdef0123456789ABCDEF",
                                     NULL), 0);
    assert_int_equal (root_read_id (r->dir, id, NULL), -ENOENT);
    assert_int_equal (root_make_id (r->dir, NULL), 0);
    assert_int_equal (root_read_id (r->dir, id, NULL), 0);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        ROOT_TEST (test_id_is_made_once),
        ROOT_TEST (test_id_that_is_none),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
