/* cli/several/result_cache.h - results of other aggregators, kept here
 *
 * In rollcall/results of $XDG_CACHE_HOME, or of ~/.cache: a result as it was
 * built, with its parts, by what its aggregator says of it; unused ones go after
 * a week, and after an hour if there is another build.  A directory of another
 * user is refused.
 *
 * What came is checked when it comes: parts that are here already by their sums,
 * with a new analysis.db.  After that a part is taken by its name and size, as
 * its sum takes as long as to read all of it: who reads its rows finds another
 * one by its id, and damage by the pages.
 */
#ifndef ROLLCALL_SEVERAL_RESULT_CACHE_H
#define ROLLCALL_SEVERAL_RESULT_CACHE_H

#include "several/job_copies.h"

#include <limits.h>
#include <stdbool.h>

/* The path of an analysis.db of this copy, which comes from its place if it is
 * not there: 0, or an exit status after a message.
 */
int result_cache_get (const struct command_spec *c,
                      const struct job_copy *copy, char ret[PATH_MAX]);

/* Whether this file is in the cache: what is written beside it gets lost. */
bool result_cache_has (const char *path);

#endif
