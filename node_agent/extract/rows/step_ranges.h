/* node_agent/extract/rows/step_ranges.h - steps, found by a time within them */
#ifndef ROLLCALL_EXTRACT_ROWS_STEP_RANGES_H
#define ROLLCALL_EXTRACT_ROWS_STEP_RANGES_H

#include <stdint.h>

struct step_range {
    int64_t start, end;
    int64_t latest;             // end of this and of all before it
    uint32_t step;
};

/* Put them in order of start, then of step, and set 'latest' of each. */
void step_ranges_order (struct step_range *r, uint32_t n);

/* How many of them begin at or before 'at'. */
uint32_t step_ranges_begun (const struct step_range *r, uint32_t n,
                            int64_t at);

#endif
