/* aggregator/page/page_json.h - write the JSON of a page to a stream
 *
 * Errors are the stream's: ask ferror.
 */
#ifndef ROLLCALL_PAGE_PAGE_JSON_H
#define ROLLCALL_PAGE_PAGE_JSON_H

#include "base/err.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Longer texts of a page are cut and end in "...": a reason may be as long as a
 * file, and thousands must fit.
 */
#define PAGE_TEXT_MAX 1000      // bytes

struct page_json {
    FILE *f;
    bool more;                  // a comma comes before the next value
};

void page_json_open (struct page_json *j, char bracket);        // { or [
void page_json_close (struct page_json *j, char bracket);
void page_json_key (struct page_json *j, const char *key);
void page_json_text (struct page_json *j, const char *s, size_t n);
void page_json_int (struct page_json *j, int64_t x);

/* A number with six digits; null if it is not finite. */
void page_json_real (struct page_json *j, double x);

/* A member "key" with the columns and rows of a query.  0, or as db_end. */
int page_json_rows (struct page_json *j, sqlite3 *db, const char *key,
                    const char *sql, struct err *err);

/* A JSON document as it may stand in a script element: no "<", which could end
 * or change the element, and no line ends that only JavaScript knows.
 */
void page_json_embed (FILE *f, const char *json, size_t n);

#endif
