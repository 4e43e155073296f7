/* tests/unit/common/object_store/test_object_credentials.c - where they are */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "object_store/credentials.h"

#include "base/clock.h"
#include "common/object_store/http_script.h"
#include "object_store/http.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char file[] =
    "# a comment = x\r\n[other]\naws_access_key_id=OTHER\n"
    "aws_secret_access_key=other\n\n[ default ]\r\n"
    "  AWS_ACCESS_KEY_ID = ID \r\naws_secret_access_key\t=\tab/c+d==\r\n"
    "region = x\n[last]\naws_access_key_id=LAST\naws_secret_access_key=l\n"
    "aws_session_token=t";

static void forget (void)
{
    static const char *const names[] = {
        "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN",
        "AWS_SHARED_CREDENTIALS_FILE", "AWS_PROFILE", "HOME",
        "AWS_EC2_METADATA_SERVICE_ENDPOINT",
    };

    for (size_t i = 0; i < sizeof (names) / sizeof (*names); i++)
        (void)unsetenv (names[i]);
    (void)setenv ("AWS_EC2_METADATA_DISABLED", "true", 1);
}

static void test_file (void **state)
{
    struct credentials c = { .until_ns = 0 };
    struct err err;

    (void)state;
    assert_int_equal (credentials_of_file (file, "default", &c, &err), 1);
    assert_string_equal (c.key_id, "ID");
    assert_string_equal (c.secret, "ab/c+d==");
    assert_string_equal (c.token, "");
    c = (struct credentials){ .until_ns = 0 };
    assert_int_equal (credentials_of_file (file, "last", &c, &err), 1);
    assert_string_equal (c.token, "t");
    c = (struct credentials){ .until_ns = 0 };
    assert_int_equal (credentials_of_file (file, "none", &c, &err), 0);
    // what could end a header is no value, and is not repeated
    assert_int_equal (credentials_of_file ("[a]\naws_secret_access_key=hid den",
                                           "a", &c, &err), -EINVAL);
    assert_null (strstr (err.text, "hid"));
}

static void test_order (void **state)
{
    char path[] = "/tmp/rollcall-credentials-XXXXXX";
    int fd = mkstemp (path);
    struct credentials c;
    struct err err;

    (void)state;
    forget ();
    assert_true (fd >= 0);
    assert_int_equal (write (fd, file, strlen (file)), strlen (file));
    assert_int_equal (credentials_read (&c, &err), -ENOKEY);
    (void)setenv ("AWS_SHARED_CREDENTIALS_FILE", path, 1);
    assert_int_equal (credentials_read (&c, &err), 0);
    assert_string_equal (c.key_id, "ID");
    (void)setenv ("AWS_PROFILE", "other", 1);
    assert_int_equal (credentials_read (&c, &err), 0);
    assert_string_equal (c.key_id, "OTHER");
    assert_true (c.until_ns == INT64_MAX);
    (void)setenv ("AWS_ACCESS_KEY_ID", "ENV", 1);
    (void)setenv ("AWS_SECRET_ACCESS_KEY", "env", 1);
    assert_int_equal (credentials_read (&c, &err), 0);
    assert_string_equal (c.key_id, "ENV");
    credentials_wipe (&c);
    assert_string_equal (c.secret, "");
    (void)close (fd);
    (void)unlink (path);
    forget ();
}

#define ANSWER(status, size, body) "HTTP/1.1 " status "\r\nContent-Length: " \
    size "\r\n\r\n" body

/* IMDSv2: a token first, which the other two requests have. */
static void test_instance (void **state)
{
    static const char *const answers[] = {
        ANSWER ("200 OK", "3", "tok"), ANSWER ("200 OK", "5", "role\n"),
        ANSWER ("200 OK", "128", "{\"AccessKeyId\": \"ROLE\", "
                "\"SecretAccessKey\": \"secret\", \"Token\": \"session\", "
                "\"Expiration\": \"2026-11-26T14:00:01Z\", \"Code\":\"Success\"}"),
    };
    struct http_script *s = http_script_start (answers, 3);
    struct credentials c;
    struct err err = { "" };

    (void)state;
    forget ();
    (void)unsetenv ("AWS_EC2_METADATA_DISABLED");
    (void)setenv ("AWS_EC2_METADATA_SERVICE_ENDPOINT", http_script_endpoint (s),
                  1);
    assert_int_equal (credentials_read (&c, &err), 0);
    assert_string_equal (c.key_id, "ROLE");
    assert_string_equal (c.token, "session");
    assert_true (c.until_ns == INT64_C (1795701601) * NS_PER_S);
    assert_non_null (strstr (http_script_request (s, 0),
                             "PUT /latest/api/token HTTP"));
    assert_non_null (strstr (http_script_request (s, 2), "GET /latest/meta-data"
                             "/iam/security-credentials/role HTTP"));
    for (size_t i = 1; i < 3; i++)
        assert_non_null (strstr (http_script_request (s, i),
                                 "X-aws-ec2-metadata-token: tok\r\n"));
    http_script_end (s);
    forget ();
}

/* No role, and nonsense. */
static void test_no_instance (void **state)
{
    static const char *const answers[] = {
        ANSWER ("200 OK", "3", "tok"), ANSWER ("404 Not Found", "0", ""),
    };
    struct http_script *s = http_script_start (answers, 2);
    struct credentials c;
    struct err err;

    (void)state;
    forget ();
    (void)unsetenv ("AWS_EC2_METADATA_DISABLED");
    (void)setenv ("AWS_EC2_METADATA_SERVICE_ENDPOINT", http_script_endpoint (s),
                  1);
    assert_int_equal (credentials_read (&c, &err), -ENOKEY);
    http_script_end (s);
    assert_int_equal (credentials_of_instance ("{}", 2, &c, &err), -EINVAL);
    forget ();
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_file), cmocka_unit_test (test_order),
        cmocka_unit_test (test_instance), cmocka_unit_test (test_no_instance),
    };

    return http_is_built () ? cmocka_run_group_tests (tests, NULL, NULL) : 77;
}
