/* tests/unit/common/base/test_buf.c - bytes that grow, up to a stated maximum
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/buf.h"

#include <string.h>

static void test_grow (void **state)
{
    struct buf b;

    (void)state;
    buf_init (&b, 100000);
    for (unsigned i = 0; i < 100000; i++) {
        uint8_t byte = (uint8_t)(i * 7);

        buf_put (&b, &byte, 1);
    }
    assert_false (b.failed);
    assert_int_equal (b.size, 100000);
    for (unsigned i = 0; i < 100000; i++)
        assert_int_equal (b.data[i], (uint8_t)(i * 7));
    buf_put (&b, "x", 1);       // one more than the maximum
    assert_true (b.failed);
    assert_int_equal (b.size, 100000);
    buf_fini (&b);
}

/* After a failure nothing is appended, so that no hole goes unnoticed. */
static void test_failure_sticks (void **state)
{
    struct buf b;

    (void)state;
    buf_init (&b, 4);
    buf_put (&b, "ab", 2);
    buf_put (&b, "cde", 3);
    assert_true (b.failed);
    buf_put (&b, "c", 1);
    buf_printf (&b, "c");
    assert_null (buf_extend (&b, 1));
    assert_int_equal (b.size, 2);
    assert_string_equal (buf_text (&b), "");
    buf_clear (&b);
    assert_false (b.failed);
    buf_put (&b, "cde", 3);
    assert_string_equal (buf_text (&b), "cde");
    buf_fini (&b);
}

/* Sizes near SIZE_MAX: a sum that wraps would pass the check. */
static void test_huge (void **state)
{
    struct buf b;

    (void)state;
    buf_init (&b, 1000);
    buf_put (&b, "abc", 3);
    assert_null (buf_extend (&b, SIZE_MAX));
    assert_true (b.failed);
    buf_clear (&b);
    buf_put (&b, "abc", 3);
    assert_null (buf_extend (&b, SIZE_MAX - 2));
    assert_true (b.failed);
    buf_fini (&b);
}

static void test_printf (void **state)
{
    struct buf b;
    char want[2100];

    (void)state;
    buf_init (&b, 10000);
    assert_string_equal (buf_text (&b), "");
    buf_printf (&b, "%s %d", "rank", 7);
    assert_string_equal (buf_text (&b), "rank 7");
    assert_int_equal (b.size, 6);       // the NUL does not count
    buf_printf (&b, "%s", "");
    assert_int_equal (b.size, 6);
    buf_clear (&b);
    memset (want, 'z', sizeof (want));
    want[sizeof (want) - 1] = '\0';
    buf_printf (&b, "%s", want);        // longer than any inner buffer
    assert_string_equal (buf_text (&b), want);
    buf_fini (&b);
}

static void test_printf_full (void **state)
{
    struct buf b;

    (void)state;
    buf_init (&b, 4);
    buf_printf (&b, "abcde");
    assert_true (b.failed);
    assert_int_equal (b.size, 0);
    buf_clear (&b);
    buf_printf (&b, "abcd");
    assert_false (b.failed);
    assert_string_equal (buf_text (&b), "abcd");
    buf_fini (&b);
}

static void test_fini_reusable (void **state)
{
    struct buf b;

    (void)state;
    buf_init (&b, 10);
    buf_put (&b, "abc", 3);
    buf_fini (&b);
    assert_null (b.data);
    assert_int_equal (b.size, 0);
    buf_put (&b, "abcdefghij", 10);     // the maximum is still known
    assert_false (b.failed);
    buf_put (&b, "k", 1);
    assert_true (b.failed);
    buf_fini (&b);
    buf_fini (&b);
}

static void test_nothing (void **state)
{
    struct buf b;

    (void)state;
    buf_init (&b, 0);
    buf_put (&b, NULL, 0);
    assert_false (b.failed);
    assert_int_equal (b.size, 0);
    buf_put (&b, "a", 1);
    assert_true (b.failed);
    buf_fini (&b);
}

static void take_line (void *arg, char *line)
{
    struct buf *said = arg;

    buf_printf (said, "<%s>", line);
}

static void test_lines (void **state)
{
    struct buf b, said;

    (void)state;
    buf_init (&b, 100);
    buf_init (&said, 100);
    buf_take_lines (&b, take_line, &said);
    buf_put (&b, "one\n\ntwo", 8);
    buf_take_lines (&b, take_line, &said);
    assert_string_equal (buf_text (&said), "<one><>");
    assert_int_equal (b.size, 3);
    buf_put (&b, "\n", 1);
    buf_take_lines (&b, take_line, &said);
    assert_string_equal (buf_text (&said), "<one><><two>");
    assert_int_equal (b.size, 0);
    buf_fini (&b);
    buf_fini (&said);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_grow),
        cmocka_unit_test (test_failure_sticks),
        cmocka_unit_test (test_huge),
        cmocka_unit_test (test_printf),
        cmocka_unit_test (test_printf_full),
        cmocka_unit_test (test_fini_reusable),
        cmocka_unit_test (test_nothing),
        cmocka_unit_test (test_lines),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
