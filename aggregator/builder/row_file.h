/* aggregator/builder/row_file.h - a result's tables of rows, written as pages
 *
 * SQLite makes the file with the tables of model/schema.h and their indexes on
 * rank, all of them empty; threads fill the tables (builder/part.h), and what
 * joins their pages is written last.  Then it is a database as any other.
 *
 * The rowids of a capture are its id * 2^32 and what follows: who adds rows of
 * one capture needs to know nothing of the others, and they are the same
 * however many threads there are.
 */
#ifndef ROLLCALL_BUILDER_ROW_FILE_H
#define ROLLCALL_BUILDER_ROW_FILE_H

#include "base/err.h"
#include "model/schema.h"
#include "pages/pages.h"

#include <stdatomic.h>

#define ROW_FILE_INDEXED 3              // tables with an index on rank: the
                                        // first ones
#define ROW_FILE_ROWS_MAX UINT32_MAX    // of a capture, in each table

struct row_file;

/* Make the file, which must not exist. */
int row_file_create (const char *path, struct row_file **ret,
                     struct err *err);

/* A table, in which any thread may open a writer. */
struct page_tree *row_file_table (const struct row_file *f, enum table_id id);

static inline int64_t row_file_first (int64_t capture)
{
    return capture << 32;
}

/* What a capture has in the indexed tables. */
struct row_span {
    int64_t capture, rank;              // rank -1: it has none
    uint64_t rows[ROW_FILE_INDEXED];
};

/* When all writers are closed: write the indexes, and join the pages.  'spans'
 * of all captures, which is sorted.  'threads' is at least 1.  Once *cancel is
 * true, -EINTR.
 */
int row_file_finish (struct row_file *f, struct row_span *spans, size_t n,
                     unsigned threads, const atomic_bool *cancel,
                     struct err *err);

/* Close it: the file stays.  NULL is fine. */
void row_file_close (struct row_file *f);

#endif
