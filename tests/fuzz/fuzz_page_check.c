/* tests/fuzz/fuzz_page_check.c - a damaged database, checked page by page
 *
 * The input becomes the database (fuzz_db.h).  Whatever comes, the check ends;
 * what it finds in order, SQLite's quick_check does, too.
 */
#include "fuzz_db.h"

#include "sqlite_pages/page_check.h"
#include "store/db.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

#define NAME "check.db"

static struct fuzz_base base;

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    char path[PATH_MAX];
    const char *says;
    sqlite3 *db = NULL;
    sqlite3_stmt *st = NULL;
    struct err err;

    if (!base.data)
        base = fuzz_base_of_sql (
            "PRAGMA page_size=512;CREATE TABLE t (a, b);CREATE INDEX i ON "
            "t(b, a);CREATE TABLE gone (x);INSERT INTO gone VALUES "
            "(zeroblob (3000));WITH n (i) AS (VALUES (1) UNION ALL SELECT i+1 "
            "FROM n LIMIT 90) INSERT INTO t SELECT i * 7.5, CASE i % 30 WHEN 0 "
            "THEN hex (zeroblob (400)) || i ELSE 'word' || i END FROM n;"
            "DROP TABLE gone;DELETE FROM t WHERE rowid % 20 = 3");
    fuzz_remove (NAME);
    fuzz_db_write (NAME, base, data, size);
    if (page_check_file (fuzz_path (path, NAME), 1, &err) < 0)
        return 0;
    if (db_open (path, SQLITE_OPEN_READONLY, &db) != SQLITE_OK ||
        db_prepare (db, "PRAGMA quick_check", &st, &err) < 0 ||
        sqlite3_step (st) != SQLITE_ROW)
        abort ();
    says = (const char *)sqlite3_column_text (st, 0);
    if (strcmp (says, "ok") != 0) {
        fprintf (stderr, "quick_check: %s\n", says);
        abort ();
    }
    (void)sqlite3_finalize (st);
    (void)sqlite3_close (db);
    return 0;
}
