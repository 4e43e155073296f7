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
