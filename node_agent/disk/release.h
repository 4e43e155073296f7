/* node_agent/disk/release.h - remove delivered captures
 *
 * A capture is removed if all its items are durable and each of its files is
 * still the one that was delivered (spool/manifest.h).  The removal is first
 * recorded in the ledger, then the capture gets a name that no capture has,
 * then its files are removed.  If the agent crashes, the next one completes the
 * removal.
 */
#ifndef ROLLCALL_DISK_RELEASE_H
#define ROLLCALL_DISK_RELEASE_H

#include "spool/release_rows.h"

enum release_kind { RELEASE_NEVER, RELEASE_SHIPPED, RELEASE_AFTER,
                    RELEASE_WHEN_FULL };

struct release_policy {
    enum release_kind kind;
    int64_t after_ns;           // of RELEASE_AFTER: ns since sealing
    const char *below;          // only captures below this directory; NULL: all
    bool rows_suffice;          // also captures of which only rows were
                                // delivered,
    int64_t rows_after_ns;      // so long after sealing
};

/* Parse "never", "shipped", "after=DURATION" or "when-full".  False for
 * anything else, and *ret is unchanged.
 */
bool release_parse (const char *text, struct release_policy *ret);

/* Whether the policy applies to captures at 'path'. */
bool release_concerns (const struct release_policy *p, const char *path);

/* Complete removals that an earlier agent began.  Call it once the aggregator
 * has confirmed that it has the data.  Returns 0, or the first error, after
 * trying all.
 */
int release_repair (struct spool *s, struct err *err);

/* Undo one removal that was begun, since the aggregator has lost the data.  A
 * capture that was only renamed gets its name back, and can be sealed.  1: call
 * it again; 0: there was none; -ESTALE: as 1, but the rest is not the whole
 * capture or cannot be renamed, and stays as it is; other errors: try again
 * later.
 */
int release_take_back (struct spool *s, struct err *err);

/* Whether 'path' is the rest of a capture whose removal is incomplete
 * (RELEASE_BEGUN) or left other files (RELEASE_LEFT), and so not a newer
 * version.  Anything else, also a new directory in its place, is a capture:
 * RELEASE_KEPT.  Then the rest of the old one is removed first.  That must wait
 * (-EAGAIN: ask again later) until the aggregator has 'confirmed' that it has
 * the data, or until release_take_back was called.
 */
int release_claims (struct spool *s, const char *path, bool confirmed);

/* Remove the oldest capture that may be removed.  'full': a disk has no room.
 * 1: done, and 'path' is its path; 0: there is none.  After an error the
 * capture stays.  -ESTALE: it differs from what was delivered, or cannot be
 * examined, and is not tried again; other errors: try again later.
 */
int release_next (struct spool *s, const struct release_policy *p, bool full,
                  int64_t wall_ns, char path[PATH_MAX], struct err *err);

#endif
