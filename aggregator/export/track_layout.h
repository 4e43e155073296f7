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

/* Times in captures are doubles of us since 1970, which are 0.25 us apart.
 * Overlaps of up to two of these units are ignored.
 */
#define TRACK_LANES_ROUNDING_NS 500

struct track_layout {
    int64_t end_ns[TRACK_LANES_MAX];
    unsigned used;              // lanes used so far
    uint64_t crowded;           // spans without a free lane
};

/* Begin a new track; keeps 'crowded'. */
void track_layout_clear (struct track_layout *l);

/* Find the lane of the next span; spans must come by start time.  Adjusts
 * *start_ns and *dur_ns for rounding.  *first: the lane is new.
 */
unsigned track_layout_put (struct track_layout *l, int64_t *start_ns,
                           int64_t *dur_ns,
                           bool *first);

#endif
