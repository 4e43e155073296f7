/* aggregator/query/text_table.h - print a table with aligned columns
 *
 * The first rows (see grid.h for how many) are buffered to find the column
 * widths; later rows are printed when they are complete.  Numbers are
 * right-aligned, texts left-aligned and wrapped, if possible between words.
 * Control characters in cells are escaped.
 */
#ifndef ROLLCALL_QUERY_TEXT_TABLE_H
#define ROLLCALL_QUERY_TEXT_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct columns;

/* 'f' is borrowed; 'width' as in grid.h.  If all names are "", there is no
 * head.  NULL without memory.
 */
struct columns *columns_create (FILE *f, size_t width,
                                const char *const *names, unsigned n);
void columns_destroy (struct columns *c);       // c may be NULL

/* Append a cell; NULL text is NULL.  0 or -ENOMEM. */
int columns_cell (struct columns *c, const char *text, size_t n, bool number);

/* Print a separate line below the last row.  0 or -ENOMEM. */
int columns_line (struct columns *c, const char *text);

/* Before the first cell: do not divide the texts of column 'i', so that lines
 * may get longer than the width.
 */
void columns_keep_whole (struct columns *c, unsigned i);

/* 'why' there are no rows, or NULL. */
void columns_finish (struct columns *c, const char *why);

#define COLUMNS_LEAST 8         // least width of a wrapped text

struct column {
    char *name;
    size_t lead, tail;          // of its numbers: up to the point, and after it
    size_t wide, body;          // its width; the same without its head
    size_t word;                // the longest word
    size_t hard;                // it must not get narrower than this
    bool texts;                 // it has texts
    bool whole;                 // they are not divided
};

/* Shrink the widths until they fit into 'total', including blanks between
 * columns.  The widest column shrinks first; none gets narrower than
 * COLUMNS_LEAST or its 'hard'.
 */
void columns_share (struct column *v, unsigned n, size_t total);

#endif
