/* aggregator/cluster_db/cluster_names.h - names in cluster_analysis.db
 *
 * Its readers look things up by name, and refuse some characters and long
 * names.  The new name depends on the old name alone, so it is the same in all
 * tables; different names stay different.
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

/* A name for viewers: the name itself if it is clean; else with '_' for each
 * refused character, cut if it is too long, and a hash of the old name.  'out'
 * has room for max + 1 bytes.
 */
void cluster_clean (const char *name, size_t n, size_t max, char *out);

/* The name of the k-th thing with this name. */
void cluster_number (const char *name, unsigned k, char out[CLUSTER_NAME_SIZE]);

/* "step" and the step's name for rows of ops: the one of 'steps' that they
 * mean, with or without "step" before it.
 */
void cluster_step (const struct texts *steps, const char *step,
                   char out[CLUSTER_NAME_SIZE]);

#endif
