/* aggregator/interchange/backup_segments.c - segments of a backup: what is new of
 * them is copied, linked, or comes from an object store
 */
#include "interchange/backup_private.h"

#include "base/vec.h"
#include "store/fileio.h"
#include "store/object_mark.h"
#include "store/record.h"
#include "store/segment.h"
#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define COPY_BYTES (8u << 20)   // at once, between two looks whether to go on
#define EDGE_BYTES 4096         // that are compared at both ends of a segment

/* ---- copies ---- */

static int copy_some (int in, int out, uint64_t at, size_t n, void *block)
{
    loff_t from = (loff_t)at, to = (loff_t)at;
    ssize_t done = copy_file_range (in, &from, out, &to, n, 0);
    int rc;

    if (done == (ssize_t)n)
        return 0;
    rc = fileio_pread_all (in, block, n, (off_t)at);
    return rc < 0 ? rc : fileio_pwrite_all (out, block, n, (off_t)at);
}

static int copy_all (int in, int out, uint64_t at, uint64_t end,
                     const atomic_bool *cancel)
{
    void *block = malloc (COPY_BYTES);
    int rc = block ? 0 : -ENOMEM;

    // behind the former end may be what an interrupted backup has left
    if (rc == 0 && ftruncate (out, (off_t)at) < 0)
        rc = -errno;
    while (rc == 0 && at < end) {
        size_t n = end - at < COPY_BYTES ? (size_t)(end - at) : COPY_BYTES;

        if (cancel && atomic_load (cancel))
            rc = -EINTR;
        else
            rc = copy_some (in, out, at, n, block);
        at += n;
    }
    free (block);
    return rc < 0 ? rc : fdatasync (out) < 0 ? -errno : 0;
}

int backup_copy_segment (const char *from, const char *to, uint64_t at,
                         uint64_t end, const atomic_bool *cancel,
                         struct err *err)
{
    int in = open (from, O_RDONLY | O_CLOEXEC | O_NOFOLLOW), out, rc;

    if (in < 0)
        return err_sys (err, errno, "cannot open %s", from);
    out = open (to, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW,
                FILEIO_FILE_MODE);
    rc = out < 0 ? -errno : copy_all (in, out, at, end, cancel);
    rc = fileio_close_written (out, rc);
    (void)close (in);
    return rc == -ENODATA
               ? err_set (err, EBADMSG, "%s is cut short", from)
           : rc < 0 ? err_sys (err, -rc, "cannot copy %s to %s", from, to) : 0;
}

/* ---- what is only in an object store ---- */

static int fail_read (struct backup *b, int rc, int64_t n)
{
    if (rc == -EREMOTEIO)
        segments_why (b->segments, b->err);
    else if (rc < 0)
        (void)err_sys (b->err, -rc, "cannot copy segment %" PRId64, n);
    return rc;
}

static bool is_evicted (const struct backup *b, int64_t n)
{
    struct object_mark m;

    return object_mark_read (b->root, n, &m, NULL) == 0 && m.evicted;
}

static int copy_read (struct backup *b, struct segment *f, int out,
                      uint64_t end)
{
    void *block = malloc (COPY_BYTES);
    int rc = block ? 0 : -ENOMEM;

    for (uint64_t at = 0; rc == 0 && at < end; at += COPY_BYTES) {
        size_t n = end - at < COPY_BYTES ? (size_t)(end - at) : COPY_BYTES;

        if (b->how->cancel && atomic_load (b->how->cancel))
            rc = -EINTR;
        if (rc == 0 && (rc = segment_read (f, block, n, at)) == 0)
            rc = fileio_pwrite_all (out, block, n, (off_t)at);
    }
    free (block);
    return rc;
}

/* What is damaged here is in a backup as it is; what came has to be right. */
static int look_at_fetched (void *arg, const struct record *r, int bad,
                            const struct ledger_place *gap)
{
    const struct ledger_place *p = r ? &r->place : gap;

    return (!r || bad < 0) && segment_is_far (arg, p->stored, p->offset)
               ? -EBADMSG : 0;
}

