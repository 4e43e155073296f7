/* aggregator/export/track_layout.c - put overlapping spans on lanes */
#include "export/track_layout.h"

void track_layout_clear (struct track_layout *l)
{
    l->used = 0;
}

static unsigned track_layout_choose (struct track_layout *l, int64_t start_ns)
{
    for (unsigned i = 0; i < l->used; i++) {
        if (l->end_ns[i] <= start_ns + TRACK_LANES_ROUNDING_NS)
            return i;
    }
    if (l->used < TRACK_LANES_MAX)
        return l->used;
    l->crowded++;
    return TRACK_LANES_MAX - 1;
}

unsigned track_layout_put (struct track_layout *l, int64_t *start_ns,
                           int64_t *dur_ns,
                           bool *first)
{
    unsigned i = track_layout_choose (l, *start_ns);
    int64_t over;

    *first = i == l->used;
    if (*first)
        l->used++;
    else if ((over = l->end_ns[i] - *start_ns) > 0 &&
             over <= TRACK_LANES_ROUNDING_NS) {
        *start_ns += over;
        *dur_ns = *dur_ns > over ? *dur_ns - over : 0;
    }
    if (*first || l->end_ns[i] < *start_ns + *dur_ns)
        l->end_ns[i] = *start_ns + *dur_ns;
    return i;
}
