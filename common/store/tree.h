/* common/store/tree.h - a directory that is held, and what is in it
 *
 * Whoever owns a directory may rename it, or put a symbolic link in its place,
 * at any moment.  So what others own is opened once and used by descriptor from
 * then on: what is made, renamed or removed in it stays in it, whatever happens
 * to its name.  Links in the path that leads to a tree are the user's, and are
 * followed; below it none is, and nothing leads out of it.
 *
 * A tree is of one thread at a time while it is opened or closed; all else may
 * be done by several.
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
    char path[PATH_MAX];        // as its user knows it, for words; "": closed
};

/* Hold the directory at 'path', whichever links lead to it.  -ENOENT, -ENOTDIR,
 * -EACCES, ... with a sentence; the tree is closed then.
 */
int tree_open (struct tree *t, const char *path, struct err *err);

/* Hold the directory 'name' in 'above', which is made with 'mode' if it is not
 * there and 'mode' is not 0 (fsynced; *made, which may be NULL, tells).  -ELOOP
 * if it is a symbolic link, -ENOTDIR, ...
 */
int tree_open_in (struct tree *t, const struct tree *above, const char *name,
                  mode_t mode, bool *made, struct err *err);

/* Hold a directory whose path had no links when it was resolved, some time ago;
 * what is gone of it is made with 'mode'.  Links that have come since then are
 * followed as tree_resolve has it, or -ELOOP.
 */
int tree_open_later (struct tree *t, const char *path, mode_t mode,
                     struct err *err);

void tree_close (struct tree *t);       // all zero, or closed, is fine

/* As openat(2) of a relative path without "..": no link in it is followed, and
 * nothing outside 'dirfd' is reached.  'one_mount': nor is another mount.
 * Returns a descriptor (with O_CLOEXEC), or -ELOOP (a link), -EXDEV (it leads
 * out, or to another mount), or what open(2) said.  The second is for a kernel
 * before 5.6, which the first one uses when it has to.
 */
int tree_openat (int dirfd, const char *path, int flags, mode_t mode,
                 bool one_mount);
int tree_walk_openat (int dirfd, const char *path, int flags, mode_t mode,
                      bool one_mount);

/* The same for a path that has no links, as of realpath(3), wherever it is. */
int tree_open_real (const char *path, int flags);

/* Whether another file system, or part of one, is mounted on 'name': where the
 * kernel tells (5.8), also of a file.
 */
bool tree_is_mount (int dirfd, const char *name);

/* As realpath(3), of a path whose links may be trusted: each belongs to root, to
 * the caller, or to the owner of what the path leads to, who could do there
 * what the caller will do.  -ELOOP: one does not; else what the system said.
 */
int tree_resolve (const char *path, char real[PATH_MAX]);

/* Make the directories of a relative path, as far as they are not there, on the
 * mount of the tree; each that was made is durable.  Returns a descriptor of
 * the last one ("" is the tree itself), or as tree_openat, with a sentence.
 */
int tree_make_dirs (const struct tree *t, const char *path, mode_t mode,
                    struct err *err);

/* Make the directories that a relative path's file is to be in, as
 * tree_make_dirs; *name is the last one of 'path'.
 */
int tree_make_parent (const struct tree *t, const char *path, mode_t mode,
                      const char **name, struct err *err);

/* Remove 'name' if it is the file or empty directory 'is' still.  -ESTALE: it
 * is another one, and stays; -ENOENT; else what unlink(2) or rmdir(2) said.
 */
int tree_remove (int dirfd, const char *name, const struct stat *is);

/* Rename within trees and fsync the target's directory. */
int tree_rename (const struct tree *from, const char *name,
                 const struct tree *to, const char *as, struct err *err);

/* Replace the file 'name' by 'size' bytes: as fileio_replace, and what somebody
 * has put in the way of the temporary file is not written to.
 */
int tree_replace (const struct tree *t, const char *name, const void *data,
                  size_t size, mode_t mode, struct err *err);

/* A new file that is gone already: a descriptor, or what open(2) said.  For what
 * can only be found out by trying.  The first has no name if the file system
 * can do that; the second has had one: the directory has changed.
 */
int tree_try_file (const struct tree *t);
int tree_make_temp (const struct tree *t);

/* -EPERM with a sentence if the tree is another user's, whom root is not to
 * trust with what it writes there, unless 'foreign' says so; never for others
 * than root.  Where a file server takes root for somebody else (squash), it is
 * the directories of that one that are root's own.
 */
int tree_check_owner (const struct tree *t, bool foreign, struct err *err);

/* The same of the directory at 'path', or of the one in which the first of its
 * directories that are not there would be made.
 */
int tree_check_path (const char *path, bool foreign, struct err *err);

/* Make the directory 'path', as fileio_mkdirs, unless tree_check_path says no. */
int tree_make_out (const char *path, mode_t mode, bool foreign,
                   struct err *err);

/* ---- held paths: for what takes a path only, as SQLite does ---- */

#define TREE_HELD_MAX (40 + NAME_MAX)

/* "/proc/self/fd/N/NAME": a path in which nothing can be replaced, while the
 * tree is open and in this process.  Its last component may be anything: open
 * it with O_NOFOLLOW or by db_open.  -ENAMETOOLONG.
 */
int tree_hold (const struct tree *t, const char *name,
               char held[TREE_HELD_MAX], struct err *err);

/* Whether a path is one of these. */
bool tree_is_held (const char *path);

/* -ENOSYS with the reason if there are none here: /proc is not mounted. */
int tree_can_hold (const struct tree *t, struct err *err);

/* In a sentence: put the path that the user knows in the place of held ones of
 * this tree.
 */
void tree_tell (const struct tree *t, struct err *err);

#endif
