/* aggregator/query/quote.h - write values as JSON and CSV
 *
 * For output that is streamed, without a tree.  Invalid UTF-8 becomes U+FFFD.
 * Errors are the stream's: ask ferror.
 */
#ifndef ROLLCALL_QUERY_QUOTE_H
#define ROLLCALL_QUERY_QUOTE_H

#include <stddef.h>
#include <stdio.h>

/* A string with its quotes (RFC 8259).  Control characters are escaped, DEL, C1
 * and those of direction as well: it may go to a terminal.  's' has a NUL behind
 * its 'n' bytes.
 */
void quote_json (FILE *f, const char *s, size_t n);

/* A field (RFC 4180): with quotes where it needs them, and where it is empty,
 * so that it is not taken for one that is NULL.
 */
void quote_raw_csv (FILE *f, const char *s, size_t n);

/* The same for a spreadsheet: one that begins with =, +, -, @, tab or CR, and is
 * no number, would be a formula; it gets an apostrophe in front.
 */
void quote_csv (FILE *f, const char *s, size_t n);

/* The shortest number that reads back the same; 'none' if it is not finite. */
void quote_real (FILE *f, double x, const char *none);

/* X'0123ABCD' */
void quote_blob (FILE *f, const void *data, size_t n);

#endif
