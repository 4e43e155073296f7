/* cli/shared/command.h - shared by the verbs and rollcall run: options, errors,
 * signals, printing of results
 */
#ifndef ROLLCALL_SHARED_COMMAND_H
#define ROLLCALL_SHARED_COMMAND_H

#include "base/err.h"
#include "json/json.h"
#include "options/options.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sysexits.h>

/* Exit statuses (rollcall(1)): those of sysexits for failures, and these. */
#define EXIT_ALL_PRESENT 0      // every expected rank is present
#define EXIT_NOT_ALL 1          // results, but some rank is not present
#define EXIT_USAGE 2

/* Parse with the table; false: end with *status. */
bool cli_options (const struct command_spec *c, int argc, char **argv,
                  void *out, int *rest, int *status);

/* "rollcall VERB: sentence" on standard error; returns 'status'. */
int cli_fail (const struct command_spec *c, int status, const char *fmt, ...)
    __attribute__ ((format (printf, 3, 4)));

/* Whether one of the first 'n' is "" (perhaps an unset variable); if so, prints
 * a message.
 */
bool cli_empty_dir (const struct command_spec *c, int n, char *const *dirs);

/* The exit status for a negative errno of writing an output; EX_NOPERM for
 * -EPERM, which means another user's directory; EX_TEMPFAIL for -ESTALE: it was
 * replaced meanwhile.
 */
int cli_output_status (int rc);

/* The exit status for a negative errno of reading an input: EX_NOPERM,
 * EX_DATAERR if it is damaged, else EX_NOINPUT.
 */
int cli_input_status (int rc);

/* After printing, which gave 'rc': 0, or EX_IOERR if output was lost (a full
 * disk, a closed pipe).
 */
int cli_flush (const struct command_spec *c, int rc);

/* For a verb that writes into a directory that its user names. */
#define CLI_FOREIGN_OPTION(type, member) \
    OPTION_SWITCH ("foreign-output", 0, type, member, \
      "As root, write into a directory of another user, who can read and " \
      "replace what is there. Without this option, that is refused.")

/* The integer member of an object; 0: there is none. */
int64_t cli_number (const struct json *j, const char *key);

/* Print a document and free it; 0, -ENOMEM, or an error of stdout. */
int cli_print_json (struct json *j);

/* Whether a signal is ignored, as by nohup(1); then it must stay ignored. */
bool cli_is_ignored (int sig);

/* For verbs that have to clean up: SIGINT, SIGTERM and SIGHUP set
 * cli_cancelled, and a second one kills at once.
 */
extern atomic_bool cli_cancelled;
void cli_catch_signals (void);

/* Print "interrupted, ", or what cli_interrupted_by says instead, and the state of the output on standard error; returns
 * the exit status: 128 and the signal.
 */
extern const char *cli_interrupted_by;
int cli_interrupted (const struct command_spec *c, const char *fmt, ...)
    __attribute__ ((format (printf, 2, 3)));

/* The width of a table: that of --width (-1: not given), else the terminal's
 * columns, or 0 (unlimited) elsewhere.
 */
size_t cli_width (int64_t option);

#define CLI_WIDTH_OPTION(type) \
    OPTION_NUMBER ("width", 'w', type, width, "N", NULL, NULL, 0, 100000, \
      "Columns of a table; texts are wrapped for it. 0: as many as it needs. " \
      "Without it: the terminal's, and 0 elsewhere.")

/* The option for the directory of runs; 'help' begins with its purpose. */
#define CLI_STATE_OPTION(type, member, help) \
    OPTION (TEXT, "state", 0, type, member, "DIR", NULL, "ROLLCALL_STATE_DIR", \
      help)

/* The rows of these options, for a struct with these two members. */
#define CLI_FORMAT_OPTIONS(type) \
    OPTION_SWITCH ("json", 0, type, json, \
      "Print the summary as one JSON object."), \
    OPTION_SWITCH ("text", 0, type, text, \
      "Print the summary as text, which is the default.")

#endif
