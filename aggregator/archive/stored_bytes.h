/* aggregator/archive/stored_bytes.h - how much of a root's segments is of which
 * job
 */
#ifndef ROLLCALL_ARCHIVE_STORED_BYTES_H
#define ROLLCALL_ARCHIVE_STORED_BYTES_H

#include "store/store.h"

/* Call 'fn' for the bytes of each chunk in the segments, as they are stored,
 * with the first item that has it: of a chunk of several jobs, the first one's.
 * A content whose list of chunks is damaged counts as that list.  Takes some
 * 5 us for each chunk, and 40 bytes of memory.  0, -ENOMEM, an error of the
 * ledger, or what 'fn' says, if negative.
 */
int stored_bytes_each (struct ledger *ledger, const struct store *store,
                       int (*fn) (void *arg, const struct ledger_item *item,
                                  uint64_t bytes),
                       void *arg, struct err *err);

#endif
