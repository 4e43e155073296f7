/* node_agent/disk/release.h - remove captures that are safely delivered
 *
 * A capture is removed when all its items are durable and each of its files is
 * still the one that was delivered (spool/manifest.h): first recorded in the
 * ledger, then renamed to a name that no capture has, then its files are
 * removed.  The next agent finishes a removal that a crash has cut short.
 */
#ifndef ROLLCALL_DISK_RELEASE_H
#define ROLLCALL_DISK_RELEASE_H

#include "spool/release_rows.h"

enum release_kind { RELEASE_NEVER, RELEASE_SHIPPED, RELEASE_AFTER,
                    RELEASE_WHEN_FULL };

struct release_policy {
    enum release_kind kind;
    int64_t after_ns;           // of RELEASE_AFTER: since sealing
    const char *below;          // only captures below this directory; NULL: all
    bool rows_suffice;               // also if only rows were delivered
};

/* "never", "shipped", "after=DURATION", "when-full"; false for anything else,
 * which leaves *ret alone.
 */
bool release_parse (const char *text, struct release_policy *ret);

/* Whether the policy applies to captures at 'path'. */
bool release_concerns (const struct release_policy *p, const char *path);

/* Finish removals that an earlier agent began: the aggregator still has the
 * data.
 */
int release_repair (struct spool *s, struct err *err);

/* The aggregator has lost the data: undo a removal that was begun.  A capture
 * that was only renamed gets its name again, to be sealed. 1: there may be
 * more; 0: there is none; -ESTALE: as 1, but the rest is not the whole capture
 * or cannot be renamed, and stays; else negative.
 */
int release_take_back (struct spool *s, struct err *err);

/* Whether 'path' is the rest of a capture whose removal is not complete
 * (RELEASE_BEGUN) or left files (RELEASE_LEFT), and so not a newer version.
 * Anything else, also another directory in its place, is a capture:
 * RELEASE_KEPT.  Then the rest of the old one is removed first, which must wait
 * (-EAGAIN) until the aggregator has 'confirmed' that it has that, or
 * release_take_back was called.
 */
int release_claims (struct spool *s, const char *path, bool confirmed);

/* Release the oldest capture that may be removed.  'full': a disk has no room.
 * 1: done, its path is in 'path'; 0: there is none; negative: it could not be
 * removed, and stays (-ESTALE: it differs from what was delivered or cannot be
 * examined, and is not tried again).
 */
int release_next (struct spool *s, const struct release_policy *p, bool full,
                  int64_t wall_ns, char path[PATH_MAX], struct err *err);

#endif
