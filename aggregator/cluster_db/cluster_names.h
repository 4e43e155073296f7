/* aggregator/cluster_db/cluster_names.h - names in cluster_analysis.db
 *
 * Readers of that file look things up by name, and refuse some characters and
 * long names.  A new name depends only on the old one, so all tables agree;
 * different names stay different.
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

/* Make a name that viewers accept.  A clean name is kept.  Otherwise '_'
 * replaces each refused character, a long name is cut, and a hash of the old
 * name is appended.  'out' has room for max + 1 bytes.
 */
void cluster_clean (const char *name, size_t n, size_t max, char *out);

/* Make the name of the k-th thing that has this name. */
void cluster_number (const char *name, unsigned k, char out[CLUSTER_NAME_SIZE]);

/* The step's name in rows of ops: "step" and the name from 'steps' that the row
 * means, which it may have with or without "step" in front.
 */
void cluster_step (const struct texts *steps, const char *step, size_t size,
                   char out[CLUSTER_NAME_SIZE]);

#endif
