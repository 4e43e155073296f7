/* node_agent/extract/input/capture_file.c - read a file of a capture in one
 * pass
 *
 * This folder: reading files of a capture: CSV, databases, the JSON of traces.
 */
#include "extract/input/capture_file.h"

#include "base/units.h"
#include "store/fileio.h"
#include "store/inflate.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

enum reading capture_file_open (struct capture_file *w,
                                const struct source *src,
                                int dir, const char *name, struct err *err)
{
    *w = (struct capture_file){ .dir = dir, .name = name, .src = src,
                               .fd = -1 };
    if (dir < 0)
        return READING_ABSENT;
    w->fd = fileio_open_at (dir, name, err);
    if (w->fd == -ENOENT)
        return READING_ABSENT;
    source_transient_error (src, w->fd);
    if (w->fd < 0)
        return READING_DAMAGED;
    if (fstat (w->fd, &w->st) < 0) {
        err_sys (err, errno, "cannot stat %s", name);
    } else if (w->st.st_size == 0) {
        err_set (err, EBADMSG, "%s is empty", name);
    } else {
        if (w->st.st_uid != src->capture->owner)
            src->capture->many_owners = true;
        (void)posix_fadvise (w->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
        return READING_WHOLE;
    }
    capture_file_close (w);
    return READING_DAMAGED;
}

ssize_t capture_file_read (void *arg, void *buf, size_t size)
{
    struct capture_file *w = arg;
    ssize_t n = w->gz ? inflate_read (w->gz, buf, size)
                      : scan_read_fd (&w->fd, buf, size);

    if (n < 0)
        source_transient_error (w->src, (int)n);
    return n;
}

static bool same (const struct stat *a, const struct stat *b)
{
    return a->st_ino == b->st_ino && a->st_dev == b->st_dev &&
           a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
           a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* Whether it is no longer the file that was opened. */
static bool capture_file_changed (const struct capture_file *w)
{
    struct stat st;

    return fstat (w->fd, &st) < 0 || !same (&st, &w->st) ||
           fstatat (w->dir, w->name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
           !same (&st, &w->st);
}

enum reading capture_file_verdict (struct capture_file *w, const struct scan *s,
                                   struct err *err)
{
    if (w->src->stopped)
        return READING_STOPPED;
    if (capture_file_changed (w)) {
        err_set (err, EBADMSG, "%s changed while it was read", w->name);
        return READING_DAMAGED;
    }
    if (s && s->failed) {
        err_set (err, EBADMSG, "%s: %s", w->name, s->err.text);
        return READING_DAMAGED;
    }
    if (s && s->bad_utf8 > 0) {
        err_set (err, EBADMSG,
                 "%s: byte %llu: not valid UTF-8 (%llu byte%s stored as "
                 "U+FFFD)", w->name, (unsigned long long)s->bad_utf8_at,
                 (unsigned long long)s->bad_utf8, units_s (s->bad_utf8));
        return READING_DAMAGED;
    }
    return READING_WHOLE;
}

void capture_file_close (struct capture_file *w)
{
    if (w->fd >= 0)
        (void)close (w->fd);
    w->fd = -1;
}
