/* aggregator/builder/row_file.h - write a result's tables of rows as pages
 *
 * SQLite creates the file with the tables of model/schema.h, their indexes on
 * rank, and the tables of row_sums/capture_sums.h, all empty.  Threads fill the
 * tables (builder/part.h), and the inner pages that join theirs are written
 * last.  The result is an ordinary database.
 *
 * Each capture has its own range of rowids (select/capture_select.h).  So a
 * thread can add its rows without knowing the others.
 */
#ifndef ROLLCALL_BUILDER_ROW_FILE_H
#define ROLLCALL_BUILDER_ROW_FILE_H

#include "base/err.h"
#include "model/schema.h"
#include "sqlite_pages/page_share.h"
#include "row_sums/capture_sums.h"

#include <stdatomic.h>

#define ROW_FILE_INDEXED 3              // tables with an index on rank; they
                                        // come first

#define ROW_FILE_PAGE_SIZE 16384u

struct row_file;

/* Create the file, which must not exist. */
int row_file_create (const char *path, struct row_file **ret,
                     struct err *err);

/* The same file for another process, which fills tables only; as
 * page_file_share.
 */
int row_file_share (const char *path, uint32_t page_size,
                    const struct page_port *port, struct row_file **ret,
                    struct err *err);

struct page_file *row_file_pages (const struct row_file *f);

#define ROW_FILE_TABLES (TABLE_COUNT + SUMS_COUNT)

/* All of its tables, in an order that is the same in each process. */
struct page_tree *row_file_at (const struct row_file *f, unsigned i);

/* A table; any thread may open a writer in it. */
struct page_tree *row_file_table (const struct row_file *f, enum table_id id);
struct page_tree *row_file_sums (const struct row_file *f, enum sums_id id);

/* The rows of a capture in the profiler's tables. */
struct row_span {
    int64_t rank, first;                // rank -1: none; the first rowid
    uint64_t rows[TABLE_PROFILER_COUNT];        // the first ones are indexed
};

/* Call when all writers are closed: write the indexes and join the pages.
 * 'spans' has all captures and gets sorted.  'threads' is at least 1.  -EINTR
 * once *cancel is true.
 */
int row_file_finish (struct row_file *f, struct row_span *spans, size_t n,
                     unsigned threads, const atomic_bool *cancel,
                     struct err *err);

/* Close it; the file stays.  NULL is allowed. */
void row_file_close (struct row_file *f);

#endif
