/* cli/interchange/archive_add_read.c - the contents of a capture: its raw files,
 * and its rows
 */
#include "archive_add_private.h"

#include "model/beside.h"
#include "model/shipment.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- raw files ---- */

/* Where a raw file is, relative to the directory above its capture. */
static bool path_from_parent (const struct add_capture *c, const char *path,
                              char out[PATH_MAX])
{
    bool beside = beside_size (c->name, path) > 0;
    struct stat st;
    int n;

    if (!beside && strcmp (path, c->name) == 0 &&
        fstatat (c->parent, c->name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISREG (st.st_mode))
        beside = true;          // a capture that is one file
    n = snprintf (out, PATH_MAX, "%s%s%s", beside ? "" : c->name,
                  beside ? "" : "/", path);
    return n > 0 && n < PATH_MAX;
}

static bool is_same (const struct stat *a, const struct stat *b)
{
    return a->st_ino == b->st_ino && a->st_dev == b->st_dev &&
           a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
           a->st_mtim.tv_nsec == b->st_mtim.tv_nsec &&
           a->st_ctim.tv_sec == b->st_ctim.tv_sec &&
           a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

int add_read_file (struct add_group *g, struct add_file *f,
                   struct content_writer *w, struct err *err)
{
    const struct add_capture *c = &g->captures[f->capture];
    char path[PATH_MAX];
    struct stat st;
    int fd, rc;

    if (f->rc < 0)
        return 0;
    fd = path_from_parent (c, f->path, path)
             ? tree_openat (c->parent, path, O_RDONLY | O_NONBLOCK | O_NOCTTY,
                            0, false) : -ENAMETOOLONG;
    if (fd < 0) {
        f->rc = fd;
        return 0;
    }
    rc = fstat (fd, &st) < 0 ? -errno : 0;
    if (rc == 0 && !is_same (&st, &f->st))
        f->rc = -EAGAIN;
    else if (rc == 0 && (uint64_t)st.st_size > CONTENT_SIZE_MAX)
        f->rc = -EFBIG;
    else if (rc == 0)
        rc = content_writer_put (w, fd, (uint64_t)st.st_size, true,
                                 &f->content, &f->rc, err);
    if (rc == 0 && f->rc == 0 &&
        (fstat (fd, &st) < 0 || !is_same (&st, &f->st)))
        f->rc = -EAGAIN;
    (void)close (fd);
    return rc;
}

/* ---- rows ---- */

/* Who wrote it, for the facts of its job. */
static void sign (const struct add_capture *c, struct evidence *e)
{
    struct passwd user, *found = NULL;
    char text[1024];
    struct stat st;

    if (lstat (c->held, &st) == 0 &&
        getpwuid_r (st.st_uid, &user, text, sizeof (text), &found) == 0 &&
        found && evidence_about (e))
        PRINT (e->about->user, "%s", found->pw_name);
    if (*c->job)
        PRINT (e->job, "%s", c->job);
}

static int write_rows (struct add_capture *c, int fd, uint64_t *size,
                       struct err *err)
{
    struct shipment_writer *w = shipment_writer_create (fd);
    struct capture capture;
    int rc;

    if (!w)
        return err_set (err, ENOMEM, "no memory for rows");
    capture_init (&capture);
    rc = extract_capture (c->held, NULL, shipment_sink (w), &capture, err);
    sign (c, &capture.evidence);
    recall_fill (&c->recalled, &capture);
    if (rc == 0 && capture.transient_error) {
        c->failed = true;
        (void)err_set (&c->why, EIO, "%s", capture.reason[0]
                           ? capture.reason : "it cannot be read now");
    }
    c->rank = capture.rank == CAPTURE_NO_RANK ? -1 : capture.rank;
    PRINT (c->capture_name, "%s", capture.name);
    PRINT (c->host, "%s", *capture.host ? capture.host : c->recalled.host);
    if (rc == 0)
        rc = shipment_finish (w, &capture, size, err);
    capture_fini (&capture);
    shipment_writer_destroy (w);
    return rc;
}

int add_read_rows (struct add_capture *c, struct content_writer *w,
                   struct err *err)
{
    uint64_t size = 0;
    int fd = content_temp (NULL, err), rc, bad = 0;

    if (fd < 0)
        return fd;
    rc = write_rows (c, fd, &size, err);
    if (rc == 0 && !c->failed)
        rc = content_writer_put (w, fd, size, false, &c->rows, &bad, err);
    if (rc == 0 && bad < 0)
        rc = err_sys (err, -bad, "cannot read rows that were just written");
    (void)close (fd);
    return rc;
}
