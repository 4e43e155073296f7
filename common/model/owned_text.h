/* common/model/owned_text.h - texts that are usually empty
 *
 * A text is never NULL; an empty one has no memory of its own.  The owner calls
 * owned_text_init first and owned_text_fini at the end.
 */
#ifndef ROLLCALL_MODEL_OWNED_TEXT_H
#define ROLLCALL_MODEL_OWNED_TEXT_H

#include <stddef.h>

void owned_text_init (char **text);     // to ""
void owned_text_fini (char **text);     // frees it, and sets it to ""

/* Replace the text by a copy of n bytes. -ENOMEM: it is unchanged. */
int owned_text_set (char **text, const char *s, size_t n);

#endif
