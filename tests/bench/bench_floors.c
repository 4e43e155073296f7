/* tests/bench/bench_floors.c - what the parts of a build cost at the least
 *
 *     bench_floors ANALYSIS_DB DIR SCRATCH
 *
 * On one thread, each on its own: reading the files below DIR; inserting the
 * rows of ANALYSIS_DB's four tables, which are in memory, into the database
 * SCRATCH; making the indexes that ANALYSIS_DB has on them; quick_check; fsync.
 * Prints one line "name=value ..." for tests/bench/run; seconds are wall time.
 */
#include "base/clock.h"
#include "bench_rows.h"
#include "model/schema.h"
#include "store/db_rows.h"

#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define READ_BLOCK (256u << 10) // bytes; larger ones are no faster
#define FTW_FDS 32              // directories that nftw keeps open
#define SQL_MAX 256

static uint64_t bytes_read;
static int64_t reading_ns;

static _Noreturn void die (const char *what)
{
    (void)fprintf (stderr, "bench_floors: %s\n", what);
    exit (EXIT_FAILURE);
}

static double seconds_since (int64_t began)
{
    return (double)(clock_mono_ns () - began) / (double)NS_PER_S;
}

/* ---- (a) reading ---- */

static int read_file (const char *path, const struct stat *st, int type,
                      struct FTW *ftw)
{
    static char block[READ_BLOCK];
    int64_t began;
    ssize_t n;
    int fd;

    (void)st;
    (void)ftw;
    if (type != FTW_F)
        return 0;
    began = clock_mono_ns ();
    if ((fd = open (path, O_RDONLY | O_CLOEXEC)) < 0)
        die (path);
    while ((n = read (fd, block, sizeof (block))) > 0)
        bytes_read += (uint64_t)n;
    if (n < 0)
        die (path);
    (void)close (fd);
    reading_ns += clock_mono_ns () - began;
    return 0;
}

static void read_files (const char *dir)
{
    if (nftw (dir, read_file, FTW_FDS, FTW_PHYS) != 0)
        die (dir);
    (void)printf ("input_bytes=%" PRIu64 " read_s=%.4f ", bytes_read,
                  (double)reading_ns / (double)NS_PER_S);
}

/* ---- (b) inserting ---- */

static sqlite3 *open_db (const char *path, int flags)
{
    sqlite3 *db = NULL;

    if (sqlite3_open_v2 (path, &db, flags, NULL) != SQLITE_OK)
        die (path);
    return db;
}

static void exec (sqlite3 *db, const char *sql)
{
    struct err err = { "" };

    if (db_exec (db, sql, &err) < 0)
        die (err.text);
}

/* One table, slice by slice; returns the time of the INSERTs alone. */
static int64_t insert_table (sqlite3 *from, sqlite3 *to, const char *name,
                             const char *ddl, uint64_t *nrows)
{
    char sql[SQL_MAX], create[SQL_MAX];
    sqlite3_stmt *select, *insert;
    struct rows rows;
    int64_t ns = 0;

    exec (to, ddl);
    (void)snprintf (sql, sizeof (sql), "SELECT * FROM %s", name);
    if (db_prepare (from, sql, &select, NULL) < 0 ||
        !rows_init (&rows, ddl, sqlite3_column_count (select)) ||
        rows_register (to, &rows) != SQLITE_OK)
        die (name);
    (void)snprintf (create, sizeof (create), "INSERT INTO %s SELECT * FROM "
                    "slice", name);
    if (db_prepare (to, create, &insert, NULL) < 0)
        die (sqlite3_errmsg (to));
    while (rows_take (&rows, select)) {
        int64_t began = clock_mono_ns ();

        if (db_run (insert, NULL) < 0)
            die (sqlite3_errmsg (to));
        ns += clock_mono_ns () - began;
        *nrows += (uint64_t)rows.nrows;
    }
    (void)sqlite3_finalize (select);
    (void)sqlite3_finalize (insert);
    // no copy of the module may outlive the slice
    if (sqlite3_create_module (to, "slice", NULL, NULL) != SQLITE_OK)
        die (sqlite3_errmsg (to));
    rows_fini (&rows);
    return ns;
}

