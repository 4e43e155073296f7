/* aggregator/export/dump.h - write a result as CSV files, one per table
 *
 * TABLE.csv follows RFC 4180 and begins with a line of names; NULL is an empty
 * field, an empty text is "".  schema.json lists the files, their rows, and the
 * type (int64, double, string) and unit of each column.  It is written last: if
 * it exists, the dump is complete.
 */
#ifndef ROLLCALL_EXPORT_DUMP_H
#define ROLLCALL_EXPORT_DUMP_H

#include "base/err.h"

#include <sqlite3.h>
#include <stdatomic.h>
#include <stdint.h>

#define DUMP_SCHEMA "schema.json"

struct dump_counts {
    int64_t tables, rows;
};

enum dump_how {
    DUMP_RAW = 1,               // keep texts unchanged, else make them safe for
                                // spreadsheets (quote_csv)
    DUMP_FOREIGN = 2,           // root may write into another user's directory
};

/* Write into 'dir', which is created if needed.  -ENOTEMPTY if it is not empty;
 * -EPERM for root if it belongs to another user and 'how' lacks DUMP_FOREIGN;
 * -EINTR once *cancel is true.  After a failure 'dir' is as before, empty or
 * missing.
 */
int dump_write (sqlite3 *db, const char *dir, unsigned how,
                const atomic_bool *cancel, struct dump_counts *ret,
                struct err *err);

#endif
