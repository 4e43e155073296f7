/* aggregator/select/select_private.h - which captures count, between their files */
#ifndef ROLLCALL_SELECT_PRIVATE_H
#define ROLLCALL_SELECT_PRIVATE_H

#include "select/capture_select.h"

/* The end of the run of items with the rank of items[first]. */
size_t select_rank_end (const struct select_item *items, size_t n,
                        size_t first);

/* Whether its rows are of the result. */
bool select_counts (const struct select_item *item);

/* The most frequent world size of the captures, or of their launchers, so that
 * one damaged file cannot make up ranks; of two that are equally frequent, the
 * larger one.  0: unknown.
 */
int64_t select_usual_size (const struct select_item *items, size_t n,
                           bool launcher);

#endif
