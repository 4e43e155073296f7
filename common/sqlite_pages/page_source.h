/* common/sqlite_pages/page_source.h - files whose pages are read
 *
 * Nobody may write to a file meanwhile.  Changes by a connection of this
 * process are visible once its transaction has ended.  Several threads may scan
 * one source, each with its own scan (page_scan.h).
 *
 * All functions return 0 or a negative errno value: -EBADMSG if the file is
 * damaged or no database ('err' says where); -ENOTSUP if its form is not
 * supported here (UTF-16, or a WAL that is not empty), so use SQLite; -ENOMEM,
 * -EIO and errors of open(2) and pread(2).
 */
#ifndef ROLLCALL_SQLITE_PAGES_PAGE_SOURCE_H
#define ROLLCALL_SQLITE_PAGES_PAGE_SOURCE_H

#include "sqlite_pages/page_sums.h"
#include "store/db.h"

#include <stddef.h>
#include <stdint.h>

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

/* PRAGMA user_version, of which a file may make any use. */
uint32_t page_source_version (const struct page_source *s);

/* Find the root page of a table's b-tree in the file's schema; *ret is 0 if
 * there is no table of this name.
 */
int page_source_root (const struct page_source *s, const char *table,
                      uint32_t *ret, struct err *err);

/* The same for several tables, with one look at the schema. */
int page_source_roots (const struct page_source *s, const char *const tables[],
                       size_t n, uint32_t roots[], struct err *err);

/* ---- page_join.c ---- */

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
    // name the file of a scan that failed with 'rc'; returns it
    int (*tell) (const struct page_join *j, unsigned file, int rc,
                 struct err *err);
    void (*close) (struct page_join *j);
};

/* Let the source have these tables, too: page_source_root finds them, and scans
 * go from file to file, in the order of rowids.  The files have pages of one
 * size.  The source takes 'join' over, and closes it.
 */
void page_source_join (struct page_source *s, struct page_join *join);

#endif
