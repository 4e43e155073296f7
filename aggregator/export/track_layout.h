/* aggregator/export/track_layout.h - put overlapping spans on lanes
 *
 * Viewers draw overlapping spans of one track as nested calls, or drop them.  A
 * span goes to the first free lane of its track.
 */
#ifndef ROLLCALL_EXPORT_TRACK_LAYOUT_H
#define ROLLCALL_EXPORT_TRACK_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#define TRACK_LANES_MAX 64

/* Times of captures are doubles of us since 1970, 0.25 us apart: overlaps of up
 * to two of these steps are ignored.
 */
#define TRACK_LANES_ROUNDING_NS 500

struct track_layout {
    int64_t end_ns[TRACK_LANES_MAX];
    unsigned used;              // lanes that have had a span
    uint64_t crowded;           // spans without a free lane
};

/* Begin a new track; 'crowded' is kept. */
void track_layout_clear (struct track_layout *l);

/* The lane of the next span, in the order of starts; *start_ns and *dur_ns are
 * adjusted for rounding. *first: the lane is new.
 */
unsigned track_layout_put (struct track_layout *l, int64_t *start_ns,
                           int64_t *dur_ns,
                           bool *first);

#endif
