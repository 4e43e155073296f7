/* aggregator/postgres/postgres.h - a connection to PostgreSQL (the only user of libpq)
 *
 * Credentials are libpq's own: a password file, a service file, PGPASSWORD.  No
 * message of this file has a password, and who checks a URI or connects leaves no
 * core file.  -ENOTSUP: the library is not there, or was not when rollcall was
 * built.
 *
 * This folder: what is known of jobs, in PostgreSQL: pushed there, and read from
 * there as if it were the catalogue of a root.
 */
#ifndef ROLLCALL_POSTGRES_POSTGRES_H
#define ROLLCALL_POSTGRES_POSTGRES_H

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PG_NAME_MAX 256         // of where a database is, for messages

struct pg;

/* Check a URI ("postgresql://HOST/DATABASE", "service=NAME") without connecting,
 * and whether it has a password, which may be NULL.  -EINVAL; -ENOTSUP.
 */
int pg_check (const char *uri, bool *has_password, struct err *err);

/* The same for what a user said, with a cluster's name (UTF-8 without a slash and
 * control characters) or NULL: -EINVAL, also if a password is on the command line,
 * which everybody would see, and not in variable PG_VARIABLE.
 */
#define PG_VARIABLE "ROLLCALL_POSTGRES"
#define PG_CLUSTER_VARIABLE "ROLLCALL_CLUSTER"
int pg_check_option (const char *uri, const char *cluster, struct err *err);

/* Connect, with texts in UTF-8.
 * -EAGAIN: it is away; -EACCES: it wants another user or password; -ENOENT: it is
 * not there; -EPROTO: its encoding is not UTF8; -EINVAL, -ENOTSUP, -ENOMEM.
 */
int pg_open (const char *uri, struct pg **ret, struct err *err);
void pg_close (struct pg *p);           // p may be NULL

/* "database DB of HOST" */
const char *pg_name (const struct pg *p);

/* A database that is connected is waited for, however long it takes: it may be
 * busy, or wait for a lock.  When it has neither said nor taken anything for
 * PG_SILENT_NS, 'fn' is called with its pg_name and the seconds, again each time
 * that these have doubled, and with 0 when that has ended, also by a failure.
 */
#define PG_SILENT_NS (60 * NS_PER_S)
#define PG_SILENT "%s has not answered for %lld s: it is busy, waits for a lock " \
    "or a standby, or hangs: see rollcall's sessions in its pg_stat_activity"
typedef void pg_silent_fn (void *arg, const char *name, int64_t seconds);
void pg_on_silence (struct pg *p, pg_silent_fn *fn, void *arg);

/* All of these: -EAGAIN: the connection is lost, or a lock was not to be had:
 * later it may succeed, after a new pg_open; -ENOSPC: its disk is full; -EACCES:
 * this user may not; -ENOENT: there is no such table; -EEXIST: an SQLSTATE of
 * PG_NOT_ITS_CLUSTER, from sql/003_push.sql; -ENOMEM; -EIO.
 */
#define PG_NOT_ITS_CLUSTER "RC001"

/* Run statements without parameters and rows. */
int pg_do (struct pg *p, const char *sql, struct err *err);

/* Begin a transaction, in which names are those of schema "rollcall", times in UTC,
 * and numbers have all digits; and end it, with what came before: 'rc', if that is
 * an error, and nothing was done, or what its COMMIT says.  Each one may have
 * another session of the server: there may be a pool between.
 */
#define PG_READ "REPEATABLE READ READ ONLY"
#define PG_WRITE "READ COMMITTED READ WRITE"
int pg_begin (struct pg *p, const char *how, struct err *err);
int pg_end (struct pg *p, int rc, struct err *err);

/* Run one statement with texts as its parameters (NULL is NULL), and call 'fn'
 * with the texts of each row (again, NULL is NULL), which end with it; a negative
 * result of 'fn' ends that.  'fn' may be NULL.
 */
#define PG_COLUMNS_MAX 64       // those behind are left out
int pg_each (struct pg *p, const char *sql, size_t n,
             const char *const values[],
             int (*fn) (void *arg, const char *const row[]), void *arg,
             struct err *err);

int64_t pg_int (const char *text);      // 0: NULL

/* PostgreSQL takes only UTF-8 as a text. */
bool pg_is_text (const char *text);

/* The integer in the only row of a query; 0: there is none, or it is NULL. */
int pg_number (struct pg *p, const char *sql, int64_t *ret, struct err *err);

/* "COPY ... FROM STDIN (FORMAT binary);..." for one table or more: begin; then, for
 * each one, send bytes, and end it.  What the server says to that end is the next
 * call's result, so that nobody waits for it; -EPROTO, it has not taken all rows.
 * After a failure the transaction has to be rolled back.
 */
int pg_copy_begin (struct pg *p, const char *sql, struct err *err);
int pg_copy_put (struct pg *p, const void *data, size_t size, struct err *err);
int pg_copy_end (struct pg *p, uint64_t rows, struct err *err);

/* Append an element to the text of an array, with the first one's "{"; its end,
 * "}", is the caller's.
 */
void pg_array_text (struct buf *array, const char *value);

#endif
