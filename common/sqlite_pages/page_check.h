/* common/sqlite_pages/page_check.h - check that a database file is whole */
#ifndef ROLLCALL_SQLITE_PAGES_PAGE_CHECK_H
#define ROLLCALL_SQLITE_PAGES_PAGE_CHECK_H

#include "base/err.h"
#include "sqlite_pages/page_sums.h"

#define PAGE_CHECK_THREADS_MAX 64u

/* Read all pages of an SQLite file, whoever wrote them, by so many threads: the
 * header; the header and pointers of each page, and that what they point at
 * fills it without overlap; that records are as long as they say; that rowids
 * and keys ascend, within what the level above says; that each page is
 * referenced once, by a tree, a row's overflow or the freelist.  Values are not
 * looked at, nor whether an index has the rows that its table has.
 *
 * For files that page_file_open takes, but for free pages, and whose indexes
 * are BINARY and ascending.  Memory: 1 bit for each page, 200 KiB a thread.
 * -EBADMSG: damaged, 'err' says where; -ENOMEM, -EIO, or what SQLite said of
 * the schema.
 */
int page_check_file (const char *path, unsigned threads, struct err *err);

/* The same, and make the sums of all pages that are not free.  The caller frees
 * *ret, in any case; NULL: none are wanted.
 */
int page_check_sums (const char *path, unsigned threads, struct page_sums *ret,
                     struct err *err);

#endif
