/* tests/unit/common/store/test_inflate.c - gzip files, as a stream */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "store/inflate.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* "hello\n", as gzip -n writes it. */
static const unsigned char hello[] = {
    0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x03, 0xcb, 0x48,
    0xcd, 0xc9, 0xc9, 0xe7, 0x02, 0x00, 0x20, 0x30, 0x3a, 0x36, 0x06, 0x00,
    0x00, 0x00,
};

/* All of a file of these bytes, 'step' bytes at a time; what came is in 'out',
 * the last answer is returned.
 */
static ssize_t read_all (const void *bytes, size_t size, size_t step,
                         char out[64])
{
    FILE *f = tmpfile ();
    struct inflate *z;
    size_t used = 0;
    ssize_t n;

    assert_non_null (f);
    assert_int_equal (fwrite (bytes, 1, size, f), size);
    rewind (f);
    assert_non_null (z = inflate_open (fileno (f)));
    while ((n = inflate_read (z, out + used, step)) > 0)
        used += (size_t)n;
    out[used] = '\0';
    assert_int_equal (inflate_read (z, out + used, step), n);   // it sticks
    inflate_close (z);
    (void)fclose (f);
    return n;
}

static void test_whole (void **state)
{
    char out[64];

    (void)state;
    for (size_t step = 1; step < 8; step++) {
        assert_int_equal (read_all (hello, sizeof (hello), step, out), 0);
        assert_string_equal (out, "hello\n");
    }
}

/* pigz and cat make files of several members. */
static void test_members (void **state)
{
    unsigned char twice[2 * sizeof (hello)];
    char out[64];

    (void)state;
    memcpy (twice, hello, sizeof (hello));
    memcpy (twice + sizeof (hello), hello, sizeof (hello));
    assert_int_equal (read_all (twice, sizeof (twice), 4, out), 0);
    assert_string_equal (out, "hello\nhello\n");
}

/* Whatever is cut off, the end is not taken for the true one. */
static void test_truncated (void **state)
{
    char out[64];

    (void)state;
    for (size_t n = 1; n < sizeof (hello); n++) {
        assert_int_equal (read_all (hello, n, 16, out), -ENODATA);
        assert_true (strncmp ("hello\n", out, strlen (out)) == 0);
    }
}

static void test_damaged (void **state)
{
    unsigned char bad[sizeof (hello) + 4];
    char out[64];

    (void)state;
    memcpy (bad, hello, sizeof (hello));
    bad[sizeof (hello) - 6] ^= 1;       // the checksum
    assert_int_equal (read_all (bad, sizeof (hello), 16, out), -EBADMSG);
    memcpy (bad, hello, sizeof (hello));
    memcpy (bad + sizeof (hello), "tail", 4);
    assert_int_equal (read_all (bad, sizeof (bad), 16, out), -EBADMSG);
    assert_string_equal (out, "hello\n");
    assert_int_equal (read_all ("plain text", 10, 16, out), -EBADMSG);
}

/* Asked of a file that stands at its end, where it has to stay. */
static bool begins_as_gzip (const void *bytes, size_t size)
{
    FILE *f = tmpfile ();
    bool gzip;

    assert_non_null (f);
    assert_int_equal (fwrite (bytes, 1, size, f), size);
    assert_int_equal (fflush (f), 0);
    gzip = inflate_is_gzip (fileno (f));
    assert_int_equal (lseek (fileno (f), 0, SEEK_CUR), size);
    (void)fclose (f);
    return gzip;
}

static void test_head (void **state)
{
    (void)state;
    assert_true (begins_as_gzip (hello, 2));
    assert_false (begins_as_gzip (hello, 1));
    assert_false (begins_as_gzip ("{}", 2));
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_whole),
        cmocka_unit_test (test_members),
        cmocka_unit_test (test_truncated),
        cmocka_unit_test (test_damaged),
        cmocka_unit_test (test_head),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
