/* node_agent/extract/input/plain_schema.h - find a table in the schema of a
 * database without SQLite
 *
 * Private to this folder.  The first page of a database is the root of a table
 * with the SQL that created each table, index, view and trigger (SQLite's
 * "Database File Format", 2.6).  Here a schema is plain if it has only tables
 * whose columns have a type and nothing else, but for the row number (INTEGER
 * PRIMARY KEY); any other one is left to SQLite.
 */
#ifndef ROLLCALL_EXTRACT_INPUT_PLAIN_SCHEMA_H
#define ROLLCALL_EXTRACT_INPUT_PLAIN_SCHEMA_H

#include "extract/input/db_pages.h"

#define PLAIN_COLUMNS_MAX 64u   // of a table
#define PLAIN_NOT_WANTED 0xff

/* Where the values of a record belong. */
struct plain_columns {
    unsigned n;                 // of the table
    unsigned least;             // that a record must have
    uint8_t slot[PLAIN_COLUMNS_MAX];    // of a column, or PLAIN_NOT_WANTED
    uint8_t key;                // slot of the row number, or PLAIN_NOT_WANTED
    bool converted;             // SQLite may convert a wanted number
};

/* The columns of the schema. */
enum { PLAIN_TYPE, PLAIN_NAME, PLAIN_TABLE, PLAIN_ROOT, PLAIN_SQL,
       PLAIN_SCHEMA };

#define PLAIN_SCHEMA_TEXTS \
    (1u << PLAIN_TYPE | 1u << PLAIN_NAME | 1u << PLAIN_TABLE | 1u << PLAIN_SQL)

void plain_schema_columns (struct plain_columns *ret);

/* Read a row of the schema: 1: it is the table, and ret->slot[i] is the place
 * of its column i in 'names'; 0: it is another one; -1: it is not plain.
 */
int plain_schema_row (const struct db_row *row, const char *table,
                      const char *const *names, unsigned n,
                      struct plain_columns *ret);

/* Whether a row, plain or not, is about a table, or another thing, of this
 * name.
 */
bool plain_schema_names (const struct db_row *row, const char *table);

#endif
