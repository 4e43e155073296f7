/* tests/unit/aggregator/store/test_object_mark.c - which segments are objects */
#include "aggregator/store/root_check.h"
#include "store/object_mark.h"

static void test_key (void **state)
{
    char key[OBJECT_MARK_KEY_MAX];

    (void)state;
    object_mark_key ("0123456789abcdef0123456789abcdef", 42, key);
    assert_string_equal (key,
                         "0123456789abcdef0123456789abcdef/segments/00000042");
}

static void test_marks (void **state)
{
    struct object_mark m = { .state = OBJECT_BEGUN, .url = "s3://b/p",
                             .size = 7, .upload = "id" }, now;
    const struct root *r = *state;
    int64_t *list = NULL;
    char path[PATH_MAX];
    size_t n = 0;
    FILE *f;

    assert_int_equal (object_mark_list (r->dir, false, &list, &n, NULL), 0);
    assert_int_equal (n, 0);
    assert_int_equal (object_mark_begin (r->dir, NULL), 0);
    assert_int_equal (object_mark_read (r->dir, 3, &now, NULL), 0);
    assert_int_equal (now.state, OBJECT_UNMARKED);
    assert_int_equal (object_mark_set (r->dir, 3, &m, NULL), 0);
    assert_int_equal (object_mark_read (r->dir, 3, &now, NULL), 0);
    assert_int_equal (now.state, OBJECT_BEGUN);
    assert_string_equal (now.url, "s3://b/p");
    assert_string_equal (now.upload, "id");
    assert_int_equal (now.size, 7);
    m = (struct object_mark){ .state = OBJECT_WHOLE, .url = "s3://b", .size = 1 };
    assert_int_equal (object_mark_set (r->dir, 12, &m, NULL), 0);
    assert_int_equal (object_mark_read (r->dir, 12, &now, NULL), 0);
    assert_int_equal (now.state, OBJECT_WHOLE);
    assert_string_equal (now.upload, "");
    assert_int_equal (object_mark_list (r->dir, false, &list, &n, NULL), 0);
    assert_int_equal (n, 2);
    assert_int_equal (list[0], 3);
    assert_int_equal (list[1], 12);
    free (list);
    assert_false (now.evicted);
    // what cannot be parsed may have said that its bytes are elsewhere
    PRINT (path, "%s/store/00000003", r->dir);
    f = fopen (path, "w");
    (void)fputs ("{", f);
    (void)fclose (f);
    assert_int_equal (object_mark_read (r->dir, 3, &now, NULL), 0);
    assert_int_equal (now.state, OBJECT_UNMARKED);
    assert_true (now.evicted);
}

/* That a segment was collected stays, until its object is deleted. */
static void test_collected (void **state)
{
    struct object_mark m = { .state = OBJECT_WHOLE, .url = "s3://b" }, now;
    const struct root *r = *state;
    int64_t *list = NULL;
    size_t n = 0;

    // a root without a store notes nothing
    assert_int_equal (object_mark_condemn (r->dir, 1, 0, NULL), 0);
    assert_int_equal (object_mark_begin (r->dir, NULL), 0);
    assert_int_equal (object_mark_list (r->dir, true, &list, &n, NULL), 0);
    assert_int_equal (n, 0);
    assert_int_equal (object_mark_copied_to (r->dir, 1), 0);
    assert_int_equal (object_mark_condemn (r->dir, 1, 7, NULL), 0);
    assert_int_equal (object_mark_condemn (r->dir, 1, 8, NULL), 0);
    assert_int_equal (object_mark_copied_to (r->dir, 1), 7);
    assert_int_equal (object_mark_set (r->dir, 1, &m, NULL), -ESTALE);
    assert_int_equal (object_mark_read (r->dir, 1, &now, NULL), 0);
    assert_int_equal (now.state, OBJECT_GONE);
    assert_int_equal (object_mark_list (r->dir, true, &list, &n, NULL), 0);
    assert_int_equal (n, 1);
    assert_int_equal (list[0], 1);
    assert_int_equal (object_mark_drop (r->dir, 1, NULL), 0);
    assert_int_equal (object_mark_set (r->dir, 1, &m, NULL), 0);
    free (list);
}

/* What somebody says of a store holds; the rest is as the root's service noted it.
 * An empty name would be taken for a file of certificates, or a proxy.
 */
static void test_place (void **state)
{
    const struct object_place place = { "s3://b", "http://host", "here", "/ca", "" };
    struct object_options none = { .url = NULL };
    struct object_options some = { .url = "s3://b", .endpoint = "http://other" };

    (void)state;
    object_place_fill (&place, &none);
    assert_string_equal (none.url, "s3://b");
    assert_string_equal (none.endpoint, "http://host");
    assert_string_equal (none.region, "here");
    assert_string_equal (none.ca_file, "/ca");
    assert_null (none.proxy);
    object_place_fill (&place, &some);
    assert_string_equal (some.endpoint, "http://other");
    assert_string_equal (some.region, "here");
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_key), ROOT_TEST (test_marks),
        ROOT_TEST (test_collected), cmocka_unit_test (test_place),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
