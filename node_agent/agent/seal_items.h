/* node_agent/agent/seal_items.h - what is sealed of a capture: rows, raw files
 *
 * Private to the sealer, for its thread.
 */
#ifndef ROLLCALL_AGENT_SEAL_ITEMS_H
#define ROLLCALL_AGENT_SEAL_ITEMS_H

#include "agent/sealer.h"

/* One item more, NULL without memory; and the last one less. */
struct spool_new *seal_add_item (struct sealed *s, enum item_kind kind,
                                 const char *path);
void seal_drop_item (struct sealed *s);

/* Rest as 'bulk' wants it; negative when the agent is ending. */
int seal_pause (struct bulk *bulk, struct err *err);

/* The hash of the item in 'fd', with a rest between chunks. */
int seal_hash (int fd, struct spool_new *item, struct bulk *bulk,
               struct err *err);

/* Whether a capture is to be sealed another time for this failure: want of
 * descriptors or memory is of no file, a disk's trouble is waited for once.
 */
bool seal_may_pass (const struct sealed *s, int rc);

/* Add the raw files of the capture, and of what is beside it (model/beside.h).
 * Those that are left out are counted, with
 * the reason.
 */
int seal_raw (struct sealed *s, struct bulk *bulk, struct err *err);

#endif
