/* aggregator/ledger/content_restored.c - content that was lost, and comes again
 *
 * Set aside by a check, or removed by somebody while the root is served.  What
 * is lost stands in temporary tables, which are rolled back as the others are,
 * since no index finds the items of a content.
 */
#include "ledger/ledger_private.h"

#include <stdio.h>

#define LEDGER_LOSS_EPOCH 1     // chance has it once in 2^63 lives

// items that have none by now
#define ADD_LOST \
    "INSERT OR IGNORE INTO temp.lost SELECT i.content, i.seq FROM main.item i " \
    "LEFT JOIN main.content c ON c.id=i.content WHERE c.id IS NULL"

static const char lost_sql[] =
    "CREATE TEMP TABLE lost (content BLOB, seq INTEGER, PRIMARY KEY (content,"
    " seq)) WITHOUT ROWID;"
    "CREATE TEMP TABLE again (job TEXT, kind INTEGER, PRIMARY KEY (job, kind))"
    " WITHOUT ROWID;"
    ADD_LOST;

// those of them that count, and had some until now
static const char losing_sql[] =
    "SELECT i.job, i.kind, i.rank, i.capture, i.path, i.host FROM main.item i "
    "LEFT JOIN main.content c ON c.id=i.content LEFT JOIN temp.lost t ON "
    "t.content=i.content AND t.seq=i.seq WHERE c.id IS NULL AND t.seq IS NULL "
    "AND i.superseded=0 ORDER BY i.job, i.rank, i.capture, i.path";

int ledger_note_lost (struct ledger *l, struct err *err)
{
    int rc = db_exec (l->db, lost_sql, err);

    l->any_lost = rc == 0 && sqlite3_changes (l->db) > 0;
    return rc;
}

/* One that was superseded stays in its place: the order tells which counts. */
static int make_newest (struct ledger *l, int64_t seq, struct err *err)
{
    int rc = db_execf (l->db, err, "INSERT OR IGNORE INTO temp.again SELECT "
                       "job, kind FROM main.item WHERE seq=%lld",
                       (long long)seq);

    return rc < 0 ? rc
                  : db_execf (l->db, err, "UPDATE main.item SET seq=(SELECT "
                              "max(seq) + 1 FROM main.item) WHERE seq=%lld "
                              "AND superseded=0", (long long)seq);
}

int ledger_content_restored (struct ledger *l, const struct digest *content,
                             struct err *err)
{
    sqlite3_stmt *st = NULL, *drop = NULL;
    int rc;

    if (!l->any_lost)
        return 0;
    rc = db_prepare (l->db, "SELECT seq FROM temp.lost WHERE content=?1", &st,
                     err);
    if (rc == 0)
        rc = db_prepare (l->db, "DELETE FROM temp.lost WHERE content=?1",
                         &drop, err);
    if (rc == 0) {
        ledger_bind_digest (st, 1, content);
        ledger_bind_digest (drop, 1, content);
    }
    while (rc == 0 && (rc = ledger_has_row (l, st, err)) == 1)
        rc = make_newest (l, sqlite3_column_int64 (st, 0), err);
    (void)sqlite3_finalize (st);
    if (rc == 0)
        rc = db_run (drop, err);
    (void)sqlite3_finalize (drop);
    return rc;
}

int ledger_each_restored (struct ledger *l,
                          void (*fn) (void *arg,
                                      const struct ledger_item *item),
                          void *arg, struct err *err)
{
    struct ledger_item item = { .kind = ITEM_ROWS };
    sqlite3_stmt *st = NULL;
    int rc;

    if (!l->any_lost)
        return 0;
    rc = db_prepare (l->db, "SELECT job, kind FROM temp.again", &st, err);
    while (rc == 0 && (rc = ledger_has_row (l, st, err)) == 1) {
        ledger_copy_column (item.job, sizeof (item.job), st, 0);
        item.kind = (unsigned)sqlite3_column_int (st, 1);
        fn (arg, &item);
        rc = 0;
    }
    (void)sqlite3_finalize (st);
    return rc < 0 ? rc : db_exec (l->db, "DELETE FROM temp.again", err);
}

