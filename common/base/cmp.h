/* common/base/cmp.h - compare plain values, for qsort and bsearch; and bytes */
#ifndef ROLLCALL_BASE_CMP_H
#define ROLLCALL_BASE_CMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

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

/* memcmp () == 0 without a call, for what mostly has 4 to 40 bytes. */
static inline bool cmp_same (const char *a, const char *b, size_t n)
{
    uint64_t x, y;

    for (; n >= sizeof (x); a += sizeof (x), b += sizeof (y), n -= sizeof (x)) {
        memcpy (&x, a, sizeof (x));
        memcpy (&y, b, sizeof (y));
        if (x != y)
            return false;
    }
    for (; n > 0; a++, b++, n--) {
        if (*a != *b)
            return false;
    }
    return true;
}

#endif
