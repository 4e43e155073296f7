/* aggregator/build/roll_names.h - ranks from the names of traces
 *
 * Private to roll.c.
 */
#ifndef ROLLCALL_BUILD_ROLL_NAMES_H
#define ROLLCALL_BUILD_ROLL_NAMES_H

#include "build/roll.h"

/* Give a rank to the traces that have none (roll.h, roll_plan). */
void roll_name_ranks (struct roll_item *items, size_t n);

#endif
