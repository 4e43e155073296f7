/* cli/cli_derive.h - command-line options for derived tables */
#ifndef ROLLCALL_CLI_CLI_DERIVE_H
#define ROLLCALL_CLI_CLI_DERIVE_H

#include "builder/derive_options.h"
#include "cli.h"

struct cli_derive_options {
    struct option_list thresholds;
    const char *topology;
    bool all_steps;
    int64_t one_file;
};

#define CLI_THRESHOLD_OPTION(type, member) \
    OPTION (LIST, "threshold", 0, type, member, "NAME=VALUE", NULL, NULL, \
      "What must be exceeded to be a finding, as slow_rank_percent=10; " \
      "rollcall-findings(1) has the names. May be repeated.")

#define CLI_DERIVE_OPTIONS(type, member) \
    CLI_THRESHOLD_OPTION (type, member.thresholds), \
    OPTION (TEXT, "topology", 0, type, member.topology, "FILE", NULL, NULL, \
      "Which switch and rack each host is at: lines host,switch or " \
      "host,switch,rack."), \
    OPTION_SWITCH ("all-steps", 0, type, member.all_steps, \
      "Include all steps in means and findings, even those that profiling " \
      "itself lengthened."), \
    ONE_FILE_OPTION (type, member.one_file)

struct cli_derive {
    struct findings_options findings;
    struct topology topology;
    struct derive_options options;      // of the two
};

/* Returns 0, or after a message EXIT_USAGE for thresholds, EX_NOINPUT or
 * EX_DATAERR for the file.  Always call the fini function.
 */
int cli_derive_read (const struct command_spec *c,
                     const struct cli_derive_options *opt,
                     struct cli_derive *ret);
void cli_derive_fini (struct cli_derive *d);

/* How many threads to use unless a user says another number. */
unsigned cli_processors (void);

#endif
