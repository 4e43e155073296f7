/* aggregator/export/track_layout.c - spans of a track, so that none overlaps
 * another */
#include "export/track_layout.h"

void lanes_clear (struct lanes *l)
{
    l->used = 0;
}

static unsigned choose (struct lanes *l, int64_t start_ns)
{
    for (unsigned i = 0; i < l->used; i++) {
        if (l->end_ns[i] <= start_ns + LANES_ROUNDING_NS)
            return i;
    }
    if (l->used < LANES_MAX)
        return l->used;
    l->crowded++;
    return LANES_MAX - 1;
}

unsigned lanes_put (struct lanes *l, int64_t *start_ns, int64_t *dur_ns,
                    bool *first)
{
    unsigned i = choose (l, *start_ns);
    int64_t over;

    *first = i == l->used;
    if (*first)
        l->used++;
    else if ((over = l->end_ns[i] - *start_ns) > 0 &&
             over <= LANES_ROUNDING_NS) {
        *start_ns += over;
        *dur_ns = *dur_ns > over ? *dur_ns - over : 0;
    }
    if (*first || l->end_ns[i] < *start_ns + *dur_ns)
        l->end_ns[i] = *start_ns + *dur_ns;
    return i;
}
