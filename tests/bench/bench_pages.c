/* tests/bench/bench_pages.c - rows of one core: as pages, and by statements
 *
 *     bench_pages DIRECTORY [ROWS]
 *
 * Rows as those of CommAnalyzerTime; also its index of ranks, and the check of
 * the file.  CPU time of the thread; the last line has ratios.
 */
#include "sqlite_pages/page_check.h"
#include "sqlite_pages/sqlite_pages.h"
#include "store/db.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define COLUMNS 12
#define RANK_ROWS 2000          // of one capture

static const char schema[] =
    "PRAGMA page_size=4096;PRAGMA journal_mode=OFF;CREATE TABLE t (hccl_op_name"
    " TEXT, group_name TEXT, start_timestamp NUMERIC, elapse_time NUMERIC,"
    " transit_time NUMERIC, wait_time NUMERIC, synchronization_time NUMERIC,"
    " idle_time NUMERIC, step TEXT, type TEXT, rank INTEGER, capture INTEGER);"
    "CREATE INDEX t_rank ON t(rank);";

static struct err why;

static int fail (const char *what)
{
    fprintf (stderr, "bench_pages: %s: %s\n", what, why.text);
    exit (1);
}

static double cpu_s (void)
{
    struct timespec t;

    (void)clock_gettime (CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static struct page_value word (const char *s)
{
    return page_text (s, (uint32_t)strlen (s));
}

static void make_row (long i, struct page_value v[COLUMNS])
{
    static const char *const ops[] = {
        "hcom_allReduce__372_0_1@11530", "hcom_send__218_14_1@2317",
        "hcom_broadcast__901_3_1@8841"
    };

    v[0] = word (ops[i % 3]);
    v[1] = word ("17405843521943291873");
    v[2] = page_numeric (1.7e15 + (double)i * 13.25);
    v[3] = page_numeric ((double)(i % 977) / 1000.0);
    v[4] = page_numeric ((double)(i % 613) / 1000.0);
    v[5] = page_numeric (i % 5 ? 0.0 : (double)(i % 71) / 1000.0);
    v[6] = page_numeric (i % 5 ? 0.0 : (double)(i % 71) / 1000.0);
    v[7] = page_numeric ((double)(i % 331) / 1000.0);
    v[8] = word (i % 2 ? "step11" : "step12");
    v[9] = word (i % 3 ? "collective" : "p2p");
    v[10] = page_int (i / RANK_ROWS);
    v[11] = page_int (i / RANK_ROWS + 1);
}

static void create (const char *path)
{
    sqlite3 *db = NULL;

    (void)unlink (path);
    if (db_open (path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, &db) !=
            SQLITE_OK || db_exec (db, schema, &why) < 0)
        (void)fail (path);
    (void)sqlite3_close (db);
}

/* Rows, keys, and the rest, in seconds. */
static void write_pages (const char *path, long rows, double s[3])
{
    struct page_file *f = NULL;
    struct page_tree *t = NULL, *rank = NULL;
    struct page_writer *w = NULL;
    struct page_writer *x = NULL;
    struct page_value v[COLUMNS];
    double began;

    create (path);
    if (page_file_open (path, &f, &why) < 0 ||
        page_file_tree (f, "t", &t, &why) < 0 ||
        page_file_tree (f, "t_rank", &rank, &why) < 0 ||
        page_writer_open (t, &w, &why) < 0)
        (void)fail (path);
    began = cpu_s ();
    for (long i = 0; i < rows; i++) {
        make_row (i, v);
        if (page_writer_row (w, i + 1, v, COLUMNS, &why) < 0)
            (void)fail (path);
    }
    if (page_writer_close (w, &why) < 0)
        (void)fail (path);
    s[0] = cpu_s () - began;
    began = cpu_s ();
    if (page_writer_open (rank, &x, &why) < 0)
        (void)fail (path);
    for (long i = 0; i < rows; i++) {
        v[0] = page_int (i / RANK_ROWS);
        if (page_writer_keys (x, i + 1, 1, v, 1, &why) < 0)
            (void)fail (path);
    }
    if (page_writer_close (x, &why) < 0)
        (void)fail (path);
    s[1] = cpu_s () - began;
    began = cpu_s ();
    if (page_file_finish (f, false, &why) < 0)
        (void)fail (path);
    s[2] = cpu_s () - began;
    page_file_close (f);
}

static void bind (sqlite3_stmt *st, int i, const struct page_value *v)
{
    if (v->kind == PAGE_TEXT)
        (void)sqlite3_bind_text (st, i, v->bytes, (int)v->size, SQLITE_STATIC);
    else if (v->kind == PAGE_INT)
        (void)sqlite3_bind_int64 (st, i, v->number);
    else
        (void)sqlite3_bind_double (st, i, v->real);
}

static void write_statements (const char *path, long rows, double s[2])
{
    sqlite3 *db = NULL;
    sqlite3_stmt *st = NULL;
    struct page_value v[COLUMNS];
    double began;

    create (path);
    if (db_open (path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, &db) !=
            SQLITE_OK ||
        db_exec (db, "PRAGMA journal_mode=OFF;PRAGMA synchronous=OFF;PRAGMA "
                     "locking_mode=EXCLUSIVE;PRAGMA secure_delete=OFF;"
                     "DROP INDEX t_rank;BEGIN", &why) < 0 ||
        db_prepare (db, "INSERT INTO t VALUES (?,?,?,?,?,?,?,?,?,?,?,?)", &st,
                    &why) < 0)
        (void)fail (path);
    began = cpu_s ();
    for (long i = 0; i < rows; i++) {
        make_row (i, v);
        for (int k = 0; k < COLUMNS; k++)
            bind (st, k + 1, &v[k]);
        if (sqlite3_step (st) != SQLITE_DONE || sqlite3_reset (st) != SQLITE_OK)
            (void)fail (path);
    }
    (void)sqlite3_finalize (st);
    if (db_exec (db, "COMMIT", &why) < 0)
        (void)fail (path);
    s[0] = cpu_s () - began;
    began = cpu_s ();
    if (db_exec (db, "CREATE INDEX t_rank ON t(rank)", &why) < 0)
        (void)fail (path);
    s[1] = cpu_s () - began;
    (void)sqlite3_close (db);
}

static double make_only (long rows)
{
    double began = cpu_s (), sum = 0;
    struct page_value v[COLUMNS];

    for (long i = 0; i < rows; i++) {
        make_row (i, v);
        sum += v[2].real + (double)v[0].size;
    }
    return cpu_s () - began + (sum < 0 ? 1 : 0);
}

int main (int argc, char **argv)
{
    long rows = argc > 2 ? strtol (argv[2], NULL, 10) : 2000000;
    double pages[3], statements[2], check, quick, made;
    double m = (double)rows / 1e6;
    char path[PATH_MAX];
    sqlite3 *db = NULL;

    if (argc < 2 || rows < 1) {
        fprintf (stderr, "usage: bench_pages DIRECTORY [ROWS]\n");
        return 2;
    }
    (void)snprintf (path, sizeof (path), "%s/bench_pages.db", argv[1]);
    made = make_only (rows);
    write_statements (path, rows, statements);
    write_pages (path, rows, pages);
    check = cpu_s ();
    if (page_check_file (path, 1, &why) < 0)
        (void)fail (path);
    check = cpu_s () - check;
    (void)db_open (path, SQLITE_OPEN_READONLY, &db);
    quick = cpu_s ();
    if (db_exec (db, "SELECT * FROM pragma_quick_check", &why) < 0)
        (void)fail (path);
    quick = cpu_s () - quick;
    (void)sqlite3_close (db);
    printf ("rows:  pages %.2f M/s, statements %.2f M/s (making them %.3f s)\n",
            m / (pages[0] - made), m / (statements[0] - made), made);
    printf ("index: pages %.2f M/s, CREATE INDEX %.2f M/s\n", m / pages[1],
            m / statements[1]);
    printf ("finish %.3f s; check %.3f s, quick_check %.3f s\n", pages[2],
            check, quick);
    printf ("times as fast: rows %.1f, index %.1f, check %.1f\n",
            (statements[0] - made) / (pages[0] - made),
            statements[1] / pages[1], quick / check);
    return unlink (path) == 0 ? 0 : 1;
}
