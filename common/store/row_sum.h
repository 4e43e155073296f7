/* common/store/row_sum.h - checksums of rows in our ledgers
 *
 * SQLite does not detect a flipped byte in a third of the places.  So a row
 * that has to be trusted has the first 64 bits of the SHA-256 of its values,
 * each hashed with its type and length.
 */
#ifndef ROLLCALL_STORE_ROW_SUM_H
#define ROLLCALL_STORE_ROW_SUM_H

#include "store/db_rows.h"

/* The checksum of values, which are as for db_rows. */
#define row_sum(...) row_sum_of (DB_VALUES (__VA_ARGS__))

int64_t row_sum_of (const struct db_value *values);

/* Define the SQL function row_sum(...) in 'db', with the same result.  It is
 * NULL, which no row has, for more than 65 MiB.  Returns a code of SQLite.
 */
int row_sum_register (sqlite3 *db);

#endif
