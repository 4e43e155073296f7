/* tests/kit/power_recorder.c - note what reaches the disk, and when
 *
 * Loaded with LD_PRELOAD into agent and aggregator.  POWER_ROOT is the
 * directory below which files are noted, POWER_LOG the file that takes the
 * records of power_log.h.  A record is appended after the call has succeeded
 * and before the program hears of it, so that what one process does because of
 * another comes later in the log.  SQLite's -shm files are left out: they are
 * made again.
 */
#include "power_log.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define FDS_MAX 4096

#define NEXT(result, name, ...) \
    static result (*next) (__VA_ARGS__); \
    if (!next) { \
        void *symbol = dlsym (RTLD_NEXT, name); \
        memcpy (&next, &symbol, sizeof (next)); \
    }

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool noted[FDS_MAX];     // descriptors of files below POWER_ROOT

static bool below (const char *path)
{
    const char *root = getenv ("POWER_ROOT");
    size_t n = root ? strlen (root) : 0, all = strlen (path);

    return n > 0 && strncmp (path, root, n) == 0 &&
           (path[n] == '/' || path[n] == '\0') &&
           !(all > 4 && strcmp (path + all - 4, "-shm") == 0);
}

static void note (enum power_op op, int fd, uint64_t offset, const char *path,
                  const char *other, const void *data, size_t size)
{
    static int out = -1;
    size_t n = path ? strlen (path) + 1 : 0, m = other ? strlen (other) + 1 : 0;
    struct power_record r = { POWER_MAGIC, op, getpid (), fd, offset,
                              (uint32_t)(n + m), (uint32_t)size };
    struct iovec v[4] = {
        { &r, sizeof (r) }, { (void *)path, n }, { (void *)other, m },
        { (void *)data, size },
    };

    if (out < 0) {
        NEXT (int, "open", const char *, int, ...);
        out = next (getenv ("POWER_LOG"), O_WRONLY | O_CREAT | O_APPEND |
                                              O_CLOEXEC, 0600);
        if (out < 0)
            abort ();
    }
    if (writev (out, v, 4) != (ssize_t)(sizeof (r) + n + m + size))
        abort ();
}

static bool is_noted (int fd)
{
    return fd >= 0 && fd < FDS_MAX && noted[fd];
}

/* ---- names ---- */

/* The path of a directory that is open, and of a name in it. */
static const char *name_in (int dirfd, const char *path, char out[PATH_MAX])
{
    char link[64];
    ssize_t n;

    (void)snprintf (link, sizeof (link), "/proc/self/fd/%d", dirfd);
    n = readlink (link, out, PATH_MAX - 1);
    if (n < 0)
        return path;
    out[n] = '\0';
    while (strncmp (path, "./", 2) == 0)
        path += 2;
    if (*path && strcmp (path, ".") != 0)   // else: a file of that name
        (void)snprintf (out + n, PATH_MAX - (size_t)n, "/%s", path);
    return out;
}

/* Paths relative to a directory, and those that name it by its descriptor, as
 * SQLite gets them (common/store/tree.h).
 */
static const char *resolve (int dirfd, const char *path, char out[PATH_MAX])
{
    static const char held[] = "/proc/self/fd/";
    char *rest;
    long fd;

    if (strncmp (path, held, sizeof (held) - 1) == 0) {
        fd = strtol (path + sizeof (held) - 1, &rest, 10);
        return name_in ((int)fd, rest + (*rest == '/'), out);
    }
    return *path == '/' || dirfd == AT_FDCWD ? path
                                             : name_in (dirfd, path, out);
}

static int opened (int fd, const char *path, int flags, bool was)
{
    struct stat st;

    if (fd >= 0 && fd < FDS_MAX)
        noted[fd] = below (path) && !(flags & O_PATH);  // it writes nothing
    if (is_noted (fd) && fstat (fd, &st) == 0)
        note (POWER_OPEN, fd, (was ? 0 : POWER_MADE) |
                                  (flags & O_TRUNC ? POWER_CUT : 0) |
                                  (S_ISDIR (st.st_mode) ? POWER_DIR : 0),
              path, NULL, NULL, 0);
    return fd;
}

