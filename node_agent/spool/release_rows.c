/* node_agent/spool/release_rows.c - captures that may be removed one day */
#include "spool/release_rows.h"

#include "spool/spool_private.h"

#include "base/fault.h"
#include "spool/manifest.h"

#include <errno.h>
#include <stdio.h>

int spool_add_release (struct spool *s, const char *path,
                       enum release_state kept, size_t nitems,
                       const struct buf *manifest, int64_t now_ns,
                       struct err *err)
{
    sqlite3_stmt *st;
    int rc = FAULT ("agent.release.add");

    if (rc < 0)
        return err_sys (err, -rc, "cannot note the files of %s", path);
    st = spool_ledger_prepare (s,
        "INSERT OR REPLACE INTO release (path, first_item, last_item, "
        "sealed_ns, manifest, state, sum) SELECT ?1, a, b, ?3, ?4, ?5, "
        "row_sum('r', ?1, a, b, ?3, ?4, ?5) FROM (SELECT max(id)-?2+1 AS a, "
        "max(id) AS b FROM item)", err);
    db_bind_text (st, 1, path);
    (void)sqlite3_bind_int64 (st, 2, (int64_t)nitems);
    (void)sqlite3_bind_int64 (st, 3, now_ns);
    (void)sqlite3_bind_blob64 (st, 4, manifest->data, manifest->size,
                               SQLITE_STATIC);
    (void)sqlite3_bind_int (st, 5, (int)kept);
    return ledger_run (s, st, err);
}

/* Every item that was sealed is there, is as it was entered, and durable. */
#define ALL_DELIVERED \
    "last_item-first_item+1 = (SELECT count(*) FROM item NOT INDEXED WHERE " \
    "id BETWEEN first_item AND last_item AND state IN (6, 7) AND sum IS " \
    ITEM_SUM ("state", "at", "why") ")"

#define ITS_ID "(SELECT capture FROM item WHERE item.id=first_item)"

/* Items are offered in the order of sealing, 16 at a time at most: one that is
 * durable has fewer captures than this before it that are not.
 */
#define AHEAD "32"

/* The oldest of which no item is on its way; found without its manifest, and
 * without what costs a hash.
 */
#define OLDEST \
    "SELECT id FROM (SELECT id, first_item, last_item, sealed_ns FROM " \
    "release WHERE state=?1 AND id>?2 ORDER BY id LIMIT " AHEAD ") WHERE " \
    "?1 NOT IN (0, 5) OR (sealed_ns<?3 AND NOT EXISTS (SELECT 1 FROM item " \
    "INDEXED BY " \
    "item_open WHERE kind IN (1, 2) AND item.state<6 AND item.id BETWEEN " \
    "first_item AND last_item)) ORDER BY id LIMIT 1"

static int take_row (sqlite3_stmt *st, struct released *ret)
{
    ret->id = sqlite3_column_int64 (st, 0);
    ret->state = (enum release_state)sqlite3_column_int (st, 7);
    (void)snprintf (ret->path, sizeof (ret->path), "%s",
                    (const char *)sqlite3_column_text (st, 1));
    ret->sealed_ns = sqlite3_column_int64 (st, 2);
    buf_init (&ret->manifest, MANIFEST_MAX);
    buf_put (&ret->manifest, sqlite3_column_blob (st, 3),
             (size_t)sqlite3_column_bytes (st, 3));
    ret->why = NULL;
    if (!sqlite3_column_int (st, 4))
        ret->why = "its row in the ledger is damaged";
    else if (!sqlite3_column_int (st, 5))
        ret->why = "by the ledger, not all of its items were delivered";
    else if (sqlite3_column_type (st, 6) != SQLITE_NULL)
        ret->why = "another directory had a capture of its name and rank: in "
                   "a result only one of them counts";
    return ret->manifest.failed ? -1 : 1;
}

/* Run and end: the row, if there is one. */
static int step_row (struct spool *s, sqlite3_stmt *st, struct released *ret,
                     struct err *err)
{
    int code, rc = 0;

    if (!st)
        return ledger_error (s, NULL);
    if ((code = sqlite3_step (st)) == SQLITE_ROW)
        rc = take_row (st, ret) < 0
                 ? err_set (err, ENOMEM, "no memory for a manifest") : 1;
    else if (code != SQLITE_DONE)
        rc = ledger_error (s, err);
    spool_ledger_end (s, st);
    return rc;
}

