/* aggregator/ledger/content_restored.c - lost content that arrives again
 *
 * A check set it aside, or somebody removed it while the root was served.  Lost
 * items are listed in temporary tables, since no index finds the items of a
 * content; these tables are rolled back like the others.
 */
#include "ledger/ledger_private.h"

#define LEDGER_LOSS_EPOCH 1     // odds: 1 in 2^63 for each start

// items without content
#define ADD_LOST \
    "INSERT OR IGNORE INTO temp.lost SELECT i.content, i.seq FROM main.item i " \
    "LEFT JOIN main.content c ON c.id=i.content WHERE c.id IS NULL"

static const char lost_sql[] =
    "CREATE TEMP TABLE lost (content BLOB, seq INTEGER, PRIMARY KEY (content,"
    " seq)) WITHOUT ROWID;"
    "CREATE TEMP TABLE again (job TEXT, kind INTEGER, PRIMARY KEY (job, kind))"
    " WITHOUT ROWID;"
    ADD_LOST;

// current items that just lost their content
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

/* A superseded item keeps its position: the order decides which one counts. */
static int make_newest (struct ledger *l, int64_t seq, struct err *err)
{
    int rc = ledger_do (l, err, "INSERT OR IGNORE INTO temp.again SELECT job, "
                        "kind FROM main.item WHERE seq=?1", seq);

    return rc < 0 ? rc
                  : ledger_do (l, err, "UPDATE main.item SET seq=?2 WHERE "
                               "seq=?1 AND superseded=0", seq,
                               ledger_last_seq (l) + 1);
}

int ledger_content_restored (struct ledger *l, const struct digest *content,
                             struct err *err)
{
    struct db_rows r;
    int64_t seq;
    int rc;

    if (!l->any_lost)
        return 0;
    r = ledger_rows (l, err, "SELECT seq FROM temp.lost WHERE content=?1",
                     content);
    while (db_row (&r, seq))
        r.rc = make_newest (l, seq, err);
    rc = db_end (&r);
    return rc < 0 ? rc : ledger_do (l, err, "DELETE FROM temp.lost WHERE "
                                            "content=?1", content);
}

int ledger_each_restored (struct ledger *l,
                          void (*fn) (void *arg,
                                      const struct ledger_item *item),
                          void *arg, struct err *err)
{
    struct ledger_item item = { .kind = ITEM_ROWS };
    struct db_rows r;
    int rc;

    if (!l->any_lost)
        return 0;
    r = ledger_rows (l, err, "SELECT job, kind FROM temp.again");
    while (db_row (&r, item.job, item.kind))
        fn (arg, &item);
    rc = db_end (&r);
    return rc < 0 ? rc : ledger_do (l, err, "DELETE FROM temp.again");
}

/* ---- lost while the root is served ---- */

int ledger_lose_segment (struct ledger *l, int64_t segment, uint64_t from,
                         struct err *err)
{
    int rc = ledger_do (l, err, "DELETE FROM content WHERE segment=?1 AND "
                        "(offset+stored>?2 OR ?2=0)", segment, from);

    if (rc < 0 || from > 0)
        return rc < 0 ? rc : ledger_set_segment (l, segment, from, err);
    return ledger_do (l, err, "DELETE FROM segment WHERE number=?1", segment);
}

/* Enter the loss as an epoch whose id no aggregator has: all earlier marks are
 * from before the loss.
 */
static int enter_loss (struct ledger *l, struct err *err)
{
    int64_t number = db_int (l->db, "SELECT ifnull(max(number), 0) + 1 FROM "
                                    "epoch", 1);
    uint64_t began = (uint64_t)ledger_last_seq (l);

    return ledger_do (l, err, "INSERT INTO epoch VALUES (?1,?2,?3,?4)", number,
                      LEDGER_LOSS_EPOCH, began,
                      ledger_epoch_sum (number, LEDGER_LOSS_EPOCH, began));
}

static int name_items (struct ledger *l,
                       void (*fn) (void *arg, const struct ledger_item *item),
                       void *arg, struct err *err)
{
    struct ledger_item i = { .kind = ITEM_ROWS };
    struct db_rows r = ledger_rows (l, err, losing_sql);

    while (db_row (&r, i.job, i.kind, i.rank, i.capture, i.path, i.host))
        fn (arg, &i);
    return db_end (&r);
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
    return mark->epoch != l->mark.epoch &&
           db_number (ledger_rows (l, NULL, "SELECT (SELECT max(number) FROM "
                                   "epoch WHERE id=?1) > (SELECT number FROM "
                                   "epoch WHERE id=?2)", LEDGER_LOSS_EPOCH,
                                   mark->epoch), 0) == 1;
}

int ledger_lost_since (struct ledger *l, const struct ledger_mark *mark,
                       const char *job, const char *host, struct err *err)
{
    int lost;

    if (!l->any_lost || !is_before_loss (l, mark))
        return 0;
    return db_one (ledger_rows (l, err, "SELECT 1 FROM temp.lost t JOIN "
                                "main.item i ON i.seq=t.seq WHERE i.host=?2 "
                                "AND CASE i.place WHEN '' THEN i.job ELSE "
                                "i.scope END=?1 LIMIT 1", job, host), lost);
}
