/* aggregator/interchange/backup_private.h - a backup, between its files */
#ifndef ROLLCALL_INTERCHANGE_BACKUP_PRIVATE_H
#define ROLLCALL_INTERCHANGE_BACKUP_PRIVATE_H

#include "interchange/backup.h"
#include "ledger/ledger.h"
#include "store/segment.h"

#define NEW_LEDGER "ledger.db.new"
#define NEW_FILE "new"          // becomes a segment, or the audit log

struct extent {
    int64_t segment;
    uint64_t end;
};

struct extents {
    struct extent *list;
    size_t n;
};

struct backup {
    const char *root, *dir;     // dir: its held path
    const struct backup_how *how;
    struct extents former;      // what the former backup has: all else may be
                                // of one that was interrupted
    struct backup_sums *sums;
    int64_t last;               // the open segment
    struct segments *segments;  // of the root, to read with
    struct err *err;
};

/* For ledger_each_segment: have the first 'end' bytes of segment 'n' in the
 * backup, 'arg'.  -ENOENT: it is not there any more; -EEXIST: another root's is
 * in its place; -EBADMSG: what came from an object store is damaged, and the
 * errors of copies.
 */
int backup_save_segment (void *arg, int64_t n, uint64_t end);

/* For ledger_each_segment: add it to the struct extents 'arg'.  -ENOMEM. */
int backup_note_extent (void *arg, int64_t segment, uint64_t end);

/* Remove segments that this ledger has no more. */
void backup_drop_unwanted (const struct backup *b, struct ledger *l);

#endif
