/* tests/unit/common/sqlite_pages/page_scan_check.h - scans of files that may be damaged
 */
#ifndef ROLLCALL_TESTS_PAGE_SCAN_CHECK_H
#define ROLLCALL_TESTS_PAGE_SCAN_CHECK_H

#include "common/sqlite_pages/pages_check.h"

#include "sqlite_pages/page_scan.h"

#define PAGE 512                // bytes of the files' pages

/* It has to be in order.  The root of a table; 0: there is none. */
struct page_source *scan_open (const char *path);
uint32_t scan_root (const struct page_source *s, const char *table);

/* Make rows 10, 20, ... of the table "u". */
void scan_rows_of_u (const char *path, unsigned n);

/* Scan whatever is there, and look at all of it: rows, or what is wrong. */
int scan_table (const struct page_source *s, uint32_t root, int64_t first,
                int64_t last, int64_t *rows, struct err *err);

/* The same by name, whole and in part; -EBADMSG and -ENOTSUP have a sentence. */
int scan_file (const char *path, const char *table, struct err *err);

/* The scan of a file's table gives 'rc', and a sentence with 'what'. */
void scan_gives (const char *path, int rc, const char *table,
                 const char *what);

#endif
