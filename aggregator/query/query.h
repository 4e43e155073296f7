/* aggregator/query/query.h - named queries of a result
 *
 * This folder: a finished result, opened; questions to it, and tables for
 * people.
 */
#ifndef ROLLCALL_QUERY_QUERY_H
#define ROLLCALL_QUERY_QUERY_H

#include "base/err.h"
#include "query/grid.h"

#include <sqlite3.h>

/* A named query of analysis.db, which any SQLite runs as it is: an unbound
 * parameter selects everything.
 */
struct query {
    const char *name;
    const char *brief;          // one line
    const char *sql;            // may have :rank, :peer and :step
};

/* All of them, in the order in which they are listed. */
extern const struct query queries[];
extern const unsigned query_count;

const struct query *query_find (const char *name);      // or NULL

struct query_values {
    int64_t rank;               // -1: not given
    int64_t peer;               // the rank that it is compared with, or -1
    const char *step;           // its id ("13"), or NULL
    int64_t rows_max;           // print no more; 0: all
};

/* Prepare one statement: -EINVAL if it is wrong, is more than one, writes, or
 * has no parameter for a value that is given.
 */
int query_prepare (sqlite3 *db, const char *sql, const struct query_values *v,
                   sqlite3_stmt **ret, struct err *err);

/* The names of a statement's columns, as the head of 'g'; -ENOMEM. */
int query_head (sqlite3_stmt *st, struct grid *g);

/* Column 'i' of the row at which a statement is, as the next cell. */
void query_cell (sqlite3_stmt *st, int i, struct grid *g);

/* Run it, with its rows into 'g' as they come, and finish 'g'.  -EINTR: the
 * limit of time; -EPIPE and -EIO: of the output.
 */
int query_print (sqlite3_stmt *st, const struct query_values *v,
                 struct grid *g, struct err *err);

#endif
