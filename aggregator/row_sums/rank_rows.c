/* aggregator/row_sums/rank_rows.c - find the rows of each rank in a table */
#include "row_sums/rank_rows.h"

#include "store/db_rows.h"

#include <stdio.h>

#define SQL_MAX 512

/* Seek each next rank in the index, instead of reading the whole index. */
static const char sql_of_table[] =
    "WITH RECURSIVE r(rank) AS (SELECT min(rank) FROM %s WHERE rank>=0"
    " UNION ALL SELECT (SELECT min(rank) FROM %s WHERE rank>r.rank) FROM r"
    " WHERE r.rank IS NOT NULL) SELECT rank,"
    " (SELECT min(rowid) FROM %s t WHERE t.rank=r.rank),"
    " (SELECT max(rowid) FROM %s t WHERE t.rank=r.rank)"
    " FROM r WHERE rank IS NOT NULL";

int rank_rows_each (sqlite3 *db, const char *table,
                    int (*fn) (void *arg, const struct rank_rows *rows,
                               struct err *err),
                    void *arg, struct err *err)
{
    struct rank_rows rows;
    char sql[SQL_MAX];
    struct db_rows r;

    (void)snprintf (sql, sizeof (sql), sql_of_table, table, table, table,
                    table);
    r = db_rows (db, err, sql);
    while (db_row (&r, rows.rank, rows.first, rows.last))
        r.rc = fn (arg, &rows, err);
    return db_end (&r);
}
