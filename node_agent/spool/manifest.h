/* node_agent/spool/manifest.h - which files a capture had when it was sealed
 *
 * A manifest has a record for each file: path within the capture, size, date
 * and inode.  With it a capture is removed file by file (manifest_remove.h),
 * and only if each file is still the one that was delivered.  Files that a
 * profiler left beside the capture (model/beside.h) belong to it.  Symbolic
 * links are never followed, not even in the path of a capture, which must be
 * one of realpath(3).
 */
#ifndef ROLLCALL_SPOOL_MANIFEST_H
#define ROLLCALL_SPOOL_MANIFEST_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MANIFEST_MAX (64u << 20)        // bytes of one; 100 per file are usual

/* Write the manifest of the capture 'path', a directory or one file, to 'out',
 * and the number of its files to *ret_files, which may be NULL.  -ENOTSUP if it
 * holds anything but regular files and directories (it must never be removed
 * then), -EFBIG if 'out' would be too large, else an error of the file system.
 */
int manifest_take (const char *path, struct buf *out, size_t *ret_files,
                   struct err *err);

/* Whether its files have exactly these 'n' paths, which get sorted. */
bool manifest_lists (const void *manifest, size_t size, const char **paths,
                     size_t n);

/* 0 if 'path' has exactly what the manifest says, and all of it can be removed;
 * -ESTALE if it differs; -EACCES, -EROFS, ... if it cannot be removed.
 */
int manifest_check (const char *path, const void *manifest, size_t size,
                    struct err *err);

/* Whether the directory at 'path' is that of the manifest, which was taken
 * before 'taken_ns' (wall clock). -ENOENT: there is none; 0: another one.
 */
int manifest_is_of (const char *path, const void *manifest, size_t size,
                    int64_t taken_ns);

#endif
