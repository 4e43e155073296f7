/* aggregator/builder/conflicts.c - rows that two captures of a rank both have
 */
#include "builder/conflicts.h"

#include "model/schema.h"
#include "store/db_rows.h"
#include "row_sums/capture_sums.h"

/* A step is "10" in one table and "step10" in another. */
static int list_conflicts (sqlite3 *db, const struct select_conflict *list,
                           size_t n, struct err *err)
{
    sqlite3_stmt *st = NULL, *all = NULL;
    int rc = db_exec (db, "CREATE TEMP TABLE conflict (capture INTEGER, "
                          "step TEXT, name TEXT, rank INTEGER, whole INTEGER,"
                          " PRIMARY KEY (capture, step)) WITHOUT ROWID;"
                          "CREATE TEMP TABLE unused (capture INTEGER PRIMARY "
                          "KEY);"
                          "CREATE TEMP TABLE held (rank INTEGER, name TEXT, "
                          "whole INTEGER, capture INTEGER, PRIMARY KEY (rank,"
                          " name, whole, capture)) WITHOUT ROWID", err);

    if (rc == 0)
        rc = db_prepare (db, "INSERT OR IGNORE INTO temp.conflict VALUES "
                             "(?1, ?2, ?2, ?3, ?4), (?1, 'step' || ?2, ?2, ?3,"
                             " ?4)", &st, err);
    if (rc == 0)
        rc = db_prepare (db, "INSERT OR IGNORE INTO temp.unused VALUES (?1)",
                         &all, err);
    for (size_t i = 0; i < n && rc == 0; i++)
        rc = list[i].step
                 ? db_put (st, err, list[i].capture, list[i].step,
                           list[i].rank, list[i].whole_tables)
                 : db_put (all, err, list[i].capture);
    (void)sqlite3_finalize (st);
    (void)sqlite3_finalize (all);
    return rc;
}

/* Find which captures have rows of which step in this table.  For each step,
 * all but the best capture lose their rows.
 */
static int drop_from (sqlite3 *db, unsigned t, struct err *err)
{
    const char *name = schema_table (t)->name;
    int rc;

    if (schema_table (t)->step < 0)     // for all steps of a capture
        return db_execf (db, err, "DELETE FROM main.%s WHERE capture IN "
                         "(SELECT capture FROM temp.unused)", name);
    rc = db_execf (db, err, "DELETE FROM temp.held;"
                   "INSERT OR IGNORE INTO temp.held SELECT c.rank, c.name,"
                   " c.whole >> %u & 1, c.capture FROM main.%s t CROSS "
                   "JOIN temp.conflict c ON c.capture=t.capture AND "
                   "c.step=ifnull(t.step, '')", t, name);
    if (rc == 0)
        rc = db_execf (db, err, "DELETE FROM main.%s WHERE capture IN (SELECT "
                       "capture FROM temp.unused) OR (capture, "
                       "ifnull(step, '')) IN (SELECT c.capture, c.step FROM "
                       "temp.held h JOIN temp.conflict c ON c.capture="
                       "h.capture AND c.name=h.name WHERE EXISTS (SELECT 1 "
                       "FROM temp.held w WHERE w.rank=h.rank AND w.name=h.name"
                       " AND (w.whole, w.capture) > (h.whole, h.capture)))",
                       name);
    return rc;
}

int conflicts_drop (sqlite3 *db, const struct select_conflict *list, size_t n,
                    struct err *err)
{
    int rc = n > 0 ? list_conflicts (db, list, n, err) : 0;

    for (unsigned t = 0; t < TABLE_COUNT && n > 0 && rc == 0; t++)
        rc = drop_from (db, t, err);
    if (n > 0 && rc == 0)
        rc = capture_sums_again (db, "SELECT capture FROM temp.conflict UNION "
                                 "SELECT capture FROM temp.unused", true, err);
    if (n > 0 && rc == 0)
        rc = db_exec (db, "DROP TABLE temp.conflict;DROP TABLE temp.unused;"
                          "DROP TABLE temp.held", err);
    return rc;
}
