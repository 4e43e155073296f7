/* tests/unit/common/store/test_deflate.c - gzip files, written as a stream */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "store/deflate.h"
#include "store/inflate.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SIZE 1000000u

/* More than the buffers hold, in pieces of 'step' bytes, and back again. */
static void round_trip (size_t size, size_t step)
{
    unsigned char *in = malloc (size + 1), *out = malloc (size + 1);
    struct deflate *z;
    struct inflate *back;
    size_t used = 0;
    uint32_t x = 1;
    FILE *f = tmpfile ();
    ssize_t n;

    assert_true (in && out && f);
    for (size_t i = 0; i < size; i++) {         // not to be made smaller
        x = x * 1664525u + 1013904223u;
        in[i] = (unsigned char)(x >> 24);
    }
    assert_non_null (z = deflate_create (fileno (f)));
    for (size_t i = 0; i < size; i += step)
        assert_int_equal (deflate_write (z, in + i,
                                         size - i < step ? size - i : step),
                          0);
    assert_int_equal (deflate_finish (z), 0);
    deflate_destroy (z);
    rewind (f);
    assert_non_null (back = inflate_open (fileno (f)));
    while (used < size && (n = inflate_read (back, out + used,
                                             size - used)) > 0)
        used += (size_t)n;
    assert_int_equal (inflate_read (back, out + used, 1), 0);
    assert_int_equal (used, size);
    assert_memory_equal (in, out, size);
    inflate_close (back);
    (void)fclose (f);
    free (in);
    free (out);
}

static void test_round_trip (void **state)
{
    (void)state;
    round_trip (0, 1);
    round_trip (1, 1);
    round_trip (SIZE, SIZE);
    round_trip (SIZE, 4099);
}

/* What the disk says is said again, until the end. */
static void test_full (void **state)
{
    static const char zeros[4096];
    int fd = open ("/dev/full", O_WRONLY | O_CLOEXEC);
    struct deflate *z = deflate_create (fd);

    (void)state;
    assert_true (fd >= 0 && z);
    (void)deflate_write (z, zeros, sizeof (zeros));
    assert_int_equal (deflate_finish (z), -ENOSPC);
    assert_int_equal (deflate_write (z, zeros, 1), -ENOSPC);
    assert_int_equal (deflate_finish (z), -ENOSPC);
    deflate_destroy (z);
    deflate_destroy (NULL);
    (void)close (fd);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_round_trip),
        cmocka_unit_test (test_full),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
