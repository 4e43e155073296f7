/* common/base/vec.h - lists that grow by one element at a time */
#ifndef ROLLCALL_BASE_VEC_H
#define ROLLCALL_BASE_VEC_H

#include <stddef.h>

/* A list grows at powers of two and has no other record of its room, so that it
 * must begin as NULL, and grow by nothing else; things may be taken away.  It
 * may move, as with realloc, and is to be freed.
 *
 * The next thing of a list, zero; 'list' points to the list's pointer, 'size' is
 * that of a thing.  NULL without memory: the list is as it was.
 *
 *     struct thing *p = vec_add (&x->list, &x->n, sizeof (*p));
 *
 *     if (!p)
 *         return -ENOMEM;
 */
void *vec_add (void *list, size_t *n, size_t size);

/* The same, but the caller counts the things, in another type than size_t. */
void *vec_next (void *list, size_t n, size_t size);

/* As vec_add before the thing at 'at', at most *n: it and later ones move. */
void *vec_insert (void *list, size_t *n, size_t at, size_t size);

/* Add a copy of a thing; 0 or -ENOMEM. */
int vec_push (void *list, size_t *n, const void *thing, size_t size);

/* A copy of a text at the end of a list of texts, or a text that is printed
 * there; -ENOMEM.
 */
int vec_add_text (char ***list, size_t *n, const char *text);
int vec_print_text (char ***list, size_t *n, const char *fmt, ...)
    __attribute__ ((format (printf, 3, 4)));
void vec_free_texts (char **list, size_t n);

/* 'list', of 'n' things of 'size' bytes, with room for one more, which may go
 * to any place.  NULL without memory.
 */
void *vec_one_more (void *list, size_t n, size_t size);

#endif
