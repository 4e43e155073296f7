/* node_agent/disk/disk_quota.c - limit what the agent stores on its disk
 *
 * This folder: how full a disk may be, and the removal of delivered captures.
 */
#include "disk/disk_quota.h"

#include "base/units.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#define AHEAD_MAX 16            // shipments at once while there is room
#define AHEAD_BYTES (UINT64_C (64) << 20)       // assumed size of one; most are
                                                // far below 1 MiB

bool disk_quota_parse_policy (const char *text, enum disk_quota_policy *ret)
{
    static const char *const names[] = { "block", "drop-oldest-shipped",
                                         "refuse" };

    for (size_t i = 0; i < sizeof (names) / sizeof (names[0]); i++) {
        if (strcmp (text, names[i]) == 0) {
            *ret = (enum disk_quota_policy)i;
            return true;
        }
    }
    return false;
}

uint64_t disk_quota_quota_bytes (const struct disk_quota *g)
{
    struct space s;

    if (space_of (g->spool_dir, &s, NULL) < 0)
        return 0;
    return space_limit_bytes (&g->quota, s.total_bytes,
                              DISK_QUOTA_QUOTA_DEFAULT);
}

/* One sentence. */
static void say_full (struct disk_quota *g, uint64_t open, uint64_t kept,
                      uint64_t quota)
{
    char have[16], most[16], more[16];

    units_bytes_text (open + kept, have);
    units_bytes_text (quota, most);
    units_bytes_text (kept, more);
    if (kept > 0)
        (void)err_set (&g->why, ENOSPC, "%s holds %s of data, %s of which is "
                       "delivered and kept until there is a second copy, and "
                       "may hold %s (--spool-quota)", g->spool_dir, have, more,
                       most);
    else
        (void)err_set (&g->why, ENOSPC, "%s holds %s of undelivered data, and "
                       "may hold %s (--spool-quota)", g->spool_dir, have, most);
}

unsigned disk_quota_admits (struct disk_quota *g, uint64_t open,
                            uint64_t kept)
{
    uint64_t quota = disk_quota_quota_bytes (g), used = open + kept, ahead;

    g->full = true;
    if (space_check_floor (&g->floor, g->spool_dir, &g->why) <= 0)
        return 0;
    if (used >= quota) {
        say_full (g, open, kept, quota);
        return 0;
    }
    g->full = false;
    ahead = (quota - used) / AHEAD_BYTES;
    if (ahead < 1)
        return 1;
    return ahead < AHEAD_MAX ? (unsigned)ahead : AHEAD_MAX;
}
