/* node_agent/extract/rows/step_ranges.c - steps, found by a time within them */
#include "extract/rows/step_ranges.h"

#include <stdlib.h>

static int by_range_start (const void *pa, const void *pb)
{
    const struct step_range *a = pa, *b = pb;

    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return a->step < b->step ? -1 : a->step > b->step;
}

void step_ranges_order (struct step_range *r, uint32_t n)
{
    if (n > 1)
        qsort (r, n, sizeof (*r), by_range_start);
    for (uint32_t i = 0; i < n; i++)
        r[i].latest = i > 0 && r[i - 1].latest > r[i].end ? r[i - 1].latest
                                                         : r[i].end;
}

uint32_t step_ranges_begun (const struct step_range *r, uint32_t n, int64_t at)
{
    uint32_t low = 0, high = n;

    while (low < high) {
        uint32_t mid = low + (high - low) / 2;

        if (r[mid].start <= at)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}
