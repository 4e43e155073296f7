/* common/base/vec.c - lists that grow by one element at a time */
#include "base/vec.h"

#include <stdint.h>
#include <stdlib.h>

void *vec_one_more (void *list, size_t n, size_t size)
{
    if ((n & (n - 1)) != 0)     // there is room up to the next power of two
        return list;
    if (n > SIZE_MAX / 2 / size)
        return NULL;
    return realloc (list, (n ? 2 * n : 1) * size);
}