#define OPEN(name) \
    int name (const char *path, int flags, ...) \
    { \
        NEXT (int, #name, const char *, int, ...); \
        char full[PATH_MAX]; \
        mode_t mode = 0; \
        bool was; \
        int fd; \
        if (flags & (O_CREAT | O_TMPFILE)) { \
            va_list args; \
            va_start (args, flags); \
            mode = va_arg (args, mode_t); \
            va_end (args); \
        } \
        (void)pthread_mutex_lock (&lock); \
        was = access (path, F_OK) == 0; \
        fd = opened (next (path, flags, mode), \
                     resolve (AT_FDCWD, path, full), flags, was); \
        (void)pthread_mutex_unlock (&lock); \
        return fd; \
    }

OPEN (open)
OPEN (open64)

#define OPENAT(name) \
    int name (int dirfd, const char *path, int flags, ...) \
    { \
        NEXT (int, #name, int, const char *, int, ...); \
        char full[PATH_MAX]; \
        mode_t mode = 0; \
        bool was; \
        int fd; \
        if (flags & (O_CREAT | O_TMPFILE)) { \
            va_list args; \
            va_start (args, flags); \
            mode = va_arg (args, mode_t); \
            va_end (args); \
        } \
        (void)pthread_mutex_lock (&lock); \
        was = faccessat (dirfd, path, F_OK, 0) == 0; \
        fd = opened (next (dirfd, path, flags, mode), \
                     resolve (dirfd, path, full), flags, was); \
        (void)pthread_mutex_unlock (&lock); \
        return fd; \
    }

OPENAT (openat)
OPENAT (openat64)

/* openat2 has no function of its own. */
static long open_how (long (*next) (long, ...), int dirfd, const char *path,
                      struct open_how *how, size_t size)
{
    char full[PATH_MAX];
    bool was;
    long fd;

    (void)pthread_mutex_lock (&lock);
    was = faccessat (dirfd, path, F_OK, 0) == 0;
    fd = next (SYS_openat2, dirfd, path, how, size);
    (void)opened ((int)fd, resolve (dirfd, path, full), (int)how->flags, was);
    (void)pthread_mutex_unlock (&lock);
    return fd;
}

long syscall (long number, ...)
{
    NEXT (long, "syscall", long, ...);
    va_list args;
    long a[6];

    va_start (args, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg (args, long);
    va_end (args);
    if (number == SYS_openat2)
        return open_how (next, (int)a[0], (const char *)a[1],
                         (struct open_how *)a[2], (size_t)a[3]);
    return next (number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

static int pair (enum power_op op, int rc, const char *from, const char *to)
{
    if (rc == 0 && below (to))
        note (op, -1, 0, from, to, NULL, 0);
    return rc;
}

static int single (enum power_op op, int rc, const char *path)
{
    if (rc == 0 && below (path))
        note (op, -1, 0, path, NULL, NULL, 0);
    return rc;
}

#define LOCKED(expression) \
    int rc; \
    (void)pthread_mutex_lock (&lock); \
    rc = expression; \
    (void)pthread_mutex_unlock (&lock); \
    return rc

int rename (const char *from, const char *to)
{
    NEXT (int, "rename", const char *, const char *);
    char x[PATH_MAX], y[PATH_MAX];
    const char *p = resolve (AT_FDCWD, from, x);
    const char *q = resolve (AT_FDCWD, to, y);
    LOCKED (pair (POWER_RENAME, next (from, to), p, q));
}

int renameat (int a, const char *from, int b, const char *to)
{
    NEXT (int, "renameat", int, const char *, int, const char *);
    char x[PATH_MAX], y[PATH_MAX];
    const char *p = resolve (a, from, x), *q = resolve (b, to, y);
    LOCKED (pair (POWER_RENAME, next (a, from, b, to), p, q));
}

int link (const char *from, const char *to)
{
    NEXT (int, "link", const char *, const char *);
    LOCKED (pair (POWER_LINK, next (from, to), from, to));
}

int linkat (int a, const char *from, int b, const char *to, int flags)
{
    NEXT (int, "linkat", int, const char *, int, const char *, int);
    char x[PATH_MAX], y[PATH_MAX];
    const char *p = resolve (a, from, x), *q = resolve (b, to, y);
    LOCKED (pair (POWER_LINK, next (a, from, b, to, flags), p, q));
}

int unlink (const char *path)
{
    NEXT (int, "unlink", const char *);
    char x[PATH_MAX];
    const char *p = resolve (AT_FDCWD, path, x);
    LOCKED (single (POWER_UNLINK, next (path), p));
}

int rmdir (const char *path)
{
    NEXT (int, "rmdir", const char *);
    LOCKED (single (POWER_RMDIR, next (path), path));
}

int unlinkat (int dirfd, const char *path, int flags)
{
    NEXT (int, "unlinkat", int, const char *, int);
    char x[PATH_MAX];
    const char *p = resolve (dirfd, path, x);
    LOCKED (single (flags & AT_REMOVEDIR ? POWER_RMDIR : POWER_UNLINK,
                    next (dirfd, path, flags), p));
}

int mkdir (const char *path, mode_t mode)
{
    NEXT (int, "mkdir", const char *, mode_t);
    LOCKED (single (POWER_MKDIR, next (path, mode), path));
}

int mkdirat (int dirfd, const char *path, mode_t mode)
{
    NEXT (int, "mkdirat", int, const char *, mode_t);
    char x[PATH_MAX];
    const char *p = resolve (dirfd, path, x);
    LOCKED (single (POWER_MKDIR, next (dirfd, path, mode), p));
}

/* ---- bytes ---- */

static ssize_t wrote (int fd, ssize_t n, const void *data, off_t at)
{
    if (n > 0)
        note (POWER_WRITE, fd, (uint64_t)at, NULL, NULL, data, (size_t)n);
    return n;
}

ssize_t write (int fd, const void *data, size_t size)
{
    NEXT (ssize_t, "write", int, const void *, size_t);
    ssize_t n;

    if (!is_noted (fd))
        return next (fd, data, size);
    (void)pthread_mutex_lock (&lock);
    n = next (fd, data, size);  // also when appending: behind it is the end
    n = wrote (fd, n, data, lseek (fd, 0, SEEK_CUR) - n);
    (void)pthread_mutex_unlock (&lock);
    return n;
}

#define PWRITE(name) \
    ssize_t name (int fd, const void *data, size_t size, off_t at) \
    { \
        NEXT (ssize_t, #name, int, const void *, size_t, off_t); \
        ssize_t n; \
        if (!is_noted (fd)) \
            return next (fd, data, size, at); \
        (void)pthread_mutex_lock (&lock); \
        n = wrote (fd, next (fd, data, size, at), data, at); \
        (void)pthread_mutex_unlock (&lock); \
        return n; \
    }

PWRITE (pwrite)
PWRITE (pwrite64)

#define ON_FD(name, op, type, argument, offset) \
    int name type \
    { \
        static int (*next) type; \
        int rc; \
        if (!next) { \
            void *symbol = dlsym (RTLD_NEXT, #name); \
            memcpy (&next, &symbol, sizeof (next)); \
        } \
        (void)pthread_mutex_lock (&lock); \
        rc = next argument; \
        if (rc == 0 && is_noted (fd)) \
            note (op, fd, (uint64_t)(offset), NULL, NULL, NULL, 0); \
        (void)pthread_mutex_unlock (&lock); \
        return rc; \
    }

ON_FD (ftruncate, POWER_TRUNCATE, (int fd, off_t size), (fd, size), size)
ON_FD (ftruncate64, POWER_TRUNCATE, (int fd, off_t size), (fd, size), size)
ON_FD (fsync, POWER_SYNC, (int fd), (fd), 0)
ON_FD (fdatasync, POWER_SYNC, (int fd), (fd), 0)
ON_FD (syncfs, POWER_SYNC_ALL, (int fd), (fd), 0)

int close (int fd)
{
    NEXT (int, "close", int);
    int rc;

    (void)pthread_mutex_lock (&lock);
    if (fd >= 0 && fd < FDS_MAX)
        noted[fd] = false;
    rc = next (fd);
    (void)pthread_mutex_unlock (&lock);
    return rc;
}

/* ---- promises ---- */

/* libzmq's; the first frame of an ACK: u16 version, u16 35, u64 item, and the
 * two of the mark.
 */
int zmq_send (void *socket, const void *data, size_t size, int flags);
int zmq_send (void *socket, const void *data, size_t size, int flags)
{
    NEXT (int, "zmq_send", void *, const void *, size_t, int);
    const uint8_t *b = data;
    uint64_t item;

    if (size == 28 && b[2] == 35 && b[3] == 0) {
        memcpy (&item, b + 4, sizeof (item));
        (void)pthread_mutex_lock (&lock);
        note (POWER_ACK, -1, item, NULL, NULL, NULL, 0);
        (void)pthread_mutex_unlock (&lock);
    }
    return next (socket, data, size, flags);
}
