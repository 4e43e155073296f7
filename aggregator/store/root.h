/* aggregator/store/root.h - the lock and the id of an aggregator's root */
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

/* Make the directory of a root, if there is none.  If this user may not make the
 * default one, the sentence says which option names another.
 */
int root_make_dir (const char *root, struct err *err);

/* Lock the root for writing by this process: a descriptor, which holds the lock
 * until it is closed.  -EBUSY: another process, named in 'err', has it;
 * -ENOENT: there is no such root (and 'make' is false).
 */
int root_lock (const char *root, bool make, struct err *err);

/* Whether another process has it now, without taking it: -EBUSY as root_lock, or
 * 0, also if nobody can tell.  It is shared for a moment, for which root_lock
 * fails elsewhere: control_lock waits.
 */
int root_check_free (const char *root, struct err *err);

/* Whether this process may change the root by itself.  -EPERM: it is root, and
 * the ledger is another user's, whose service could not open what root makes.
 */
int root_check_owner (const char *root, struct err *err);

/* A backup looks like a root, but is only to be read: a file ROOT_BACKUP marks
 * it.  -EPERM: the root is a backup.
 */
#define ROOT_BACKUP "is-a-backup"
bool root_is_backup (const char *root);
int root_check_backup (const char *root, struct err *err);

/* Whether a root may be made there: -EEXIST: the directory has other things. */
int root_check_new (const char *root, struct err *err);

/* Whether the locked root still has this name; false only if it was removed or
 * replaced.
 */
bool root_is_there (int fd, const char *root);

/* The id of a root, which its backups have, too: 32 digits in the file ROOT_ID.
 * Make one if there is none, under the lock of the root; read it (-ENOENT: there
 * is none); write that of a copy.  Or an error of the file.
 */
#define ROOT_ID "id"
#define ROOT_ID_SIZE 33
int root_make_id (const char *root, struct err *err);
int root_read_id (const char *root, char id[ROOT_ID_SIZE], struct err *err);
/* The same of a root that has its ledger: one that nobody has written to since
 * there are ids gets its id here, under its lock.  -ENOMEDIUM: it is no root.
 */
int root_need_id (const char *root, char id[ROOT_ID_SIZE], struct err *err);
int root_write_id (const char *root, const char *id, struct err *err);

/* What only this root has, and neither its backups nor roots that are made of
 * them: 32 digits in ROOT_TOKEN.  They are made if there are none.
 */
#define ROOT_TOKEN "owner"
int root_make_token (const char *root, char token[ROOT_ID_SIZE],
                     struct err *err);

#endif
