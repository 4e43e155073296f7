/* common/base/vec.h - lists that grow by one element at a time */
#ifndef ROLLCALL_BASE_VEC_H
#define ROLLCALL_BASE_VEC_H

#include <stddef.h>

/* Make room for one more element in 'list', which has 'n' elements of 'size'
 * bytes.  Returns the list, which may have moved; the caller frees it in the
 * end.  NULL: no memory, and the list is unchanged.  The allocated size follows
 * from 'n' alone, so a list must begin as NULL and grow only by this function;
 * elements may be removed.
 *
 *   struct thing *p = vec_one_more (x->list, x->n, sizeof (*p));
 *
 *   if (!p)
 *       return -ENOMEM;
 *   x->list = p;
 *   p[x->n++] = thing;
 */
void *vec_one_more (void *list, size_t n, size_t size);

#endif
