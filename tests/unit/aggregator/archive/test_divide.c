/* tests/unit/aggregator/archive/test_divide.c - captures that cannot be read when
 * they are divided
 */
#include "aggregator/ledger/ledger_check.h"

#include "archive/divide.h"
#include "store/object_mark.h"
#include "store/store_private.h"

#include <fcntl.h>

#define BYTES 40000

/* The rows of rank 4, of which a hole is in segment 1; it is let go, if 'marked'.
 */
static int divide (struct root *r, bool marked, struct err *err)
{
    struct object_mark m = { .state = OBJECT_WHOLE, .url = "s3://bucket",
                             .evicted = true };
    char path[PATH_MAX], bytes[BYTES + 1];
    struct ledger_item item;
    struct divide d;
    int fd, rc;

    memset (bytes, 'x', BYTES);
    bytes[BYTES] = '\0';
    item = true_item ("c", bytes);
    PRINT (item.scope, "s");
    PRINT (item.dir, "d0");
    PRINT (item.job, "s");
    assert_int_equal (enter (r, item, bytes), 1);
    assert_int_equal (ledger_count_open (r->l, "s"), 1);
    store_segment_path (r->dir, 1, path);
    fd = open (path, O_RDWR);
    if (fallocate (fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 36864) < 0)
        skip ();
    (void)close (fd);
    assert_int_equal (object_mark_begin (r->dir, NULL), 0);
    if (marked)
        assert_int_equal (object_mark_set (r->dir, 1, &m, NULL), 0);
    rc = divide_scope (r->l, r->s, "s", 0, &d, err);
    divide_fini (&d);
    return rc;
}

/* A damaged one shows nothing, and will not show more. */
static void test_damaged (void **state)
{
    assert_int_equal (divide (*state, false, NULL), 0);
}

/* One that is in an object store only may show something later. */
static void test_away (void **state)
{
    struct err err = { "" };

    assert_int_equal (divide (*state, true, &err), -EREMOTEIO);
    assert_non_null (strstr (err.text, "segment 1 is not here any more"));
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        ROOT_TEST (test_damaged), ROOT_TEST (test_away),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
