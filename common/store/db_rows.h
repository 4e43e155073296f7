/* common/store/db_rows.h - bind values to statements and read rows of queries
 *
 * The C type of each argument, which the compiler knows, decides how it is
 * bound or read:
 *
 *   struct db_rows r = db_rows (db, err, "SELECT name, size FROM file WHERE "
 *                                        "dir=?1 AND size>?2", dir, least);
 *
 *   while (db_row (&r, f.name, f.size))
 *       r.rc = take (arg, &f);
 *   return db_end (&r);
 *
 * Values are integers, bool, double, texts (NULL is NULL), struct digest * and
 * db_blob; their content is copied.  Columns are variables, named without '&':
 * integers, bool, double, arrays of char (truncated; NULL becomes ""), const
 * char * (belongs to the row, until the next one; NULL is NULL), struct digest
 * (zeros if it is none) and struct db_blob (belongs to the row, too).
 *
 * Where each microsecond counts, code uses SQLite's own functions.
 */
#ifndef ROLLCALL_STORE_DB_ROWS_H
#define ROLLCALL_STORE_DB_ROWS_H

#include "base/digest.h"
#include "store/db.h"

struct db_blob {
    const void *data;
    size_t size;
};

struct db_value {
    int type;                   // SQLITE_INTEGER, ...; 0: end of the list
    union {
        int64_t number;
        double real;
        struct db_blob bytes;
    };
};

struct db_rows {
    sqlite3_stmt *st;           // at the row, for what db_row cannot read
    int rc;                     // the body of the loop may set it: a negative
                                // value ends the loop
    struct err *err;
    bool kept;                  // the statement stays prepared
    int (*fail) (void *arg, struct err *err);   // in place of db_error
    void *arg;
};

/* Run a query; db_end ends it.  If it cannot be prepared, db_row returns false
 * and db_end the error of db_prepare.
 */
#define db_rows(db, err, ...) db_rows_of (db, err, DB_VALUES (__VA_ARGS__))

/* As db_rows, but the statement stays prepared and is reused for the same text,
 * until db_close_kept.  Read the rows to their end before the same text is used
 * again.
 */
#define db_rows_kept(db, err, ...) \
    db_rows_kept_of (db, err, DB_VALUES (__VA_ARGS__))

/* Read the next row.  False at the end, after a failure, or if rc is negative.
 */
#define db_row(rows, ...) (db_step (rows) && \
                           (db_columns ((rows)->st, __VA_ARGS__), true))

/* Read the row at which a statement is. */
#define db_columns(st, ...) db_read (st, DB_CELLS (__VA_ARGS__))

/* Read the first row, and end the query.  1; 0: there is no row; or as db_end.
 */
#define db_one(rows, ...) db_one_of (rows, DB_CELLS (__VA_ARGS__))

/* Run a statement without reading rows.  Returns 0, or as db_end. */
#define db_do(db, err, ...) \
    db_finish (db_rows_of (db, err, DB_VALUES (__VA_ARGS__)))

/* Run a prepared statement with these values, and reset it; as db_run. */
#define db_put(st, err, ...) \
    ((void)db_bind (st, DB_VALUES (__VA_ARGS__)), db_run (st, err))

/* Go to the next row without reading it; as db_row. */
bool db_step (struct db_rows *r);

/* End a query.  Returns 0, or the negative rc that ended the loop.  Afterwards
 * nothing of the rows may be used.
 */
int db_end (struct db_rows *r);

/* Step to the end, and end the query. */
int db_finish (struct db_rows r);

/* The integer in the first column of the first row; 'fallback' if there is no
 * row, or it fails.
 */
int64_t db_number (struct db_rows r, int64_t fallback);

void db_close_kept (sqlite3 *db);

/* A text of the row at which a statement is, valid until the next row.  "" for
 * NULL.
 */
const char *db_text (sqlite3_stmt *st, int column);

/* Bind a number, or NULL if it is not known. */
static inline struct db_value db_known (bool known, int64_t v)
{
    return (struct db_value){ .type = known ? SQLITE_INTEGER : SQLITE_NULL,
                              .number = v };
}

static inline struct db_value db_blob (const void *data, size_t size)
{
    return (struct db_value){ .type = SQLITE_BLOB, .bytes = { data, size } };
}

/* ---- what the macros call ---- */

struct db_cell {
    int kind;                   // enum db_cell_kind
    void *at;
    size_t size;
};

enum db_cell_kind {
    DB_LAST, DB_INT, DB_UINT, DB_INT64, DB_BOOL, DB_REAL, DB_TEXT,
    DB_TEXT_AT, DB_DIGEST, DB_BLOB
};

// values[0] is the text of the statement; all of 'r' but 'st' is set
void db_begin (struct db_rows *r, sqlite3 *db, const struct db_value *values);
struct db_rows db_rows_of (sqlite3 *db, struct err *err,
                           const struct db_value *values);
struct db_rows db_rows_kept_of (sqlite3 *db, struct err *err,
                                const struct db_value *values);