static int check_fetched (struct backup *b, struct segment *f, const char *path,
                          uint64_t end)
{
    struct segment copy = { .number = f->number,
                            .fd = open (path, O_RDONLY | O_CLOEXEC) };
    int rc = copy.fd < 0 ? err_sys (b->err, errno, "cannot read %s", path)
                         : record_scan (&copy, 0, end, true, look_at_fetched,
                                        f, b->err);

    fileio_close (copy.fd);
    return rc == -EBADMSG ? err_set (b->err, EBADMSG, "segment %" PRId64 " is "
                                     "damaged in the object store", f->number)
                          : rc;
}

/* A backup has all bytes: those that are not here come from the store. */
static int fetch_segment (struct backup *b, int64_t n, const char *to,
                          uint64_t end)
{
    char fresh[PATH_MAX];
    struct segment f;
    int out, rc = segment_open (b->segments, n, &f, b->err);

    if (rc < 0)
        return rc;
    PRINT (fresh, "%.4000s/" NEW_FILE, b->dir);
    out = open (fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW,
                FILEIO_FILE_MODE);
    rc = out < 0 ? -errno : copy_read (b, &f, out, end);
    if (rc == 0 && fdatasync (out) < 0)
        rc = -errno;
    rc = fileio_close_written (out, rc);
    rc = rc < 0 ? fail_read (b, rc, n) : check_fetched (b, &f, fresh, end);
    segment_close (&f);
    return rc < 0 ? rc : fileio_rename (fresh, to, b->err);
}

/* ---- what is there, and what is wanted ---- */

/* Whether a segment and a file have the same bytes at both ends of [0, size): 1,
 * 0.
 */
