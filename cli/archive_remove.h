/* cli/archive_remove.h - rollcall archive rm, prune and gc: what deletes
 *
 * Each prints a plan, and does it only with --apply.
 */
#ifndef ROLLCALL_CLI_ARCHIVE_REMOVE_H
#define ROLLCALL_CLI_ARCHIVE_REMOVE_H

#include "cli.h"
#include "interchange/archive_verb.h"

struct archive_remove_options {
    const struct command_spec *command;
    const char *root;
    bool json, apply;
};

/* A status of the program; 'what' may be NULL: all of the job. */
int archive_rm (const struct archive_remove_options *opt, const char *job,
                const char *what);

int archive_prune (const struct archive_remove_options *opt,
                   const struct archive_prune_options *how);

/* Grace and percent are those of struct gc_options. */
int archive_gc (const struct archive_remove_options *opt, int64_t grace_s,
                int64_t percent);

#endif
