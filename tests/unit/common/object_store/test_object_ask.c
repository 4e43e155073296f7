/* tests/unit/common/object_store/test_object_ask.c - credentials that the store
 * refuses, others that come in their place, and where none may go
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "object_store/ask.h"

#include "common/object_store/http_script.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define FINE "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
#define REFUSED(code) "HTTP/1.1 403 x\r\nConnection: close\r\n\r\n" \
    "<Error><Code>" code "</Code></Error>"

struct fixture {
    struct http_script *script;
    struct object_store *store;
    char path[64];              // of the file of credentials
    size_t npauses;
    struct err err;
};

static void count_pause (void *arg, int64_t ns)
{
    struct fixture *f = arg;

    (void)ns;
    f->npauses++;
}

static void write_keys (const struct fixture *f, const char *id,
                        const char *secret)
{
    FILE *file = fopen (f->path, "w");

    assert_non_null (file);
    (void)fprintf (file, "[default]\naws_access_key_id=%s\n"
                   "aws_secret_access_key=%s\n", id, secret);
    assert_int_equal (fclose (file), 0);
}

/* The file has ID and "hidden". */
static void begin (struct fixture *f, const char *const *answers, size_t n)
{
    struct object_options opt = {
        .url = "s3://bucket/pre", .tries = 4, .proxy = "",
        .pauses = { count_pause, NULL, f },
    };
    int fd;

    *f = (struct fixture){ .script = http_script_start (answers, n),
                           .path = "/tmp/test_object_ask.XXXXXX" };
    assert_true ((fd = mkstemp (f->path)) >= 0);
    (void)close (fd);
    http_script_credentials ();
    (void)unsetenv ("AWS_ACCESS_KEY_ID");
    (void)unsetenv ("AWS_SECRET_ACCESS_KEY");
    (void)unsetenv ("AWS_PROFILE");
    (void)setenv ("AWS_SHARED_CREDENTIALS_FILE", f->path, 1);
    write_keys (f, "ID", "hidden");
    opt.endpoint = http_script_endpoint (f->script);
    assert_int_equal (object_store_open (&opt, &f->store, &f->err), 0);
}

static void end (struct fixture *f)
{
    object_store_close (f->store);
    http_script_end (f->script);
    (void)unlink (f->path);
}

static int put (struct fixture *f)
{
    return object_put (f->store, "k", "x", 1, &f->err);
}

static void signed_by (const struct fixture *f, size_t i, const char *id)
{
    const char *request = http_script_request (f->script, i);
    char text[64];

    PRINT (text, "Credential=%s/", id);
    assert_non_null (request);
    assert_non_null (strstr (request, text));
}

/* Whoever replaced the file has not told the client: the refusal does.  The same
 * request is asked at once with what is there now.
 */
static void test_replaced (void **state)
{
    static const char *const codes[] = {
        REFUSED ("InvalidAccessKeyId"), REFUSED ("SignatureDoesNotMatch"),
        REFUSED ("AccessDenied"), REFUSED ("ExpiredToken"),
    };
    struct fixture f;

    (void)state;
    for (size_t i = 0; i < sizeof (codes) / sizeof (*codes); i++) {
        const char *const answers[] = { FINE, codes[i], FINE, FINE };

        begin (&f, answers, 4);
        assert_int_equal (put (&f), 0);
        write_keys (&f, "NEW", "hidden");
        assert_int_equal (put (&f), 0);
        assert_int_equal (put (&f), 0);
        signed_by (&f, 0, "ID");
        signed_by (&f, 1, "ID");
        signed_by (&f, 2, "NEW");
        signed_by (&f, 3, "NEW");
        assert_int_equal (f.npauses, 0);
        end (&f);
    }
}

/* The secret alone was wrong, and is corrected after a failure. */
static void test_corrected (void **state)
{
    static const char *const answers[] = {
        REFUSED ("SignatureDoesNotMatch"), REFUSED ("SignatureDoesNotMatch"),
        FINE,
    };
    struct fixture f;

    (void)state;
    begin (&f, answers, 3);
    assert_int_equal (put (&f), -EKEYREJECTED);
    // the same ones are not tried twice
    assert_int_equal (object_store_counts (f.store).requests, 1);
    assert_non_null (strstr (f.err.text, "the store does not take the "
                             "credentials of the file of credentials"));
    assert_null (strstr (f.err.text, "hidden"));
    write_keys (&f, "ID", "right");
    assert_int_equal (put (&f), 0);
    assert_int_equal (object_store_counts (f.store).requests, 3);
    end (&f);
}

/* A file that cannot be read now is named, beside what the store says. */
static void test_unreadable (void **state)
{
    static const char *const answers[] = {
        REFUSED ("InvalidAccessKeyId"), REFUSED ("InvalidAccessKeyId"),
        REFUSED ("AccessDenied"), FINE,
    };
    struct fixture f;

    (void)state;
    begin (&f, answers, 4);
    assert_int_equal (put (&f), -EKEYREJECTED);
    write_keys (&f, "hid den", "hidden");
    assert_int_equal (put (&f), -EKEYREJECTED);
    assert_non_null (strstr (f.err.text, "InvalidAccessKeyId"));
    assert_non_null (strstr (f.err.text, "they cannot be read again: /tmp/"));
    assert_null (strstr (f.err.text, "hid den"));
    assert_int_equal (put (&f), -EACCES);
    assert_null (strstr (f.err.text, "/tmp/"));
    assert_int_equal (put (&f), 0);
    assert_int_equal (object_store_counts (f.store).requests, 4);
    end (&f);
}

/* Some stores call a signature of another time wrong: then the clock is named. */
static void test_clock (void **state)
{
    char answer[256];
    const char *const answers[] = { answer, answer, FINE };
    struct fixture f;

    (void)state;
    http_script_refused (answer, "SignatureDoesNotMatch", 3600);
    begin (&f, answers, 3);
    assert_int_equal (put (&f), -ETIME);
    assert_non_null (strstr (f.err.text, "behind that of the store"));
    // which hides no others
    write_keys (&f, "ID", "right");
    assert_int_equal (put (&f), 0);
    end (&f);
}

/* Whoever opens a store has credentials, of the environment at least. */
static void test_cores (void **state)
{
    struct object_options opt = { .url = "s3://bucket" };
    struct object_store *s;
    struct rlimit r;

    (void)state;
    (void)unsetenv ("ROLLCALL_CORES");
    assert_int_equal (getrlimit (RLIMIT_CORE, &r), 0);
    r.rlim_cur = r.rlim_max;
    assert_int_equal (setrlimit (RLIMIT_CORE, &r), 0);
    assert_int_equal (object_store_open (&opt, &s, NULL), 0);
    assert_int_equal (getrlimit (RLIMIT_CORE, &r), 0);
    assert_true (r.rlim_cur <= 1);
    object_store_close (s);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_replaced), cmocka_unit_test (test_corrected),
        cmocka_unit_test (test_unreadable), cmocka_unit_test (test_clock),
        cmocka_unit_test (test_cores),
    };

    // a build without libcurl says so, and has nothing else to test
    return object_store_is_built ()
               ? cmocka_run_group_tests (tests, NULL, NULL) : 77;
}