static int same_edges (struct backup *b, int64_t n, const char *to,
                       uint64_t size)
{
    uint8_t x[EDGE_BYTES], y[EDGE_BYTES];
    size_t some = size < EDGE_BYTES ? (size_t)size : EDGE_BYTES;
    int fd = open (to, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    struct segment f;
    int rc = segment_open (b->segments, n, &f, b->err);
    bool same = true;

    for (int i = 0; i < 2 && rc == 0 && same; i++) {
        uint64_t at = i == 0 ? 0 : size - some;

        rc = segment_read (&f, x, some, at);
        if (rc == 0)
            rc = fileio_pread_all (fd, y, some, (off_t)at);
        same = rc == 0 && memcmp (x, y, some) == 0;
    }
    fileio_close (fd);
    segment_close (&f);
    return rc < 0 ? fail_read (b, rc, n) : same;
}

static void segment_path (const char *root, int64_t n, char path[PATH_MAX])
{
    store_segment_path (root, n, path);
}

int backup_note_extent (void *arg, int64_t segment, uint64_t end)
{
    const struct extent e = { segment, end };
    struct extents *x = arg;

    return vec_push (&x->list, &x->n, &e, sizeof (e));
}

/* Whether a segment belongs to these, and how far. */
static bool find_extent (const struct extents *x, int64_t segment,
                         uint64_t *end)
{
    size_t i = 0;

    while (i < x->n && x->list[i].segment != segment)
        i++;
    if (end)
        *end = i < x->n ? x->list[i].end : 0;
    return i < x->n;
}

/* What is there already must be of this root: 0, with the bytes that stay; 1: it
 * is linked, and a copy is wanted.
 */
static int look_at_copy (struct backup *b, int64_t n, const char *from,
                         const char *to, uint64_t end, uint64_t *at)
{
    struct stat st, original;
    uint64_t former;
    int same;

    (void)find_extent (&b->former, n, &former);
    *at = 0;
    if (lstat (to, &st) < 0)
        return errno == ENOENT ? 0 : err_sys (b->err, errno, "cannot stat %s",
                                              to);
    if (stat (from, &original) < 0)
        return err_sys (b->err, errno, "cannot open %s", from);
    if ((uint64_t)st.st_size >= former)
        *at = former < end ? former : end;
    if (st.st_dev == original.st_dev && st.st_ino == original.st_ino) {
        *at = b->how->copy ? 0 : end;
        return b->how->copy;
    }
    if ((same = same_edges (b, n, to, *at)) < 0)
        return same;
    return same ? 0 : err_set (b->err, EEXIST, "%s is of another root: choose "
                               "another directory", to);
}

/* The link stays until there is a copy. */
static int replace_link (struct backup *b, const char *from, const char *to,
                         uint64_t end)
{
    char fresh[PATH_MAX];
    int rc;

    PRINT (fresh, "%.4000s/" NEW_FILE, b->dir);
    b->sums->copied += end;
    rc = backup_copy_segment (from, fresh, 0, end, b->how->cancel, b->err);
    return rc < 0 ? rc : fileio_rename (fresh, to, b->err);
}

static int copy_or_link (struct backup *b, int64_t n, const char *from,
                         const char *to, uint64_t end)
{
    uint64_t at;
    int rc;

    if ((rc = look_at_copy (b, n, from, to, end, &at)) < 0 ||
        (at == end && end > 0))
        return rc;
    if (rc == 1)
        return replace_link (b, from, to, end);
    // what the former backup has stays until it is replaced
    if (at == 0 && !find_extent (&b->former, n, NULL) &&
        unlink (to) < 0 && errno != ENOENT)
        return err_sys (b->err, errno, "cannot replace %s", to);
    if (at == 0 && !b->how->copy && n != b->last && link (from, to) == 0) {
        b->sums->linked += end;
        return 0;
    }
    b->sums->copied += end - at;
    return backup_copy_segment (from, to, at, end, b->how->cancel, b->err);
}

static bool is_link (const char *from, const char *to)
{
    struct stat a, b;

    return stat (from, &a) == 0 && lstat (to, &b) == 0 &&
           a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* Bytes may be let go before they are copied, or meanwhile: then its mark says
 * so.  A link may be of a backup that could not fetch them.
 */
int backup_save_segment (void *arg, int64_t n, uint64_t end)
{
    struct backup *b = arg;
    char from[PATH_MAX], to[PATH_MAX];
    uint64_t linked = b->sums->linked, copied = b->sums->copied;
    int rc;

    segment_path (b->root, n, from);
    segment_path (b->dir, n, to);
    b->sums->segments++;
    b->sums->bytes += end;
    rc = copy_or_link (b, n, from, to, end);
    if (rc < 0 || (b->sums->linked == linked && b->sums->copied == copied &&
                   !is_link (from, to)) || !is_evicted (b, n))
        return rc;
    b->sums->linked = linked;
    b->sums->copied = copied + end;
    return fetch_segment (b, n, to, end);
}

/* The number in the name of a segment; 0: it is none. */
static int64_t segment_number (const char *name)
{
    size_t digits = strspn (name, "0123456789");

    return digits >= 8 && digits < 16 && !name[digits]
               ? strtoll (name, NULL, 10) : 0;
}

/* Remove segments that the ledger has no more. */
void backup_drop_unwanted (const struct backup *b, struct ledger *l)
{
    struct extents wanted = { NULL, 0 };
    char path[PATH_MAX];
    struct dirent *e;
    int listed = 0;
    DIR *dir;

    PRINT (path, "%s/segments", b->dir);
    dir = ledger_each_segment (l, backup_note_extent, &wanted, NULL) == 0
              ? opendir (path) : NULL;
    while (dir && (e = fileio_next_entry (dir, &listed))) {
        int64_t n = segment_number (e->d_name);

        if (n > 0 && !find_extent (&wanted, n, NULL))
            (void)unlinkat (dirfd (dir), e->d_name, 0);
    }
    fileio_close_dir (dir);
    free (wanted.list);
}
