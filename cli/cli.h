/* cli/cli.h - what the verbs share */
#ifndef ROLLCALL_CLI_CLI_H
#define ROLLCALL_CLI_CLI_H

#include "base/err.h"
#include "base/options.h"

#include <sysexits.h>

/* Exit status (rollcall(1)): sysexits for failures, and these. */
#define EXIT_ALL_PRESENT 0      // every expected rank is present
#define EXIT_NOT_ALL 1          // results, but some rank is not present
#define EXIT_USAGE 2

struct verb {
    const char *name;
    int (*run) (int argc, char **argv);         // argv[0] is the verb
    const char *brief;          // for the list of verbs
};

int verb_analyze (int argc, char **argv);
int verb_run (int argc, char **argv);
int verb_wait (int argc, char **argv);

extern const struct command_spec analyze_command, wait_command;

/* Parse with the table; false when the verb is to end with *status. */
bool cli_options (const struct command_spec *c, int argc, char **argv,
                  void *out, int *rest, int *status);

/* "rollcall VERB: sentence" on standard error; returns 'status'. */
int cli_fail (const struct command_spec *c, int status, const char *fmt, ...)
    __attribute__ ((format (printf, 3, 4)));

/* The exit status that stands for a negative errno of an output that could not
 * be made.
 */
int cli_output_status (int rc);

/* After printing, which gave 'rc': 0, or EX_IOERR when what was printed is lost
 * (a full disk, a closed pipe).
 */
int cli_flush (const struct command_spec *c, int rc);

/* How results are printed. */
enum cli_format { CLI_TEXT, CLI_LOGFMT, CLI_JSON };
enum cli_format cli_format (bool json, bool text);

#endif
