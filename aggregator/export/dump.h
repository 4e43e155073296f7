/* aggregator/export/dump.h - a result as files of CSV, one for each table
 *
 * TABLE.csv is RFC 4180 with a line of names; NULL is an empty field, an empty
 * text is "".  schema.json names the files, their rows, and of each column its
 * type (int64, double, string) and unit; it comes last, and says that the rest
 * is whole.
 */
#ifndef ROLLCALL_EXPORT_DUMP_H
#define ROLLCALL_EXPORT_DUMP_H

#include "base/err.h"

#include <sqlite3.h>
#include <stdatomic.h>
#include <stdbool.h>
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

/* Into 'dir', which is made; -ENOTEMPTY when something is in it, -EPERM for root
 * if it is another user's and 'how', of the above, does not have DUMP_FOREIGN.
 * Once *cancel is true, -EINTR.  On failure 'dir' is as it was, empty or not
 * there.
 */
int dump_write (sqlite3 *db, const char *dir, unsigned how,
                const atomic_bool *cancel, struct dump_counts *ret,
                struct err *err);

#endif
