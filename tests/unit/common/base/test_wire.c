/* tests/unit/common/base/test_wire.c - little-endian values in byte strings */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/wire.h"

#include <stdlib.h>
#include <string.h>

static void put_sample (struct buf *b)
{
    wire_put_u8 (b, 0x12);
    wire_put_u16 (b, 0x3456);
    wire_put_u32 (b, 0x789abcdeu);
    wire_put_u64 (b, UINT64_C (0x0123456789abcdef));
    wire_put_i64 (b, -2);
    wire_put_text (b, "text");
    wire_put_text (b, "");
    wire_put_text (b, NULL);
}

/* The bytes are a file format: a change of them breaks old shipments. */
static void test_bytes (void **state)
{
    static const uint8_t want[] = {
        0x12, 0x56, 0x34, 0xde, 0xbc, 0x9a, 0x78, 0xef, 0xcd, 0xab, 0x89,
        0x67, 0x45, 0x23, 0x01, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
        0xff, 4,    0,    0,    0,    't',  'e',  'x',  't',  0,    0,
        0,    0,    0,    0,    0,    0,
    };
    struct buf b;

    (void)state;
    buf_init (&b, 1000);
    put_sample (&b);
    assert_false (b.failed);
    assert_int_equal (b.size, sizeof (want));
    assert_memory_equal (b.data, want, sizeof (want));
    buf_fini (&b);
}

/* Reads the sample from 'size' bytes; whether all of it was there. */
static bool read_sample (const uint8_t *data, size_t size, bool check)
{
    struct wire w = wire_reader (data, size);
    char text[5] = "????", empty[1] = "?", null[9] = "?";
    uint8_t a = wire_u8 (&w);
    uint16_t b = wire_u16 (&w);
    uint32_t c = wire_u32 (&w);
    uint64_t d = wire_u64 (&w);
    int64_t e = wire_i64 (&w);

    wire_text (&w, text, sizeof (text));
    wire_text (&w, empty, sizeof (empty));
    wire_text (&w, null, sizeof (null));
    if (check) {
        assert_int_equal (a, 0x12);
        assert_int_equal (b, 0x3456);
        assert_int_equal (c, 0x789abcdeu);
        assert_int_equal (d, UINT64_C (0x0123456789abcdef));
        assert_true (e == -2);
        assert_string_equal (text, "text");
        assert_string_equal (empty, "");
        assert_string_equal (null, "");
    }
    return wire_ended (&w);
}

/* Cut anywhere, a document is refused, and a sanitizer sees no read behind
 * the heap block that holds just what is left.
 */
static void test_cut (void **state)
{
    struct buf b;

    (void)state;
    buf_init (&b, 1000);
    put_sample (&b);
    for (size_t n = 0; n < b.size; n++) {
        uint8_t *copy = malloc (n ? n : 1);

        assert_non_null (copy);
        memcpy (copy, b.data, n);
        assert_false (read_sample (copy, n, false));
        free (copy);
    }
    assert_true (read_sample (b.data, b.size, true));
    wire_put_u8 (&b, 0);        // a byte too many is noticed
    assert_false (read_sample (b.data, b.size, true));
    buf_fini (&b);
}

/* After one failure everything is zero, even what would still fit. */
static void test_failure_sticks (void **state)
{
    static const uint8_t data[] = { 1, 2, 3 };
    struct wire w = wire_reader (data, sizeof (data));
    char text[4] = "abc";

    (void)state;
    assert_int_equal (wire_u32 (&w), 0);
    assert_true (w.failed);
    assert_int_equal (wire_u8 (&w), 0);
    assert_null (wire_bytes (&w, 0));
    assert_null (wire_bytes (&w, 1));
    wire_text (&w, text, sizeof (text));
    assert_string_equal (text, "");
    assert_false (wire_ended (&w));
}

static void test_empty (void **state)
{
    struct wire w = wire_reader (NULL, 0);

    (void)state;
    assert_true (wire_ended (&w));
    assert_int_equal (wire_u8 (&w), 0);
    assert_true (w.failed);
}

static void test_bytes_borrowed (void **state)
{
    static const uint8_t data[] = { 1, 2, 3 };
    struct wire w = wire_reader (data, sizeof (data));

    (void)state;
    assert_ptr_equal (wire_bytes (&w, 2), data);
    assert_ptr_equal (wire_bytes (&w, 0), data + 2);
    assert_null (wire_bytes (&w, 2));
    assert_true (w.failed);
    // a size that would wrap the pointer
    w = wire_reader (data, sizeof (data));
    assert_null (wire_bytes (&w, SIZE_MAX));
    assert_true (w.failed);
}

/* A text of a hostile length must not be cut, read or copied. */
static void test_text_refused (void **state)
{
    static const uint8_t fits[] = { 3, 0, 0, 0, 'a', 'b', 'c' };
    static const uint8_t nul[] = { 3, 0, 0, 0, 'a', 0, 'c' };
    static const uint8_t huge[] = { 0xff, 0xff, 0xff, 0xff, 'a' };
    char out[4];
    struct wire w;

    (void)state;
    w = wire_reader (fits, sizeof (fits));
    wire_text (&w, out, 4);
    assert_string_equal (out, "abc");
    assert_true (wire_ended (&w));
    w = wire_reader (fits, sizeof (fits));
    wire_text (&w, out, 3);     // no room for the NUL
    assert_true (w.failed);
    assert_string_equal (out, "");
    w = wire_reader (nul, sizeof (nul));
    wire_text (&w, out, 4);
    assert_true (w.failed);
    assert_string_equal (out, "");
    w = wire_reader (huge, sizeof (huge));
    wire_text (&w, out, 4);
    assert_true (w.failed);
    w = wire_reader (huge, sizeof (huge));
    wire_text (&w, out, SIZE_MAX);      // a large 'max' is no excuse
    assert_true (w.failed);
    assert_string_equal (out, "");
}

static void test_writer_full (void **state)
{
    struct buf b;

    (void)state;
    buf_init (&b, 5);
    wire_put_u32 (&b, 1);
    wire_put_u32 (&b, 2);       // never half a value
    assert_true (b.failed);
    assert_int_equal (b.size, 4);
    wire_put_u8 (&b, 3);        // would fit, but there is a hole before it
    assert_int_equal (b.size, 4);
    buf_fini (&b);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_bytes),
        cmocka_unit_test (test_cut),
        cmocka_unit_test (test_failure_sticks),
        cmocka_unit_test (test_empty),
        cmocka_unit_test (test_bytes_borrowed),
        cmocka_unit_test (test_text_refused),
        cmocka_unit_test (test_writer_full),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
