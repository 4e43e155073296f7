/* aggregator/table/labels.h - lines of a label and a text, for people
 *
 *     ranks         5 of 8 present
 *       rank 3: it wrote no capture below /data/job, which
 *         it was told to use
 *
 * On a terminal a text that is too long for its line goes on below itself, at
 * words; a word is never cut, so that paths can be copied.
 */
#ifndef ROLLCALL_TABLE_LABELS_H
#define ROLLCALL_TABLE_LABELS_H

#include "base/buf.h"

#include <stddef.h>

/* The columns of the terminal that 'fd' is; 0: it is none. */
size_t labels_width (int fd);

/* Append lines, of which each fits into 'width' columns if its words do; 0: as
 * they are.  The text of a line begins behind its label and two blanks or more;
 * without them the line is a text, perhaps indented.
 */
void labels_put (struct buf *out, size_t width, const char *lines);

/* Both; no terminal obeys what is in the lines.  0, -ENOMEM, or what 'fd' said.
 */
int labels_write (int fd, const char *lines);

#endif
