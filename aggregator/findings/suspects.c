/* aggregator/findings/suspects.c - the ranks whose raw files say why */
#include "findings/suspects.h"

#include "query/finished.h"
#include "store/db_rows.h"

#include <stdbool.h>

static const char named_sql[] =
    "SELECT rank, peer FROM Finding WHERE rank IS NOT NULL OR peer IS NOT NULL"
    " ORDER BY id";

/* Healthy ranks at a place (?1), or all (?2), by their time of computing. */
#define HEALTHY \
    " FROM (SELECT s.rank AS rank, avg(s.computing) AS x FROM StepCounted s" \
    " GROUP BY s.rank) s JOIN Roster r ON r.rank=s.rank WHERE" \
    " r.state='present' AND (r.local_rank IS (SELECT local_rank FROM Roster" \
    " WHERE rank=?1) OR ?2) AND NOT EXISTS (SELECT 1 FROM Finding f WHERE" \
    " f.rank=s.rank OR f.peer=s.rank)"

static const char median_sql[] =
    "SELECT s.rank" HEALTHY " ORDER BY s.x, s.rank LIMIT 1 OFFSET"
    " max(0, ((SELECT count(*)" HEALTHY ")-1)/2)";

static void add (int64_t *ranks, size_t *n, int64_t rank)
{
    bool known = rank < 0;

    for (size_t i = 0; i < *n && !known; i++)
        known = ranks[i] == rank;
    if (!known && *n < SUSPECTS_MAX)
        ranks[(*n)++] = rank;
}

static int64_t number_at (sqlite3_stmt *st, int column)
{
    return sqlite3_column_type (st, column) == SQLITE_NULL
               ? -1 : sqlite3_column_int64 (st, column);
}

static int read_named (sqlite3 *db, int64_t *ranks, size_t *n, struct err *err)
{
    struct db_rows r = db_rows (db, err, named_sql);

    while (*n < SUSPECTS_MAX && db_step (&r)) {
        add (ranks, n, number_at (r.st, 0));
        add (ranks, n, number_at (r.st, 1));
    }
    return db_end (&r);
}

static int read_healthy (sqlite3 *db, int64_t *ranks, size_t *n,
                         struct err *err)
{
    int64_t rank;
    int rc = 0;

    for (int any = 0; any < 2 && rc == 0; any++)
        rc = db_one (db_rows (db, err, median_sql, ranks[0], any), rank);
    if (rc > 0)
        ranks[(*n)++] = rank;
    return rc;
}

int suspects_find (const char *path, int64_t ranks[SUSPECTS_MAX + 1],
                   size_t *n, struct err *err)
{
    sqlite3 *db = NULL;
    int rc = finished_open_analysis (path, &db, err);

    *n = 0;
    if (rc == 0)
        rc = read_named (db, ranks, n, err);
    if (rc == 0 && *n > 0)
        rc = read_healthy (db, ranks, n, err);
    (void)sqlite3_close (db);
    return rc < 0 ? rc : 0;
}
