/* tests/unit/common/net/test_srv.c - answers of name servers, also damaged ones
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "net/srv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

// one question and three records: SRV b.x, A, SRV A.x by a pointer
static const unsigned char good[] =
    "\0\1\x81\x80\0\1\0\3\0\0\0\0"
    "\2_r\4_tcp\1x\0\0\x21\0\1"
    "\xc0\x0c\0\x21\0\1\0\0\0\x3c\0\x0b\0\1\0\2\x1b\xa5\1b\1x\0"
    "\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4\x7f\0\0\1"
    "\xc0\x0c\0\x21\0\1\0\0\0\x3c\0\x0a\0\0\0\0\0\x50\1A\xc0\x14";
#define GOOD_SIZE (sizeof (good) - 1)
#define RCODE 3                 // the byte with it
#define ANSWERS 7               // and that with their number
#define SECOND_TARGET (GOOD_SIZE - 4)

/* In memory of just that size, so that reading behind it is seen. */
static int parse (const unsigned char *bytes, size_t size,
                  struct srv_target *ret, size_t max)
{
    unsigned char *copy = malloc (size ? size : 1);
    int rc;

    assert_non_null (copy);
    memcpy (copy, bytes, size);
    rc = srv_parse (copy, size, ret, max, NULL);
    free (copy);
    return rc;
}

static void test_good (void **state)
{
    struct srv_target t[2];

    (void)state;
    assert_int_equal (parse (good, GOOD_SIZE, t, 2), 2);
    assert_string_equal (t[0].host, "b.x");
    assert_int_equal (t[0].port, 7077);
    assert_string_equal (t[1].host, "a.x");
    assert_int_equal (t[1].port, 80);
    assert_int_equal (parse (good, GOOD_SIZE, t, 1), -E2BIG);
}

static void test_none (void **state)
{
    unsigned char bytes[GOOD_SIZE];
    struct srv_target t[2];

    (void)state;
    memcpy (bytes, good, GOOD_SIZE);
    bytes[ANSWERS] = 0;         // there may be one later
    assert_int_equal (parse (bytes, GOOD_SIZE, t, 2), -EAGAIN);
    memcpy (bytes, good, GOOD_SIZE);
    bytes[RCODE] = 0x83;
    assert_int_equal (parse (bytes, GOOD_SIZE, t, 2), -ENOENT);
    bytes[RCODE] = 0x82;
    assert_int_equal (parse (bytes, GOOD_SIZE, t, 2), -EAGAIN);
    bytes[RCODE] = 0x81;
    assert_int_equal (parse (bytes, GOOD_SIZE, t, 2), -EAGAIN);
    // a question is no answer
    memcpy (bytes, good, GOOD_SIZE);
    bytes[2] = 1;
    assert_int_equal (parse (bytes, GOOD_SIZE, t, 2), -EAGAIN);
}

/* "." as the target says that the service is not there. */
static void test_no_service (void **state)
{
    static const unsigned char none[] =
        "\0\1\x81\x80\0\0\0\1\0\0\0\0"
        "\1x\0\0\x21\0\1\0\0\0\x3c\0\7\0\0\0\0\0\0\0";
    struct srv_target t;

    (void)state;
    assert_int_equal (parse (none, sizeof (none) - 1, &t, 1), -EAGAIN);
}

/* However it is cut or changed, nothing behind it is read, and names end. */
static void test_damaged (void **state)
{
    unsigned char bytes[GOOD_SIZE];
    struct srv_target t[2];

    (void)state;
    for (size_t n = 0; n < GOOD_SIZE; n++)
        assert_int_equal (parse (good, n, t, 2), -EAGAIN);
    for (size_t at = 0; at < GOOD_SIZE; at++) {
        for (unsigned value = 0; value < 256; value++) {
            int rc;

            memcpy (bytes, good, GOOD_SIZE);
            bytes[at] = (unsigned char)value;
            rc = parse (bytes, GOOD_SIZE, t, 2);
            assert_true (rc <= 2 && rc != 0);
            for (int i = 0; i < rc; i++)
                assert_true (memchr (t[i].host, '\0', SRV_HOST_MAX) &&
                             t[i].port <= 65535);
        }
    }
    // a name that refers to itself
    memcpy (bytes, good, GOOD_SIZE);
    bytes[GOOD_SIZE - 1] = SECOND_TARGET;
    assert_int_equal (parse (bytes, GOOD_SIZE, t, 2), -EAGAIN);
    // a target that is longer than its record, or shorter
    memcpy (bytes, good, GOOD_SIZE);
    bytes[SECOND_TARGET] = 63;
    assert_int_equal (parse (bytes, GOOD_SIZE, t, 2), -EAGAIN);
    bytes[SECOND_TARGET] = 0;
    assert_int_equal (parse (bytes, GOOD_SIZE, t, 2), -EAGAIN);
}

static void test_server (void **state)
{
    struct srv_target t;

    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        static const char *const bad[] = { "nowhere", "1.2.3", "127.0.0.1:",
                                           "127.0.0.1:65536" };

        assert_int_equal (setenv ("ROLLCALL_NAMESERVER", bad[i], 1), 0);
        assert_int_equal (srv_ask ("_r._tcp.x", &t, 1, NULL), -EINVAL);
    }
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_good),       cmocka_unit_test (test_none),
        cmocka_unit_test (test_no_service), cmocka_unit_test (test_damaged),
        cmocka_unit_test (test_server),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
