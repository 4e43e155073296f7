/* aggregator/findings/finding_text.h - sentences of templates and values */
#ifndef ROLLCALL_FINDINGS_FINDING_TEXT_H
#define ROLLCALL_FINDINGS_FINDING_TEXT_H

#include "base/buf.h"

#include <sqlite3.h>
#include <stdbool.h>

/* Append 'template', in which {NAME} stands for the column of that name of the
 * row that 'st' is at; numbers with a fraction get as many digits as a person
 * reads, and NULL is "?".  In SQL quotes are doubled, and numbers are whole
 * ones.  -ENOMEM or -EFBIG.
 */
int finding_text (struct buf *out, const char *template, sqlite3_stmt *st,
                  bool sql);

#endif
