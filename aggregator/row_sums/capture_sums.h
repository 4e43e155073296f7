/* aggregator/row_sums/capture_sums.h - sums over the rows of a capture
 *
 * They are added up while the rows go by, and written like rows of the large
 * tables, by capture (doc/format-analysis-db.md, "Sums").
 */
#ifndef ROLLCALL_ROW_SUMS_CAPTURE_SUMS_H
#define ROLLCALL_ROW_SUMS_CAPTURE_SUMS_H

#include "model/batch.h"
#include "sqlite_pages/sqlite_pages.h"

#include <sqlite3.h>
#include <stdbool.h>

enum sums_id {
    SUMS_OP, SUMS_TRANSPORT, SUMS_PACKET,
    SUMS_FIRST,                 // written while rows go by: builder/part.h
    SUMS_GROUP, SUMS_LINK,      // until groups are known: builder/rollup.h
    SUMS_COUNT
};

#define SUMS_COLUMNS_MAX 14     // with rank and capture, which come last

/* Of a table of sums. */
const char *capture_sums_name (enum sums_id id);
const char *capture_sums_columns (enum sums_id id);     // for CREATE TABLE,
                                                        // with the last two

struct capture_sums;

struct capture_sums *capture_sums_create (void);        // NULL: no memory
void capture_sums_destroy (struct capture_sums *c);     // NULL is allowed

/* Add rows of any table; -ENOMEM.  All rows of an op and a transport must
 * follow one another, because each repeats what the op moved.
 */
int capture_sums_add (struct capture_sums *c, const struct batch *b,
                      struct err *err);

/* Of the rows of CommAnalyzerBandwidth that were added last: whether each is the
 * first of its op and transport.
 */
const bool *capture_sums_firsts (const struct capture_sums *c);

/* Drop what was added of this table, or of all tables: TABLE_COUNT. */
void capture_sums_forget (struct capture_sums *c, enum table_id table);

/* Call after the last row: sort a table of sums and return its number of rows.
 * capture_sums_row then gives the values of each but rank and capture, and
 * their number.  They are valid until capture_sums_forget.
 */
uint32_t capture_sums_sort (struct capture_sums *c, enum sums_id id);
unsigned capture_sums_row (const struct capture_sums *c, enum sums_id id,
                           uint32_t row, struct page_value *ret);

/* Compute the sums of some captures again from their rows, which have changed:
 * 'captures' is an SQL expression for a list, as "SELECT capture FROM t".
 * Without 'links', rows of CommAnalyzerMatrix have not, and SUMS_LINK may be
 * gone.  Slower, but of few captures.
 */
int capture_sums_again (sqlite3 *db, const char *captures, bool links,
                        struct err *err);

#endif
