/* aggregator/catalogue/catalogue_private.h - shared by the catalogue's parts */
#ifndef ROLLCALL_CATALOGUE_CATALOGUE_PRIVATE_H
#define ROLLCALL_CATALOGUE_CATALOGUE_PRIVATE_H

#include "catalogue/catalogue.h"
#include "store/db_rows.h"

#define CATALOGUE_APPLICATION_ID 0x52434354     // "RCCT"
#define CATALOGUE_VERSION 7     // of its tables: raise it when they change, or
                                // what their values mean

#define CATALOGUE_TEXT_MAX (1 << 20)    // bytes of a row or text: there is a job's
                                // tags, and what an expression makes

struct catalogue {
    char root[PATH_MAX];
    char run_db[PATH_MAX];      // or ""
    struct ledger *ledger;
    sqlite3 *db;
    int jobs_fd;                // ROOT/jobs, or -1
    const char *visible_to;     // a user, or NULL: all
    bool writing;               // in a transaction
    bool is_copy;               // without a root
    struct catalogue_beyond beyond;     // of a copy
};

/* Statements stay prepared as long as it is open. */
#define catalogue_rows(c, err, ...) db_rows_kept ((c)->db, err, __VA_ARGS__)
#define catalogue_do(c, err, ...) db_finish (catalogue_rows (c, err, \
                                                             __VA_ARGS__))

/* catalogue_schema.c: make the tables of an empty database. */
int catalogue_create (sqlite3 *db, struct err *err);

/* catalogue_refresh.c: bring all rows up to date. */
int catalogue_refresh (struct catalogue *c, struct err *err);

/* Begin a transaction that writes, if none has begun; and end it.  Commits are
 * small, so that others need not wait long.
 */
int catalogue_begin (struct catalogue *c, struct err *err);
int catalogue_commit (struct catalogue *c, struct err *err);

/* catalogue_result.c: look at the files of all results, or of one job, and read
 * those that have changed.
 */
int catalogue_look (struct catalogue *c, const char *job, struct err *err);

#endif
