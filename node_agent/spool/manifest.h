/* node_agent/spool/manifest.h - which files a capture had when it was sealed
 *
 * One record for each file: path within the capture, size, date and inode.
 * With it a capture is removed file by file, and only if each is still the one
 * that was delivered.  What a profiler left beside it (model/beside.h) belongs
 * to it.  Symbolic links are never followed, also not in the path
 * of a capture, which is absolute as realpath(3) has it, and nothing is removed
 * on another mount than the capture's parent directory.
 */
#ifndef ROLLCALL_SPOOL_MANIFEST_H
#define ROLLCALL_SPOOL_MANIFEST_H

#include "base/buf.h"
#include "base/err.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MANIFEST_MAX (64u << 20)        // bytes of one; 100 a file are usual

/* Write the manifest of the capture 'path', a directory or one file, to 'out',
 * and the number of its files to *ret_files, which may be NULL.  -ENOTSUP if it
 * holds anything but regular files and directories (then it is never to be
 * removed), -EFBIG if 'out' may not be so large, else what the file system
 * said.
 */
int manifest_take (const char *path, struct buf *out, size_t *ret_files,
                   struct err *err);

/* Whether its files have just these 'n' paths, which are sorted on the way. */
bool manifest_lists (const void *manifest, size_t size, const char **paths,
                     size_t n);

/* 0 if 'path' holds exactly what the manifest says, and all of it can be
 * removed; -ESTALE if it does not; -EACCES, -EROFS, ... if it cannot.
 */
int manifest_check (const char *path, const void *manifest, size_t size,
                    struct err *err);

/* Whether the directory at 'path' is the one that the manifest was taken of,
 * before 'taken_ns' (wall clock).  -ENOENT: there is none; another one: 0.
 */
int manifest_is_of (const char *path, const void *manifest, size_t size,
                    int64_t taken_ns);

/* Begin a removal: give the directory, if it is the one of the manifest, a name
 * in its parent that no search takes for a capture, so that what is left of it
 * is none, either, whatever becomes of the ledger.  Nothing in it has gone if
 * that fails.  A capture that is one file keeps its name.
 */
int manifest_set_aside (const char *path, const void *manifest, size_t size,
                        struct err *err);

/* Where the directory at 'path' is while it is set aside. */
void manifest_aside_path (char out[PATH_MAX], const char *path,
                          const void *manifest, size_t size);

/* End a removal that is not to be: give the directory its name again, if all of
 * it is there.  Nothing that is set aside is fine.  -ESTALE, or what rename(2)
 * said: it stays as it is.
 */
int manifest_set_back (const char *path, const void *manifest, size_t size,
                       struct err *err);

/* Remove the files of the manifest, then directories that are empty, the
 * capture itself last (if it is a file, that is all), as it is set aside, which
 * is done first if it has not been; the removal is fsynced.  What is gone
 * already is fine, so that it can be done again after a crash.  -ESTALE if
 * there was something else, which stays, at 'path' again.
 */
int manifest_remove (const char *path, const void *manifest, size_t size,
                     struct err *err);

#endif
