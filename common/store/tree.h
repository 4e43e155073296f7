/* common/store/tree.h - hold a directory open and work below it
 *
 * The owner of a directory may rename it, or replace it by a symbolic link, at
 * any moment.  So directories of others are opened once and then used by
 * descriptor: files are created, renamed and removed in that directory,
 * whatever happens to its name.  Links in the path to a tree belong to the user
 * and are followed; below it no link is followed, and nothing leads out of it.
 *
 * Only one thread may open or close a tree at a time; all other functions may
 * be called by several threads.
 */
#ifndef ROLLCALL_STORE_TREE_H
#define ROLLCALL_STORE_TREE_H

#include "base/err.h"

#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

struct tree {
    int fd;
    char path[PATH_MAX];        // for messages, as its user knows it; "":
                                // closed
};

/* Open the directory at 'path'; links are followed.  -ENOENT, -ENOTDIR,
 * -EACCES, ...: the tree is closed, and 'err' is set.
 */
int tree_open (struct tree *t, const char *path, struct err *err);

/* Open the directory 'name' in 'above'.  If it is absent and 'mode' is not 0,
 * it is created with 'mode' and fsynced, and *made, which may be NULL, is true.
 * -ELOOP: it is a symbolic link; -ENOTDIR, ...
 */
int tree_open_in (struct tree *t, const struct tree *above, const char *name,
                  mode_t mode, bool *made, struct err *err);

/* Open a directory whose path had no links when it was resolved, some time ago.
 * Missing parts are created with 'mode'.  Links that have appeared since are
 * followed as by tree_resolve, or -ELOOP.
 */
int tree_open_later (struct tree *t, const char *path, mode_t mode,
                     struct err *err);

void tree_close (struct tree *t);       // t may be zeroed, or closed

/* Open a relative path without "..", as openat(2), without following any link
 * or leaving 'dirfd'; with 'one_mount', without entering another mount.
 * Returns a descriptor with O_CLOEXEC, which the caller closes; -ELOOP: there
 * is a link; -EXDEV: it leads out, or to another mount; or an error of open(2).
 * tree_walk_openat is for a kernel before 5.6; tree_openat calls it if
 * necessary.
 */
int tree_openat (int dirfd, const char *path, int flags, mode_t mode,
                 bool one_mount);
int tree_walk_openat (int dirfd, const char *path, int flags, mode_t mode,
                      bool one_mount);

/* As tree_openat, for an absolute path without links, as from realpath(3). */
int tree_open_real (const char *path, int flags);

/* Whether another file system, or part of one, is mounted on 'name'.  A mount
 * on a file is only detected by a kernel from 5.8 on.
 */
bool tree_is_mount (int dirfd, const char *name);

/* As realpath(3), for a path whose links can be trusted: each belongs to root,
 * to the caller, or to the owner of the target, who could do there whatever the
 * caller is going to do.  -ELOOP: one does not; or another -errno.
 */
int tree_resolve (const char *path, char real[PATH_MAX]);

/* Create the missing directories of a relative path, on the mount of the tree;
 * each new one is durable.  Returns a descriptor of the last one ("" is the
 * tree itself), which the caller closes, or errors as tree_openat, with a
 * sentence.
 */
int tree_make_dirs (const struct tree *t, const char *path, mode_t mode,
                    struct err *err);

/* Create the directories for the file of a relative path, as tree_make_dirs.
 * *name is the last component of 'path'.
 */
int tree_make_parent (const struct tree *t, const char *path, mode_t mode,
                      const char **name, struct err *err);

/* Remove 'name' if it is still the file or empty directory 'is'. -ESTALE: it is
 * another one, and remains; -ENOENT; or an error of unlink(2) or rmdir(2).
 */
int tree_remove (int dirfd, const char *name, const struct stat *is);

/* Rename within trees, and fsync the directory of the target. */
int tree_rename (const struct tree *from, const char *name,
                 const struct tree *to, const char *as, struct err *err);

/* Replace the file 'name' by 'size' bytes, as fileio_replace.  A file that
 * somebody has put in place of the temporary file is not written to.
 */
int tree_replace (const struct tree *t, const char *name, const void *data,
                  size_t size, mode_t mode, struct err *err);

/* Create a file to test whether that is possible; it has no name afterwards.
 * Returns a descriptor, which the caller closes, or an error of open(2).  The
 * file of tree_try_file never has a name if the file system supports that; that
 * of tree_make_temp has one for a moment, so the directory changes.
 */
int tree_try_file (const struct tree *t);
int tree_make_temp (const struct tree *t);

/* For root: -EPERM if the tree belongs to another user, whom root must not
 * trust with what it writes there, unless 'foreign' allows it.  Always 0 for
 * other users.  If a file server maps root to another user (squash), the
 * directories of that user count as root's own.
 */
int tree_check_owner (const struct tree *t, bool foreign, struct err *err);

/* As tree_check_owner, for the directory at 'path' or, if that is absent, for
 * the one in which its first missing parent would be created.
 */
int tree_check_path (const char *path, bool foreign, struct err *err);

/* Create the directory 'path', as fileio_mkdirs, if tree_check_path allows it.
 */
int tree_make_out (const char *path, mode_t mode, bool foreign,
                   struct err *err);

/* ---- held paths: for what takes a path only, as SQLite does ---- */

#define TREE_HELD_MAX (40 + NAME_MAX)

/* Make the path "/proc/self/fd/N/NAME" (of the tree itself if NAME is ""), in
 * which nothing can be replaced.  It is valid in this process while the tree is open.  Its last component can be
 * anything, also a link: open it with O_NOFOLLOW or by db_open.  -ENAMETOOLONG.
 */
int tree_hold (const struct tree *t, const char *name,
               char held[TREE_HELD_MAX], struct err *err);

/* Whether a path is a held one. */
bool tree_is_held (const char *path);

/* 0, or -ENOSYS with the reason if held paths do not work: /proc is not
 * mounted.
 */
int tree_can_hold (const struct tree *t, struct err *err);

/* Replace held paths of this tree in a sentence by the path that the user
 * knows.
 */
void tree_tell (const struct tree *t, struct err *err);

#endif
