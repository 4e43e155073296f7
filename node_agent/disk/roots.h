/* node_agent/disk/roots.h - where captures may be removed
 *
 * What an agent watches may be swapped for a symbolic link by whoever owns the
 * directory around it, while the agent, perhaps as root, removes what it has
 * delivered.  So captures are removed only below what the directories were when
 * the agent began, or where none but trusted links have led since.
 */
#ifndef ROLLCALL_DISK_ROOTS_H
#define ROLLCALL_DISK_ROOTS_H

#include "base/err.h"

#include <stddef.h>

struct roots;

/* Of 'n' directories or files, as a user gave them; the texts are borrowed.  One
 * that is not there yet is taken for what it is later.  NULL: no memory.
 */
struct roots *roots_create (const char *const *dirs, size_t n);
void roots_destroy (struct roots *r);           // r may be NULL

/* Whether 'path', which has no links, is below one of them: 0, or -EXDEV with
 * a sentence.
 */
int roots_check (const struct roots *r, const char *path, struct err *err);

#endif
