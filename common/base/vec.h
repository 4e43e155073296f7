/* common/base/vec.h - lists that grow by one element at a time */
#ifndef ROLLCALL_BASE_VEC_H
#define ROLLCALL_BASE_VEC_H

#include <stddef.h>

/* 'list', of 'n' things of 'size' bytes, with room for one more: it may have
 * moved, as with realloc, and is to be freed.  NULL without memory: the list is
 * as it was.  A list grows at powers of two and has no other record of its
 * room, so that it must begin as NULL, and grow by nothing else; things may be
 * taken away.
 *
 *     struct thing *p = vec_one_more (x->list, x->n, sizeof (*p));
 *
 *     if (!p)
 *         return -ENOMEM;
 *     x->list = p;
 *     p[x->n++] = thing;
 */
void *vec_one_more (void *list, size_t n, size_t size);

#endif
