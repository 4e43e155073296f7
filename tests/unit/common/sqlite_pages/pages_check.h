/* tests/unit/common/sqlite_pages/pages_check.h - rows by SQLite, and by pages
 *
 * Two files of one schema are in a directory of the test's own: "own" is what
 * the module writes, "sqlite" what SQLite does.
 */
#ifndef ROLLCALL_TESTS_PAGES_CHECK_H
#define ROLLCALL_TESTS_PAGES_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sqlite_pages/page_check.h"
#include "sqlite_pages/page_private.h"
#include "store/db.h"

#define COLUMNS 6

/* A table of each affinity; its index; a table that stays empty. */
#define SCHEMA \
    "CREATE TABLE t (a NUMERIC, b REAL, c INTEGER, d TEXT, e BLOB, f);" \
    "CREATE INDEX t_key ON t(d, a, b);" \
    "CREATE TABLE none (x);CREATE INDEX none_x ON none(x);" \
    "CREATE TABLE u (id INTEGER PRIMARY KEY, x NUMERIC);"

struct row {
    int64_t rowid;
    struct page_value v[COLUMNS];
};

struct pages {
    char dir[64], own[80], sqlite[80];
    struct row *rows;           // all that were made, texts in 'texts'
    size_t nrows;
    char **texts;
    size_t ntexts;
    uint64_t seed;
};

/* Both files, empty. */
void pages_start (struct pages *p, unsigned page_size, const char *schema);
void pages_end (struct pages *p);

uint32_t pages_random (struct pages *p, uint32_t below);

/* 'size' bytes of any value, kept until the end. */
const char *pages_bytes (struct pages *p, uint32_t size);

/* Add a row of numbers and texts of all kinds, of up to 'most' bytes. */
void pages_row (struct pages *p, int64_t rowid, uint32_t most);

/* Add a row whose text has so many bytes, NULL otherwise. */
void pages_text_row (struct pages *p, int64_t rowid, uint32_t size);

/* The module's file, and what is in it; rows [from, end) of the table "t". */
struct page_file *pages_open (struct pages *p);
struct page_tree *pages_tree (struct page_file *f, const char *name);
struct page_writer *pages_writer (struct page_file *f);
void pages_close (struct page_writer *w);
void pages_write (struct pages *p, struct page_writer *w, size_t from,
                  size_t end);

/* The same rows by SQLite; then the index t_key, of all, into pages. */
void pages_insert (struct pages *p);
void pages_index (struct pages *p, struct page_file *f);

/* Finish and close the module's file; compare the two. */
void pages_finish (struct page_file *f);
void pages_same (const struct pages *p, const char *sql);
void pages_compare (struct pages *p);

/* SQL into a file; and its first value as text, to be freed. */
void pages_sql (const char *path, const char *sql);
char *pages_ask (const char *path, const char *sql);
int64_t pages_number (const char *path, const char *sql);

/* integrity_check, and our own check with one thread and with three. */
void pages_whole (const char *path);

#endif
