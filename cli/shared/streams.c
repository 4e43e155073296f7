/* cli/shared/streams.c - output of other processes, as it comes */
#include "shared/streams.h"

#include "shared/command.h"

#include "store/fileio.h"

#include <errno.h>
#include <unistd.h>

#define PART 65536
#define CANCEL_MS 1000          // a signal may come before poll

static void end_stream (struct pollfd *s)
{
    (void)close (s->fd);
    s->fd = -1;
}

/* 0, or the negative result of 'fn'. */
static int take (struct pollfd *s, size_t i, stream_fn *fn, void *arg)
{
    char part[PART];
    ssize_t n = read (s->fd, part, sizeof (part));
    int rc;

    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return 0;
    rc = fn (arg, i, part, n > 0 ? (size_t)n : 0);
    if (n <= 0 || rc != 0)
        end_stream (s);
    return rc < 0 ? rc : 0;
}

static bool is_open (const struct pollfd *streams, size_t n)
{
    size_t i = 0;

    while (i < n && streams[i].fd < 0)
        i++;
    return i < n;
}

int streams_read (struct pollfd *streams, size_t n, stream_fn *fn, void *arg)
{
    int rc = 0;

    while (rc == 0 && is_open (streams, n)) {
        if (atomic_load (&cli_cancelled))
            rc = -ECANCELED;
        else if (poll (streams, n, CANCEL_MS) < 0)
            rc = errno == EINTR ? 0 : -errno;
        else
            for (size_t i = 0; i < n && rc == 0; i++) {
                if (streams[i].revents)
                    rc = take (&streams[i], i, fn, arg);
            }
    }
    for (size_t i = 0; i < n; i++) {
        fileio_close (streams[i].fd);
        streams[i].fd = -1;
    }
    return rc;
}
