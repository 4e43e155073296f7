/* aggregator/intake/ledger_again.c - content that was lost, and comes again
 *
 * A check sets content aside while nobody serves the root, so what is lost is
 * known when the ledger is opened: in temporary tables, which are rolled back
 * as the others are, since no index finds the items of a content.
 */
#include "intake/ledger_inside.h"

static const char lost_sql[] =
    "CREATE TEMP TABLE lost (content BLOB, seq INTEGER, PRIMARY KEY (content,"
    " seq)) WITHOUT ROWID;"
    "CREATE TEMP TABLE again (job TEXT, kind INTEGER, PRIMARY KEY (job, kind))"
    " WITHOUT ROWID;"
    "INSERT INTO temp.lost SELECT i.content, i.seq FROM main.item i LEFT JOIN "
    "main.content c ON c.id=i.content WHERE c.id IS NULL";

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

int ledger_content_came (struct ledger *l, const struct digest *content,
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

int ledger_each_again (struct ledger *l,
                       void (*fn) (void *arg, const struct ledger_item *item),
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
