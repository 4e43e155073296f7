/* node_agent/disk/roots.h - the directories below which captures may be removed
 *
 * The owner of a directory may replace a watched directory in it by a symbolic
 * link, while the agent, perhaps as root, removes delivered captures.  So
 * captures are removed only below the directories as they were when the agent
 * began, or to which only trusted links have led since.
 */
#ifndef ROLLCALL_DISK_ROOTS_H
#define ROLLCALL_DISK_ROOTS_H

#include "base/err.h"

#include <stddef.h>

struct roots;

/* Create roots for 'n' directories or files, as the user named them; the texts
 * are borrowed.  One that does not exist yet is accepted as it appears later.
 * NULL: no memory.
 */
struct roots *roots_create (const char *const *dirs, size_t n);
void roots_destroy (struct roots *r);           // r may be NULL

/* Check that 'path', which has no links, is below one of them.  -EXDEV: it is
 * not, and must not be removed.
 */
int roots_check (const struct roots *r, const char *path, struct err *err);

#endif
