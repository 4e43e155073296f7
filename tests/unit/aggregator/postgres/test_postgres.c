/* tests/unit/aggregator/postgres/test_postgres.c - URIs, and what is said of them; with
 * a database: tests/system/postgres.bats
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "postgres/postgres.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static bool is_away;            // the library

void *__real_dlopen (const char *name, int flags);
void *__wrap_dlopen (const char *name, int flags);

void *__wrap_dlopen (const char *name, int flags)
{
    return __real_dlopen (is_away ? "libnothing-such.so" : name, flags);
}

/* A machine without the library, where rollcall was not built; and a build
 * without its headers.
 */
static void test_library (void **state)
{
    struct err err;
    struct pg *p;

    (void)state;
    is_away = true;
    assert_int_equal (pg_check ("postgresql://h/d", NULL, &err), -ENOTSUP);
    assert_non_null (strstr (err.text, "libpq"));
    assert_int_equal (pg_open ("postgresql://h/d", &p, &err), -ENOTSUP);
    is_away = false;
}

/* In a build without libpq there is nothing else to test. */
static void needs_library (void)
{
    struct err err = { "" };

    if (pg_check ("postgresql://h/d", NULL, &err) != -ENOTSUP)
        return;
    assert_non_null (strstr (err.text, "built without libpq"));
    skip ();
}

static void test_password (void **state)
{
    bool has = false;

    (void)state;
    needs_library ();
    assert_int_equal (pg_check ("postgresql://me@h/d", &has, NULL), 0);
    assert_false (has);
    assert_int_equal (pg_check ("service=jobs", &has, NULL), 0);
    assert_false (has);
    assert_int_equal (pg_check ("postgresql://me:pw@h/d", &has, NULL), 0);
    assert_true (has);
    assert_int_equal (pg_check ("postgresql://h/d?sslpassword=pw", &has, NULL),
                      0);
    assert_true (has);
    assert_int_equal (pg_check ("host=h password=pw", &has, NULL), 0);
    assert_true (has);
}

/* One in the command line is refused, one in a variable is not. */
static void test_option (void **state)
{
    static const char *const names[] = { "", "a/b", "a\nb", "a\033b", "K\366ln" };
    struct err err = { "" };

    (void)state;
    needs_library ();
    assert_int_equal (setenv (PG_VARIABLE, "host=h password=pw", 1), 0);
    assert_int_equal (pg_check_option (getenv (PG_VARIABLE), NULL, &err), 0);
    assert_int_equal (pg_check_option ("host=h", "here", &err), 0);
    assert_int_equal (pg_check_option ("host=h", "K\303\266ln 2", &err), 0);
    for (size_t i = 0; i < sizeof (names) / sizeof (names[0]); i++)
        assert_int_equal (pg_check_option ("host=h", names[i], &err), -EINVAL);
    assert_int_equal (pg_check_option ("host=h password=pw", NULL, &err),
                      -EINVAL);
    assert_non_null (strstr (err.text, "password file"));
    assert_null (strstr (err.text, "pw"));
}

static void test_secret (void **state)
{
    static const char *const uris[] = {
        "", "postgresql://me:%zzs3cr3t@h/d", "postgresql://me:s3cr3t@[h/d",
        "host=h password='s3cr3t", "nothing s3cr3t",
        // a / or an @ in it that is not written as %2F or %40
        "postgresql://me:pw/s3cr3t@h/d", "postgresql://me:12/s3cr3t@h/d",
        "postgresql://me:s3cr3t/x@h/d", "postgresql://me:s3cr3t/x",
        "postgresql://me:pw@s3cr3t@h/d", "postgresql://me:s3cr3t@x@h/d",
        "postgresql://me@corp:s3cr3t@h/d", "postgresql://me:12/d?host=s3cr3t@h",
        "dbname='postgresql://me:s3cr3t@h/d'",
    };
    struct err err;
    struct pg *p;

    (void)state;
    needs_library ();
    for (size_t i = 0; i < sizeof (uris) / sizeof (uris[0]); i++) {
        assert_int_equal (pg_check (uris[i], NULL, &err), -EINVAL);
        assert_null (strstr (err.text, "s3cr3t"));
        assert_int_equal (pg_open (uris[i], &p, &err), -EINVAL);
        assert_null (strstr (err.text, "s3cr3t"));
    }
    assert_int_equal (pg_check ("postgresql://me:p%40w%2F@h:1,2/d", NULL, NULL),
                      0);
    assert_int_equal (pg_check ("postgresql:///d?host=/tmp&port=1", NULL, NULL),
                      0);
    // nobody listens there
    assert_int_equal (pg_open ("postgresql://me:s3cr3t@127.0.0.1:1/d", &p,
                               &err), -EAGAIN);
    assert_null (strstr (err.text, "s3cr3t"));
    assert_non_null (strstr (err.text, "database d of 127.0.0.1"));
}

/* A password would be in a core file. */
static void test_cores (void **state)
{
    struct rlimit r;

    (void)state;
    needs_library ();
    assert_int_equal (getrlimit (RLIMIT_CORE, &r), 0);
    r.rlim_cur = r.rlim_max;
    assert_int_equal (setrlimit (RLIMIT_CORE, &r), 0);
    assert_int_equal (pg_check ("postgresql://me:pw@h/d", NULL, NULL), 0);
    assert_int_equal (getrlimit (RLIMIT_CORE, &r), 0);
    assert_true (r.rlim_cur <= 1);
}

static void test_arrays (void **state)
{
    struct buf b;

    (void)state;
    buf_init (&b, 1000);
    pg_array_text (&b, "a");
    pg_array_text (&b, "b\"c\\d");
    pg_array_text (&b, "");
    assert_string_equal (buf_text (&b), "{\"a\",\"b\\\"c\\\\d\",\"\"");
    buf_fini (&b);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_library),
        cmocka_unit_test (test_password), cmocka_unit_test (test_option),
        cmocka_unit_test (test_secret), cmocka_unit_test (test_cores),
        cmocka_unit_test (test_arrays),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
