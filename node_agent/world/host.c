/* node_agent/world/host.c - which host this is */
#include "world/host.h"

#include "base/buf.h"
#include "base/digest.h"
#include "base/fileio.h"

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

void host_key (char out[HOST_KEY_SIZE])
{
    static const char *const files[] = { "/etc/machine-id",
                                         "/proc/sys/kernel/random/boot_id" };
    char hex[DIGEST_HEX_SIZE], link[PATH_MAX];
    struct digest d = { { 0 } };
    struct buf b;
    ssize_t n;

    buf_init (&b, 65536);
    for (size_t i = 0; i < sizeof (files) / sizeof (files[0]); i++) {
        (void)fileio_read_at (AT_FDCWD, files[i], &b, NULL);
        buf_put (&b, "", 1);
    }
    n = readlink ("/proc/self/ns/mnt", link, sizeof (link));
    if (n > 0)
        buf_put (&b, link, (size_t)n);
    (void)digest_of (b.data, b.size, &d);
    buf_fini (&b);
    digest_hex (&d, hex);
    memcpy (out, hex, HOST_KEY_SIZE - 1);
    out[HOST_KEY_SIZE - 1] = '\0';
}
