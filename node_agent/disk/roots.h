/* node_agent/disk/roots.h - where captures may be removed
 *
 * The owner of a directory may replace a watched directory in it by a symbolic
 * link, while the agent, perhaps as root, removes delivered captures.  So
 * captures are removed only below the directories as they were when the agent
 * began, or where only trusted links have led since.
 */
#ifndef ROLLCALL_DISK_ROOTS_H
#define ROLLCALL_DISK_ROOTS_H

#include "base/err.h"

#include <stddef.h>

struct roots;

/* For 'n' directories or files, as a user gave them; the texts are borrowed.
 * One that does not exist yet is accepted as it is later.  NULL: no memory.
 */
struct roots *roots_create (const char *const *dirs, size_t n);
void roots_destroy (struct roots *r);           // r may be NULL

/* Whether 'path', which has no links, is below one of them: 0, or -EXDEV with
 * a sentence.
 */
int roots_check (const struct roots *r, const char *path, struct err *err);

#endif
