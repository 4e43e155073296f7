/* common/sqlite_pages/page_scan.h - read the rows of a table from its pages
 *
 * A table of SQLite is a b-tree whose leaves hold the rows in the order of
 * their rowids (SQLite's "Database File Format", 1.5 and 2.1).  To read all
 * rows of a large table, or a range of them, this reads one leaf after the
 * other, some ten times as fast as sqlite3_step.
 *
 * Errors are those of page_source.h.
 */
#ifndef ROLLCALL_SQLITE_PAGES_PAGE_SCAN_H
#define ROLLCALL_SQLITE_PAGES_PAGE_SCAN_H

#include "sqlite_pages/page_source.h"
#include "sqlite_pages/sqlite_pages.h"

#define PAGE_SCAN_COLUMNS 32            // of a row; those behind are not read
#define PAGE_SCAN_DEPTH 20              // of a b-tree: SQLite's own limit

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
    size_t piece;                       // of a join: the next one
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

/* If the current row is the first of a leaf, all rows of it are wanted (by the
 * scan, and up to 'last'), and none overflows, the bytes of that page, and in *end its last rowid, which is then
 * the current one.  Else NULL.  They are valid until the next call.
 */
const uint8_t *page_scan_leaf (struct page_scan *p, int64_t last,
                               int64_t *end);

/* The same, but the current row stays: page_scan_next goes on in the leaf. */
const uint8_t *page_scan_whole_leaf (struct page_scan *p, int64_t last,
                                     int64_t *end);

/* Any value, as it is stored. */
struct page_value page_scan_value (const struct page_scan *p, unsigned column);

/* Write the row, as it is, into another table: as page_writer_row. */
int page_scan_copy (const struct page_scan *p, struct page_writer *w,
                    struct err *err);

/* The number in a column; NaN if it is not a number or the row lacks the
 * column.  A column that is the rowid (INTEGER PRIMARY KEY) is NULL here.
 */
double page_scan_real (const struct page_scan *p, unsigned column);

/* The same as an integer; 'fallback' if there is none. */
int64_t page_scan_int (const struct page_scan *p, unsigned column,
                       int64_t fallback);

/* Whether it is an integer, and which. */
bool page_scan_is_int (const struct page_scan *p, unsigned column,
                       int64_t *ret);

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
