/* node_agent/spool/manifest_remove.h - the files of a manifest, removed
 *
 * First the capture's directory gets a name that no search takes for a capture,
 * then its files are removed: those that are still what the manifest says, and
 * no others.  Nothing is removed on another mount than that of the capture's
 * parent directory (-EXDEV), nor behind a symbolic link (-ELOOP).
 */
#ifndef ROLLCALL_SPOOL_MANIFEST_REMOVE_H
#define ROLLCALL_SPOOL_MANIFEST_REMOVE_H

#include "base/err.h"

#include <limits.h>
#include <stddef.h>

/* Begin a removal: rename the directory, if it is that of the manifest, to a
 * name that no search takes for a capture.  So what a crash leaves never looks
 * like one, even if the ledger is lost.  If this fails, nothing in it was
 * removed.  A capture that is one file keeps its name.
 */
int manifest_set_aside (const char *path, const void *manifest, size_t size,
                        struct err *err);

/* The path of the directory at 'path' while it is renamed. */
void manifest_aside_path (char out[PATH_MAX], const char *path,
                          const void *manifest, size_t size);

/* Undo a removal: give the directory its old name, if it is complete.  0 also
 * if there is no renamed directory.  -ESTALE, or an error of rename(2): it
 * stays as it is.
 */
int manifest_set_back (const char *path, const void *manifest, size_t size,
                       struct err *err);

/* Rename the capture if that was not done before; remove the files of the
 * manifest, then empty directories, the capture itself last, and fsync.  Files
 * that are already gone are skipped, so it can be repeated after a crash.
 * -ESTALE if the capture contained something else, which stays, at 'path'
 * again.
 */
int manifest_remove (const char *path, const void *manifest, size_t size,
                     struct err *err);

#endif
