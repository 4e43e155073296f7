/* node_agent/spool/manifest_private.h - a manifest, between its files
 *
 * manifest.c         the walk over a capture; manifests written, compared, read
 * manifest_remove.c  a walk that removes
 *
 * Functions return 0, or a descriptor, which the caller closes; or a negative
 * errno and a sentence, before which the caller puts the path of the capture.
 */
#ifndef ROLLCALL_SPOOL_MANIFEST_PRIVATE_H
#define ROLLCALL_SPOOL_MANIFEST_PRIVATE_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

/* ---- the walk ---- */

/* What to do with the entries of a capture.  'name' is that of the entry in the
 * directory 'dirfd' or 'parent', 'path' is within the capture; 'st' is of the
 * entry itself, not of what a link leads to.  Anything but 0 ends the walk.
 */
struct manifest_walk {
    int (*file) (void *state, int dirfd, const char *name, const char *path,
                 const struct stat *st, struct err *err);
    int (*leave) (void *state, int parent, const char *name,
                  const struct stat *st,
                  struct err *err);     // a directory; may be NULL
    void *state;
    bool to_remove;             // read-only directories are an error
    bool one_mount;             // and so are other mounts (-EXDEV)
};

/* Go over all that is in the capture's open directory 'fd', the names of each
 * directory sorted by their bytes, and leave each directory in it once all of
 * it was seen; 'fd' itself is not left.  -ENOTSUP: there is something that is
 * no regular file and no directory, too deep, or of too long a path; else what
 * 'file' and 'leave' return, or an error of the file system.
 */
int manifest_walk_in (const struct manifest_walk *w, int fd, struct err *err);

/* The same with the directories beside the capture (model/beside.h), which are
 * left, too.  'name' is that which the profiler gave to the capture, whether it
 * has it now or not.
 */
int manifest_walk_beside (const struct manifest_walk *w, int parent,
                          const char *name, struct err *err);

/* ---- the capture in its directory ---- */

/* Open the directory that holds the capture; *name is the capture's in it, a
 * part of 'path'.  -ELOOP: a symbolic link leads to it.
 */
int manifest_open_parent (const char *path, const char **name,
                          struct err *err);

/* Open the capture, a file if 'one', else a directory.  -ENOENT: there is none;
 * -EXDEV: it is a mount, and 'w' stays on one.
 */
int manifest_open_capture (const struct manifest_walk *w, int parent,
                           const char *name, bool one, struct err *err);

/* The type and mode of an entry; 0: there is none. */
mode_t manifest_mode_of (int dirfd, const char *name);

/* ---- its texts ---- */

#define MANIFEST_FACTS_MAX 80   // bytes: three numbers

/* What a manifest says of a file. */
void manifest_print_facts (char out[MANIFEST_FACTS_MAX], const struct stat *st);

/* What it says first, of the capture that is open as 'fd'. */
int manifest_print_root (int fd, char out[MANIFEST_FACTS_MAX],
                         struct err *err);

/* The next text at *at, which then is behind it; NULL at the end, or if its NUL
 * is missing.
 */
const char *manifest_next_text (const char **at, const char *end);

/* As manifest_check, which puts 'path' into its sentences, but of a capture
 * that may be renamed: 'as' is the profiler's name for it, or NULL if it has
 * that.
 */
int manifest_check_as (const char *path, const char *as, const void *manifest,
                       size_t size, struct err *err);

#endif
