/* aggregator/findings/finding_text.h - fill templates with values */
#ifndef ROLLCALL_FINDINGS_FINDING_TEXT_H
#define ROLLCALL_FINDINGS_FINDING_TEXT_H

#include "base/buf.h"

#include <sqlite3.h>
#include <stdbool.h>

/* Append 'template' with each {NAME} replaced by the column of that name in the
 * current row of 'st'.  Fractions are rounded to the digits that a person
 * reads; NULL becomes "?".  For SQL, quotes are doubled and numbers are rounded
 * to integers.  Returns 0, -ENOMEM or -EFBIG.
 */
int finding_text (struct buf *out, const char *template, sqlite3_stmt *st,
                  bool sql);

#endif
