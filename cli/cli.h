/* cli/cli.h - the verbs
 *
 * This folder: rollcall's front door and its verbs: verb_VERB.c, with what
 * is behind one of them (analyze_*.c) or several (cli_derive.c, find_result.c).
 */
#ifndef ROLLCALL_CLI_CLI_H
#define ROLLCALL_CLI_CLI_H

#include "shared/command.h"
#include "shared/root.h"
#include "shared/view.h"

#include <limits.h>

struct verb {
    const char *name;
    int (*run) (int argc, char **argv);         // argv[0] is the verb
    const char *brief;          // for the list of verbs
};

int verb_analyze (int argc, char **argv);
int verb_archive (int argc, char **argv);
int verb_build (int argc, char **argv);
int verb_clean (int argc, char **argv);
int verb_doctor (int argc, char **argv);
int verb_compare (int argc, char **argv);
int verb_export (int argc, char **argv);
int verb_fetch (int argc, char **argv);
int verb_query (int argc, char **argv);
int verb_findings (int argc, char **argv);
int verb_report (int argc, char **argv);
int verb_jobs (int argc, char **argv);
int verb_run (int argc, char **argv);
int verb_fsck (int argc, char **argv);
int verb_show (int argc, char **argv);
int verb_status (int argc, char **argv);
int verb_trend (int argc, char **argv);
int verb_wait (int argc, char **argv);
int verb_key (int argc, char **argv);

/* archive_remove.c: rollcall archive rm, prune and gc, which print a plan, and
 * do it only with --apply.
 */
struct archive_remove_options {
    const struct command_spec *command;
    const char *root;
    bool json, apply;
};

/* A status of the program; 'what' may be NULL: all of the job. */
int archive_rm (const struct archive_remove_options *opt, const char *job,
                const char *what);

struct archive_prune_options;   // interchange/archive_verb.h
int archive_prune (const struct archive_remove_options *opt,
                   const struct archive_prune_options *how);

/* Grace and percent are those of struct gc_options. */
int archive_gc (const struct archive_remove_options *opt, int64_t grace_s,
                int64_t percent);

#endif
