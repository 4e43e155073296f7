/* cli/find_result.h - find the result that a user means
 *
 * Verbs that read a result take DIR|FILE|JOB: an analysis.db, a directory with
 * one or with cluster_analysis_output, a job that an aggregator built, or a run
 * on this host.  Files and directories take precedence.  Of several aggregators
 * that have a job it is the best copy (several/job_copies.h); one from elsewhere, or
 * from the service of a root that this user cannot read, is kept in a cache.
 */
#ifndef ROLLCALL_CLI_FIND_RESULT_H
#define ROLLCALL_CLI_FIND_RESULT_H

#include "cli.h"
#include "several/places.h"

#include <limits.h>

#define CLI_RESULT_USAGE "DIR|FILE|JOB"

/* Where to look for jobs; the member "place" of a verb's options. */
struct result_place {
    struct cli_where where;     // aggregators
    const char *state;          // of runs, or NULL
    const char *asked;          // between the verb and the result, for a
                                // command that is named to the user; or NULL
};

#define CLI_RESULT_OPTIONS(type) \
    CLI_WHERE_OPTIONS (type, place.where), \
    CLI_STATE_OPTION (type, place.state, \
      "Local directory of runs, where jobs are looked for as well.")

/* Returns 0, or an exit status after a message.  For a directory with results
 * of several jobs, the message lists the commands to use.
 */
int cli_find_result (const struct command_spec *c, const char *what,
                     const struct result_place *place, char ret[PATH_MAX]);

/* The same for the operands of a verb that takes one result at most: without
 * one, the result below the current directory.
 */
int cli_find_operand (const struct command_spec *c, int n,
                      char *const *operands, const struct result_place *place,
                      char ret[PATH_MAX]);

/* Open the result: an analysis.db or, with 'any', any database.  Returns 0, or
 * an exit status after a message.
 */
struct sqlite3;
int cli_open_result (const struct command_spec *c, const char *path, bool any,
                     struct sqlite3 **ret);

#endif
