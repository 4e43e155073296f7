/* aggregator/table/text_table.h - a table for people, with aligned columns
 *
 * The first rows (grid.h says how many) are kept to see how wide the columns
 * have to be; from then on a row goes out when it is complete.  Numbers are on
 * the right, texts on the left, in several lines if need be, at best between
 * words.  No terminal obeys what is in a cell.
 */
#ifndef ROLLCALL_TABLE_TEXT_TABLE_H
#define ROLLCALL_TABLE_TEXT_TABLE_H

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

/* A line of its own below the row that is complete.  0 or -ENOMEM. */
int columns_line (struct columns *c, const char *text);

int columns_finish (struct columns *c);         // 0 or -ENOMEM

/* Whether what is printed may be emphasized: on a terminal that can, and not with
 * NO_COLOR in the environment.
 */
bool columns_emphasize (FILE *f);

/* How many bytes of a text fit into 'width' columns of a terminal, and in *used
 * how many columns these take.
 */
size_t columns_fit (const char *s, size_t width, size_t *used);

/* Widths that fit: wide[0..n) are what columns want, and become what they get
 * of 'total', blanks between them included.  The widest give first, and none
 * gets less than 'least' or its own hard[] (both only as far as it wants more).
 */
void columns_share (size_t *wide, const size_t *hard, unsigned n, size_t total,
                    size_t least);

#endif
