/* aggregator/export/outfile.c - write a file that a user has named */
#include "export/outfile.h"

#include "store/deflate.h"
#include "store/fileio.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BUFFER_SIZE 65536

static const char *shown (const char *path)
{
    return strcmp (path, "-") == 0 ? "to standard output" : path;
}

static bool is_gzip_name (const char *path)
{
    size_t n = strlen (path);

    return n > 3 && strcmp (path + n - 3, ".gz") == 0;
}

static bool is_cancelled (const struct outfile *o)
{
    return o->cancel && atomic_load (o->cancel);
}

/* Write the stream's data; errors are reported by errno. */
static ssize_t outfile_take (void *arg, const char *data, size_t size)
{
    struct outfile *o = arg;
    int rc = is_cancelled (o) ? -EINTR
             : o->z ? deflate_write (o->z, data, size)
                    : fileio_write_all (o->fd, data, size);

    if (rc == 0)
        return (ssize_t)size;
    o->failed = rc;
    return 0;
}

bool outfile_is_replaced (const char *path)
{
    struct stat st;

    return strcmp (path, "-") != 0 &&
           (stat (path, &st) < 0 || S_ISREG (st.st_mode));
}

int outfile_open_special (const char *path)
{
    int fd = open (path, O_WRONLY | O_CLOEXEC);
    struct stat st;

    if (fd < 0)
        return -errno;
    if (fstat (fd, &st) == 0 && !S_ISREG (st.st_mode))
        return fd;
    (void)close (fd);
    return -EEXIST;
}

static int open_temp (struct outfile *o)
{
    if (snprintf (o->temp, sizeof (o->temp), "%s.%ld.tmp", o->name,
                  (long)getpid ()) >= (int)sizeof (o->temp))
        return -ENAMETOOLONG;
    o->fd = tree_openat (o->dir.fd, o->temp, O_WRONLY | O_CREAT | O_EXCL,
                         FILEIO_FILE_MODE, false);
    if (o->fd < 0)
        o->temp[0] = '\0';
    return o->fd < 0 ? o->fd : 0;
}

/* Resolve the user's path to a directory, which is kept open from now on. */
static int open_dir (struct outfile *o, bool foreign, struct err *err)
{
    const char *slash = strrchr (o->path, '/');
    char dir[PATH_MAX];
    int rc;

    o->name = slash ? slash + 1 : o->path;
    PRINT (dir, "%.*s", slash ? (int)(slash - o->path) + (slash == o->path) : 1,
           slash ? o->path : ".");
    rc = tree_open (&o->dir, dir, NULL);
    if (rc == -ENOENT)
        return err_set (err, ENOENT, "cannot write %s: there is no directory "
                        "%s", o->path, dir);
    if (rc < 0)
        return err_sys (err, -rc, "cannot write %s", o->path);
    return tree_check_owner (&o->dir, foreign, err);
}

/* Finish opening; 'rc' is the result of opening o->fd. */
static int open_stream (struct outfile *o, int rc, struct err *err)
{
    static const cookie_io_functions_t io = { .write = outfile_take };

    if (rc == 0 && is_gzip_name (o->path) && !(o->z = deflate_create (o->fd)))
        rc = -ENOMEM;
    if (rc == 0 && !(o->f = fopencookie (o, "w", io)))
        rc = -ENOMEM;
    if (rc == 0 && setvbuf (o->f, NULL, _IOFBF, BUFFER_SIZE) != 0)
        rc = -ENOMEM;
    if (rc < 0)
        (void)outfile_close (o, false, NULL);
    return rc < 0 ? err_sys (err, -rc, "cannot write %s", o->path) : 0;
}

static int outfile_begin (struct outfile *o, const char *path,
                          const atomic_bool *cancel, struct err *err)
{
    memset (o, 0, sizeof (*o));
    o->fd = -1;
    o->cancel = cancel;
    return snprintf (o->path, sizeof (o->path), "%s", path) >=
                   (int)sizeof (o->path)
               ? err_set (err, ENAMETOOLONG, "path is too long: %s", path) : 0;
}

int outfile_open (struct outfile *o, const char *path, bool foreign,
                  const atomic_bool *cancel, struct err *err)
{
    int rc = outfile_begin (o, path, cancel, err);

    if (rc < 0)
        return rc;
    if (strcmp (path, "-") == 0) {
        o->fd = STDOUT_FILENO;
    } else if (!outfile_is_replaced (path)) {
        o->fd = outfile_open_special (path);
        rc = o->fd < 0 ? o->fd : 0;
    } else if ((rc = open_dir (o, foreign, err)) == 0) {
        rc = open_temp (o);
    } else {
        tree_close (&o->dir);
        return rc;
    }
    return open_stream (o, rc, err);
}

int outfile_open_in (struct outfile *o, const struct tree *dir,
                     const char *name, const atomic_bool *cancel,
                     struct err *err)
{
    char path[PATH_MAX];
    int rc;

    if (!fileio_join (path, sizeof (path), dir->path, name))
        return err_set (err, ENAMETOOLONG, "path is too long: %s", dir->path);
    if ((rc = outfile_begin (o, path, cancel, err)) < 0)
        return rc;
    o->name = strrchr (o->path, '/') + 1;
    if ((rc = tree_open_in (&o->dir, dir, ".", 0, NULL, err)) < 0)
        return rc;
    return open_stream (o, open_temp (o), err);
}

int outfile_close (struct outfile *o, bool good, struct err *err)
{
    int rc = 0;

    if (o->f && (ferror (o->f) | fclose (o->f)) != 0)
        rc = o->failed ? o->failed : -EIO;
    if (o->z && rc == 0 && good)
        rc = deflate_finish (o->z);
    deflate_destroy (o->z);
    if (o->fd > STDERR_FILENO && close (o->fd) < 0 && rc == 0)
        rc = -errno;
    if (o->temp[0] && rc == 0 && is_cancelled (o))
        rc = -EINTR;
    if (o->temp[0] && good && rc == 0 &&
        renameat (o->dir.fd, o->temp, o->dir.fd, o->name) < 0)
        rc = -errno;
    if (o->temp[0] && (!good || rc < 0))
        (void)unlinkat (o->dir.fd, o->temp, 0);
    o->temp[0] = '\0';
    tree_close (&o->dir);
    o->f = NULL;
    o->z = NULL;
    o->fd = -1;
    return rc < 0 ? err_sys (err, -rc, "cannot write %s", shown (o->path)) : 0;
}
