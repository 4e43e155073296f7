/* aggregator/export/dump.h - write a result as CSV, a file for each table
 *
 * TABLE.csv is RFC 4180 with a line of names; NULL is an empty field, an empty
 * text is "".  schema.json has the files, their rows, and type (int64, double,
 * string) and unit of each column; it is written last, so its existence says
 * that the rest is whole.
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
    DUMP_RAW = 1,               // texts as they are, else fit for spreadsheets
                                // (quote_csv)
    DUMP_FOREIGN = 2,           // root may write for another user
};

/* Write into 'dir', which is created; -ENOTEMPTY if it is not empty, -EPERM for
 * root if it is another user's and 'how' lacks DUMP_FOREIGN.  -EINTR once
 * *cancel is true.  On failure 'dir' is as before, empty or missing.
 */
int dump_write (sqlite3 *db, const char *dir, unsigned how,
                const atomic_bool *cancel, struct dump_counts *ret,
                struct err *err);

#endif
