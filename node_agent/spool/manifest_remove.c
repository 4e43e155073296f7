/* node_agent/spool/manifest_remove.c - the files of a manifest, removed */
#include "spool/manifest_remove.h"
#include "spool/manifest_private.h"

#include "base/fault.h"
#include "model/job_mark.h"
#include "store/fileio.h"
#include "store/tree.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- what goes ---- */

struct removal {
    struct manifest_walk walk;
    const char *at, *end;       // of the manifest, what was not yet seen
    bool left;                  // something was not removed
};

/* Whether the manifest has this file in its present state.  Entries before it
 * in the manifest are gone files.
 */
static bool is_listed (struct removal *r, const char *path, const char *facts)
{
    const char *at = r->at, *name, *saved;

    while ((name = manifest_next_text (&at, r->end)) &&
           (saved = manifest_next_text (&at, r->end))) {
        if (strcmp (name, path) == 0) {
            r->at = at;
            return strcmp (saved, facts) == 0;
        }
    }
    return false;
}

static int remove_file (void *state, int dirfd, const char *name,
                        const char *path, const struct stat *st,
                        struct err *err)
{
    struct removal *r = state;
    char facts[MANIFEST_FACTS_MAX];
    int rc = FAULT ("agent.release.unlink");

    manifest_print_facts (facts, st);
    if (!job_mark_is_ours (path) && !is_listed (r, path, facts)) {
        r->left = true;
        return 0;
    }
    if (rc == 0 && unlinkat (dirfd, name, 0) < 0 && errno != ENOENT)
        rc = -errno;
    return rc < 0 ? err_sys (err, -rc, "cannot remove %s", path) : 0;
}

static int remove_dir (void *state, int parent, const char *name,
                       const struct stat *st, struct err *err)
{
    struct removal *r = state;
    int rc = FAULT ("agent.release.rmdir");

    if (rc == 0)
        rc = tree_remove (parent, name, st);
    if (rc == -ENOTEMPTY || rc == -EEXIST || rc == -ESTALE) {
        r->left = true;
        return 0;
    }
    return rc < 0 && rc != -ENOENT
               ? err_sys (err, -rc, "cannot remove %s", name) : 0;
}

/* A manifest of one file lists its root; no directory contains itself. */
static bool is_of_file (const char *root, const char *at, const char *end)
{
    const char *name = manifest_next_text (&at, end);
    const char *facts = name ? manifest_next_text (&at, end) : NULL;
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
    const char *at = manifest, *root = manifest_next_text (&at, at + size);
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
    const char *root = manifest_next_text (&at, end);
    char now[MANIFEST_FACTS_MAX];
    int rc = manifest_print_root (fd, now, err);

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

    if (manifest_mode_of (parent, aside) ||
        S_ISREG (manifest_mode_of (parent, name)))
        return 0;
    if ((fd = fileio_open_dir_at (parent, name, err)) < 0)
        return fd == -ENOENT ? 0 : fd;
    rc = check_root (fd, false, manifest, size, err);
    (void)close (fd);
    return rc < 0 ? rc : rename_in (parent, name, aside, err);
}

/* The directory that holds the set-aside capture, and both names. */
static int begin (const char *path, const void *manifest, size_t size,
                  const char **name, char aside[NAME_MAX + 1],
                  struct err *err)
{
    int parent = manifest_open_parent (path, name, err), rc;

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
    int parent = begin (path, manifest, size, &name, aside, err);

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
    if (!manifest_mode_of (parent, aside))
        return 0;
    manifest_aside_path (there, path, manifest, size);
    rc = manifest_check_as (there, name, manifest, size, err);
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
    int parent = manifest_open_parent (path, &name, err), rc = parent;

    if (parent >= 0) {
        rc = set_back (parent, path, name, manifest, size, err);
        (void)close (parent);
    }
    return rc;
}

/* ---- the whole removal ---- */

static int remove_below (struct removal *r, int parent, const char *name,
                         struct err *err)
{
    bool one = S_ISREG (manifest_mode_of (parent, name));
    int fd = manifest_open_capture (&r->walk, parent, name, one, err), rc;
    struct stat st;

    if (fd < 0)
        return fd == -ENOENT ? 0 : fd;
    rc = check_root (fd, one, r->at, (size_t)(r->end - r->at), err);
    if (rc == 0)
        (void)manifest_next_text (&r->at, r->end);
    if (rc == 0 && !one)
        rc = manifest_walk_in (&r->walk, fd, err);
    if (rc == 0 && fstat (fd, &st) < 0)
        rc = err_sys (err, errno, "cannot stat it");
    (void)close (fd);
    if (rc < 0)
        return rc;
    return one ? remove_file (r, parent, name, name, &st, err)
               : remove_dir (r, parent, name, &st, err);
}

/* Remove what is beside the capture; an earlier agent may have removed the
 * capture itself.
 */
static int remove_beside (struct removal *r, int parent, const char *name,
                          const void *manifest, struct err *err)
{
    if (r->left)
        return 0;               // it stays with the capture
    if (r->at == (const char *)manifest)
        (void)manifest_next_text (&r->at, r->end);
    return manifest_walk_beside (&r->walk, parent, name, err);
}

/* Files that are not the capture's own must not stay hidden, unless the old
 * name is taken.
 */
static int give_back (int parent, const char *name, const char *aside,
                      struct err *err)
{
    static const char what[] = "something in it has changed since it was read";

    if (manifest_mode_of (parent, aside) &&
        rename_in (parent, aside, name, NULL) < 0)
        return err_set (err, ESTALE, "%s; that is in %s beside it", what,
                        aside);
    (void)sync_parent (parent, NULL);
    return err_set (err, ESTALE, "%s", what);
}

int manifest_remove (const char *path, const void *manifest, size_t size,
                     struct err *err)
{
    struct removal r = { .walk = { .file = remove_file, .leave = remove_dir,
                                   .state = &r, .one_mount = true },
                         .at = manifest,
                         .end = (const char *)manifest + size };
    char aside[NAME_MAX + 1];
    const char *name;
    int parent = begin (path, manifest, size, &name, aside, err), rc;

    if (parent < 0)
        return parent;
    rc = sync_parent (parent, err);     // before any file in it is removed
    if (rc == 0)
        rc = remove_below (&r, parent,
                           manifest_mode_of (parent, aside) ? aside : name,
                           err);
    if (rc == 0)
        rc = remove_beside (&r, parent, name, manifest, err);
    if (rc == 0)
        rc = r.left ? give_back (parent, name, aside, err)
                    : sync_parent (parent, err);
    if (rc < 0 && rc != -ESTALE && manifest_mode_of (parent, aside))
        rc = err_prefix (err, rc, "its rest, %s", aside);
    (void)close (parent);
    return rc < 0 ? err_prefix (err, rc, "%s", path) : 0;
}
