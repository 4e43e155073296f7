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

/* Make 'name' in 'dir' ready for a file to be renamed to it, which is the caller's next
 * step.
 *
 * What rollcall wrote ('ours') stays until then, but loses its -wal, -shm and
 * -journal.  Anything else, as what another tool wrote, is renamed to
 * NAME.before-rollcall[.N], with all three, and opens there as before; 'kept'
 * gets its path (else "").
 *
 * 0, or with a sentence
 *   -EBUSY   another process, named if it can be told, writes it now: nothing
 *            has changed, try when it has ended
 *   -EEXIST  all names for keeping it are taken
 *   others   what rename(2), unlink(2) or fsync(2) said
 */
int existing_output_move_aside (const struct tree *dir, const char *name,
                                bool ours,
                                char kept[PATH_MAX], struct err *err);

#endif
