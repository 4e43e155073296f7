/* node_agent/spool/release_rows.h - captures that may be removed one day
 *
 * For each capture that was sealed with a manifest: what it was, and how far
 * its removal is.  Part of the spool's ledger; every change is a synchronous
 * transaction.
 */
#ifndef ROLLCALL_SPOOL_RELEASE_ROWS_H
#define ROLLCALL_SPOOL_RELEASE_ROWS_H

#include "base/buf.h"
#include "spool/spool.h"

enum release_state {
    RELEASE_KEPT = 0,           // the capture is there
    RELEASE_BEGUN = 1,          // it is being removed: to be gone on with
    RELEASE_DONE = 2,
    RELEASE_CHANGED = 3,        // not what was delivered: stays
    RELEASE_LEFT = 4,           // removed, but for what was not its own
    RELEASE_KEPT_ROWS = 5,      // as RELEASE_KEPT, but only rows were sealed
};

struct released {
    int64_t id;                 // in the order of sealing
    enum release_state state;
    char path[PATH_MAX];
    int64_t sealed_ns;          // wall clock
    struct buf manifest;        // to be freed by the caller (buf_fini)
    const char *why;            // it is not to be believed, or NULL
};

/* The last 'nitems' items that were sealed are those of this capture: 'kept' is
 * RELEASE_KEPT if they are all of its files, else RELEASE_KEPT_ROWS.  Replaces
 * what was known of an older version of it.
 */
int spool_add_release (struct spool *s, const char *path,
                       enum release_state kept, size_t nitems,
                       const struct buf *manifest, int64_t now_ns,
                       struct err *err);

/* The first after 'id' in this state; of the two that are kept only those of
 * which no item is on its way, and which were sealed before 'before_ns'.  1, 0
 * for none, or negative.  Nothing may be removed if ret->why is set: its row is
 * damaged, or that of an item, or there are not as many delivered items as were
 * sealed; or, of one that is kept, another directory had a capture of its name
 * and rank.
 */
int spool_next_release (struct spool *s, enum release_state state, int64_t id,
                        int64_t before_ns, struct released *ret,
                        struct err *err);

/* Captures that were sealed while the clock was ahead, of those that are 'kept'
 * so, count as sealed at 'now_ns': or they would hold up all later ones, which
 * are looked at in the order of sealing, until their date has come.
 */
int spool_date_releases (struct spool *s, enum release_state kept,
                         int64_t now_ns, struct err *err);

int spool_set_release (struct spool *s, int64_t id, enum release_state state,
                       struct err *err);

/* Whether it is known what the capture at 'path' was, for its release. */
bool spool_has_release (struct spool *s, const char *path);

/* Forget what an older version of the capture at 'path' was, if it is kept. */
int spool_forget_release (struct spool *s, const char *path, struct err *err);

/* Forget a row that is not to be believed: its capture stays. */
int spool_drop_release (struct spool *s, int64_t id, struct err *err);

/* The capture at 'path' if it is being removed, or was and something has
 * stayed: as spool_next_release.
 */
int spool_find_releasing (struct spool *s, const char *path,
                          struct released *ret, struct err *err);

#endif
