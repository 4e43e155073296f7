/* cli/jobs_list.h - the jobs of a root, for the verbs that list them */
#ifndef ROLLCALL_CLI_JOBS_LIST_H
#define ROLLCALL_CLI_JOBS_LIST_H

#include "cli.h"

#include "catalogue/catalogue.h"
#include "jobs/open_jobs.h"
#include "json/json_out.h"

/* Which jobs: values of the options below. */
struct cli_filter {
    const char *where, *since, *user, *tag, *host;
};

#define CLI_FILTER_OPTIONS(type, member) \
    OPTION (TEXT, "where", 0, type, member.where, "EXPR", NULL, NULL, \
      "Only jobs for which this SQL expression of the columns of a job is " \
      "true, as in \"user='me' AND step_ms>100\"; the man page lists them."), \
    OPTION (TEXT, "since", 0, type, member.since, "TIME", NULL, NULL, \
      "Only jobs that began at this time or later, or whose first data came " \
      "then, even if they ran before: a date (2026-11-01, UTC), or how long " \
      "ago (12h, 7d, 4w)."), \
    OPTION (TEXT, "user", 0, type, member.user, "USER", NULL, NULL, \
      "Only jobs that this user started."), \
    OPTION (TEXT, "tag", 0, type, member.tag, "TAG", NULL, NULL, \
      "Only jobs with this tag (rollcall archive tag)."), \
    OPTION (TEXT, "host", 0, type, member.host, "HOST", NULL, NULL, \
      "Only jobs that ran on this host.")

/* Check the values: 0, or an exit status after a message. */
int cli_filter_read (const struct command_spec *c, const struct cli_filter *f,
                     struct catalogue_filter *ret);

/* Whether --where can be asked of several roots, each of which would complain: 0,
 * or an exit status after a message.
 */
int cli_filter_check (const struct command_spec *c,
                      const struct catalogue_filter *f);

/* Say why catalogue_each, or what is like it, failed: an exit status. */
int cli_jobs_failed (const struct command_spec *c, int rc,
                     const struct err *err);

/* Where the result of a job is, or false.  A service that is asked by others gives the
 * whole path, since they know nothing of its directory.
 */
bool cli_result_path (const struct cli_jobs *jobs, const char *job,
                      char ret[PATH_MAX]);

/* The members of a job's object but those of its claims and clocks; and these.
 */
void cli_job_to_json (struct json_out *out, const struct cli_jobs *jobs,
                      const struct catalogue_job *j);
void cli_claims_to_json (struct json_out *out, const struct cli_jobs *jobs,
                         const char *job);

/* Lines of the claims of a job's number of ranks. */
int cli_print_claims (const struct cli_jobs *jobs, const char *job,
                      struct err *err);

#endif
