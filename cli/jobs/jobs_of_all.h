/* cli/jobs/jobs_of_all.h - rollcall jobs of several aggregators */
#ifndef ROLLCALL_JOBS_JOBS_OF_ALL_H
#define ROLLCALL_JOBS_JOBS_OF_ALL_H

#include "several/job_copies.h"

/* Print the jobs of all places as of one, each once, with where it is; 'job': the
 * only one that is asked for, or NULL; 'runs', for JSON, may have "runs" of this
 * machine, and be NULL.  An exit status: EXIT_NOT_ALL if a place did not answer,
 * or copies contradict each other.
 */
int jobs_of_all (const struct command_spec *c, const struct cli_places *p,
                 const struct json *request, const char *job, bool json,
                 int64_t width, const struct json *runs);

/* The end of a list of jobs: the member "runs", if 'runs' has it. */
void jobs_end_json (struct json_out *out, const struct json *runs);

#endif
