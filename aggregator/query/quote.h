/* aggregator/query/quote.h - write values as JSON and CSV
 *
 * For output that is streamed, without a tree.  Invalid UTF-8 becomes U+FFFD.
 * Errors are the stream's: ask ferror.
 */
#ifndef ROLLCALL_QUERY_QUOTE_H
#define ROLLCALL_QUERY_QUOTE_H

#include <stddef.h>
#include <stdio.h>

/* A field (RFC 4180): with quotes where it needs them, and where it is empty,
 * so that it is not taken for one that is NULL.
 */
void quote_raw_csv (FILE *f, const char *s, size_t n);

/* The same for a spreadsheet: one that begins with =, +, -, @, tab or CR, and is
 * no number, would be a formula; it gets an apostrophe in front.
 */
void quote_csv (FILE *f, const char *s, size_t n);

/* X'0123ABCD' */
void quote_blob (FILE *f, const void *data, size_t n);

#endif
