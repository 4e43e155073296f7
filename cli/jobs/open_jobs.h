/* cli/jobs/open_jobs.h - the jobs of a root, or of PostgreSQL, opened */
#ifndef ROLLCALL_JOBS_OPEN_JOBS_H
#define ROLLCALL_JOBS_OPEN_JOBS_H

#include "several/places.h"
#include "shared/root.h"

#include "catalogue/catalogue.h"
#include "postgres/load.h"

struct cli_jobs {
    struct ledger *ledger;      // NULL: the catalogue is a copy
    struct catalogue *catalogue;
    struct json *status;        // of the service that has the root; NULL: none
};

/* Open the ledger and the catalogue of a root: 0, or an exit status after a
 * message.
 */
int cli_jobs_open (const struct command_spec *c, const char *root,
                   struct cli_jobs *ret);
void cli_jobs_close (struct cli_jobs *j);

/* Where PostgreSQL is, and whose jobs are meant. */
struct cli_postgres {
    const char *uri, *cluster;
};

#define CLI_POSTGRES_OPTIONS(type, member) \
    OPTION (TEXT, "postgres", 0, type, member.uri, "URI", NULL, NULL, \
      "Ask this PostgreSQL database, into which rollcall push puts the jobs of " \
      "one or more roots: postgresql://HOST/DATABASE."), \
    OPTION_BESIDE ("postgres", TEXT, "cluster", type, member.cluster, "NAME", \
      NULL, NULL, \
      "With --postgres: only the jobs of this cluster, as rollcall push " \
      "--cluster named it.")

/* The same from PostgreSQL: the jobs that a filter chooses, of which it has then
 * no more to choose but by its expression; with what they are needed for.
 */
int cli_jobs_open_postgres (const struct command_spec *c,
                            const struct cli_postgres *from,
                            struct catalogue_filter *filter,
                            enum facts_use use, struct cli_jobs *ret);

/* pg_open; a database that does not answer is named on standard error. */
int cli_postgres_open (const struct command_spec *c, const char *uri,
                       struct pg **ret, struct err *err);

/* pg_check_option: 0, or an exit status after a message. */
int cli_postgres_check (const struct command_spec *c,
                        const struct cli_postgres *from);

/* The same if a root or an aggregator is named, too. */
int cli_postgres_alone (const struct command_spec *c,
                        const struct cli_postgres *from,
                        const struct cli_where *where);

/* The exit status for an error of aggregator/postgres. */
int cli_postgres_status (int rc);

#endif
