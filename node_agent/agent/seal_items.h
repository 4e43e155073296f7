/* node_agent/agent/seal_items.h - items sealed of a capture: rows, raw files
 *
 * For the thread of the sealer, and for what becomes of its results.
 */
#ifndef ROLLCALL_AGENT_SEAL_ITEMS_H
#define ROLLCALL_AGENT_SEAL_ITEMS_H

#include "agent/sealer.h"

/* Add an item, NULL: no memory; remove the last one. */
struct spool_new *seal_add_item (struct sealed *s, enum item_kind kind,
                                 const char *path);
void seal_drop_item (struct sealed *s);

/* Remove the links of items from the spool, from this one on. */
void seal_remove_links (const struct sealed *s, size_t first);

/* Leave out raw files again, but for those that only the spool has. */
void seal_leave_raw (struct sealed *s);

/* Pause as 'bulk' demands; negative if the agent is ending. */
int seal_pause (struct bulk *bulk, struct err *err);

/* Compute the hash of the item in 'fd', with pauses between chunks. */
int seal_hash (int fd, struct spool_new *item, struct bulk *bulk,
               struct err *err);

/* Whether to seal the capture again after this failure: a lack of descriptors
 * or memory is no fault of a file, and a disk gets a second try.
 */
bool seal_may_pass (const struct sealed *s, int rc);

/* Add the raw files of the capture and of what is beside it (model/beside.h);
 * if some are wanted (struct seal_wanted), only those.  Those that are left out are counted, with the reason.
 */
int seal_raw (struct sealed *s, struct bulk *bulk, struct err *err);

#endif
