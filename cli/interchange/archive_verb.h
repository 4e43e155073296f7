/* cli/interchange/archive_verb.h - rollcall archive, between its files */
#ifndef ROLLCALL_INTERCHANGE_ARCHIVE_VERB_H
#define ROLLCALL_INTERCHANGE_ARCHIVE_VERB_H

#include "several/ask_places.h"
#include "shared/root.h"

#include "archive/archive.h"
#include "archive/intake.h"
#include "base/texts.h"

#include <stdint.h>

/* The limits of prune as the user wrote them, NULL: none. */
struct archive_prune_options {
    const char *keep_days, *keep_last, *max_size;
    const char *tag;            // only jobs with this tag; NULL: all
    int64_t forget_days;        // 0: never
};

struct archive_options {
    const struct command_spec *command;         // for messages
    struct cli_where where;
    const char *root, *job, *file, *compress;
    struct option_list tags;
    int64_t threads, width;
    bool json, superseded, owner, foreign, no_raw, raw, verify, merge, apply;
    bool deep;
    struct archive_prune_options prune;
    int64_t grace_ns, percent;  // of gc
};

#define ARCHIVE_JOBS_LISTED ": rollcall jobs lists its jobs"     // of no job

/* The exit status of a failed intake, after its sentence was printed. */
int archive_fail (const struct archive_options *opt, int rc,
                  const struct err *err);

/* The name of whoever asks, for a record of who changed what. */
const char *archive_my_name (void);

/* What is put into a root from a directory. */
struct adding {
    const struct archive_options *opt;
    const char *dir;            // captures at and below it
    const char *called;         // what messages call it
    struct intake *in;
    bool unpacked;              // it is a copy: its path means nothing
    struct map added;           // to given jobs, by all calls: each has another
    struct texts paths;         // directory, or is a version of the same
};

/* Put the captures below a directory into the root: an exit status. */
int archive_add_dir (struct adding *a);

void archive_add_end (struct adding *a);

/* Give a job the tags of the command line. */
int archive_give_tags (struct intake *in, const char *job,
                       const struct option_list *tags, struct err *err);

/* The verbs: exit statuses. */
int archive_add (const struct archive_options *opt, int n, char **dirs);
int archive_ls (const struct archive_options *opt, struct archive *a,
                  const char *job);     // NULL: all
int archive_result (const struct archive_options *opt, struct archive *a,
                    const char *job, const char *part); // NULL: analysis.db

/* ls and get of several aggregators: of each job the best copy, and of a divided
 * one raw files of all that have some.
 */
int archive_ls_of_all (const struct archive_options *opt, const char *job);
int archive_get_of_all (const struct archive_options *opt, int nwords,
                        char *const *words);

/* get JOB [CAPTURE|RANK] DIR ('words' begin with "get"), of one or more roots and
 * aggregators that have something of the job.
 */
struct archive_sources {
    const struct cli_place *list[CLI_PLACES_MAX];       // the first has its rows
    size_t n;
    struct cli_rest rest;       // as the first says; home: "" if it was said
};
int archive_get_all (const struct archive_options *opt,
                     const struct archive_sources *from, int nwords,
                     char *const *words);

/* The same of one root. */
int archive_get_of_root (const struct archive_options *opt, int nwords,
                         char *const *words);
int archive_export (const struct archive_options *opt, struct archive *a,
                    const char *job, const char *file);
int archive_import (const struct archive_options *opt, const char *file);

#endif