/* What the schema of 'from' says: CREATE statements of one table. */
static sqlite3_stmt *schema_of (sqlite3 *from, const char *type,
                                const char *table)
{
    sqlite3_stmt *st;

    if (db_prepare (from, "SELECT sql FROM sqlite_schema WHERE type=?1 AND "
                    "tbl_name=?2 AND sql IS NOT NULL", &st, NULL) < 0)
        die (sqlite3_errmsg (from));
    (void)db_bind (st, DB_VALUES (type, table));
    return st;
}

static void insert_rows (sqlite3 *from, sqlite3 *to)
{
    uint64_t nrows = 0;
    int64_t ns = 0, began;

    exec (to, "BEGIN");
    for (unsigned i = 0; i < TABLE_COUNT; i++) {
        const char *name = schema_table (i)->name;
        sqlite3_stmt *st = schema_of (from, "table", name);

        if (sqlite3_step (st) != SQLITE_ROW)
            die (name);
        ns += insert_table (from, to, name,
                            (const char *)sqlite3_column_text (st, 0),
                            &nrows);
        (void)sqlite3_finalize (st);
    }
    began = clock_mono_ns ();
    exec (to, "COMMIT");
    ns += clock_mono_ns () - began;
    (void)printf ("rows=%" PRIu64 " insert_s=%.4f ", nrows,
                  (double)ns / (double)NS_PER_S);
}

/* ---- (c) to (e) ---- */

static void make_indexes (sqlite3 *from, sqlite3 *to)
{
    int64_t began = clock_mono_ns ();

    exec (to, "BEGIN");
    for (unsigned i = 0; i < TABLE_COUNT; i++) {
        sqlite3_stmt *st = schema_of (from, "index", schema_table (i)->name);

        while (sqlite3_step (st) == SQLITE_ROW)
            exec (to, (const char *)sqlite3_column_text (st, 0));
        (void)sqlite3_finalize (st);
    }
    exec (to, "COMMIT");
    (void)printf ("index_s=%.4f ", seconds_since (began));
}

static void check (sqlite3 *db)
{
    int64_t began = clock_mono_ns ();
    sqlite3_stmt *st;

    if (db_prepare (db, "PRAGMA quick_check(1)", &st, NULL) < 0 ||
        sqlite3_step (st) != SQLITE_ROW ||
        strcmp ((const char *)sqlite3_column_text (st, 0), "ok") != 0)
        die ("quick_check");
    (void)sqlite3_finalize (st);
    (void)printf ("check_s=%.4f ", seconds_since (began));
}

static void sync_file (const char *path)
{
    int64_t began = clock_mono_ns ();
    int fd = open (path, O_RDWR | O_CLOEXEC);
    struct stat st;

    if (fd < 0 || fsync (fd) < 0 || fstat (fd, &st) < 0)
        die (path);
    (void)printf ("fsync_s=%.4f db_bytes=%lld\n", seconds_since (began),
                  (long long)st.st_size);
    (void)close (fd);
}

int main (int argc, char **argv)
{
    char sql[SQL_MAX];
    sqlite3 *from, *to;

    if (argc != 4) {
        (void)fprintf (stderr,
                       "usage: bench_floors ANALYSIS_DB DIR SCRATCH\n");
        return 2;
    }
    (void)unlink (argv[3]);
    from = open_db (argv[1], SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX);
    to = open_db (argv[3], SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE |
                               SQLITE_OPEN_NOMUTEX);
    (void)snprintf (sql, sizeof (sql), "PRAGMA page_size=%lld;PRAGMA "
                    "journal_mode=OFF;PRAGMA synchronous=OFF;PRAGMA "
                    "locking_mode=EXCLUSIVE",
                    (long long)db_int (from, "PRAGMA page_size", 0));
    exec (to, sql);
    read_files (argv[2]);
    insert_rows (from, to);
    make_indexes (from, to);
    check (to);
    (void)sqlite3_close (from);
    (void)sqlite3_close (to);
    sync_file (argv[3]);
    (void)unlink (argv[3]);
    return 0;
}
