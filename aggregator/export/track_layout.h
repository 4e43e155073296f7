/* aggregator/export/track_layout.h - spans of a track, so that none overlaps
 * another
 *
 * Viewers draw what overlaps on one track as if one was called by the other, or
 * drop it.  A span goes to the first lane of its track that is free.
 */
#ifndef ROLLCALL_EXPORT_TRACK_LAYOUT_H
#define ROLLCALL_EXPORT_TRACK_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#define TRACK_LANES_MAX 64

/* Times of captures are doubles of us since 1970, 0.25 us apart: what overlaps
 * by no more than two of these steps does not.
 */
#define TRACK_LANES_ROUNDING_NS 500

struct track_layout {
    int64_t end_ns[TRACK_LANES_MAX];
    unsigned used;              // lanes that have had a span
    uint64_t crowded;           // spans that found no free lane
};

/* A new track; 'crowded' goes on counting. */
void track_layout_clear (struct track_layout *l);

/* The lane of the next span, by start; *start_ns and *dur_ns are changed when
 * rounding wants it.  *first: the lane was not in use yet.
 */
unsigned track_layout_put (struct track_layout *l, int64_t *start_ns,
                           int64_t *dur_ns,
                           bool *first);

#endif
