/* node_agent/disk/release.h - captures that are safely elsewhere, removed
 *
 * A capture goes when all its items are durable and each of its files is still
 * the one that was delivered (spool/manifest.h).  The ledger knows first, then
 * it is set aside, under a name that is no capture's, then the files go; a
 * removal that a crash has cut short is gone on with in the next life.
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
    bool rows_do;               // those of which only rows were delivered, too
};

/* "never", "shipped", "after=DURATION", "when-full"; false for anything else,
 * which leaves *ret alone.
 */
bool release_parse (const char *text, struct release_policy *ret);

/* Whether captures at 'path' may ever be released. */
bool release_concerns (const struct release_policy *p, const char *path);

/* Go on with what was begun in a former life: whoever has acknowledged it still
 * has it.
 */
int release_repair (struct spool *s, struct err *err);

/* It has not: a removal that was begun comes to nothing.  A capture that was
 * only set aside is where it was again, as one to be sealed.  1: there may be
 * more; 0: there is none; -ESTALE: as 1, but what is left is not the whole
 * capture, or cannot be moved, and stays; else negative.
 */
int release_take_back (struct spool *s, struct err *err);

/* Whether what is at 'path' is the rest of a capture that is being removed
 * (RELEASE_BEGUN: something cannot be) or was (RELEASE_LEFT): it is not to be
 * taken for a newer version.  Another directory in its place is a capture
 * again, as is all else: RELEASE_KEPT; but what is left of the old one goes
 * then, so that it has to wait (-EAGAIN) until the aggregator has 'confirmed'
 * that it has that, or release_take_back was called.
 */
int release_claims (struct spool *s, const char *path, bool confirmed);

/* Release the oldest capture that may go.  'full': a disk has no room.  1: one
 * was, its path is in 'path'; 0: none may; negative: it could not be removed,
 * and stays (-ESTALE: it is not what was delivered, or cannot be looked at, and
 * is left alone from now on).
 */
int release_next (struct spool *s, const struct release_policy *p, bool full,
                  int64_t wall_ns, char path[PATH_MAX], struct err *err);

#endif
