/* node_agent/extract/rows/intervals.c - half-open intervals of time */
#include "extract/rows/intervals.h"

#include <stdlib.h>

static int by_start (const void *pa, const void *pb)
{
    const struct interval *a = pa, *b = pb;

    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return a->end < b->end ? -1 : a->end > b->end;
}

size_t intervals_merge (struct interval *v, size_t n)
{
    size_t kept = 0;

    if (n > 1)
        qsort (v, n, sizeof (*v), by_start);
    for (size_t i = 0; i < n; i++) {
        if (kept > 0 && v[i].start <= v[kept - 1].end) {
            if (v[i].end > v[kept - 1].end)
                v[kept - 1].end = v[i].end;
        } else {
            v[kept++] = v[i];
        }
    }
    return kept;
}

int64_t intervals_common (const struct interval *a, size_t na,
                          const struct interval *b, size_t nb)
{
    int64_t sum = 0;

    for (size_t i = 0, j = 0; i < na && j < nb;) {
        int64_t start = a[i].start > b[j].start ? a[i].start : b[j].start;
        int64_t end = a[i].end < b[j].end ? a[i].end : b[j].end;

        if (end > start)
            sum += end - start;
        if (a[i].end < b[j].end)
            i++;
        else
            j++;
    }
    return sum;
}

void interval_union_add (struct interval_union *u, int64_t start, int64_t end)
{
    if (end < start)
        end = start;
    if (!u->any) {
        *u = (struct interval_union){ true, start, end, 0, { start, end } };
        return;
    }
    if (end > u->last)
        u->last = end;
    if (start > u->open.end) {
        u->covered += u->open.end - u->open.start;
        u->open = (struct interval){ start, end };
    } else if (end > u->open.end) {
        u->open.end = end;
    }
}

int64_t interval_union_length (const struct interval_union *u)
{
    return u->covered + (u->open.end - u->open.start);
}
