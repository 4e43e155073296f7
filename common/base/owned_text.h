/* common/base/owned_text.h - texts that are mostly empty
 *
 * A text is never NULL: an empty one takes no memory of its own.  Its owner
 * calls owned_text_init first, and owned_text_fini at the end.
 */
#ifndef ROLLCALL_BASE_OWNED_TEXT_H
#define ROLLCALL_BASE_OWNED_TEXT_H

#include <stddef.h>

void owned_text_init (char **text);     // empty
void owned_text_fini (char **text);     // empty, too; NULL is

/* Replace it by a copy of n bytes; -ENOMEM, and it is unchanged. */
int owned_text_set (char **text, const char *s, size_t n);

#endif
