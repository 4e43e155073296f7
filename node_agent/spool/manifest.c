/* node_agent/spool/manifest.c - which files a capture had when it was sealed
 *
 * A manifest is text, each part followed by a NUL: "DEV INO" of the capture,
 * then for each file its path and "SIZE MTIME INO".  Files are in the order of
 * a walk that sorts the names of each directory, so that two walks can be
 * compared side by side; files beside the capture (model/beside.h) come last.
 */
#include "spool/manifest.h"
#include "spool/manifest_private.h"

#include "base/clock.h"
#include "base/cmp.h"
#include "model/beside.h"
#include "model/job_mark.h"
#include "store/fileio.h"
#include "store/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEPTH_MAX 32            // as deep as raw files are sealed

/* ---- the walk ---- */

static int walk_dir (const struct manifest_walk *w, int fd, const char *prefix,
                     unsigned depth, struct err *err);

/* A directory of the walk; a removal stays on one mount. */
static int open_child (const struct manifest_walk *w, int fd, const char *name,
                       struct err *err)
{
    int child = tree_openat (fd, name, O_RDONLY | O_DIRECTORY, 0,
                             w->one_mount);

    if (child == -EXDEV)
        return err_set (err, EXDEV, "%s is a mount point: nothing in it is "
                        "removed", name);
    return child < 0 ? err_sys (err, -child, "cannot open directory %s", name)
                     : child;
}

