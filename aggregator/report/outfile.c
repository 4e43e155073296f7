/* aggregator/report/outfile.c - a file that a user has named, as a stream */
#include "report/outfile.h"

#include "base/deflate.h"
#include "base/fileio.h"

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

/* What the stream writes; a failure is told by errno. */
static ssize_t take (void *arg, const char *data, size_t size)
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

static int open_temp (struct outfile *o, struct err *err)
{
    if (!outfile_is_replaced (o->path)) {
        o->temp[0] = '\0';
        o->fd = open (o->path, O_WRONLY | O_CLOEXEC);
    } else {
        if (snprintf (o->temp, sizeof (o->temp), "%s.%ld.tmp", o->path,
                      (long)getpid ()) >= (int)sizeof (o->temp))
            return err_set (err, ENAMETOOLONG, "path is too long: %s",
                            o->path);
        o->fd = open (o->temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                      FILEIO_FILE_MODE);
    }
    return o->fd < 0 ? err_sys (err, errno, "cannot write %s", o->path) : 0;
}

int outfile_open (struct outfile *o, const char *path,
                  const atomic_bool *cancel, struct err *err)
{
    static const cookie_io_functions_t io = { .write = take };
    int rc = 0;

    memset (o, 0, sizeof (*o));
    o->fd = -1;
    o->cancel = cancel;
    if (snprintf (o->path, sizeof (o->path), "%s", path) >=
        (int)sizeof (o->path))
        return err_set (err, ENAMETOOLONG, "path is too long: %s", path);
    if (strcmp (path, "-") == 0)
        o->fd = STDOUT_FILENO;
    else if ((rc = open_temp (o, err)) < 0)
        return rc;
    if (is_gzip_name (path) && !(o->z = deflate_create (o->fd)))
        rc = -ENOMEM;
    if (rc == 0 && !(o->f = fopencookie (o, "w", io)))
        rc = -ENOMEM;
    if (rc == 0 && setvbuf (o->f, NULL, _IOFBF, BUFFER_SIZE) != 0)
        rc = -ENOMEM;
    if (rc < 0) {
        (void)outfile_close (o, false, NULL);
        return err_set (err, ENOMEM, "no memory to write %s", path);
    }
    return 0;
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
    if (o->temp[0] && good && rc == 0 && rename (o->temp, o->path) < 0)
        rc = -errno;
    if (o->temp[0] && (!good || rc < 0))
        (void)unlink (o->temp);
    o->f = NULL;
    o->z = NULL;
    o->fd = -1;
    return rc < 0 ? err_sys (err, -rc, "cannot write %s", shown (o->path)) : 0;
}
