/* node_agent/spool/release_rows.c - captures that may be removed later */
#include "spool/release_rows.h"

#include "spool/spool_private.h"

#include "base/clock.h"
#include "base/fault.h"
#include "spool/manifest.h"

#include <errno.h>

int spool_add_release (struct spool *s, const char *path,
                       enum release_event sealed, size_t nitems,
                       const struct buf *manifest, int64_t now_ns,
                       struct err *err)
{
    int rc = FAULT ("agent.release.add"), state = RELEASE_NO_ROW;
    uint64_t id;

    if (rc < 0)
        return err_sys (err, -rc, "cannot note the files of %s", path);
    if (!spool_change (s, SPOOL_TABLE_RELEASE, 0, path, &state, sealed, NULL))
        return err_set (err, EINVAL, "%s has not been sealed", path);
    rc = spool_do (s, err,
        "INSERT OR REPLACE INTO release (path, first_item, last_item, "
        "sealed_ns, manifest, state, sum) SELECT ?1, a, b, ?3, ?4, ?5, "
        "row_sum('r', ?1, a, b, ?3, ?4, ?5) FROM (SELECT max(id)-?2+1 AS a, "
        "max(id) AS b FROM item)", path, nitems, now_ns,
        db_blob (manifest->data, manifest->size), state);
    id = (uint64_t)sqlite3_last_insert_rowid (s->db);
    if (rc == 0)
        s->since[SPOOL_TABLE_RELEASE][id % SINCE_MAX] =
            (struct spool_since){ id, clock_mono_ns () };
    return rc;
}

/* Every sealed item exists, has a valid row, and is durable. */
#define ALL_DELIVERED \
    "last_item-first_item+1 = (SELECT count(*) FROM item NOT INDEXED WHERE " \
    "id BETWEEN first_item AND last_item AND state IN (6, 7) AND sum IS " \
    ITEM_SUM ("state", "at", "why") ")"

#define ITS_ID "(SELECT capture FROM item WHERE item.id=first_item)"

/* Items are offered in the order of sealing, at most 16 at a time.  So fewer
 * captures than this before a durable one are not durable.
 */
#define AHEAD "32"

/* Find the oldest without an undelivered item, also of those that were added
 * later because they were wanted (spool_add_raw), without reading its manifest and
 * without computing a hash.
 */
#define OLDEST \
    "SELECT id FROM (SELECT id, first_item, last_item, sealed_ns FROM " \
    "release WHERE state=?1 AND id>?2 ORDER BY id LIMIT " AHEAD ") WHERE " \
    "?1 NOT IN (0, 5) OR (sealed_ns<?3 AND NOT EXISTS (SELECT 1 FROM item " \
    "INDEXED BY " \
    "item_open WHERE kind IN (1, 2) AND item.state<6 AND item.id BETWEEN " \
    "first_item AND last_item) AND NOT EXISTS (SELECT 1 FROM item INDEXED BY " \
    "item_durable WHERE item.state=6 AND item.id>=first_item AND " \
    "item.at<>0 AND item.capture=" ITS_ID ") AND " \
    "NOT EXISTS (SELECT 1 FROM capture WHERE " \
    "capture.id=" ITS_ID " AND open>0)) ORDER BY id LIMIT 1"

/* Read the row, if there is one; finishes the statement. */
static int take_row (struct db_rows *r, struct released *ret)
{
    struct db_blob manifest;
    bool good, delivered, collides;
    bool found = db_row (r, ret->id, ret->path, ret->sealed_ns, manifest, good,
                         delivered, collides, ret->state);
    int rc;

    if (found) {
        buf_init (&ret->manifest, MANIFEST_MAX);
        buf_put (&ret->manifest, manifest.data, manifest.size);
        if (ret->manifest.failed)
            r->rc = err_set (r->err, ENOMEM, "no memory for a manifest");
        ret->why = !good ? "its row in the ledger is damaged"
                   : !delivered
                       ? "its ledger does not say that all was delivered"
                   : collides
                       ? "another directory had a capture of its name and "
                         "rank: in a result only one of them counts" : NULL;
    }
    rc = db_end (r);
    return rc < 0 ? rc : found;
}

