/* tests/unit/aggregator/store/test_root.c - the id of a root */
#include "aggregator/store/root_check.h"

#include "store/fileio.h"
#include "store/root.h"

#include <errno.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

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

/* A backup that something else changes is no copy of the root any more. */
static void test_backup_is_no_root (void **state)
{
    struct root *r = *state;
    struct err err = { "" };
    char path[PATH_MAX];

    assert_int_equal (root_check_backup (r->dir, &err), 0);
    assert_true (fileio_join (path, sizeof (path), r->dir, ROOT_BACKUP));
    assert_int_equal (mkdir (path, 0700), 0);
    assert_int_equal (root_check_backup (r->dir, &err), 0);
    assert_int_equal (rmdir (path), 0);
    assert_int_equal (fileio_replace (path, "", 0, 0600, &err), 0);
    assert_int_equal (root_check_backup (r->dir, &err), -EPERM);
}

/* Captures, say, where somebody has mistaken the directory. */
static void test_place_of_new_root (void **state)
{
    struct root *r = *state;
    char dir[PATH_MAX], path[PATH_MAX];
    struct err err = { "" };

    assert_int_equal (root_check_new (r->dir, &err), 0);
    assert_true (fileio_join (dir, sizeof (dir), r->dir, "new"));
    assert_int_equal (root_check_new (dir, &err), 0);
    assert_int_equal (mkdir (dir, 0700), 0);
    assert_int_equal (root_check_new (dir, &err), 0);
    assert_true (fileio_join (path, sizeof (path), dir, "capture"));
    assert_int_equal (fileio_replace (path, "", 0, 0600, &err), 0);
    assert_int_equal (root_check_new (dir, &err), -EEXIST);
    // a root may have anything
    assert_true (fileio_join (path, sizeof (path), dir, "lock"));
    assert_int_equal (fileio_replace (path, "", 0, 0600, &err), 0);
    assert_int_equal (root_check_new (dir, &err), 0);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        ROOT_TEST (test_id_is_made_once),
        ROOT_TEST (test_id_that_is_none),
        ROOT_TEST (test_backup_is_no_root),
        ROOT_TEST (test_place_of_new_root),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
