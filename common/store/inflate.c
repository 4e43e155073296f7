/* common/store/inflate.c - read gzip files as a stream */
#include "store/inflate.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>
#include <zlib.h>

#define INPUT_SIZE 131072u
#define GZIP_ONLY (MAX_WBITS + 16)      // what zlib calls a gzip header

struct inflate {
    int fd;
    bool eof;                   // end of the file
    bool between;               // after a complete member
    int failed;                 // the error, returned by later calls
    z_stream z;
    unsigned char input[INPUT_SIZE];
};

bool inflate_is_gzip (int fd)
{
    unsigned char head[2];

    return pread (fd, head, sizeof (head), 0) == (ssize_t)sizeof (head) &&
           head[0] == 0x1f && head[1] == 0x8b;
}

struct inflate *inflate_open (int fd)
{
    struct inflate *z = calloc (1, sizeof (*z));

    if (!z)
        return NULL;
    z->fd = fd;
    z->between = true;
    if (inflateInit2 (&z->z, GZIP_ONLY) != Z_OK) {
        free (z);
        return NULL;
    }
    return z;
}

void inflate_close (struct inflate *z)
{
    if (!z)
        return;
    (void)inflateEnd (&z->z);
    free (z);
}

static int inflate_fill (struct inflate *z)
{
    ssize_t n;

    do {
        n = read (z->fd, z->input, sizeof (z->input));
    } while (n < 0 && errno == EINTR);
    if (n < 0)
        return -errno;
    z->eof = n == 0;
    z->z.next_in = z->input;
    z->z.avail_in = (uInt)n;
    return 0;
}

/* Translate the result of zlib; 0: continue. */
static int take_answer (struct inflate *z, int answer)
{
    switch (answer) {
    case Z_STREAM_END:          // another member may follow
        z->between = true;
        return inflateReset (&z->z) == Z_OK ? 0 : -EBADMSG;
    case Z_OK:
    case Z_BUF_ERROR:           // it wants more input
        return 0;
    case Z_MEM_ERROR:
        return -ENOMEM;
    default:
        return -EBADMSG;
    }
}

ssize_t inflate_read (void *arg, void *buf, size_t size)
{
    struct inflate *z = arg;
    uInt room = size > INT_MAX ? INT_MAX : (uInt)size;

    z->z.next_out = buf;
    z->z.avail_out = room;
    while (!z->failed && z->z.avail_out == room && room > 0) {
        if (z->z.avail_in == 0 && !z->eof)
            z->failed = inflate_fill (z);
        if (z->failed || (z->eof && z->between && z->z.avail_in == 0))
            break;
        if (z->eof && z->z.avail_in == 0)
            z->failed = -ENODATA;
        z->between = false;
        if (!z->failed)
            z->failed = take_answer (z, inflate (&z->z, Z_NO_FLUSH));
    }
    if (z->z.avail_out < room)
        return (ssize_t)(room - z->z.avail_out);
    return z->failed;
}
