/* aggregator/query/quote.h - quote values for CSV and SQL
 *
 * For streamed output.  Invalid UTF-8 becomes U+FFFD.  Write errors stay in the
 * stream: check ferror.
 */
#ifndef ROLLCALL_QUERY_QUOTE_H
#define ROLLCALL_QUERY_QUOTE_H

#include <stddef.h>
#include <stdio.h>

/* Write a field (RFC 4180), quoted if necessary.  Empty texts are quoted, too,
 * to distinguish them from NULL.
 */
void quote_raw_csv (FILE *f, const char *s, size_t n);

/* The same for spreadsheets: a text that begins with =, +, -, @, tab or CR and
 * is not a number would be taken for a formula, so it gets a leading
 * apostrophe.
 */
void quote_csv (FILE *f, const char *s, size_t n);

/* X'0123ABCD' */
void quote_blob (FILE *f, const void *data, size_t n);

#endif
