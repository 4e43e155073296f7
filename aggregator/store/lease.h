/* aggregator/store/lease.h - who reads a root, so that nothing is collected
 *
 * A lease is a file in ROOT/leases/ that its holder keeps locked with flock(2):
 * a dead holder holds nothing.  Take one before the ledger is read, and keep it
 * for as long as places of contents are used (an export, a copy, a build beside
 * the aggregator, an import that counts on chunks which are here).  While
 * anybody has one, no segment is removed and no content is forgotten.  It keeps
 * no job from being removed: its bytes stay.
 *
 * The aggregator needs none for what it does itself: its builds, and contents
 * that agents offer (store/gc.h).
 */
#ifndef ROLLCALL_STORE_LEASE_H
#define ROLLCALL_STORE_LEASE_H

#include "base/err.h"

#include <limits.h>

#define LEASE_DIR "leases"
#define LEASE_TEXT_MAX 128

struct lease {
    int fd;                     // -1: none
    char path[PATH_MAX];
};

#define LEASE_NONE { .fd = -1 }

/* Take one; 'what' says for what, in words for a person ("rollcall export").
 * -ENOENT, -EACCES, -EROFS: this process may not write there, or no aggregator
 * made the directory (store_open) yet: go on without one, and take a segment that
 * is gone for a reason to begin again.  -ENOSPC, -EIO.
 */
int lease_take (const char *root, const char *what, struct lease *ret,
                struct err *err);
void lease_end (struct lease *l);       // may be LEASE_NONE

/* Keep others from taking one until lease_unblock, and count as lease_count: 0 or
 * more, or negative (nothing is blocked then).
 */
int lease_block (const char *root, int *fd, char text[LEASE_TEXT_MAX],
                 struct err *err);
void lease_unblock (int fd);

/* How many there are, and the text of one ("WHAT, process PID"); what dead
 * holders left is removed.  Negative: it cannot be found out, so collect
 * nothing.
 */
int lease_count (const char *root, char text[LEASE_TEXT_MAX],
                 struct err *err);

#endif
