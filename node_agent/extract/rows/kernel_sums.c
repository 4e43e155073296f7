/* node_agent/extract/rows/kernel_sums.c - sum how long a device computes,
 * communicates, and does both or neither
 */
#include "extract/rows/kernel_sums.h"

static int64_t least (int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t most (int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Count the time up to 'to'. */
static void advance (struct kernel_sums *k, int64_t to)
{
    int64_t c = k->open[0], m = k->open[1];

    k->computing += most (least (c, to) - k->at, 0);
    k->communicating += most (least (m, to) - k->at, 0);
    k->both += most (least (least (c, m), to) - k->at, 0);
    k->either += most (least (most (c, m), to) - k->at, 0);
    k->at = to;
}

bool kernel_sums_add (struct kernel_sums *k, int64_t start, int64_t end,
                      bool communicates)
{
    if (!k->any) {
        k->any = true;
        k->start = k->at = k->open[0] = k->open[1] = start;
    }
    if (start < k->at)
        return false;
    advance (k, start);
    k->open[communicates] = most (k->open[communicates], end);
    return true;
}

void kernel_sums_end (struct kernel_sums *k)
{
    if (k->any)
        advance (k, most (k->at, most (k->open[0], k->open[1])));
}