void db_read (sqlite3_stmt *st, const struct db_cell *cells);
int db_one_of (struct db_rows r, const struct db_cell *cells);
int db_bind (sqlite3_stmt *st, const struct db_value *values);

static inline struct db_value db_value_number (int64_t v)
{
    return (struct db_value){ .type = SQLITE_INTEGER, .number = v };
}

static inline struct db_value db_value_unsigned (uint64_t v)
{
    return db_value_number ((int64_t)v);
}

static inline struct db_value db_value_real (double v)
{
    return (struct db_value){ .type = SQLITE_FLOAT, .real = v };
}

static inline struct db_value db_value_same (struct db_value v)
{
    return v;
}

static inline struct db_value db_value_digest (const struct digest *d)
{
    return db_blob (d->bytes, DIGEST_SIZE);
}

struct db_value db_value_text (const char *text);

#define DB_VALUE(x) _Generic ((x), \
    bool: db_value_number, int: db_value_number, long: db_value_number, \
    long long: db_value_number, unsigned: db_value_unsigned, \
    unsigned long: db_value_unsigned, unsigned long long: db_value_unsigned, \
    double: db_value_real, char *: db_value_text, const char *: db_value_text, \
    struct digest *: db_value_digest, const struct digest *: db_value_digest, \
    struct db_value: db_value_same) (x)

#define DB_CELL(x) { _Generic (&(x), \
    int *: DB_INT, unsigned *: DB_UINT, int64_t *: DB_INT64, \
    uint64_t *: DB_INT64, bool *: DB_BOOL, double *: DB_REAL, \
    char (*)[sizeof (x)]: DB_TEXT, const char **: DB_TEXT_AT, \
    struct digest *: DB_DIGEST, struct db_blob *: DB_BLOB), &(x), sizeof (x) }

#define DB_VALUES(...) \
    ((const struct db_value[]){ DB_EACH (DB_VALUE, __VA_ARGS__), { 0 } })
#define DB_CELLS(...) \
    ((const struct db_cell[]){ DB_EACH (DB_CELL, __VA_ARGS__), { 0 } })

#define DB_EACH(m, ...) DB_PICK (__VA_ARGS__, \
    DB_M26, DB_M25, DB_M24, DB_M23, DB_M22, DB_M21, DB_M20, DB_M19, DB_M18, \
    DB_M17, DB_M16, DB_M15, DB_M14, DB_M13, DB_M12, DB_M11, DB_M10, DB_M9, \
    DB_M8, DB_M7, DB_M6, DB_M5, DB_M4, DB_M3, DB_M2, DB_M1, 0) (m, __VA_ARGS__)
#define DB_PICK(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, \
                u, v, w, x, y, z, picked, ...) picked
#define DB_M1(m, x) m (x)
#define DB_M2(m, x, ...) m (x), DB_M1 (m, __VA_ARGS__)
#define DB_M3(m, x, ...) m (x), DB_M2 (m, __VA_ARGS__)
#define DB_M4(m, x, ...) m (x), DB_M3 (m, __VA_ARGS__)
#define DB_M5(m, x, ...) m (x), DB_M4 (m, __VA_ARGS__)
#define DB_M6(m, x, ...) m (x), DB_M5 (m, __VA_ARGS__)
#define DB_M7(m, x, ...) m (x), DB_M6 (m, __VA_ARGS__)
#define DB_M8(m, x, ...) m (x), DB_M7 (m, __VA_ARGS__)
#define DB_M9(m, x, ...) m (x), DB_M8 (m, __VA_ARGS__)
#define DB_M10(m, x, ...) m (x), DB_M9 (m, __VA_ARGS__)
#define DB_M11(m, x, ...) m (x), DB_M10 (m, __VA_ARGS__)
#define DB_M12(m, x, ...) m (x), DB_M11 (m, __VA_ARGS__)
#define DB_M13(m, x, ...) m (x), DB_M12 (m, __VA_ARGS__)
#define DB_M14(m, x, ...) m (x), DB_M13 (m, __VA_ARGS__)
#define DB_M15(m, x, ...) m (x), DB_M14 (m, __VA_ARGS__)
#define DB_M16(m, x, ...) m (x), DB_M15 (m, __VA_ARGS__)
#define DB_M17(m, x, ...) m (x), DB_M16 (m, __VA_ARGS__)
#define DB_M18(m, x, ...) m (x), DB_M17 (m, __VA_ARGS__)
#define DB_M19(m, x, ...) m (x), DB_M18 (m, __VA_ARGS__)
#define DB_M20(m, x, ...) m (x), DB_M19 (m, __VA_ARGS__)
#define DB_M21(m, x, ...) m (x), DB_M20 (m, __VA_ARGS__)
#define DB_M22(m, x, ...) m (x), DB_M21 (m, __VA_ARGS__)
#define DB_M23(m, x, ...) m (x), DB_M22 (m, __VA_ARGS__)
#define DB_M24(m, x, ...) m (x), DB_M23 (m, __VA_ARGS__)
#define DB_M25(m, x, ...) m (x), DB_M24 (m, __VA_ARGS__)
#define DB_M26(m, x, ...) m (x), DB_M25 (m, __VA_ARGS__)

#endif
