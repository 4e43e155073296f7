/* aggregator/store/root.h - who has an aggregator's root */
#ifndef ROLLCALL_STORE_ROOT_H
#define ROLLCALL_STORE_ROOT_H

#include "base/err.h"

#include <stdbool.h>

#define ROOT_DEFAULT "/var/lib/rollcall"
#define ROOT_VARIABLE "ROLLCALL_ROOT"

/* Take the root for this process, to write to it: a descriptor, which holds it
 * until it is closed.  -EBUSY: another process has it, 'err' names it; -ENOENT:
 * there is no such root (and 'make' is false).
 */
int root_lock (const char *root, bool make, struct err *err);

/* Whether the root that 'fd' holds is still what has this name; false only when
 * it was removed, or another one is in its place.
 */
bool root_is_there (int fd, const char *root);

#endif
