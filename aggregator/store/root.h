/* aggregator/store/root.h - the lock of an aggregator's root */
#ifndef ROLLCALL_STORE_ROOT_H
#define ROLLCALL_STORE_ROOT_H

#include "base/err.h"

#include <stdbool.h>

// for the directory that was named
#define ROOT_IS_NONE "%s is not the root of an aggregator: name it with " \
    "--root or ROLLCALL_ROOT"

#define ROOT_DEFAULT "/var/lib/rollcall"
#define ROOT_VARIABLE "ROLLCALL_ROOT"

// where a service also listens for those who cannot read its root
#define ROOT_SOCKET_DEFAULT "/run/rollcall/control.sock"
#define ROOT_SOCKET_VARIABLE "ROLLCALL_SOCKET"

// how a service starts a verb for them: set, and the user whose jobs it shows,
// or all
#define ROOT_VIEW_VARIABLE "ROLLCALL_VIEW"
#define ROOT_VISIBLE_VARIABLE "ROLLCALL_VISIBLE_TO"

/* Lock the root for writing by this process: a descriptor, which holds the lock
 * until it is closed.  -EBUSY: another process, named in 'err', has it;
 * -ENOENT: there is no such root (and 'make' is false).
 */
int root_lock (const char *root, bool make, struct err *err);

/* Whether the locked root still has this name; false only if it was removed or
 * replaced.
 */
bool root_is_there (int fd, const char *root);

#endif
