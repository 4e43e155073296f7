/* aggregator/archive/archive_verify.h - check all that is stored in a root */
#ifndef ROLLCALL_ARCHIVE_ARCHIVE_VERIFY_H
#define ROLLCALL_ARCHIVE_ARCHIVE_VERIFY_H

#include "archive/archive.h"

struct archive_verified {
    int64_t items;
    uint64_t bytes;             // of the items
    uint64_t stored;            // bytes of segments that were read
};

/* Read all records of the segments once, in order, with the chunks and lists of
 * chunks behind them: that they are as they were written and, if a->deep, that
 * each chunk has its hash.  'fn' gets bytes that are no record, with 'item' NULL,
 * unless a check has set them aside; then each item, of any job, that was set
 * aside, or of which a chunk is damaged or not there, with the reason.  Memory
 * grows with the damage only.  0; -EBADMSG: the ledger is damaged; -EACCES or -EPERM: this user may not read a
 * segment; -ENOMEM; what 'fn' says, if negative.
 */
typedef int archive_damaged_fn (void *arg, const struct ledger_item *item,
                                const struct err *why);
int archive_verify (struct archive *a, archive_damaged_fn *fn, void *arg,
                    struct archive_verified *ret, struct err *err);

#endif