int spool_next_release (struct spool *s, enum release_state state, int64_t id,
                        int64_t before_ns, struct released *ret,
                        struct err *err)
{
    sqlite3_stmt *st = spool_ledger_prepare (s,
        "SELECT id, path, sealed_ns, manifest, sum IS " RELEASE_SUM ("state")
        ", " ALL_DELIVERED ", CASE WHEN state IN (0, 5) THEN ("
        COLLISION_OF (ITS_ID) ") END, state FROM release WHERE id=(" OLDEST ")",
        err);

    (void)sqlite3_bind_int (st, 1, (int)state);
    (void)sqlite3_bind_int64 (st, 2, id);
    (void)sqlite3_bind_int64 (st, 3, before_ns);
    return step_row (s, st, ret, err);
}

int spool_date_releases (struct spool *s, enum release_state kept,
                         int64_t now_ns, struct err *err)
{
    sqlite3_stmt *st = spool_ledger_prepare (s,
        "SELECT EXISTS (SELECT 1 FROM (SELECT sealed_ns FROM release WHERE "
        "state=?1 ORDER BY id LIMIT " AHEAD ") WHERE sealed_ns>?2)", err);
    bool ahead;

    if (!st)
        return ledger_error (s, NULL);
    (void)sqlite3_bind_int (st, 1, (int)kept);
    (void)sqlite3_bind_int64 (st, 2, now_ns);
    ahead = sqlite3_step (st) == SQLITE_ROW && sqlite3_column_int (st, 0);
    spool_ledger_end (s, st);
    if (!ahead)
        return 0;
    // what is damaged stays so
    st = spool_ledger_prepare (s,
        "UPDATE release SET sealed_ns=?2, sum="
        RELEASE_SUM_AT ("?2", "state") " WHERE state=?1 AND sealed_ns>?2 AND "
        "sum IS " RELEASE_SUM ("state"), err);
    (void)sqlite3_bind_int (st, 1, (int)kept);
    (void)sqlite3_bind_int64 (st, 2, now_ns);
    return ledger_run (s, st, err);
}

int spool_set_release (struct spool *s, int64_t id, enum release_state state,
                       struct err *err)
{
    sqlite3_stmt *st;
    int rc = FAULT ("agent.release.commit");

    if (rc < 0)
        return err_sys (err, -rc, "cannot note a release");
    st = spool_ledger_prepare (s, "UPDATE release SET state=?2, sum="
                               RELEASE_SUM ("?2") " WHERE id=?1", err);
    (void)sqlite3_bind_int64 (st, 1, id);
    (void)sqlite3_bind_int (st, 2, (int)state);
    return ledger_run (s, st, err);
}

bool spool_has_release (struct spool *s, const char *path)
{
    sqlite3_stmt *st = spool_ledger_prepare (s,
        "SELECT 1 FROM release WHERE path=?1 AND state<>2", NULL);
    bool has;

    db_bind_text (st, 1, path);
    has = st && sqlite3_step (st) == SQLITE_ROW;
    spool_ledger_end (s, st);
    return has;
}

int spool_forget_release (struct spool *s, const char *path, struct err *err)
{
    sqlite3_stmt *st = NULL;
    int rc = db_prepare (spool_db (s), "DELETE FROM release WHERE path=?1 AND "
                         "state IN (0, 5)", &st, err);

    if (rc == 0) {
        db_bind_text (st, 1, path);
        rc = db_run (st, err);
    }
    (void)sqlite3_finalize (st);
    return rc;
}

int spool_drop_release (struct spool *s, int64_t id, struct err *err)
{
    sqlite3_stmt *st = spool_ledger_prepare (s,
        "DELETE FROM release WHERE id=?1", err);

    (void)sqlite3_bind_int64 (st, 1, id);
    return ledger_run (s, st, err);
}

int spool_find_releasing (struct spool *s, const char *path,
                          struct released *ret, struct err *err)
{
    sqlite3_stmt *st = spool_ledger_prepare (s,
        "SELECT id, path, sealed_ns, manifest, sum IS " RELEASE_SUM ("state")
        ", 1, NULL, state FROM release "
        "WHERE path=?1 AND state IN (1, 4)", err);

    db_bind_text (st, 1, path);
    return step_row (s, st, ret, err);
}
