/* node_agent/spool/manifest.c - which files a capture had when it was sealed
 *
 * A manifest is text, each part followed by a NUL: "DEV INO" of the capture,
 * then for each file its path and "SIZE MTIME INO".  Files are in the order of
 * a walk that sorts the names of each directory, so that two walks can be
 * compared side by side; files beside the capture (model/beside.h) come last.
 */
#include "spool/manifest.h"

#include "base/clock.h"
#include "base/cmp.h"
#include "base/fault.h"
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
#define FACTS_MAX 80            // three numbers

/* What to do with the entries of a walk; 'path' is within the capture. */
struct walk {
    int (*file) (struct walk *w, int dirfd, const char *name,
                 const char *path, const struct stat *st, struct err *err);
    int (*leave) (struct walk *w, int parent, const char *name,
                  const struct stat *st,
                  struct err *err);     // a directory; may be NULL
    const char *as;             // the capture's name while it is renamed
    struct buf *out;            // when a manifest is written
    bool to_remove;             // read-only directories are an error
    bool one_mount;             // and so do other mounts
    size_t files;
    const char *at, *end;       // when a manifest is read
    bool left;                  // something was not removed
};

static int walk_dir (struct walk *w, int fd, const char *prefix,
                     unsigned depth, struct err *err);

/* A directory of the walk; a removal stays on one mount. */
static int open_child (const struct walk *w, int fd, const char *name,
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

static int walk_entry (struct walk *w, int fd, const char *name,
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
        return w->file (w, fd, name, path, &st, err);
    if (!S_ISDIR (st.st_mode) || depth == 0)
        return err_set (err, ENOTSUP, "%s is neither a file nor a directory, "
                        "or too deep", path);
    if ((child = open_child (w, fd, name, err)) < 0)
        return child;
    rc = walk_dir (w, child, path, depth - 1, err);
    if (rc == 0 && fstat (child, &st) < 0)
        rc = err_sys (err, errno, "cannot stat %s", path);
    (void)close (child);
    return rc == 0 && w->leave ? w->leave (w, fd, name, &st, err) : rc;
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

static int walk_dir (struct walk *w, int fd, const char *prefix,
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

static void print_facts (char out[FACTS_MAX], const struct stat *st)
{
    (void)snprintf (out, FACTS_MAX, "%" PRId64 " %" PRId64 " %" PRIu64,
                    (int64_t)st->st_size,
                    clock_ns (&st->st_mtim),
                    (uint64_t)st->st_ino);
}

static void print_id (char out[FACTS_MAX], const struct stat *st)
{
    (void)snprintf (out, FACTS_MAX, "%" PRIu64 " %" PRIu64,
                    (uint64_t)st->st_dev, (uint64_t)st->st_ino);
}

static int print_root (int fd, char out[FACTS_MAX], struct err *err)
{
    struct stat st;

    if (fstat (fd, &st) < 0)
        return err_sys (err, errno, "cannot stat the capture");
    print_id (out, &st);
    return 0;
}

/* ---- writing it ---- */

static int take_file (struct walk *w, int dirfd, const char *name,
                      const char *path, const struct stat *st,
                      struct err *err)
{
    char facts[FACTS_MAX];

    (void)dirfd;
    (void)name;
    if (job_mark_is_ours (path))
        return 0;
    print_facts (facts, st);
    buf_put (w->out, path, strlen (path) + 1);
    buf_put (w->out, facts, strlen (facts) + 1);
    w->files++;
    return w->out->failed ? err_set (err, EFBIG, "it has too many files") : 0;
}

/* The type and mode of an entry; 0: there is none. */
static mode_t mode_of (int dirfd, const char *name)
{
    struct stat st;

    return fstatat (dirfd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 ? st.st_mode
                                                                : 0;
}

/* A capture that is one file has that file in its manifest, by its name. */
static int take_one (struct walk *w, int fd, const char *name, struct err *err)
{
    struct stat st;

    if (fstat (fd, &st) < 0)
        return err_sys (err, errno, "cannot stat it");
    return take_file (w, fd, name, name, &st, err);
}

/* Add directories beside the capture, whose 'name' is the profiler's. */
static int walk_beside (struct walk *w, int parent, const char *name,
                        struct err *err)
{
    char path[PATH_MAX];
    int rc = 0;

    for (size_t i = 0; i < BESIDE_MAX && rc == 0; i++) {
        PRINT (path, "%s%s", name, beside_ends[i]);
        if (S_ISDIR (mode_of (parent, path)))
            rc = walk_entry (w, parent, path, "", DEPTH_MAX, err);
    }
    return rc;
}

/* The directory that holds the capture, and the capture's name in it. */
static int open_parent (const char *path, const char **name, struct err *err)
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

/* The capture, a file if 'one'. */
static int open_capture (const struct walk *w, int parent, const char *name,
                         bool one, struct err *err)
{
    int fd = one ? fileio_open_at (parent, name, err)
                 : open_child (w, parent, name, err);

    return fd == -ENOENT ? err_sys (err, ENOENT, "cannot open %s", name) : fd;
}

static int take_in (struct walk *w, int parent, const char *name,
                    struct err *err)
{
    bool one = S_ISREG (mode_of (parent, name));
    int fd = open_capture (w, parent, name, one, err), rc;
    char root[FACTS_MAX];

    if (fd < 0)
        return fd;
    rc = print_root (fd, root, err);
    if (rc == 0) {
        buf_put (w->out, root, strlen (root) + 1);
        rc = one ? take_one (w, fd, name, err)
                 : walk_dir (w, fd, "", DEPTH_MAX, err);
    }
    (void)close (fd);
    return rc < 0 || one ? rc
                         : walk_beside (w, parent, w->as ? w->as : name, err);
}

static int take_all (const char *path, struct walk *w, struct err *err)
{
    const char *name;
    int parent = open_parent (path, &name, err), rc = parent;

    if (parent >= 0) {
        rc = take_in (w, parent, name, err);
        (void)close (parent);
    }
    return rc < 0 ? err_prefix (err, rc, "%s", path) : 0;
}

int manifest_take (const char *path, struct buf *out, size_t *ret_files,
                   struct err *err)
{
    struct walk w = { .file = take_file, .out = out };
    int rc = take_all (path, &w, err);

    if (ret_files)
        *ret_files = w.files;
    return rc;
}

static int check_parent (const char *path, struct err *err)
{
    const char *name;
    int fd = open_parent (path, &name, err), rc = fd;

    if (fd >= 0) {
        rc = check_writable (fd, "..", err);
        (void)close (fd);
    }
    return rc < 0 ? err_prefix (err, rc, "%s", path) : 0;
}

static int manifest_compare (const struct buf *now, const char *path,
                             const void *manifest, size_t size, struct err *err)
{
    if (now->size == size && memcmp (now->data, manifest, size) == 0)
        return 0;
    return err_set (err, ESTALE, "%s has changed since it was read", path);
}

/* 'as': as in struct walk. */
static int check_as (const char *path, const char *as, const void *manifest,
                     size_t size, struct err *err)
{
    struct buf now;
    struct walk w = { .file = take_file, .out = &now, .to_remove = true,
                      .one_mount = true, .as = as };
    int rc;

    buf_init (&now, MANIFEST_MAX);
    rc = take_all (path, &w, err);
    if (rc == -ENOTSUP)
        rc = -ESTALE;
    if (rc == 0)
        rc = manifest_compare (&now, path, manifest, size, err);
    if (rc == 0)
        rc = check_parent (path, err);
    buf_fini (&now);
    return rc;
}

int manifest_check (const char *path, const void *manifest, size_t size,
                    struct err *err)
{
    return check_as (path, NULL, manifest, size, err);
}

/* ---- reading it ---- */

/* The next text at *at; NULL at the end, or if its NUL is missing. */
static const char *next_text (const char **at, const char *end)
{
    const char *text = *at;
    const char *nul = memchr (text, '\0', (size_t)(end - text));

    if (!nul)
        return NULL;
    *at = nul + 1;
    return text;
}

bool manifest_lists (const void *manifest, size_t size, const char **paths,
                     size_t n)
{
    const char *at = manifest, *end = at + size, *name;
    size_t listed = 0;

    if (n > 0)
        qsort (paths, n, sizeof (*paths), cmp_text);
    if (!next_text (&at, end))          // whose it is
        return false;
    while ((name = next_text (&at, end)) && next_text (&at, end)) {
        if (n == 0 || !bsearch (&name, paths, n, sizeof (*paths), cmp_text))
            return false;
        listed++;
    }
    return listed == n;
}

/* ---- removing ---- */

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
    const char *at = manifest, *root = next_text (&at, at + size);
    char now[FACTS_MAX];
    struct stat st;

    if (lstat (path, &st) < 0)
        return -errno;
    print_id (now, &st);
    return root && strcmp (root, now) == 0 && !is_born_after (path, taken_ns);
}

/* Whether the manifest has this file in its present state.  Entries before it
 * in the manifest are gone files.
 */
static bool is_listed (struct walk *w, const char *path, const char *facts)
{
    const char *at = w->at, *name, *saved;

    while ((name = next_text (&at, w->end)) &&
           (saved = next_text (&at, w->end))) {
        if (strcmp (name, path) == 0) {
            w->at = at;
            return strcmp (saved, facts) == 0;
        }
    }
    return false;
}

static int remove_file (struct walk *w, int dirfd, const char *name,
                        const char *path, const struct stat *st,
                        struct err *err)
{
    char facts[FACTS_MAX];
    int rc = FAULT ("agent.release.unlink");

    print_facts (facts, st);
    if (!job_mark_is_ours (path) && !is_listed (w, path, facts)) {
        w->left = true;
        return 0;
    }
    if (rc == 0 && unlinkat (dirfd, name, 0) < 0 && errno != ENOENT)
        rc = -errno;
    return rc < 0 ? err_sys (err, -rc, "cannot remove %s", path) : 0;
}

static int remove_dir (struct walk *w, int parent, const char *name,
                       const struct stat *st, struct err *err)
{
    int rc = FAULT ("agent.release.rmdir");

    if (rc == 0)
        rc = tree_remove (parent, name, st);
    if (rc == -ENOTEMPTY || rc == -EEXIST || rc == -ESTALE) {
        w->left = true;
        return 0;
    }
    return rc < 0 && rc != -ENOENT
               ? err_sys (err, -rc, "cannot remove %s", name) : 0;
}

/* A manifest of one file lists its root; no directory contains itself. */
static bool is_of_file (const char *root, const char *at, const char *end)
{
    const char *name = next_text (&at, end);
    const char *facts = name ? next_text (&at, end) : NULL;
    const char *inode = strrchr (root, ' ');

    facts = facts ? strrchr (facts, ' ') : NULL;
    return inode && facts && strcmp (inode, facts) == 0;
}

/* ---- the name of a directory during its removal ---- */

/* ".rollcall-removing-INO-NAME": searches skip names with a dot.  The inode
 * distinguishes it from the rest of another capture with that name.
 */
static void aside_name (char out[NAME_MAX + 1], const char *name,
                        const void *manifest, size_t size)
{
    const char *at = manifest, *root = next_text (&at, at + size);
    const char *inode = root ? strrchr (root, ' ') : NULL;

    (void)snprintf (out, NAME_MAX + 1, ".rollcall-removing-%llu-%.200s",
                    inode ? strtoull (inode, NULL, 10) : 0, name);
}

void manifest_aside_path (char out[PATH_MAX], const char *path,
                          const void *manifest, size_t size)
{
    const char *slash = strrchr (path, '/');
    int n = slash ? (int)(slash + 1 - path) : 0;
    char aside[NAME_MAX + 1];

    aside_name (aside, path + n, manifest, size);
    (void)snprintf (out, PATH_MAX, "%.*s%s", n, path, aside);
}

static int sync_parent (int parent, struct err *err)
{
    int rc = FAULT ("agent.release.sync");

    if (rc == 0 && fsync (parent) < 0)
        rc = -errno;
    return rc < 0 ? err_sys (err, -rc, "cannot fsync its directory") : 0;
}

/* An empty directory with the new name does not count. */
static int rename_in (int parent, const char *name, const char *aside,
                      struct err *err)
{
    int rc = FAULT ("agent.release.rename");

    if (rc == 0 && renameat (parent, name, parent, aside) < 0)
        rc = -errno;
    return rc < 0 ? err_sys (err, -rc, "cannot rename it to %s", aside) : 0;
}

/* -ESTALE unless 'fd' is what the manifest describes. */
static int check_root (int fd, bool one, const void *manifest, size_t size,
                       struct err *err)
{
    const char *at = manifest, *end = at + size;
    const char *root = next_text (&at, end);
    char now[FACTS_MAX];
    int rc = print_root (fd, now, err);

    // an inode number is reused, also for another kind of file
    if (rc == 0 && (!root || strcmp (root, now) != 0 ||
                    one != is_of_file (root, at, end)))
        rc = err_set (err, ESTALE, "it is another %s now",
                      one ? "file" : "directory");
    return rc;
}

/* A file is removed at once or not at all, so it keeps its name. */
static int set_aside (int parent, const char *name, const char *aside,
                      const void *manifest, size_t size, struct err *err)
{
    int fd, rc;

    if (mode_of (parent, aside) || S_ISREG (mode_of (parent, name)))
        return 0;
    if ((fd = fileio_open_dir_at (parent, name, err)) < 0)
        return fd == -ENOENT ? 0 : fd;
    rc = check_root (fd, false, manifest, size, err);
    (void)close (fd);
    return rc < 0 ? rc : rename_in (parent, name, aside, err);
}

/* The directory that holds the set-aside capture, and both names. */
static int manifest_begin (const char *path, const void *manifest, size_t size,
                           const char **name, char aside[NAME_MAX + 1],
                           struct err *err)
{
    int parent = open_parent (path, name, err), rc;

    if (parent < 0)
        return parent;
    aside_name (aside, *name, manifest, size);
    if ((rc = set_aside (parent, *name, aside, manifest, size, err)) == 0)
        return parent;
    (void)close (parent);
    return err_prefix (err, rc, "%s", path);
}

int manifest_set_aside (const char *path, const void *manifest, size_t size,
                        struct err *err)
{
    char aside[NAME_MAX + 1];
    const char *name;
    int parent = manifest_begin (path, manifest, size, &name, aside, err);

    fileio_close (parent);
    return parent < 0 ? parent : 0;
}

/* 0 unless a directory is set aside and cannot get its name back. */
static int set_back (int parent, const char *path, const char *name,
                     const void *manifest, size_t size, struct err *err)
{
    char aside[NAME_MAX + 1], there[PATH_MAX];
    int rc;

    aside_name (aside, name, manifest, size);
    if (!mode_of (parent, aside))
        return 0;
    manifest_aside_path (there, path, manifest, size);
    rc = check_as (there, name, manifest, size, err);
    if (rc == -ESTALE)
        return err_set (err, ESTALE, "%s does not hold all of it", there);
    if (rc == 0)
        rc = rename_in (parent, aside, name, err);
    return rc < 0 ? rc : sync_parent (parent, err);
}

int manifest_set_back (const char *path, const void *manifest, size_t size,
                       struct err *err)
{
    const char *name;
    int parent = open_parent (path, &name, err), rc = parent;

    if (parent >= 0) {
        rc = set_back (parent, path, name, manifest, size, err);
        (void)close (parent);
    }
    return rc;
}

/* ---- the whole removal ---- */

static int remove_below (struct walk *w, int parent, const char *name,
                         struct err *err)
{
    bool one = S_ISREG (mode_of (parent, name));
    int fd = open_capture (w, parent, name, one, err), rc;
    struct stat st;

    if (fd < 0)
        return fd == -ENOENT ? 0 : fd;
    rc = check_root (fd, one, w->at, (size_t)(w->end - w->at), err);
    if (rc == 0)
        (void)next_text (&w->at, w->end);
    if (rc == 0 && !one)
        rc = walk_dir (w, fd, "", DEPTH_MAX, err);
    if (rc == 0 && fstat (fd, &st) < 0)
        rc = err_sys (err, errno, "cannot stat it");
    (void)close (fd);
    if (rc < 0)
        return rc;
    return one ? remove_file (w, parent, name, name, &st, err)
               : remove_dir (w, parent, name, &st, err);
}

/* Remove what is beside the capture; an earlier agent may have removed the
 * capture itself.
 */
static int remove_beside (struct walk *w, int parent, const char *name,
                          const void *manifest, struct err *err)
{
    if (w->left)
        return 0;               // it stays with the capture
    if (w->at == (const char *)manifest)
        (void)next_text (&w->at, w->end);
    return walk_beside (w, parent, name, err);
}

/* Files that are not the capture's own must not stay hidden, unless the old
 * name is taken.
 */
static int give_back (int parent, const char *name, const char *aside,
                      struct err *err)
{
    static const char what[] = "something in it has changed since it was read";

    if (mode_of (parent, aside) &&
        rename_in (parent, aside, name, NULL) < 0)
        return err_set (err, ESTALE, "%s; that is in %s beside it", what,
                        aside);
    (void)sync_parent (parent, NULL);
    return err_set (err, ESTALE, "%s", what);
}

int manifest_remove (const char *path, const void *manifest, size_t size,
                     struct err *err)
{
    struct walk w = { .file = remove_file, .leave = remove_dir,
                      .one_mount = true,
                      .at = manifest, .end = (const char *)manifest + size };
    char aside[NAME_MAX + 1];
    const char *name;
    int parent = manifest_begin (path, manifest, size, &name, aside, err), rc;

    if (parent < 0)
        return parent;
    rc = sync_parent (parent, err);     // before any file in it is removed
    if (rc == 0)
        rc = remove_below (&w, parent, mode_of (parent, aside) ? aside : name,
                           err);
    if (rc == 0)
        rc = remove_beside (&w, parent, name, manifest, err);
    if (rc == 0)
        rc = w.left ? give_back (parent, name, aside, err)
                    : sync_parent (parent, err);
    if (rc < 0 && rc != -ESTALE && mode_of (parent, aside))
        rc = err_prefix (err, rc, "its rest, %s", aside);
    (void)close (parent);
    return rc < 0 ? err_prefix (err, rc, "%s", path) : 0;
}
