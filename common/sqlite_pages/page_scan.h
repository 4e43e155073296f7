/* common/sqlite_pages/page_scan.h - read the rows of a table from its pages
 *
 * A table of SQLite is a b-tree whose leaves hold the rows in the order of
 * their rowids (SQLite's "Database File Format", 1.5 and 2.1).  To read all
 * rows of a large table, or a range of them, this reads one leaf after the
 * other, some ten times as fast as sqlite3_step.
 *
 * Nobody may write to the file meanwhile.  Changes by a connection of this
 * process are visible once its transaction has ended.  Several threads may scan
 * one source, each with its own scan.
 *
 * All functions return 0 or a negative errno value: -EBADMSG if the file is
 * damaged or no database ('err' says where); -ENOTSUP if its form is not
 * supported here (UTF-16, or a WAL that is not empty), so use SQLite; -ENOMEM,
 * -EIO and errors of open(2) and pread(2).
 */
#ifndef ROLLCALL_SQLITE_PAGES_PAGE_SCAN_H
#define ROLLCALL_SQLITE_PAGES_PAGE_SCAN_H

#include "sqlite_pages/page_sums.h"
#include "sqlite_pages/sqlite_pages.h"
#include "store/db.h"

#include <stddef.h>
#include <stdint.h>

#define PAGE_SCAN_COLUMNS 32            // of a row; those behind are not read
#define PAGE_SCAN_DEPTH 20              // of a b-tree: SQLite's own limit

struct page_source;

/* 'path' may be held (store/tree.h). */
int page_source_open (const char *path, struct page_source **ret,
                      struct err *err);

/* Open the database file of a connection.  This commits the connection's
 * changes, and begins a new transaction if it had one.  It may write other
 * tables during a scan, but not the schema.  Closing the source drops SQLite's
 * locks on the file, so nobody else may use it, or no transaction may be open.
 * Once *cancel (which may be NULL) is true, scans end with -EINTR.  -EBUSY: the
 * name now belongs to another file.
 */
int page_source_of (sqlite3 *db, const atomic_bool *cancel,
                    struct page_source **ret, struct err *err);

void page_source_close (struct page_source *s);         // NULL is fine

/* Compare every page that is read from here on with its sum, which must be
 * known: -EBADMSG if they differ.  'sums' is borrowed.
 */
void page_source_expect (struct page_source *s, const struct page_sums *sums);

/* Find the root page of a table's b-tree in the file's schema; *ret is 0 if
 * there is no table of this name.
 */
int page_source_root (const struct page_source *s, const char *table,
                      uint32_t *ret, struct err *err);

/* Tables whose rows lie in other files, those of a range of rowids in one. */
struct page_stretch {
    int64_t first, last;        // rowids
    unsigned file;
};

struct page_join {
    const char *const *tables;  // their names, none of which the source has
    unsigned ntables;
    const struct page_stretch *stretches;       // ascending
    size_t n;
    // a file's source, and the root of each table in it: of the join, called by
    // any thread when the first row of it is wanted
    int (*open) (const struct page_join *j, unsigned file,
                 const struct page_source **ret, const uint32_t **roots,
                 struct err *err);
    void (*close) (struct page_join *j);
};

/* Let the source have these tables, too: page_source_root finds them, and scans
 * go from file to file, in the order of rowids.  The files have pages of one
 * size.  The source takes 'join' over, and closes it.
 */
void page_source_join (struct page_source *s, struct page_join *join);

struct page_level;

/* A scan and its current row. */
struct page_scan {
    int64_t rowid;
    unsigned ncolumns;                  // that the row has, at most
                                        // PAGE_SCAN_COLUMNS
    const uint8_t *value[PAGE_SCAN_COLUMNS];    // bytes of each column
    uint32_t serial[PAGE_SCAN_COLUMNS]; // its type and size: below

    // the rest is the scan's own
    const struct page_source *source;
    int64_t last;
    const struct page_source *whole;    // the source that was asked for
    uint32_t root;                      // in it
    int64_t first, end;                 // the rowids that are wanted
    size_t stretch;                     // of a join: the next one
    struct page_level *levels;          // interior pages, from the root down
    unsigned depth;
    const uint8_t *leaf;
    unsigned cell, ncells;              // of the leaf: the next one
    uint32_t leaf_page, visited;
    uint8_t *window;                    // pages that were read at once
    uint32_t window_page, window_pages;
    uint8_t *spilled;                   // a row that overflows its page
    size_t spilled_room;
};

/* Begin before the first row of the table whose rowid is from 'first' to
 * 'last'.  'source' is borrowed.  The caller must call page_scan_end in any
 * case.
 */
int page_scan_begin (struct page_scan *p, const struct page_source *source,
                     uint32_t root, int64_t first, int64_t last,
                     struct err *err);
void page_scan_end (struct page_scan *p);

/* Go to the next row: 1, or 0 after the last one.  Pointers to the row's values
 * are valid until the next call.
 */
int page_scan_next (struct page_scan *p, struct err *err);

/* If the current row is the first of a leaf, all rows of it are wanted, and none
 * overflows, the bytes of that page, and in *end its last rowid, which is then
 * the current one.  Else NULL.  They are valid until the next call.
 */
const uint8_t *page_scan_leaf (struct page_scan *p, int64_t last,
                               int64_t *end);

/* The same, but the current row stays: page_scan_next goes on in the leaf. */
const uint8_t *page_scan_whole_leaf (struct page_scan *p, int64_t last,
                                     int64_t *end);

/* Any value, as it is stored. */
struct page_value page_scan_value (const struct page_scan *p, unsigned column);

/* The number in a column; NaN if it is not a number or the row lacks the
 * column.  A column that is the rowid (INTEGER PRIMARY KEY) is NULL here.
 */
double page_scan_real (const struct page_scan *p, unsigned column);

/* The same as an integer; 'fallback' if there is none. */
int64_t page_scan_int (const struct page_scan *p, unsigned column,
                       int64_t fallback);

/* The text in a column, not NUL-terminated; NULL if it is not a text. */
static inline const char *page_scan_text (const struct page_scan *p,
                                          unsigned column, size_t *n)
{
    uint32_t serial = column < p->ncolumns ? p->serial[column] : 0;

    if (serial < 13 || serial % 2 == 0) {
        *n = 0;
        return NULL;
    }
    *n = (serial - 13) / 2;
    return (const char *)p->value[column];
}

#endif
