/* aggregator/cluster_db/cluster_names.h - names in cluster_analysis.db
 *
 * Its readers ask for things by their names, and refuse requests with some
 * characters in them, or longer than some length.  What a name becomes is up to
 * that name alone, so that it is the same in all tables; and names that differ
 * stay different.
 */
#ifndef ROLLCALL_CLUSTER_DB_CLUSTER_NAMES_H
#define ROLLCALL_CLUSTER_DB_CLUSTER_NAMES_H

#include "base/texts.h"

#include <stdbool.h>

#define CLUSTER_NAME_MAX 500    // bytes; viewers refuse longer names
#define CLUSTER_NAME_SIZE (CLUSTER_NAME_MAX + 1)
#define CLUSTER_STEP "step"     // before a step's name in the tables of ops
#define CLUSTER_STEP_MAX (CLUSTER_NAME_MAX - 4)         // of the name alone

bool cluster_is_clean (const char *name, size_t n, size_t max);

/* As viewers take it: the name itself, if it is clean; else with '_' for each
 * character that they refuse, cut if it is too long, and then a hash of what it
 * was.  'out' has room for max + 1 bytes.
 */
void cluster_clean (const char *name, size_t n, size_t max, char *out);

/* The k-th of those that have this name. */
void cluster_number (const char *name, unsigned k, char out[CLUSTER_NAME_SIZE]);

/* "step" and the name of the step of which rows of ops are: the one among
 * 'steps' that they mean, with or without "step" before it.
 */
void cluster_step (const struct texts *steps, const char *step,
                   char out[CLUSTER_NAME_SIZE]);

#endif
