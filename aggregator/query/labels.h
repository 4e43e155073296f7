/* aggregator/query/labels.h - lines of a label and a text, for people
 *
 *     ranks         5 of 8 present
 *       rank 3: it wrote no capture below /data/job, which
 *         it was told to use
 *
 * On a terminal, a long text is wrapped below itself, between words; a word is
 * never cut, so that paths can be copied.
 */
#ifndef ROLLCALL_QUERY_LABELS_H
#define ROLLCALL_QUERY_LABELS_H

#include "base/buf.h"

#include <stddef.h>
#include <stdio.h>

/* The width of the terminal 'fd' in columns; 0 if it is not a terminal. */
size_t labels_width (int fd);

/* Append lines, wrapped between words to 'width' columns; 0: no wrapping.  The
 * text of a line begins after its label and two or more blanks.  A line without
 * these is text as a whole, and may be indented.
 */
void labels_put (struct buf *out, size_t width, const char *lines);

/* The same for one line. */
void labels_line (struct buf *out, size_t width, const char *label,
                  const char *text);

/* Wrap and print, with control characters escaped.  0, -ENOMEM, or an error of
 * 'fd'.
 */
int labels_write (int fd, const char *lines);

/* The same for lines that a function prints. */
int labels_print (int fd, void (*print) (const void *arg, FILE *f),
                  const void *arg);

/* The same into a file, for 'width' columns, as they are. */
int labels_print_to (FILE *to, size_t width,
                     void (*print) (const void *arg, FILE *f), const void *arg);

#endif
