/* node_agent/world/host.c - identify this host */
#include "world/host.h"

#include "base/buf.h"
#include "base/digest.h"
#include "store/fileio.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void host_name (char *out, size_t max)
{
    if (gethostname (out, max) < 0)
        (void)snprintf (out, max, "unknown-host");
    out[max - 1] = '\0';
}

#define MACHINE_ID "/etc/machine-id"

/* Append the content of a file, and a NUL. */
static void put_file (struct buf *b, const char *path)
{
    (void)fileio_read_at (AT_FDCWD, path, b, NULL);
    buf_put (b, "", 1);
}

static void make_key (struct buf *b, char out[HOST_KEY_SIZE])
{
    struct digest d = { { 0 } };
    char hex[DIGEST_HEX_SIZE];

    (void)digest_of (b->data, b->size, &d);
    buf_fini (b);
    digest_hex (&d, hex);
    memcpy (out, hex, HOST_KEY_SIZE - 1);
    out[HOST_KEY_SIZE - 1] = '\0';
}

void host_key (char out[HOST_KEY_SIZE])
{
    char link[PATH_MAX];
    struct buf b;
    ssize_t n;

    buf_init (&b, 65536);
    put_file (&b, MACHINE_ID);
    put_file (&b, "/proc/sys/kernel/random/boot_id");
    n = readlink ("/proc/self/ns/mnt", link, sizeof (link));
    if (n > 0)
        buf_put (&b, link, (size_t)n);
    make_key (&b, out);
}

void host_id (char out[HOST_KEY_SIZE])
{
    char name[HOST_NAME_MAX_BYTES];
    struct buf b;

    buf_init (&b, 65536);
    put_file (&b, MACHINE_ID);
    host_name (name, sizeof (name));
    buf_put (&b, name, strlen (name));
    make_key (&b, out);
}
