/* common/base/cmp.h - compare plain values, for qsort and bsearch */
#ifndef ROLLCALL_BASE_CMP_H
#define ROLLCALL_BASE_CMP_H

#include <stddef.h>

/* The arguments point to an int32_t, an int64_t, a double that is not NaN, or to
 * a struct that begins with one.
 */
int cmp_int32 (const void *pa, const void *pb);
int cmp_int64 (const void *pa, const void *pb);
int cmp_double (const void *pa, const void *pb);

/* The arguments point to a char *. The texts are compared byte by byte. */
int cmp_text (const void *pa, const void *pb);

/* How many things of a sorted list come before 'key': where it is, or belongs.
 * The arguments are those of bsearch.
 */
size_t cmp_place (const void *key, const void *list, size_t n, size_t size,
                  int (*cmp) (const void *pa, const void *pb));

#endif
