/* aggregator/html_page/page_json.h - write JSON for a page */
#ifndef ROLLCALL_HTML_PAGE_PAGE_JSON_H
#define ROLLCALL_HTML_PAGE_PAGE_JSON_H

#include "base/err.h"
#include "json/json_out.h"

#include <sqlite3.h>

/* Longer texts are cut and end in "...": a reason may be as long as a file, and
 * thousands of reasons must fit.
 */
#define PAGE_TEXT_MAX 1000      // bytes

void page_json_text (struct json_out *j, const char *s, size_t n);

/* A number with six digits; null if it is not finite. */
void page_json_real (struct json_out *j, double x);

/* Append a member "key" with the columns and rows of a query.  0, or as db_end.
 */
int page_json_rows (struct json_out *j, sqlite3 *db, const char *key,
                    const char *sql, struct err *err);

/* Escape a JSON document for a script element: no "<", which could end or
 * change the element, and no line separators that only JavaScript treats as
 * such.
 */
void page_json_embed (FILE *f, const char *json, size_t n);

#endif
