/* cli/jobs/jobs_table.h - the table of rollcall jobs */
#ifndef ROLLCALL_JOBS_JOBS_TABLE_H
#define ROLLCALL_JOBS_JOBS_TABLE_H

#include "catalogue/catalogue.h"
#include "json/json.h"
#include "query/grid.h"

enum jobs_column {
    COLUMN_JOB, COLUMN_RANKS, COLUMN_EXPECTED, COLUMN_CAPTURES, COLUMN_BYTES,
    COLUMN_USER, COLUMN_TAGS, COLUMN_FIRST, COLUMN_LAST, COLUMN_ID,
    COLUMN_RESULT, COLUMN_AT
};

#define JOBS_COLUMNS (COLUMN_AT + 1)

struct jobs_table {
    struct grid *g;             // the caller ends and destroys it
    bool narrow;
    enum jobs_column columns[JOBS_COLUMNS];
    unsigned ncolumns;
};

/* Print its head; 'width' of a terminal, 0: any; whether a job has a user, and a
 * tag, and whether to say where it is.  0 or -ENOMEM.
 */
int jobs_table_begin (struct jobs_table *t, size_t width, bool users,
                      bool tags, bool at);

/* 'at' may be NULL if it is not said; 'unbuilt' (shared/unbuilt.h) if its result
 * could be built.
 */
void jobs_table_row (struct jobs_table *t, const struct catalogue_job *j,
                     const char *at, const struct json *unbuilt);

/* Whether a table of this width has short times, and paths below their rows. */
bool jobs_table_is_narrow (size_t width);

/* "2026-11-26T11:01:00Z", or "11-26 11:01" where there is little room. */
void jobs_table_time (struct grid *g, const char *time, bool narrow);

#endif