/* ---- lost while it is served ---- */

int ledger_lose_segment (struct ledger *l, int64_t segment, uint64_t from,
                         struct err *err)
{
    int rc = db_execf (l->db, err, "DELETE FROM content WHERE segment=%lld AND"
                       " (offset+size>%lld OR %lld=0)", (long long)segment,
                       (long long)from, (long long)from);

    if (rc < 0 || from > 0)
        return rc < 0 ? rc : ledger_set_segment (l, segment, from, err);
    return db_execf (l->db, err, "DELETE FROM segment WHERE number=%lld",
                     (long long)segment);
}

/* As an epoch of a number that no life has: all before it is before a loss. */
static int enter_loss (struct ledger *l, struct err *err)
{
    int64_t number = db_int (l->db, "SELECT ifnull(max(number), 0) + 1 FROM "
                                    "epoch", 1);
    uint64_t began = (uint64_t)db_int (l->db, "SELECT ifnull(max(seq), 0) FROM"
                                              " item", 0);

    return db_execf (l->db, err, "INSERT INTO epoch VALUES (%lld,%d,%lld,"
                     "%lld)", (long long)number, LEDGER_LOSS_EPOCH,
                     (long long)began,
                     (long long)ledger_epoch_sum (number, LEDGER_LOSS_EPOCH,
                                                  began));
}

static int name_items (struct ledger *l,
                       void (*fn) (void *arg, const struct ledger_item *item),
                       void *arg, struct err *err)
{
    struct ledger_item i = { .kind = ITEM_ROWS };
    sqlite3_stmt *st = NULL;
    int rc = db_prepare (l->db, losing_sql, &st, err);

    while (rc == 0 && (rc = ledger_has_row (l, st, err)) == 1) {
        ledger_copy_identity (&i, st);
        fn (arg, &i);
        rc = 0;
    }
    (void)sqlite3_finalize (st);
    return rc;
}

int ledger_note_loss (struct ledger *l,
                      void (*fn) (void *arg, const struct ledger_item *item),
                      void *arg, struct err *err)
{
    int rc = name_items (l, fn, arg, err);

    if (rc == 0)
        rc = db_exec (l->db, ADD_LOST, err);
    if (rc < 0 || sqlite3_changes (l->db) == 0)
        return rc;
    l->any_lost = true;
    rc = enter_loss (l, err);
    return rc < 0 ? rc : 1;
}

/* Whether the mark is of an epoch before the last loss. */
static bool is_before_loss (struct ledger *l, const struct ledger_mark *mark)
{
    char sql[160];

    if (mark->epoch == l->mark.epoch)
        return false;
    (void)snprintf (sql, sizeof (sql), "SELECT (SELECT max(number) FROM epoch "
                    "WHERE id=%d) > (SELECT number FROM epoch WHERE id=%lld)",
                    LEDGER_LOSS_EPOCH, (long long)mark->epoch);
    return db_int (l->db, sql, 0) == 1;
}

int ledger_lost_since (struct ledger *l, const struct ledger_mark *mark,
                       const char *job, const char *host, struct err *err)
{
    sqlite3_stmt *st = NULL;
    int rc;

    if (!l->any_lost || !is_before_loss (l, mark))
        return 0;
    rc = db_prepare (l->db, "SELECT 1 FROM temp.lost t JOIN main.item i ON "
                            "i.seq=t.seq WHERE i.host=?2 AND CASE i.place WHEN"
                            " '' THEN i.job ELSE i.scope END=?1 LIMIT 1", &st,
                     err);
    if (rc == 0) {
        db_bind_text (st, 1, job);
        db_bind_text (st, 2, host);
        rc = ledger_has_row (l, st, err);
    }
    (void)sqlite3_finalize (st);
    return rc;
}
