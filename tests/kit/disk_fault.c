/* tests/kit/disk_fault.c - the disk fails, for some files and calls
 *
 * Loaded with LD_PRELOAD.  DISK_FAULT=CALL:ERROR:NTH:TIMES:PATTERN
 *
 *     CALL     write (also pwrite and ftruncate), fsync (also fdatasync), open
 *              (that makes a file), rename (also link, linkat), unlink, mkdir
 *     ERROR    enospc or eio
 *     NTH      the first call that fails, 1 is the first; those before pass
 *     TIMES    how many fail; those after pass again
 *     PATTERN  of the path, as the shell's; * matches slashes, too
 *
 * DISK_FAULT_HITS=FILE gets a line for each failure.  What is counted is
 * counted in this process.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NEXT(result, name, ...) \
    static result (*next) (__VA_ARGS__); \
    if (!next) { \
        void *symbol = dlsym (RTLD_NEXT, name); \
        memcpy (&next, &symbol, sizeof (next)); \
    }

struct rule {
    char call[16], error[16], pattern[PATH_MAX];
    long nth, times;
};

static atomic_long calls;
static _Thread_local bool inside;       // the hit file is written by write()

static const struct rule *the_rule (void)
{
    static struct rule rule;
    static bool known;
    const char *text = getenv ("DISK_FAULT");

    if (!known) {
        if (text)
            (void)sscanf (text, "%15[^:]:%15[^:]:%ld:%ld:%4095[^\n]",
                          rule.call, rule.error, &rule.nth, &rule.times,
                          rule.pattern);
        known = true;
    }
    return &rule;
}

static void tell (const char *call, const char *path)
{
    const char *file = getenv ("DISK_FAULT_HITS");
    int fd = file ? open (file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC,
                          0600) : -1;

    if (fd >= 0) {
        (void)dprintf (fd, "%s %s\n", call, path);
        (void)close (fd);
    }
}

/* Whether this call is to fail; errno is set then. */
static bool fails (const char *call, const char *path)
{
    const struct rule *r = the_rule ();
    int saved = errno;
    long n;

    if (inside || strcmp (r->call, call) != 0 ||
        fnmatch (r->pattern, path, 0) != 0)
        return false;
    n = atomic_fetch_add (&calls, 1) + 1;
    if (n < r->nth || n >= r->nth + r->times)
        return false;
    inside = true;
    tell (call, path);
    inside = false;
    errno = saved;
    errno = strcmp (r->error, "eio") == 0 ? EIO : ENOSPC;
    return true;
}

static bool fails_fd (const char *call, int fd)
{
    char link[64], path[PATH_MAX];
    ssize_t n;

    if (inside || strcmp (the_rule ()->call, call) != 0)
        return false;
    (void)snprintf (link, sizeof (link), "/proc/self/fd/%d", fd);
    n = readlink (link, path, sizeof (path) - 1);
    if (n < 0)
        return false;
    path[n] = '\0';
    return fails (call, path);
}

ssize_t write (int fd, const void *data, size_t size)
{
    NEXT (ssize_t, "write", int, const void *, size_t);
    return fails_fd ("write", fd) ? -1 : next (fd, data, size);
}

ssize_t pwrite (int fd, const void *data, size_t size, off_t at)
{
    NEXT (ssize_t, "pwrite", int, const void *, size_t, off_t);
    return fails_fd ("write", fd) ? -1 : next (fd, data, size, at);
}

ssize_t pwrite64 (int fd, const void *data, size_t size, off_t at)
{
    NEXT (ssize_t, "pwrite64", int, const void *, size_t, off_t);
    return fails_fd ("write", fd) ? -1 : next (fd, data, size, at);
}

int ftruncate (int fd, off_t size)
{
    NEXT (int, "ftruncate", int, off_t);
    return fails_fd ("write", fd) ? -1 : next (fd, size);
}

int ftruncate64 (int fd, off_t size)
{
    NEXT (int, "ftruncate64", int, off_t);
    return fails_fd ("write", fd) ? -1 : next (fd, size);
}

int fsync (int fd)
{
    NEXT (int, "fsync", int);
    return fails_fd ("fsync", fd) ? -1 : next (fd);
}

int fdatasync (int fd)
{
    NEXT (int, "fdatasync", int);
    return fails_fd ("fsync", fd) ? -1 : next (fd);
}

static mode_t mode_of (int flags, va_list args)
{
    return flags & O_CREAT ? va_arg (args, mode_t) : 0;
}

int open (const char *path, int flags, ...)
{
    NEXT (int, "open", const char *, int, ...);
    va_list args;
    mode_t mode;

    va_start (args, flags);
    mode = mode_of (flags, args);
    va_end (args);
    return flags & O_CREAT && fails ("open", path) ? -1
                                                   : next (path, flags, mode);
}

int open64 (const char *path, int flags, ...)
{
    NEXT (int, "open64", const char *, int, ...);
    va_list args;
    mode_t mode;

    va_start (args, flags);
    mode = mode_of (flags, args);
    va_end (args);
    return flags & O_CREAT && fails ("open", path) ? -1
                                                   : next (path, flags, mode);
}

int rename (const char *from, const char *to)
{
    NEXT (int, "rename", const char *, const char *);
    return fails ("rename", to) ? -1 : next (from, to);
}

int link (const char *from, const char *to)
{
    NEXT (int, "link", const char *, const char *);
    return fails ("rename", to) ? -1 : next (from, to);
}

int linkat (int dir, const char *from, int to_dir, const char *to, int flags)
{
    NEXT (int, "linkat", int, const char *, int, const char *, int);
    return fails ("rename", to) ? -1 : next (dir, from, to_dir, to, flags);
}

int unlink (const char *path)
{
    NEXT (int, "unlink", const char *);
    return fails ("unlink", path) ? -1 : next (path);
}

int mkdir (const char *path, mode_t mode)
{
    NEXT (int, "mkdir", const char *, mode_t);
    return fails ("mkdir", path) ? -1 : next (path, mode);
}
