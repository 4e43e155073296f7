/* common/sqlite_pages/page_share.h - leaves of tables, written by several
 * processes
 *
 * One process opens the file, finishes it and numbers its pages
 * (sqlite_pages.h).  Another one shares it: with its own writers it fills leaves
 * of the same tables, and hands the lists of them over.
 *
 *     owner: page_file_open; page_file_reserve and page_file_put for others;
 *            page_tree_add; page_file_finish
 *     other: page_file_share; page_file_tree; page_writer_open ... _close;
 *            page_tree_leaves, page_file_unused
 */
#ifndef ROLLCALL_SQLITE_PAGES_PAGE_SHARE_H
#define ROLLCALL_SQLITE_PAGES_PAGE_SHARE_H

#include "sqlite_pages/sqlite_pages.h"

#define PAGE_EXTENT 256u        // pages that are asked for at once: the owner
                                // may be a host away
#define PAGE_SHARED_TREES 64u

struct page_leaf {
    int64_t first, last;        // rowids
    uint32_t page;              // 0: in memory
};

/* How to reach the owner, from any thread.  Both return 0 or a negative error
 * with a sentence.
 */
struct page_port {
    void *arg;
    int (*take) (void *arg, uint32_t n, uint32_t *first, struct err *err);
    int (*write) (void *arg, uint32_t page, const uint8_t *bytes, uint32_t n,
                  struct err *err);
};

/* Share a file: its pages are written to 'path', which must be the same file, or
 * if that is NULL by port->write.  'port' is borrowed.  page_file_tree gives a
 * table of any name, at most PAGE_SHARED_TREES (-E2BIG), called by one thread;
 * indexes, and page_file_finish, are for the owner.
 */
int page_file_share (const char *path, uint32_t page_size,
                     const struct page_port *port, struct page_file **ret,
                     struct err *err);

/* The leaves of a table whose writers are closed; valid until page_file_close.
 */
const struct page_leaf *page_tree_leaves (const struct page_tree *t, size_t *n);

/* Call 'fn' for each range of pages that were taken and are of no use: they
 * should go back to the owner.  Ends with its first error.
 */
int page_file_unused (const struct page_file *f,
                      int (*fn) (void *arg, uint32_t first, uint32_t n),
                      void *arg);

/* After the last page: fsync, so that other hosts see them.  0, -EIO, ... */
int page_file_flush (struct page_file *f, struct err *err);

/* ---- for the owner; any thread may call them ---- */

uint32_t page_file_page_size (const struct page_file *f);

/* Give n adjacent pages to another process, and take pages back. */
int page_file_reserve (struct page_file *f, uint32_t n, uint32_t *first,
                       struct err *err);
int page_file_release (struct page_file *f, uint32_t first, uint32_t n,
                       struct err *err);

/* Write pages that were reserved.  -EINVAL: they were not, or 'size' is not that
 * of whole pages.  Read the beginning of one.
 */
int page_file_put (struct page_file *f, uint32_t page, const void *bytes,
                   size_t size, struct err *err);
int page_file_peek (struct page_file *f, uint32_t page, void *bytes,
                    size_t size, struct err *err);

/* Add leaves to a table: 0, -ENOMEM, or -EINVAL: one is not a reserved page. */
int page_tree_add (struct page_tree *t, const struct page_leaf *leaves,
                   size_t n, struct err *err);

#endif
