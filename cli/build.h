/* cli/build.h - shared by the files of rollcall build */
#ifndef ROLLCALL_CLI_BUILD_H
#define ROLLCALL_CLI_BUILD_H

#include "cli_derive.h"

#include "archive/archive.h"
#include "job_build/job_build.h"

struct build_options {
    const char *root, *state, *out, *only, *share;
    unsigned wanted;
    int64_t threads, world_size, max_ranks, at_once;
    struct cli_derive_options derive;
    bool foreign, json, text, all;
    bool own_threads;           // nobody said how many
};

extern const struct command_spec build_command;

/* How a result came about, for the ledger. */
struct build_outcome {
    int64_t seq;                // the last item in it
    struct digest rows;         // zeros: unknown
    struct job_origin about;    // of its captures, ...
    bool one_user;              // ... which are all of that user
    bool built;
};

/* Where results are noted: a root that this process has locked. */
struct build_ledger {           // begins as zeros
    struct ledger *ledger;
    struct store *store;
};

// the store only if facts are to be written
int build_ledger_open (struct build_ledger *l, const char *root, bool store,
                       struct err *err);
void build_ledger_close (struct build_ledger *l);

/* Note what was built, so that the aggregator does not build it again, and
 * before that whose it is.
 */
int build_ledger_note (struct build_ledger *l, const char *job,
                       const struct build_outcome *o, struct err *err);

/* Of so many shares one: each job of a root is in one of them, by its name. */
struct build_share {
    uint64_t index, count;
};

/* The share of --share; of a task of an array of Slurm that builds elsewhere; or
 * else 0/1, all jobs.  -EINVAL, with a sentence: there is no such share, or it
 * cannot be told which one the task has.
 */
int build_share_read (const struct build_options *opt, struct build_share *ret,
                      struct err *err);
bool build_share_has (const struct build_share *s, const char *job);

#define BUILD_NOT_NOTED "job %s: the ledger cannot be told of its result, so " \
    "that it will be built again: %s"

/* Build one job into 'out' and say it: 'brief' in one line, else with all of
 * the summary.  Returns the exit status.
 */
int build_one (const struct build_options *opt,
               const struct derive_options *derive, struct archive *a,
               const char *job, const char *out, bool brief,
               struct build_outcome *ret);

/* A run's root is not a service's: tell where it is.  0: this host has no such
 * run.
 */
int build_tell_run (const struct build_options *opt, const char *job);

/* Build each job whose result is missing, behind, or of another version, some at
 * once.  The root is locked unless there is opt->out.  Returns the exit status.
 */
int build_every_job (const struct build_options *opt,
                     const struct derive_options *derive);

#endif
