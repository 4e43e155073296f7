/* node_agent/disk/disk_quota.h - limit what the agent stores on its disk
 *
 * The spool has a quota, and its file system needs some free space.  At either
 * limit nothing more is read into the spool: captures stay where they are until
 * there is room.
 */
#ifndef ROLLCALL_DISK_DISK_QUOTA_H
#define ROLLCALL_DISK_DISK_QUOTA_H

#include "base/err.h"
#include "store/space.h"

#include <stdbool.h>
#include <stdint.h>

/* The default quota, which is enough for the shipments of about 300 GB of
 * captures.  It is at most a tenth of the file system.
 */
#define DISK_QUOTA_QUOTA_DEFAULT (UINT64_C (10) << 30)

enum disk_quota_policy {        // --when-full
    DISK_QUOTA_BLOCK,           // wait for room
    DISK_QUOTA_DROP,            // remove delivered captures, then wait
    DISK_QUOTA_REFUSE,          // give the capture up, and report it
};

struct disk_quota {
    const char *spool_dir;      // borrowed
    struct space_limit quota;
    enum disk_quota_policy policy;
    struct space_floor floor;
    bool full;                  // result of the last check
    struct err why;             // the reason, if full
};

/* Parse "block", "drop-oldest-shipped" or "refuse".  False for anything else.
 */
bool disk_quota_parse_policy (const char *text, enum disk_quota_policy *ret);

/* The quota in bytes; 0 if it cannot be determined. */
uint64_t disk_quota_quota_bytes (const struct disk_quota *g);

/* How many shipments may be made at once, with 'open' bytes in the spool that are
 * not delivered, and 'kept' ones for which there is no second copy yet.  0: it is
 * full, for the reason in g->why; 1: it is nearly full, so that at most one
 * shipment exceeds the quota.  A file system that cannot be queried counts as
 * full.
 */
unsigned disk_quota_admits (struct disk_quota *g, uint64_t open,
                            uint64_t kept);

#endif
