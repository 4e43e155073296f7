/* common/base/cmp.c - compare plain values */
#include "base/cmp.h"

#include <stdint.h>
#include <string.h>

int cmp_int32 (const void *pa, const void *pb)
{
    int32_t a = *(const int32_t *)pa, b = *(const int32_t *)pb;

    return (a > b) - (a < b);
}

int cmp_int64 (const void *pa, const void *pb)
{
    int64_t a = *(const int64_t *)pa, b = *(const int64_t *)pb;

    return (a > b) - (a < b);
}

int cmp_double (const void *pa, const void *pb)
{
    double a = *(const double *)pa, b = *(const double *)pb;

    return (a > b) - (a < b);
}

int cmp_text (const void *pa, const void *pb)
{
    return strcmp (*(const char *const *)pa, *(const char *const *)pb);
}

size_t cmp_place (const void *key, const void *list, size_t n, size_t size,
                  int (*cmp) (const void *pa, const void *pb))
{
    size_t low = 0, high = n;

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (cmp ((const char *)list + mid * size, key) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}
