/* common/options/options.h - command-line options, declared in a table
 *
 * A row gives an option its name, type, bounds, default, unit, environment
 * variable and help.  Parsing, --help, the OPTIONS section of the man page and
 * shell completion all use it.
 *
 * This folder: options, and the suggestion of a name for a misspelt one.
 */
#ifndef ROLLCALL_OPTIONS_OPTIONS_H
#define ROLLCALL_OPTIONS_OPTIONS_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OPTION_LIST_MAX 64

enum option_kind {
    OPTION_FLAG,                // bool
    OPTION_TEXT,                // const char *, borrowed from argv
    OPTION_INT,                 // int64_t, within min and max
    OPTION_DURATION,            // int64_t in ns, from "90", "1.5s", "5m"
    OPTION_BYTES,               // int64_t, from "1000", "64k", "1.5GB", "1GiB"
    OPTION_ROOM,                // struct space_limit, bytes or "5%"
    OPTION_ENDPOINT,            // const char *, as "tcp://10.0.0.1:7077"
    OPTION_ENDPOINTS,           // one or more of these, with commas between
    OPTION_LIST,                // struct option_list, may be repeated; what is
                                // said replaces the default
};

struct option_list {
    const char *items[OPTION_LIST_MAX];
    size_t n;
    bool said;                  // on the command line
};

struct option_spec {
    const char *name;           // "world-size" for --world-size
    char letter;                // 'o' for -o, or 0
    enum option_kind kind;
    size_t offset;              // of the member in the caller's struct
    const char *arg;            // the name of the value in --help, or NULL;
                                // DIR, FILE and OUT must not be empty
    const char *fallback;       // the default as text, or NULL
    const char *env;            // an environment variable that also sets it, or
                                // NULL
    int64_t min, max;           // of OPTION_INT
    const char *help;           // one or more sentences
    const char *needs;          // the name of the option without which a user
                                // may not give this one, or NULL
};

/* Rows for a member of the struct 'type': one of any kind, as TEXT for
 * OPTION_TEXT; of OPTION_INT; of OPTION_FLAG without a variable.
 */
#define OPTION(kind, name, letter, type, member, arg, fallback, env, help) \
    { name, letter, OPTION_##kind, offsetof (type, member), arg, fallback, \
      env, 0, 0, help, NULL }
#define OPTION_NUMBER(name, letter, type, member, arg, fallback, env, min, \
                      max, help) \
    { name, letter, OPTION_INT, offsetof (type, member), arg, fallback, env, \
      min, max, help, NULL }
#define OPTION_SWITCH(name, letter, type, member, help) \
    { name, letter, OPTION_FLAG, offsetof (type, member), NULL, NULL, NULL, 0, \
      0, help, NULL }

/* The same for what means nothing without another option. */
#define OPTION_BESIDE(needs, kind, name, type, member, arg, fallback, env, \
                      help) \
    { name, 0, OPTION_##kind, offsetof (type, member), arg, fallback, env, 0, \
      0, help, needs }
#define OPTION_NUMBER_BESIDE(needs, name, type, member, arg, fallback, env, \
                             min, max, help) \
    { name, 0, OPTION_INT, offsetof (type, member), arg, fallback, env, min, \
      max, help, needs }
#define OPTION_SWITCH_BESIDE(needs, name, type, member, help) \
    OPTION_BESIDE (needs, FLAG, name, type, member, NULL, NULL, NULL, help)

struct command_spec {
    const char *name;           // "rollcall analyze"
    const char *usage;          // what follows the name
    const char *summary;        // one line
    const struct option_spec *options;
    size_t noptions;
};

enum options_result {
    OPTIONS_OK,
    OPTIONS_DONE,               // --help or the like was answered: exit with
                                // the result of options_done
    OPTIONS_USAGE,              // 'err' says what is wrong: print it, and exit
                                // with 2
};

/* Fill '*out', a zeroed struct, with defaults, then from the environment, then
 * from the command line (argv[1] on).  Parsing stops at "--" and, with
 * 'stop_early', at the first argument that is no option; otherwise operands and
 * options may be mixed.  *rest is the index of the first operand.  Names must
 * be complete: for an abbreviation the error lists the names that begin with
 * it, for an unknown name it suggests the nearest one.  An option of argv whose
 * 'needs' is set nowhere is an error; one of the environment waits for it.
 */
enum options_result options_parse (const struct command_spec *c, int argc,
                                   char **argv, bool stop_early, void *out,
                                   int *rest, struct err *err);

/* The exit status of program 'name' after printing: 0, or EX_IOERR after an
 * error message if output was lost (a full disk).
 */
int options_done (const char *name);

/* Call 'fn' with each word of a command line equivalent to 'opt', which
 * options_parse has filled; unset options are left out, and those without what
 * they need.  Returns 0, or a negative result of 'fn'; -ENOTSUP for OPTION_ROOM.
 */
int options_words (const struct command_spec *c, const void *opt,
                   int (*fn) (void *arg, const char *word), void *arg);

/* Print --help, or the man page's SYNOPSIS and OPTIONS in scdoc form, on
 * stdout.
 */
void options_print_help (const struct command_spec *c);
void options_print_man (const struct command_spec *c);

/* Print "--name" of every option, one on a line, for completion. */
void options_print_names (const struct command_spec *c);

#endif
