/* node_agent/spool/release_rows.h - captures that may be removed later
 *
 * For each capture that was sealed with a manifest: its files, and the progress
 * of its removal.  Part of the spool's ledger; every change is a synchronous
 * transaction, unless it is within one.
 */
#ifndef ROLLCALL_SPOOL_RELEASE_ROWS_H
#define ROLLCALL_SPOOL_RELEASE_ROWS_H

#include "base/buf.h"
#include "spool/spool.h"

struct released {
    int64_t id;                 // in the order of sealing
    enum release_state state;
    char path[PATH_MAX];
    int64_t sealed_ns;          // wall clock
    struct buf manifest;        // to be freed by the caller (buf_fini)
    const char *why;            // the row is invalid, or NULL
};

/* A part of spool_seal: the last 'nitems' items that were sealed are those of this
 * capture.  The event is RELEASE_ALL_SEALED if they are all of its files, else
 * RELEASE_ROWS_SEALED.  Replaces what was known of an older version of it.
 */
int spool_add_release (struct spool *s, const char *path,
                       enum release_event sealed, size_t nitems,
                       const struct buf *manifest, int64_t now_ns,
                       struct err *err);

/* Find the first after 'id' in this state; in a kept state, only those without
 * open items, and of which nothing is kept (spool_keep), sealed before
 * 'before_ns'. 1, 0 for none, or negative.  Remove
 * nothing if ret->why is set: its row or an item's is damaged, or fewer items
 * were delivered than sealed; or, if it is kept, another directory had a
 * capture of its name and rank.
 */
int spool_next_release (struct spool *s, enum release_state state, int64_t id,
                        int64_t before_ns, struct released *ret,
                        struct err *err);

/* Captures in state 'kept' that were sealed while the clock was ahead count as
 * sealed at 'now_ns': otherwise they would delay all later ones, because
 * releases are in the order of sealing.
 */
int spool_date_releases (struct spool *s, enum release_state kept,
                         int64_t now_ns, struct err *err);

/* Take an event for a release, with its reason (or NULL): the row and r->state
 * change, or the row is removed (RELEASE_DROP). -EINVAL: the state has no edge
 * for it.
 */
int spool_change_release (struct spool *s, struct released *r,
                          enum release_event event, const char *why,
                          struct err *err);

/* Whether there is a row for the release of the capture at 'path'. */
bool spool_has_release (struct spool *s, const char *path);

/* Whether a version at this path was removed, or is being removed. */
bool spool_was_released (struct spool *s, const char *path);

/* Forget the row of an older version of the capture at 'path', if kept. */
int spool_forget_release (struct spool *s, const char *path, struct err *err);

/* Find the capture at 'path' if it is being removed, or if files of it stayed:
 * results as spool_next_release.
 */
int spool_find_releasing (struct spool *s, const char *path,
                          struct released *ret, struct err *err);

#endif
