/* tests/unit/common/object_store/test_object_answer.c - what a store says */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "object_store/answer.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static struct answer of_code (int status, const char *code)
{
    char xml[256];

    PRINT (xml, "<?xml version=\"1.0\"?>\n<Error><Code>%s</Code><Message>a &lt; "
           "b</Message></Error>", code);
    return answer_judge (status, xml, strlen (xml));
}

static void test_codes (void **state)
{
    static const struct {
        int status;
        const char *code;
        enum answer_kind kind;
        int error;
    } all[] = {
        { 503, "SlowDown", ANSWER_AGAIN, EAGAIN },
        { 500, "InternalError", ANSWER_AGAIN, EAGAIN },
        { 503, "Unheard", ANSWER_AGAIN, EAGAIN },
        { 400, "ExpiredToken", ANSWER_RENEW, EKEYEXPIRED },
        { 403, "RequestTimeTooSkewed", ANSWER_NO, ETIME },
        { 403, "AccessDenied", ANSWER_RENEW, EACCES },
        { 403, "InvalidAccessKeyId", ANSWER_RENEW, EKEYREJECTED },
        { 403, "SignatureDoesNotMatch", ANSWER_RENEW, EKEYREJECTED },
        { 404, "NoSuchBucket", ANSWER_NO, ENXIO },
        { 404, "NoSuchKey", ANSWER_NO, ENOENT },
        { 400, "BadDigest", ANSWER_AGAIN, EBADMSG },
        { 400, "RequestTimeout", ANSWER_AGAIN, EHOSTUNREACH },
        { 400, "Unheard", ANSWER_NO, EPROTO },
        // the end of an upload says it with this status
        { 200, "InternalError", ANSWER_AGAIN, EAGAIN },
        { 200, "Unheard", ANSWER_AGAIN, EAGAIN },
    };

    (void)state;
    for (size_t i = 0; i < sizeof (all) / sizeof (*all); i++) {
        struct answer a = of_code (all[i].status, all[i].code);

        assert_int_equal (a.kind, all[i].kind);
        assert_int_equal (a.error, all[i].error);
        assert_string_equal (a.code, all[i].code);
        assert_string_equal (a.message, "a < b");
    }
}

/* Without a body, as for HEAD. */
static void test_statuses (void **state)
{
    (void)state;
    assert_int_equal (answer_judge (200, "", 0).kind, ANSWER_FINE);
    assert_int_equal (answer_judge (206, "", 0).kind, ANSWER_FINE);
    assert_int_equal (answer_judge (503, "", 0).kind, ANSWER_AGAIN);
    assert_int_equal (answer_judge (429, "", 0).kind, ANSWER_AGAIN);
    assert_int_equal (answer_judge (404, "", 0).error, ENOENT);
    assert_int_equal (answer_judge (403, "", 0).error, EACCES);
    assert_int_equal (answer_judge (307, "", 0).error, EPROTO);
    assert_int_equal (answer_judge (200, "<Error>", 7).kind, ANSWER_FINE);
}

static void test_elements (void **state)
{
    static const char xml[] = "<List xmlns=\"x\"><Keys>no</Keys><Key>a&amp;b"
        "</Key><Key/><Key a='1'>&#x3b1;&#66;&bad;&</Key><Key>cut";
    const char *at = xml, *end = xml + strlen (xml), *s;
    char text[32];
    size_t n;

    (void)state;
    assert_true (answer_element ("Key", &at, end, &s, &n));
    assert_int_equal (n, strlen ("a&amp;b"));
    assert_true (answer_text (xml, end, "Key", text, sizeof (text)));
    assert_string_equal (text, "a&b");
    assert_false (answer_text (xml, end, "Key", text, 3));
    assert_true (answer_element ("Key", &at, end, &s, &n));
    assert_int_equal (n, 0);
    assert_true (answer_text (at, end, "Key", text, sizeof (text)));
    assert_string_equal (text, "\u03b1B&bad;&");
    assert_true (answer_element ("Key", &at, end, &s, &n));
    assert_false (answer_element ("Key", &at, end, &s, &n));
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_codes), cmocka_unit_test (test_statuses),
        cmocka_unit_test (test_elements),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