int spool_next_release (struct spool *s, enum release_state state, int64_t id,
                        int64_t before_ns, struct released *ret,
                        struct err *err)
{
    struct db_rows r = spool_rows (s, err,
        "SELECT id, path, sealed_ns, manifest, sum IS " RELEASE_SUM ("state")
        ", " ALL_DELIVERED ", CASE WHEN state IN (0, 5) THEN "
        "EXISTS (" COLLISION_OF (ITS_ID) ") END, state FROM release WHERE "
        "id=(" OLDEST ")",
        state, id, before_ns);

    return take_row (&r, ret);
}

int spool_date_releases (struct spool *s, enum release_state kept,
                         int64_t now_ns, struct err *err)
{
    bool ahead = false;
    int rc = db_one (spool_rows (s, err, "SELECT EXISTS (SELECT 1 FROM (SELECT "
                                 "sealed_ns FROM release WHERE state=?1 ORDER "
                                 "BY id LIMIT " AHEAD ") WHERE sealed_ns>?2)",
                                 kept, now_ns), ahead);

    if (rc < 0 || !ahead)
        return rc < 0 ? rc : 0;
    // a damaged row stays damaged
    return spool_do (s, err, "UPDATE release SET sealed_ns=?2, sum="
                     RELEASE_SUM_AT ("?2", "state") " WHERE state=?1 AND "
                     "sealed_ns>?2 AND sum IS " RELEASE_SUM ("state"), kept,
                     now_ns);
}

int spool_change_release (struct spool *s, struct released *r,
                          enum release_event event, const char *why,
                          struct err *err)
{
    int state = (int)r->state, rc = 0;

    if (!spool_change (s, SPOOL_TABLE_RELEASE, (uint64_t)r->id, r->path, &state,
                       event, why))
        return err_set (err, EINVAL, "the release of %s cannot be changed",
                        r->path);
    if (state == RELEASE_NO_ROW)
        rc = spool_do (s, err, "DELETE FROM release WHERE id=?1", r->id);
    else if ((rc = FAULT ("agent.release.commit")) < 0)
        rc = err_sys (err, -rc, "cannot note a release");
    else
        rc = spool_do (s, err, "UPDATE release SET state=?2, sum="
                       RELEASE_SUM ("?2") " WHERE id=?1", r->id, state);
    if (rc == 0)
        r->state = (enum release_state)state;
    return rc;
}

bool spool_has_release (struct spool *s, const char *path)
{
    return db_number (spool_rows (s, NULL, "SELECT 1 FROM release WHERE "
                                  "path=?1 AND state<>2", path), 0) == 1;
}

bool spool_was_released (struct spool *s, const char *path)
{
    return db_number (spool_rows (s, NULL, "SELECT 1 FROM release WHERE "
                                  "path=?1 AND state IN (1, 2, 4)", path),
                      0) == 1;
}

int spool_forget_release (struct spool *s, const char *path, struct err *err)
{
    struct released r;
    int rc = db_one (spool_rows (s, err, "SELECT id, path, state FROM release "
                                 "WHERE path=?1 AND state IN (0, 5)", path),
                     r.id, r.path, r.state);

    return rc > 0 ? spool_change_release (s, &r, RELEASE_DROP, NULL, err) : rc;
}

int spool_find_releasing (struct spool *s, const char *path,
                          struct released *ret, struct err *err)
{
    struct db_rows r = spool_rows (s, err,
        "SELECT id, path, sealed_ns, manifest, sum IS " RELEASE_SUM ("state")
        ", 1, 0, state FROM release WHERE path=?1 AND state IN (1, 4)", path);

    return take_row (&r, ret);
}
