/* cli/shared/root.h - shared by the verbs that read a root, or ask its owner */
#ifndef ROLLCALL_SHARED_ROOT_H
#define ROLLCALL_SHARED_ROOT_H

#include "shared/command.h"

#include "archive/archive.h"
#include "ledger/ledger_facts.h"
#include "store/root.h"

#include <limits.h>

/* Whether it is a valid job name. */
bool cli_valid_job (const char *name);

/* Say why a root cannot be read, which gave 'rc': an exit status. */
int cli_no_root (const struct command_spec *c, const char *root, int rc,
                 const struct err *err);

/* Open the root of an aggregator for reading; 0, or an exit status after a
 * message.  For the option --root use CLI_ROOT_OPTION.
 */
int cli_open_archive (const struct command_spec *c, const char *root,
                      struct archive *ret);
int cli_open_lists (const struct command_spec *c, const char *root,
                    struct archive *ret);       // no contents

/* Of a divided job: the endpoints that have the rest, or "": its rows, at the
 * home; raw files of some hosts.  What its agents told the root.
 */
struct cli_rest {
    char home[FACT_VALUE_MAX], raw_at[FACT_VALUE_MAX];
};
void cli_rest_read (struct ledger *l, const char *job, struct cli_rest *ret);

/* Say that a root has raw files of a job, but no rows, and which aggregator has
 * them, if that is known: EX_NOINPUT, or 0 if the root has rows, or nothing of it.
 */
int cli_no_rows (const struct command_spec *c, struct ledger *l,
                 const char *root, const char *job);

/* Say that a root has nothing of a job, or who removed it and when, or who has
 * its rows: EX_NOINPUT.
 * 'more' follows the name of a job that never was there.
 */
int cli_no_job (const struct command_spec *c, const char *root,
                const char *job, const char *more);

/* " (it is of user NAME)", or "" if nobody can tell. */
const char *cli_owner_text (const char *path, char out[PATH_MAX]);

/* Call 'fn' for each item of a job, or of all jobs if it is NULL; 'by_rank': rank
 * by rank, and of each its rows first.  Returns the number of items, or a
 * negative errno: what 'fn' said, or another one after a message.
 */
typedef int cli_item_fn (void *arg, struct archive *a,
                         const struct ledger_item *item);
long cli_each_item (const struct command_spec *c, struct archive *a,
                    const char *job, bool by_rank, cli_item_fn *fn, void *arg);

/* Ask whoever serves the root, or do it here (control_ask): 0 and *answer, which
 * the caller frees, or an exit status after a message.  Frees the request.
 */
int cli_ask (const struct command_spec *c, const char *root,
             struct json *request, struct json **answer, bool *served);

/* The same for several requests (control_ask_again). */
struct control_root;
int cli_ask_again (const struct command_spec *c, struct control_root *r,
                   struct json *request, struct json **answer);

#define CLI_ROOT_OPTION(type) \
    OPTION (TEXT, "root", 'r', type, root, "DIR", ROOT_DEFAULT, ROOT_VARIABLE, \
      "The aggregator's root.")

#endif
