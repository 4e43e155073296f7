/* common/store/fileio.c - read, replace and remove files */
#include "store/fileio.h"

#include "base/utf8.h"
#include "store/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/vfs.h>
#include <unistd.h>

#define TEMP ".tmp."            // follows the name; then the pid of the writer
#define TEMPS 64                // names of a process, as others may remove them

enum fileio_trouble fileio_trouble (int rc)
{
    switch (rc) {
    case -EMFILE:
    case -ENFILE:
    case -ENOMEM:
        return FILEIO_SHORTAGE;
    case -EIO:
    case -ESTALE:
    case -ETIMEDOUT:
        return FILEIO_DISK;
    default:
        return FILEIO_LASTING;
    }
}

static int not_regular (const char *name, mode_t mode, struct err *err)
{
    return err_set (err, EINVAL, "%s is not a regular file but a %s: remove "
                    "it, or put the file in its place", name,
                    S_ISSOCK (mode)   ? "socket"
                    : S_ISFIFO (mode) ? "pipe"
                    : S_ISDIR (mode)  ? "directory"
                                      : "device");
}

int fileio_open_at (int dirfd, const char *name, struct err *err)
{
    int fd = openat (dirfd, name,
                     O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    struct stat st;
    int rc;

    if (fd < 0) {
        if (errno == ENOENT)
            return -ENOENT;
        if (errno == ELOOP)
            return err_set (err, ELOOP, "%s is a symbolic link, which is not "
                                        "followed", name);
        rc = -errno;            // a socket cannot be opened
        if (rc == -ENXIO && fstatat (dirfd, name, &st, AT_SYMLINK_NOFOLLOW) == 0
            && !S_ISREG (st.st_mode))
            return not_regular (name, st.st_mode, err);
        return err_sys (err, -rc, "cannot open %s", name);
    }
    rc = fstat (fd, &st) < 0 ? err_sys (err, errno, "cannot stat %s", name)
         : S_ISREG (st.st_mode) ? 0 : not_regular (name, st.st_mode, err);
    if (rc == 0)
        return fd;
    (void)close (fd);
    return rc;
}

int fileio_open_dir_at (int dirfd, const char *name, struct err *err)
{
    int fd = openat (dirfd, name,
                     O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_DIRECTORY);

    if (fd < 0)
        return err_sys (err, errno, "cannot open directory %s", name);
    return fd;
}

DIR *fileio_list (int dirfd, const char *name)
{
    int fd = fileio_open_dir_at (dirfd, name, NULL);
    DIR *dir = fd >= 0 ? fdopendir (fd) : NULL;

    if (!dir)
        fileio_close (fd);
    return dir;
}

struct dirent *fileio_next_entry (DIR *dir, int *rc)
{
    struct dirent *e;

    do {
        errno = 0;
        e = readdir (dir);
    } while (e && (strcmp (e->d_name, ".") == 0 ||
                   strcmp (e->d_name, "..") == 0));
    *rc = e ? 0 : -errno;
    return e;
}

int fileio_read_at (int dirfd, const char *name, struct buf *out,
                    struct err *err)
{
    int fd = fileio_open_at (dirfd, name, err);
    int rc = 0;

    if (fd < 0)
        return fd;
    for (;;) {
        size_t room = out->max - out->size;
        uint8_t more[1], *at = more;    // tests for more bytes once 'out' is
                                        // full
        ssize_t n;

        if (room > 65536)
            room = 65536;
        if (room > 0 && !(at = buf_extend (out, room))) {
            rc = err_set (err, ENOMEM, "no memory to read %s", name);
            break;
        }
        n = read (fd, at, room > 0 ? room : sizeof (more));
        if (room > 0)
            out->size -= room - (n > 0 ? (size_t)n : 0);
        if (n == 0)
            break;
        if (n > 0 && room == 0) {
            rc = err_set (err, EFBIG, "%s is larger than %zu bytes", name,
                          out->max);
            break;
        }
        if (n < 0 && errno != EINTR) {
            rc = err_sys (err, errno, "cannot read %s", name);
            break;
        }
    }
    (void)close (fd);
    return rc;
}

int fileio_write_all (int fd, const void *data, size_t size)
{
    const char *at = data;

    while (size > 0) {
        ssize_t n = write (fd, at, size);

        if (n < 0 && errno != EINTR)
            return -errno;
        if (n > 0) {
            at += n;
            size -= (size_t)n;
        }
    }
    return 0;
}

int fileio_write_shown (int fd, const char *text)
{
    char *shown = malloc (UTF8_ESCAPED (strlen (text)));
    int rc = shown ? 0 : -ENOMEM;

    if (shown) {
        (void)utf8_escape (text, UTF8_LINES, shown);
        rc = fileio_write_all (fd, shown, strlen (shown));
    }
    free (shown);
    return rc;
}

int fileio_pwrite_all (int fd, const void *data, size_t size, off_t offset)
{
    const char *at = data;

    while (size > 0) {
        ssize_t n = pwrite (fd, at, size, offset);

        if (n < 0 && errno != EINTR)
            return -errno;
        if (n > 0) {
            at += n;
            offset += n;
            size -= (size_t)n;
        }
    }
    return 0;
}

int fileio_pread_all (int fd, void *data, size_t size, off_t offset)
{
    char *at = data;

    while (size > 0) {
        ssize_t n = pread (fd, at, size, offset);

        if (n == 0)
            return -ENODATA;
        if (n < 0 && errno != EINTR)
            return -errno;
        if (n > 0) {
            at += n;
            offset += n;
            size -= (size_t)n;
        }
    }
    return 0;
}

int fileio_look_for_bytes (int dirfd, const char *name, off_t offset,
                           const void *bytes, size_t n)
{
    int fd = fileio_open_at (dirfd, name, NULL), rc;
    char there[128];

    if (fd < 0)
        return fd == -ENOENT || fd == -ELOOP || fd == -EINVAL ? 0 : fd;
    rc = n > sizeof (there) ? -ENODATA
                            : fileio_pread_all (fd, there, n, offset);
    (void)close (fd);
    return rc == 0 ? memcmp (there, bytes, n) == 0 : rc == -ENODATA ? 0 : rc;
}

bool fileio_has_bytes (int dirfd, const char *name, off_t offset,
                       const void *bytes, size_t n)
{
    return fileio_look_for_bytes (dirfd, name, offset, bytes, n) > 0;
}

void fileio_close (int fd)
{
    if (fd >= 0)
        (void)close (fd);
}

int fileio_close_written (int fd, int rc)
{
    return fd >= 0 && close (fd) < 0 && rc == 0 ? -errno : rc;
}

int fileio_write_file (int fd, const void *data, size_t size, mode_t mode)
{
    int rc = fileio_write_all (fd, data, size);

    if (rc == 0 && (fchmod (fd, mode) < 0 || fsync (fd) < 0))
        rc = -errno;
    return fileio_close_written (fd, rc);
}

void fileio_close_dir (DIR *dir)
{
    if (dir)
        (void)closedir (dir);
}

int fileio_sync_dir (const char *path, struct err *err)
{
    int fd = open (path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int rc = 0;

    if (fd < 0)
        return err_sys (err, errno, "cannot open directory %s", path);
    if (fsync (fd) < 0)
        rc = err_sys (err, errno, "cannot fsync directory %s", path);
    (void)close (fd);
    return rc;
}

static int sync_parent (const char *path, struct err *err)
{
    char dir[PATH_MAX];
    const char *slash = strrchr (path, '/');
    size_t n = slash ? (size_t)(slash - path) : 0;

    if (!slash)
        return fileio_sync_dir (".", err);
    if (n >= sizeof (dir))
        return err_set (err, ENAMETOOLONG, "path is too long: %s", path);
    memcpy (dir, path, n);
    dir[n] = '\0';
    return fileio_sync_dir (n ? dir : "/", err);
}

/* Make the name of a new directory durable: otherwise a power failure could
 * remove it with everything that was fsynced in it.  A parent that we cannot
 * read is not ours, and is ignored.
 */
static int sync_made (const char *path, struct err *err)
{
    int rc = sync_parent (path, err);

    if (rc == -EACCES)
        return 0;
    if (rc < 0)                 // the error is reported once, so the directory
                                // must be created again
        (void)rmdir (path);
    return rc;
}

int fileio_mkdirs (const char *path, mode_t mode, struct err *err)
{
    char part[PATH_MAX];
    size_t n = strlen (path);
    int rc;

    if (n == 0 || n >= sizeof (part))
        return err_set (err, ENAMETOOLONG, "path is too long: %s", path);
    memcpy (part, path, n + 1);
    for (char *p = part + 1; *p; p++) {
        if (*p != '/')
            continue;
        *p = '\0';
        if (mkdir (part, mode) == 0) {
            if ((rc = sync_made (part, err)) < 0)
                return rc;
        } else {
            int saved = errno;  // is not always EEXIST for an existing one

            if (saved != EEXIST && access (part, F_OK) < 0)
                return err_sys (err, saved, "cannot make directory %s", part);
        }
        *p = '/';
    }
    if (mkdir (part, mode) < 0) {
        int saved = errno;
        struct stat st;

        if (stat (part, &st) < 0 || !S_ISDIR (st.st_mode))
            return err_sys (err, saved, "cannot make directory %s", part);
        return 0;
    }
    return sync_made (part, err);
}

int fileio_rename (const char *from, const char *to, struct err *err)
{
    if (rename (from, to) < 0)
        return err_sys (err, errno, "cannot rename %s to %s", from, to);
    return sync_parent (to, err);
}

int fileio_replace (const char *path, const void *data, size_t size,
                    mode_t mode, struct err *err)
{
    char temp[PATH_MAX];
    int n = snprintf (temp, sizeof (temp), "%s" TEMP "%ld", path,
                      (long)getpid ());
    int fd, rc;

    if (n < 0 || (size_t)n >= sizeof (temp))
        return err_set (err, ENAMETOOLONG, "path is too long: %s", path);
    fd = open (temp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW,
               mode);
    if (fd < 0)
        return err_sys (err, errno, "cannot create %s", temp);
    if ((rc = fileio_write_file (fd, data, size, mode)) < 0)
        rc = err_sys (err, -rc, "cannot write %s", temp);
    else
        rc = fileio_rename (temp, path, err);
    if (rc < 0)
        (void)unlink (temp);
    return rc;
}

/* Whether it is called NAME.tmp.DIGITS. */
static bool is_temp (const char *entry, const char *name)
{
    size_t n = strlen (name), t = strlen (TEMP);

    return strncmp (entry, name, n) == 0 &&
           strncmp (entry + n, TEMP, t) == 0 && entry[n + t] &&
           !entry[n + t + strspn (entry + n + t, "0123456789")];
}

/* Whether the open file still has this name. */
static bool is_named (int fd, int dirfd, const char *name)
{
    struct stat held, named;

    return fstat (fd, &held) == 0 &&
           fstatat (dirfd, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
           held.st_dev == named.st_dev && held.st_ino == named.st_ino;
}

void fileio_forget_temps (int dirfd, const char *name)
{
    DIR *dir = fileio_list (dirfd, ".");
    struct dirent *e;
    int rc;

    while (dir && (e = fileio_next_entry (dir, &rc))) {
        int fd = is_temp (e->d_name, name)
                     ? openat (dirfd, e->d_name, O_WRONLY | O_NOFOLLOW |
                               O_NONBLOCK | O_CLOEXEC) : -1;

        if (fd >= 0 && flock (fd, LOCK_EX | LOCK_NB) == 0 &&
            is_named (fd, dirfd, e->d_name))
            (void)unlinkat (dirfd, e->d_name, 0);
        fileio_close (fd);
    }
    fileio_close_dir (dir);
}

/* The k-th name of this process: numbers of processes are below 2^22. */
static int create_temp (int dirfd, const char *name, long k,
                        char temp[NAME_MAX + 1])
{
    int fd, n = snprintf (temp, NAME_MAX + 1, "%s" TEMP "%ld", name,
                          (long)getpid () + (k << 22));

    if (n < 0 || n > NAME_MAX)
        return -ENAMETOOLONG;
    fd = tree_openat (dirfd, temp, O_WRONLY | O_CREAT | O_EXCL,
                      FILEIO_FILE_MODE, true);
    if (fd >= 0 && flock (fd, LOCK_EX) == 0 && !is_named (fd, dirfd, temp)) {
        (void)close (fd);       // another process was faster than the lock
        return -EAGAIN;
    }
    return fd;
}

const char *fileio_temp_dir (void)
{
    const char *dir = getenv ("TMPDIR");

    if (dir && *dir)
        return dir;
    return access ("/var/tmp", W_OK) == 0 ? "/var/tmp" : "/tmp";
}

int fileio_create_temp (int dirfd, const char *name, char temp[NAME_MAX + 1])
{
    int fd = -EAGAIN;

    fileio_forget_temps (dirfd, name);
    for (long k = 0; k < TEMPS && (fd == -EAGAIN || fd == -EEXIST); k++)
        fd = create_temp (dirfd, name, k, temp);
    return fd;
}

static int remove_below (int dirfd, unsigned depth)
{
    DIR *dir = fdopendir (dirfd);
    struct dirent *e;
    int rc = 0;

    if (!dir) {
        rc = -errno;
        (void)close (dirfd);
        return rc;
    }
    while (rc == 0 && (e = fileio_next_entry (dir, &rc))) {
        int fd;

        if (unlinkat (dirfd, e->d_name, 0) == 0 || errno == ENOENT)
            continue;
        if (errno != EISDIR && errno != EPERM)
            rc = -errno;
        else if (depth == 0)
            rc = -ELOOP;
        else if ((fd = tree_openat (dirfd, e->d_name, O_RDONLY | O_DIRECTORY,
                                    0, true)) < 0)
            rc = fd;            // -EXDEV: a mounted file system is not ours
        else if ((rc = remove_below (fd, depth - 1)) == 0 &&
                 unlinkat (dirfd, e->d_name, AT_REMOVEDIR) < 0)
            rc = -errno;
    }
    (void)closedir (dir);
    return rc;
}

int fileio_remove_tree (const char *path, struct err *err)
{
    int fd = fileio_open_dir_at (AT_FDCWD, path, NULL);
    int rc;

    if (fd == -ENOENT)
        return 0;
    rc = fd < 0 ? fd : remove_below (fd, 64);
    if (rc == 0 && rmdir (path) < 0)
        rc = -errno;
    return rc < 0 ? err_sys (err, -rc, "cannot remove %s", path) : 0;
}

void fileio_open_std (void)
{
    int fd;

    do {
        fd = open ("/dev/null", O_RDWR);
    } while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd > STDERR_FILENO)
        (void)close (fd);
}

bool fileio_join (char *out, size_t size, const char *dir, const char *name)
{
    int n = snprintf (out, size, "%s/%s", dir, name);

    return n >= 0 && (size_t)n < size;
}

bool fileio_has (const char *dir, const char *name)
{
    char path[PATH_MAX];

    return fileio_join (path, sizeof (path), dir, name) &&
           access (path, F_OK) == 0;
}

bool fileio_is_last_link (const char *path)
{
    struct stat st;

    return lstat (path, &st) == 0 && st.st_nlink == 1;
}

struct fs_kind {
    unsigned long magic;                // from statfs(2) and the file systems'
                                        // sources
    const char *name;
};

static const char *fs_among (const char *path, const struct fs_kind *kinds,
                             size_t n)
{
    struct statfs sf;

    if (statfs (path, &sf) < 0)
        return NULL;
    for (size_t i = 0; i < n; i++) {
        if (((unsigned long)sf.f_type & 0xffffffff) == kinds[i].magic)
            return kinds[i].name;
    }
    return NULL;
}

const char *fileio_remote_fs (const char *path)
{
    static const struct fs_kind kinds[] = {
        { 0x6969, "nfs" },          { 0xff534d42, "cifs" },
        { 0xfe534d42, "smb2" },     { 0x0bd00bd0, "lustre" },
        { 0x47504653, "gpfs" },     { 0x00c36400, "ceph" },
        { 0x65735546, "fuse" },     { 0x19830326, "beegfs" },
        { 0x01021997, "9p" },       { 0x7461636f, "ocfs2" },
        { 0x01161970, "gfs2" },     { 0x5346414f, "afs" },
    };

    return fs_among (path, kinds, sizeof (kinds) / sizeof (kinds[0]));
}

const char *fileio_local_fs (const char *path)
{
    static const struct fs_kind kinds[] = {
        { 0xef53, "ext4" },         { 0x58465342, "xfs" },
        { 0x9123683e, "btrfs" },    { 0x01021994, "tmpfs" },
        { 0x858458f6, "ramfs" },    { 0x794c7630, "overlay" },
        { 0x2fc12fc1, "zfs" },      { 0xf2f52010, "f2fs" },
    };

    return fs_among (path, kinds, sizeof (kinds) / sizeof (kinds[0]));
}
