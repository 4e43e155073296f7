/* common/store/row_sum.h - checksums of rows, in ledgers of ours
 *
 * SQLite does not notice a flipped byte in a third of the places: so a row that
 * has to be believed carries the first 64 bits of the SHA-256 of its values,
 * each with its type and length.
 */
#ifndef ROLLCALL_STORE_ROW_SUM_H
#define ROLLCALL_STORE_ROW_SUM_H

#include "store/db_rows.h"

/* Of values as those of db_rows are. */
#define row_sum(...) row_sum_of (DB_VALUES (__VA_ARGS__))

int64_t row_sum_of (const struct db_value *values);

/* Let statements of 'db' say row_sum(...): the same of its arguments, NULL,
 * which no row has, of more than 65 MiB.  A code of SQLite's.
 */
int row_sum_register (sqlite3 *db);

#endif
