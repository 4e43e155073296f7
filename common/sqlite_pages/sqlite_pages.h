/* common/sqlite_pages/sqlite_pages.h - write big tables of an SQLite
 * file as pages
 *
 * SQLite makes a file with its schema, and closes it.  Then any number of
 * threads turn rows into the leaf pages of tables, several times as fast as by
 * statements, each into pages of its own; keys that come in order become an
 * index.  What joins the pages is written last.  Then SQLite may open the file
 * again, and read and change it as any other.
 *
 *     page_file_open; page_file_tree of each table and index
 *         in each thread, for each table: page_writer_open, _row ..., _close
 *         in one thread for each index: page_writer_open, _keys ..., _close
 *     page_file_finish; page_check_file
 *
 * After a failure the file is of no use: it is written beside the one that it
 * is to replace.
 *
 * This folder: SQLite's file format, written and checked.
 */
#ifndef ROLLCALL_SQLITE_PAGES_H
#define ROLLCALL_SQLITE_PAGES_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- the file ---- */

#define PAGE_RUN 64u            // pages of one table that lie together, if it
                                // has so many: a scan reads forward

struct page_file;
struct page_tree;               // a table or an index; of its file

/* Take over an SQLite file, which may have a held path (store/tree.h).  No
 * connection may have it open until page_file_close, because closing another
 * descriptor drops SQLite's locks.  -EINVAL: the file is not such a file, or
 * has WAL, auto_vacuum, another encoding than UTF-8, reserved bytes, free
 * pages, or another schema format than 4.  -ENOMEM, -EIO, ...
 */
int page_file_open (const char *path, struct page_file **ret, struct err *err);

/* Get the table or index of this name.  -ENOENT: there is none; -ENOTEMPTY: it
 * already has rows.  Any thread may call it until page_file_finish.
 */
int page_file_tree (struct page_file *f, const char *name,
                    struct page_tree **ret, struct err *err);

/* Join the leaves of all tables and update the header; with 'sync' everything
 * is on disk afterwards.  All writers must be closed.  -EEXIST: two
 * writers have rows in the same range; 'err' has the rowids.
 */
int page_file_finish (struct page_file *f, bool sync, struct err *err);

void page_file_close (struct page_file *f);     // f may be NULL

/* ---- values ---- */

#define PAGE_COLUMNS_MAX 64u    // of a record

/* How a column stores a number, according to SQLite's affinities: NUMERIC
 * stores it as an integer if it is one of 64 bits, including -0.0; REAL does
 * so, too, if it takes up to 6 bytes.  NaN is NULL.  A text is its bytes, UTF-8
 * or not.  A column that is INTEGER PRIMARY KEY must be NULL in each row: the
 * rowid has its value.
 */
enum page_kind {
    PAGE_NULL, PAGE_INT, PAGE_NUMERIC, PAGE_REAL, PAGE_TEXT, PAGE_BLOB
};

struct page_value {
    enum page_kind kind;
    uint32_t size;              // bytes of a text or blob
    union {
        int64_t number;
        double real;
        const void *bytes;      // borrowed; a text needs no NUL
    };
};

static inline struct page_value page_null (void)
{
    return (struct page_value){ .kind = PAGE_NULL };
}

static inline struct page_value page_int (int64_t v)
{
    return (struct page_value){ .kind = PAGE_INT, .number = v };
}

static inline struct page_value page_numeric (double v)
{
    return (struct page_value){ .kind = PAGE_NUMERIC, .real = v };
}

static inline struct page_value page_real (double v)
{
    return (struct page_value){ .kind = PAGE_REAL, .real = v };
}

/* NULL is NULL. */
static inline struct page_value page_text (const void *bytes, uint32_t size)
{
    return (struct page_value){ .kind = bytes ? PAGE_TEXT : PAGE_NULL,
                                .size = size, .bytes = bytes };
}

static inline struct page_value page_blob (const void *bytes, uint32_t size)
{
    return (struct page_value){ .kind = PAGE_BLOB, .size = size,
                                .bytes = bytes };
}

/* ---- rows and keys ---- */

/* One thread's leaves of a table, or all of an index: PAGE_RUN pages of memory,
 * and for a table 24 bytes for each page written, until page_file_finish.
 */
struct page_writer;

int page_writer_open (struct page_tree *t, struct page_writer **ret,
                      struct err *err);

/* Add a row to a table.  Rowids ascend, and no other writer may have one between two of
 * these unless page_writer_gap was called between them.  A failure sticks:
 * -ENOMEM, -EFBIG (a row of 1 GB, or a file of 2^30 pages), -E2BIG (columns),
 * or an error of the disk (-ENOSPC, -EIO).
 */
int page_writer_row (struct page_writer *w, int64_t rowid,
                     const struct page_value *values, unsigned n,
                     struct err *err);

/* Add all rows of another table's leaf, as page_scan_leaf returns it, of a file
 * with pages of the same size.  Errors as page_writer_row.
 */
int page_writer_leaf (struct page_writer *w, int64_t first, int64_t last,
                      const uint8_t *page, struct err *err);

/* Add the keys of so many rows, whose rowids follow each other, to an index,
 * which has the collation BINARY, ascending.  Each key must be larger than the
 * one before: by its values (NULL, numbers, texts, blobs), then by the rowid.
 * Only page_check_file checks this.  Numbers have the kinds that they have in
 * the table.  Errors as page_writer_row.
 */
int page_writer_keys (struct page_writer *w, int64_t rowid, uint64_t rows,
                      const struct page_value *values, unsigned n,
                      struct err *err);

/* Of a table: allow the next row to have any higher or lower rowid; it begins a new page.
 */
int page_writer_gap (struct page_writer *w, struct err *err);

/* Of a table: set a mark at this place; drop all rows since the mark, or all rows without
 * one.  Others may then use their pages.  Both can be called any number of
 * times.
 */
void page_writer_mark (struct page_writer *w);
int page_writer_abandon (struct page_writer *w, struct err *err);

/* Write what is in memory; an index is whole then, and page_file_finish will
 * join a table.  Closes the writer in any case, even after a failure; w may be
 * NULL.
 */
int page_writer_close (struct page_writer *w, struct err *err);

#endif
