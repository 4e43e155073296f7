/* common/options/options.h - command-line options, declared in a table
 *
 * One row gives a setting its name, type, bounds, default, unit, environment
 * variable and help; parsing, --help, the OPTIONS section of the man page and
 * shell completion all come from it.
 *
 * This folder: options, and the name that a misspelt one may have meant.
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
    OPTION_ENDPOINTS,           // the same, or several, with commas between
    OPTION_LIST,                // struct option_list, may be repeated
};

struct option_list {
    const char *items[OPTION_LIST_MAX];
    size_t n;
};

struct option_spec {
    const char *name;           // "world-size" for --world-size
    char letter;                // 'o' for -o, or 0
    enum option_kind kind;
    size_t offset;              // of the member in the caller's struct
    const char *arg;            // what --help calls the value, or NULL; DIR,
                                // FILE and OUT must not be empty
    const char *fallback;       // the default as text, or NULL
    const char *env;            // variable that sets it too, or NULL
    int64_t min, max;           // of OPTION_INT
    const char *help;           // one or more sentences
};

/* A row of OPTION_FLAG that no variable sets, of a member of the struct 'type'.
 */
#define OPTION_SWITCH(name, letter, type, member, help) \
    { name, letter, OPTION_FLAG, offsetof (type, member), NULL, NULL, NULL, 0, \
      0, help }

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
                                // what options_done says
    OPTIONS_USAGE,              // 'err' says what is wrong: exit 2
};

/* Fill '*out', a zeroed struct: defaults, then environment, then command line
 * (argv[1] on).  Parsing stops at "--" and at the first argument that is not an
 * option if 'stop_early'; *rest is the index of the first operand.  Without
 * stop_early operands and options may be mixed.  Names must be complete: an
 * abbreviation is refused, with the names that begin so; for an unknown name
 * the nearest one is suggested.
 */
enum options_result options_parse (const struct command_spec *c, int argc,
                                   char **argv, bool stop_early, void *out,
                                   int *rest, struct err *err);

/* The exit status of program 'name' after printing: 0, or EX_IOERR after a
 * message if output was lost (a full disk).
 */
int options_done (const char *name);

/* Give 'fn' the words of a command line equivalent to 'opt', which
 * options_parse has filled; unset options are left out.  0, or a negative
 * result of 'fn'; -ENOTSUP for OPTION_ROOM.
 */
int options_words (const struct command_spec *c, const void *opt,
                   int (*fn) (void *arg, const char *word), void *arg);

/* --help on stdout, and the man page's SYNOPSIS and OPTIONS in scdoc form. */
void options_print_help (const struct command_spec *c);
void options_print_man (const struct command_spec *c);

/* "--name" of every option, one per line, for completion. */
void options_print_names (const struct command_spec *c);

#endif
