/* aggregator/publish/existing_output.h - files under the name of a new result
 *
 * NAME-wal and NAME-journal hold changes that are not in the database yet, and
 * SQLite would replay them into the next file NAME.  So they are moved or
 * removed together with the main file.
 */
#ifndef ROLLCALL_PUBLISH_EXISTING_OUTPUT_H
#define ROLLCALL_PUBLISH_EXISTING_OUTPUT_H

#include "store/tree.h"

#include <limits.h>
#include <stdbool.h>

/* Prepare 'name' in 'dir', to which the caller then renames a file.
 *
 * A file of rollcall ('ours') stays until then, but its -wal, -shm and -journal
 * are removed.  Any other file, such as another tool's, is renamed to
 * NAME.before-rollcall[.N] with all three, and opens there as before; 'kept'
 * gets its path (else "").
 *
 * 0, or with a sentence
 *   -EBUSY   another process, named if possible, is writing it: nothing has
 *            changed, try again when that has ended
 *   -EEXIST  all names for keeping it are taken
 *   others   what rename(2), unlink(2) or fsync(2) said
 */
int existing_output_move_aside (const struct tree *dir, const char *name,
                                bool ours,
                                char kept[PATH_MAX], struct err *err);

#endif
