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

void columns_finish (struct columns *c);

#define COLUMNS_LEAST 8         // columns that a wrapped text keeps

struct column {
    char *name;
    size_t lead, tail;          // of its numbers: up to the point, and from it
    size_t wide, body;          // of it; and without its head
    size_t word;                // the longest word
    size_t hard;                // it must not be narrower
    bool texts;                 // it has one
};

/* Fit widths into 'total', including blanks between columns.  The widest shrink
 * first, none below COLUMNS_LEAST or what is hard.
 */
void columns_share (struct column *v, unsigned n, size_t total);

#endif
