/* aggregator/postgres/result_rows.h - rows of a job's result, into COPY
 *
 * They are read from the pages of its tables: SQLite would parse the schema of each
 * result, and prepare statements, which takes longer than all else of a small job.
 */
#ifndef ROLLCALL_POSTGRES_RESULT_ROWS_H
#define ROLLCALL_POSTGRES_RESULT_ROWS_H

#include "postgres/copy_rows.h"
#include "postgres/facts.h"

#define RESULT_TABLES 9

/* A zeroed struct is closed. */
struct result {
    struct page_source *pages;
    uint32_t roots[RESULT_TABLES];
};

/* Find the tables of a result, and take 'pages' over, also after a failure.
 * -EBADMSG: one is missing; -ENOMEM, or as in sqlite_pages/page_source.h.
 */
int result_open (struct result *r, struct page_source *pages);
void result_close (struct result *r);

/* Append a table's rows, each behind the same beginning (copy_rows_again).
 * *failed: why they could not be read to the end, or 0.  As copy_rows_flush.
 */
int result_put (const struct result *r, const struct facts_table *t,
                const struct buf *begins, struct copy_rows *to, int *failed,
                struct err *err);

#endif
