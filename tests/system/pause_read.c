/* tests/system/pause_read.c - stops a program in the middle of its reading, or
 * writing
 *
 * Loaded with LD_PRELOAD.  At the first read or write of a file whose last name
 * is like $PAUSE_AT, a pattern of the shell's, the FIFO $PAUSE_REACHED is
 * opened for writing and closed, which wakes the test; then it waits until the
 * FIFO $PAUSE_GO was opened for writing and closed.  So a test can change a
 * file, or send a signal, while it is being read, without guessing at times.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef ssize_t read_fn (int fd, void *buf, size_t size);
typedef ssize_t write_fn (int fd, const void *buf, size_t size);
typedef ssize_t pread_fn (int fd, void *buf, size_t size, off_t offset);

static atomic_flag paused = ATOMIC_FLAG_INIT;

/* The C library's function; a function pointer is not a void pointer in C. */
static read_fn *next_read (void)
{
    read_fn *f;
    void *symbol = dlsym (RTLD_NEXT, "read");

    memcpy (&f, &symbol, sizeof (f));
    return f;
}

static write_fn *next_write (void)
{
    write_fn *f;
    void *symbol = dlsym (RTLD_NEXT, "write");

    memcpy (&f, &symbol, sizeof (f));
    return f;
}

static pread_fn *next_pread (void)
{
    pread_fn *f;
    void *symbol = dlsym (RTLD_NEXT, "pread64");

    memcpy (&f, &symbol, sizeof (f));
    return f;
}

static bool is_wanted (int fd)
{
    const char *wanted = getenv ("PAUSE_AT"), *name;
    char link[64], path[PATH_MAX];
    ssize_t n;

    (void)snprintf (link, sizeof (link), "/proc/self/fd/%d", fd);
    if (!wanted || (n = readlink (link, path, sizeof (path) - 1)) < 0)
        return false;
    path[n] = '\0';
    name = strrchr (path, '/');
    return name && fnmatch (wanted, name + 1, 0) == 0;
}

/* Open a FIFO, also if the signal comes that the test sends meanwhile. */
static int open_fifo (const char *variable, int flags)
{
    int fd;

    while ((fd = open (getenv (variable), flags | O_CLOEXEC)) < 0 &&
           errno == EINTR)
        ;
    return fd;
}

static void pause_once (int fd)
{
    ssize_t n;
    char byte;
    int fifo;

    if (!is_wanted (fd) || atomic_flag_test_and_set (&paused))
        return;
    fifo = open_fifo ("PAUSE_REACHED", O_WRONLY);
    (void)close (fifo);
    fifo = open_fifo ("PAUSE_GO", O_RDONLY);
    while ((n = next_read () (fifo, &byte, 1)) > 0 || (n < 0 && errno == EINTR))
        ;
    (void)close (fifo);
}

ssize_t read (int fd, void *buf, size_t size)
{
    pause_once (fd);
    return next_read () (fd, buf, size);
}

ssize_t write (int fd, const void *buf, size_t size)
{
    pause_once (fd);
    return next_write () (fd, buf, size);
}

ssize_t pread64 (int fd, void *buf, size_t size, off_t offset)
{
    pause_once (fd);
    return next_pread () (fd, buf, size, offset);
}

ssize_t pread (int fd, void *buf, size_t size, off_t offset)
{
    return pread64 (fd, buf, size, offset);
}
