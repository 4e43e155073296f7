/* aggregator/query/text_table.h - a table for people, with aligned columns
 *
 * The first rows (as many as grid.h says) are buffered to find the widths of
 * columns; later rows are written when they are complete.  Numbers are
 * right-aligned, texts left-aligned and wrapped, if possible between words.
 * Control characters of cells are escaped.
 */
#ifndef ROLLCALL_QUERY_TEXT_TABLE_H
#define ROLLCALL_QUERY_TEXT_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct columns;

/* 'f' is borrowed; 'width' as in grid.h.  Names that are all "": no head.  NULL
 * without memory.
 */
struct columns *columns_create (FILE *f, size_t width,
                                const char *const *names, unsigned n);
void columns_destroy (struct columns *c);       // c may be NULL

/* The next cell; NULL text is NULL.  0 or -ENOMEM. */
int columns_cell (struct columns *c, const char *text, size_t n, bool number);

/* A separate line below the last row.  0 or -ENOMEM. */
int columns_line (struct columns *c, const char *text);

int columns_finish (struct columns *c);         // 0 or -ENOMEM

/* Fit widths: wide[0..n) are the wanted widths, and become those within
 * 'total', including blanks between columns.  The widest shrink first, none
 * below 'least' or its hard[] (unless it wants less).
 */
void columns_share (size_t *wide, const size_t *hard, unsigned n, size_t total,
                    size_t least);

#endif