static int walk_entry (const struct manifest_walk *w, int fd, const char *name,
                       const char *prefix, unsigned depth, struct err *err)
{
    char path[PATH_MAX];
    struct stat st;
    int n = snprintf (path, sizeof (path), "%s%s%s", prefix,
                      *prefix ? "/" : "", name);
    int child, rc;

    if (n < 0 || (size_t)n >= sizeof (path))
        return err_set (err, ENOTSUP, "a path in it is too long: %.200s",
                        prefix);
    if (fstatat (fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return err_sys (err, errno, "cannot stat %s", path);
    if (w->one_mount && tree_is_mount (fd, name))
        return err_set (err, EXDEV, "%s is a mount point: nothing in it is "
                        "removed", path);
    if (S_ISREG (st.st_mode))
        return w->file (w->state, fd, name, path, &st, err);
    if (!S_ISDIR (st.st_mode) || depth == 0)
        return err_set (err, ENOTSUP, "%s is neither a file nor a directory, "
                        "or too deep", path);
    if ((child = open_child (w, fd, name, err)) < 0)
        return child;
    rc = walk_dir (w, child, path, depth - 1, err);
    if (rc == 0 && fstat (child, &st) < 0)
        rc = err_sys (err, errno, "cannot stat %s", path);
    (void)close (child);
    return rc == 0 && w->leave ? w->leave (w->state, fd, name, &st, err) : rc;
}

static int is_entry (const struct dirent *e)
{
    return strcmp (e->d_name, ".") != 0 && strcmp (e->d_name, "..") != 0;
}

static int by_bytes (const struct dirent **a, const struct dirent **b)
{
    return strcmp ((*a)->d_name, (*b)->d_name);
}

/* Whether names can be removed from a directory. */
static int check_writable (int fd, const char *name, struct err *err)
{
    return faccessat (fd, ".", W_OK | X_OK, AT_EACCESS) < 0
               ? err_sys (err, errno, "cannot remove what is in the directory "
                          "\"%s\"", name)
               : 0;
}

static int walk_dir (const struct manifest_walk *w, int fd, const char *prefix,
                     unsigned depth, struct err *err)
{
    struct dirent **names;
    int rc = w->to_remove ? check_writable (fd, prefix, err) : 0;
    int n = rc < 0 ? 0 : scandirat (fd, ".", &names, is_entry, by_bytes);

    if (rc < 0)
        return rc;
    if (n < 0)
        return err_sys (err, errno, "cannot read the directory \"%s\"",
                        prefix);
    for (int i = 0; i < n; i++) {
        if (rc == 0)
            rc = walk_entry (w, fd, names[i]->d_name, prefix, depth, err);
        free (names[i]);
    }
    free (names);
    return rc;
}

int manifest_walk_in (const struct manifest_walk *w, int fd, struct err *err)
{
    return walk_dir (w, fd, "", DEPTH_MAX, err);
}

mode_t manifest_mode_of (int dirfd, const char *name)
{
    struct stat st;

    return fstatat (dirfd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 ? st.st_mode
                                                                : 0;
}

int manifest_walk_beside (const struct manifest_walk *w, int parent,
                          const char *name, struct err *err)
{
    char path[PATH_MAX];
    int rc = 0;

    for (size_t i = 0; i < BESIDE_MAX && rc == 0; i++) {
        PRINT (path, "%s%s", name, beside_ends[i]);
        if (S_ISDIR (manifest_mode_of (parent, path)))
            rc = walk_entry (w, parent, path, "", DEPTH_MAX, err);
    }
    return rc;
}

/* ---- the capture in its directory ---- */

int manifest_open_parent (const char *path, const char **name, struct err *err)
{
    char parent[PATH_MAX];
    const char *slash = strrchr (path, '/');
    int fd;

    *name = slash ? slash + 1 : path;
    PRINT (parent, "%.*s", slash ? (int)(slash - path) + (slash == path) : 1,
           slash ? path : ".");
    fd = tree_open_real (parent, O_RDONLY | O_DIRECTORY);
    if (fd == -ELOOP)
        return err_set (err, ELOOP, "there is a symbolic link in %s, where "
                        "none was when the capture was found", parent);
    return fd < 0 ? err_sys (err, -fd, "cannot open %s", parent) : fd;
}

int manifest_open_capture (const struct manifest_walk *w, int parent,
                           const char *name, bool one, struct err *err)
{
    int fd = one ? fileio_open_at (parent, name, err)
                 : open_child (w, parent, name, err);

    return fd == -ENOENT ? err_sys (err, ENOENT, "cannot open %s", name) : fd;
}

/* ---- its texts ---- */

void manifest_print_facts (char out[MANIFEST_FACTS_MAX], const struct stat *st)
{
    (void)snprintf (out, MANIFEST_FACTS_MAX, "%" PRId64 " %" PRId64 " %" PRIu64,
                    (int64_t)st->st_size,
                    clock_ns (&st->st_mtim),
                    (uint64_t)st->st_ino);
}

static void print_id (char out[MANIFEST_FACTS_MAX], const struct stat *st)
{
    (void)snprintf (out, MANIFEST_FACTS_MAX, "%" PRIu64 " %" PRIu64,
                    (uint64_t)st->st_dev, (uint64_t)st->st_ino);
}

int manifest_print_root (int fd, char out[MANIFEST_FACTS_MAX], struct err *err)
{
    struct stat st;

    if (fstat (fd, &st) < 0)
        return err_sys (err, errno, "cannot stat the capture");
    print_id (out, &st);
    return 0;
}

const char *manifest_next_text (const char **at, const char *end)
{
    const char *text = *at;
    const char *nul = memchr (text, '\0', (size_t)(end - text));

    if (!nul)
        return NULL;
    *at = nul + 1;
    return text;
}

/* ---- writing it ---- */

struct taking {
    struct manifest_walk walk;
    const char *as;             // the profiler's name for it, if it has another
    struct buf *out;
    size_t files;
};

static int take_file (void *state, int dirfd, const char *name,
                      const char *path, const struct stat *st,
                      struct err *err)
{
    struct taking *t = state;
    char facts[MANIFEST_FACTS_MAX];

    (void)dirfd;
    (void)name;
    if (job_mark_is_ours (path))
        return 0;
    manifest_print_facts (facts, st);
    buf_put (t->out, path, strlen (path) + 1);
    buf_put (t->out, facts, strlen (facts) + 1);
    t->files++;
    return t->out->failed ? err_set (err, EFBIG, "it has too many files") : 0;
}

/* A capture that is one file has that file in its manifest, by its name. */
static int take_one (struct taking *t, int fd, const char *name,
                     struct err *err)
{
    struct stat st;

    if (fstat (fd, &st) < 0)
        return err_sys (err, errno, "cannot stat it");
    return take_file (t, fd, name, name, &st, err);
}

static int take_in (struct taking *t, int parent, const char *name,
                    struct err *err)
{
    bool one = S_ISREG (manifest_mode_of (parent, name));
    int fd = manifest_open_capture (&t->walk, parent, name, one, err), rc;
    char root[MANIFEST_FACTS_MAX];

    if (fd < 0)
        return fd;
    rc = manifest_print_root (fd, root, err);
    if (rc == 0) {
        buf_put (t->out, root, strlen (root) + 1);
        rc = one ? take_one (t, fd, name, err)
                 : manifest_walk_in (&t->walk, fd, err);
    }
    (void)close (fd);
    return rc < 0 || one ? rc
                         : manifest_walk_beside (&t->walk, parent,
                                                 t->as ? t->as : name, err);
}

static int take_all (const char *path, struct taking *t, struct err *err)
{
    const char *name;
    int parent = manifest_open_parent (path, &name, err), rc = parent;

    if (parent >= 0) {
        rc = take_in (t, parent, name, err);
        (void)close (parent);
    }
    return rc < 0 ? err_prefix (err, rc, "%s", path) : 0;
}

int manifest_take (const char *path, struct buf *out, size_t *ret_files,
                   struct err *err)
{
    struct taking t = { .walk = { .file = take_file, .state = &t },
                        .out = out };
    int rc = take_all (path, &t, err);

    if (ret_files)
        *ret_files = t.files;
    return rc;
}

/* ---- comparing it ---- */

static int check_parent (const char *path, struct err *err)
{
    const char *name;
    int fd = manifest_open_parent (path, &name, err), rc = fd;

    if (fd >= 0) {
        rc = check_writable (fd, "..", err);
        (void)close (fd);
    }
    return rc < 0 ? err_prefix (err, rc, "%s", path) : 0;
}

static int compare (const struct buf *now, const char *path,
                    const void *manifest, size_t size, struct err *err)
{
    if (now->size == size && memcmp (now->data, manifest, size) == 0)
        return 0;
    return err_set (err, ESTALE, "%s has changed since it was read", path);
}

int manifest_check_as (const char *path, const char *as, const void *manifest,
                       size_t size, struct err *err)
{
    struct buf now;
    struct taking t = { .walk = { .file = take_file, .state = &t,
                                  .to_remove = true, .one_mount = true },
                        .as = as, .out = &now };
    int rc;

    buf_init (&now, MANIFEST_MAX);
    rc = take_all (path, &t, err);
    if (rc == -ENOTSUP)
        rc = -ESTALE;
    if (rc == 0)
        rc = compare (&now, path, manifest, size, err);
    if (rc == 0)
        rc = check_parent (path, err);
    buf_fini (&now);
    return rc;
}

int manifest_check (const char *path, const void *manifest, size_t size,
                    struct err *err)
{
    return manifest_check_as (path, NULL, manifest, size, err);
}

/* ---- reading it ---- */

bool manifest_lists (const void *manifest, size_t size, const char **paths,
                     size_t n)
{
    const char *at = manifest, *end = at + size, *name;
    size_t listed = 0;

    if (n > 0)
        qsort (paths, n, sizeof (*paths), cmp_text);
    if (!manifest_next_text (&at, end))         // whose it is
        return false;
    while ((name = manifest_next_text (&at, end)) &&
           manifest_next_text (&at, end)) {
        if (n == 0 || !bsearch (&name, paths, n, sizeof (*paths), cmp_text))
            return false;
        listed++;
    }
    return listed == n;
}

/* Inode numbers are reused: the birth, where the file system has it, tells the
 * two apart.
 */
static bool is_born_after (const char *path, int64_t ns)
{
    struct statx x;

    return statx (AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, STATX_BTIME, &x) == 0 &&
           (x.stx_mask & STATX_BTIME) != 0 &&
           x.stx_btime.tv_sec * NS_PER_S + x.stx_btime.tv_nsec > ns;
}

int manifest_is_of (const char *path, const void *manifest, size_t size,
                    int64_t taken_ns)
{
    const char *at = manifest, *root = manifest_next_text (&at, at + size);
    char now[MANIFEST_FACTS_MAX];
    struct stat st;

    if (lstat (path, &st) < 0)
        return -errno;
    print_id (now, &st);
    return root && strcmp (root, now) == 0 && !is_born_after (path, taken_ns);
}
