/* aggregator/query/query.h - run queries on a result
 *
 * This folder: open finished results, run queries on them, and print tables.
 */
#ifndef ROLLCALL_QUERY_QUERY_H
#define ROLLCALL_QUERY_QUERY_H

#include "base/err.h"
#include "query/grid.h"

#include <sqlite3.h>

/* A named query of analysis.db.  Any SQLite runs it unchanged: an unbound
 * parameter selects everything.
 */
struct query {
    const char *name;
    const char *brief;          // one line
    const char *sql;            // may have :rank, :peer and :step
};

/* All named queries, in the order of the list. */
extern const struct query queries[];
extern const unsigned query_count;

const struct query *query_find (const char *name);      // or NULL

struct query_values {
    int64_t rank;               // -1: not given
    int64_t peer;               // the rank to compare with, or -1
    const char *step;           // its id ("13"), or NULL
    int64_t rows_max;           // print at most this many rows; 0: all
    const char *none;           // why there may be no rows, or NULL
};

/* Prepare one statement, whose parameters are :rank, :peer, :step and :limit.
 * -EINVAL if it has an error, writes, consists of several statements, or lacks
 * a parameter for a given value; only :limit may be missing.
 */
int query_prepare (sqlite3 *db, const char *sql, const struct query_values *v,
                   sqlite3_stmt **ret, struct err *err);

/* Use the statement's column names as the head of 'g'; -ENOMEM. */
int query_head (sqlite3_stmt *st, struct grid *g);

/* Append column 'i' of the statement's current row as the next cell. */
void query_cell (sqlite3_stmt *st, int i, struct grid *g);

/* Run the statement, write its rows into 'g' as they come, and finish 'g'.
 * -EINTR: the time limit was reached; -EBADMSG: what it reads is damaged; -EPIPE and -EIO are errors of the output.
 */
int query_print (sqlite3_stmt *st, const struct query_values *v,
                 struct grid *g, struct err *err);

#endif
