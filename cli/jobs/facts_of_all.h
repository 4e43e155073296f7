/* cli/jobs/facts_of_all.h - the jobs of several aggregators as one catalogue */
#ifndef ROLLCALL_JOBS_FACTS_OF_ALL_H
#define ROLLCALL_JOBS_FACTS_OF_ALL_H

#include "jobs/open_jobs.h"
#include "several/job_copies.h"

/* Ask all places with 'list', for rollcall jobs --json, and then with 'facts', for a
 * verb that prints facts_lines_print: *ret has each job once, as its best copy is.
 * 0, or an exit status after a message, also if memory is lacking.  *some becomes
 * true if a place did not answer in full, which is named, or copies contradict each
 * other.
 * The caller calls job_copies_fini and cli_jobs_close in any case.
 */
int facts_of_all (const struct command_spec *c, const struct cli_places *p,
                  const struct json *list, const struct json *facts,
                  struct job_copies *j, struct cli_jobs *ret, bool *some);

#endif
