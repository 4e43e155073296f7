/* aggregator/interchange/backup.h - back up a root, and restore it
 *
 * A backup is a directory with id, ledger.db, segments/ and audit.log, as in a
 * root.  The ledger is copied first, then the segments as far as that copy goes: what a
 * ledger knows is in segments already, which only grow.  In the other order a
 * commit between the two would name bytes that were not copied.  The new ledger
 * gets its name at the end, so that at any moment the directory is the former
 * backup or the new one.  Results are not in it: they are made again.  Nor are
 * wants: they are asked for again.
 */
#ifndef ROLLCALL_INTERCHANGE_BACKUP_H
#define ROLLCALL_INTERCHANGE_BACKUP_H

#include "store/tree.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define BACKUP_TRIES 8          // segments may be removed meanwhile

struct backup_sums {
    uint64_t segments, bytes;   // of the backup
    uint64_t copied, linked;    // bytes that were not there before
};

struct backup_how {
    bool copy;                  // also full segments, which could be linked
    const atomic_bool *cancel;  // or NULL
};

/* Back up the root into 'dir', which may have an earlier backup of it: only what
 * is new is copied.  An aggregator may serve the root.  -EEXIST: 'dir' has
 * something else, or the backup of another root, or is in the root; -EBUSY:
 * another process is at work there; -EACCES: the root's id or ledger may not be
 * read, and nothing was made; -EBADMSG: the root is damaged; -EPERM: as
 * backup_hold; -ENOSPC, -EIO: the former backup stays; -EINTR once *cancel is
 * true.
 */
int backup_make (const char *root, const char *dir,
                 const struct backup_how *how, struct backup_sums *ret,
                 struct err *err);

/* Make a root of a backup, which is checked first, each hash.  'root' must not
 * exist, or be empty: -EEXIST.  It appears when it is whole: under its name, or,
 * in a directory that is there, with its ledger.  -EBADMSG: the backup is
 * damaged, and 'err' says how much; -EBUSY: another restore to it is under way;
 * -EPERM: as backup_hold, of 'root' or the directory in which it is made.
 */
int backup_restore (const char *dir, const char *root,
                    const struct backup_how *how, struct backup_sums *ret,
                    struct err *err);

/* Make a directory, if it is absent, and hold it open: 'held' is a path of it
 * that nobody can lead elsewhere.  -EPERM: the caller is root, and it is another
 * user's, who could do that below it; or another error.
 */
int backup_hold (const char *dir, struct tree *t, char held[TREE_HELD_MAX],
                 struct err *err);

/* Copy the audit log of 'from', as it is now, to the file 'to': 1; 0: there is
 * none.
 */
int backup_copy_audit (const char *from, const char *to,
                       const atomic_bool *cancel, struct err *err);

/* Copy a segment from 'from' to 'to', of which *at bytes are there, up to 'end',
 * and fsync it.
 */
int backup_copy_segment (const char *from, const char *to, uint64_t at,
                         uint64_t end, const atomic_bool *cancel,
                         struct err *err);

#endif
