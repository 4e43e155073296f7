/* common/store/deflate.c - write gzip files as a stream */
#include "store/deflate.h"

#include "store/fileio.h"

#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <zlib.h>

#define OUTPUT_SIZE 131072u
#define GZIP_ONLY (MAX_WBITS + 16)      // selects the gzip format in zlib
#define MEMORY_LEVEL 8                  // zlib's default

struct deflate {
    int fd;
    int failed;
    z_stream z;
    unsigned char output[OUTPUT_SIZE];
};

struct deflate *deflate_create (int fd)
{
    struct deflate *z = calloc (1, sizeof (*z));

    if (!z)
        return NULL;
    z->fd = fd;
    if (deflateInit2 (&z->z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_ONLY,
                      MEMORY_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK) {
        free (z);
        return NULL;
    }
    return z;
}

void deflate_destroy (struct deflate *z)
{
    if (!z)
        return;
    (void)deflateEnd (&z->z);
    free (z);
}

/* Run zlib until it has consumed all input, or, with Z_FINISH, to the end. */
static int deflate_run (struct deflate *z, int flush)
{
    int answer = Z_OK;

    do {
        z->z.next_out = z->output;
        z->z.avail_out = OUTPUT_SIZE;
        answer = deflate (&z->z, flush);
        if (answer == Z_STREAM_ERROR)
            z->failed = -EIO;
        else
            z->failed = fileio_write_all (z->fd, z->output,
                                          OUTPUT_SIZE - z->z.avail_out);
    } while (!z->failed && z->z.avail_out == 0);
    return z->failed;
}

int deflate_write (struct deflate *z, const void *data, size_t size)
{
    const unsigned char *p = data;

    while (!z->failed && size > 0) {
        uInt n = size > INT_MAX ? INT_MAX : (uInt)size;

        z->z.next_in = (unsigned char *)(uintptr_t)p;   // zlib only reads it
        z->z.avail_in = n;
        (void)deflate_run (z, Z_NO_FLUSH);
        p += n;
        size -= n;
    }
    return z->failed;
}

int deflate_finish (struct deflate *z)
{
    if (z->failed)
        return z->failed;
    z->z.avail_in = 0;
    return deflate_run (z, Z_FINISH);
}
