/* tests/unit/common/object_store/test_object_url.c - names in URLs */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "object_store/url.h"

#include <errno.h>
#include <string.h>

static void test_encode (void **state)
{
    struct buf b;

    (void)state;
    buf_init (&b, URL_MAX);
    url_encode (&b, "a/b c+d%2F~é", true);
    assert_string_equal (buf_text (&b), "a/b%20c%2Bd%252F~%C3%A9");
    buf_clear (&b);
    url_encode (&b, "a/b=&?", false);
    assert_string_equal (buf_text (&b), "a%2Fb%3D%26%3F");
    buf_fini (&b);
}

/* In the order of S3: of the names alone, so that "a" is before "a-b". */
static void test_query (void **state)
{
    static const struct url_parameter list[] = {
        { "uploads", "" }, { "a-b", "2" }, { "prefix", "x/y z" },
        { "left-out", NULL }, { "a", "1" },
    };
    struct buf b;

    (void)state;
    buf_init (&b, URL_MAX);
    url_query (&b, list, sizeof (list) / sizeof (*list));
    assert_string_equal (buf_text (&b), "?a=1&a-b=2&prefix=x%2Fy%20z&uploads=");
    buf_clear (&b);
    url_query (&b, NULL, 0);
    assert_string_equal (buf_text (&b), "");
    buf_fini (&b);
}

static void test_split (void **state)
{
    static const char *const wrong[] = {
        "", "bucket", "http://bucket/x", "s3://", "s3://ab", "s3://Bucket",
        "s3://b_cket", "s3://-bucket", "s3://bucket//x", "s3://bucket/a//b",
        "s3://bucket/a/../b", "s3://bucket/.", "s3://bucket/a\nb",
    };
    char bucket[URL_BUCKET_MAX + 1], prefix[URL_PREFIX_MAX + 2];
    struct err err;

    (void)state;
    assert_int_equal (url_split ("s3://my.bucket-1", bucket, prefix, &err), 0);
    assert_string_equal (bucket, "my.bucket-1");
    assert_string_equal (prefix, "");
    assert_int_equal (url_split ("s3://bucket/", bucket, prefix, &err), 0);
    assert_string_equal (prefix, "");
    assert_int_equal (url_split ("s3://bucket/a/b", bucket, prefix, &err), 0);
    assert_string_equal (prefix, "a/b/");
    assert_int_equal (url_split ("s3://bucket/a/...x/", bucket, prefix, &err),
                      0);
    assert_string_equal (prefix, "a/...x/");
    for (size_t i = 0; i < sizeof (wrong) / sizeof (*wrong); i++)
        assert_int_equal (url_split (wrong[i], bucket, prefix, &err), -EINVAL);
}

/* One with a password is refused, and is not in the sentence. */
static void test_endpoint (void **state)
{
    static const char *const wrong[] = {
        "host", "ftp://host", "http://", "http://:80", "https:///x",
        "https://user:hidden@host", "http://host?x", "http://ho st",
    };
    struct err err;

    (void)state;
    assert_int_equal (url_check_endpoint ("http://127.0.0.1:9000", &err), 0);
    assert_int_equal (url_check_endpoint ("https://s3.example/base", &err), 0);
    for (size_t i = 0; i < sizeof (wrong) / sizeof (*wrong); i++) {
        assert_int_equal (url_check_endpoint (wrong[i], &err), -EINVAL);
        assert_null (strstr (err.text, "hidden"));
    }
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_encode), cmocka_unit_test (test_query),
        cmocka_unit_test (test_split), cmocka_unit_test (test_endpoint),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
