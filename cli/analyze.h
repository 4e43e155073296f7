/* cli/analyze.h - rollcall analyze, between its files
 *
 * Each file calls only those above it in this list:
 *
 *   analyze_options.c  options, and what they may be
 *   analyze_raw.c      captures that were never analysed
 *   analyze_find.c     captures, found and looked at
 *   analyze_jobs.c     which of them are of one job
 *   analyze_build.c    their rows into the result
 *   verb_analyze.c     the order of things
 */
#ifndef ROLLCALL_CLI_ANALYZE_H
#define ROLLCALL_CLI_ANALYZE_H

#include "cli.h"
#include "cli_derive.h"

#include "offline_analysis/analyser.h"
#include "builder/build.h"
#include "builder/results.h"
#include "discovery/find.h"
#include "extract/extract.h"
#include "identity/recall.h"
#include "jobs/jobs.h"
#include "shared/progress.h"
#include "summary/job_list.h"

#include <stdatomic.h>

/* ---- analyze_raw.c ---- */

struct raw_capture {
    const char *path;           // borrowed
    enum own_analysis own;      // whose captures it is one of
    size_t index;               // the caller's
    enum analysed how;          // what came of it ...
    char why[ANALYSER_WHY_MAX]; // ... as a sentence
};

/* Whether a capture of this profiler can be analysed with these options. */
bool analyze_raw_wants (const struct analyser_options *opt,
                        enum own_analysis own);

/* Analyse them all.  'tell' gets sentences for the user.  0, -EINTR when
 * 'cancel' has become true, or another error; a failed analysis is not an
 * error.
 */
int analyze_raw (struct raw_capture *captures, size_t n,
                 const struct analyser_options *opt,
                 void (*tell) (const char *text), const atomic_bool *cancel,
                 struct err *err);

struct analyze_options {
    const char *out, *steps, *only;
    int64_t threads, world_size, max_ranks;
    struct analyser_settings analyse;
    struct cli_derive_options derive;
    const char *job;            // INDEX or PREFIX
    bool all_jobs, list_jobs, foreign, json, text, quiet, verbose;
    bool own_threads;           // nobody said how many
};

struct analysis {
    struct analyze_options opt;
    char **dirs;
    int ndirs;
    struct found_list found;
    struct select_item *items;          // one for each that was found; those of
    size_t nitems;                      // the job that is built come first
    struct recalled *recalled;          // of found.items
    struct jobs jobs;                   // once they were read
    size_t printed;                     // documents, with --all-jobs
    bool divided;
    bool choosing;                      // the build waits for a choice of one
    size_t *job_of;                     // of found.items: index in jobs
    size_t job;                         // the one that is built, its name,
    char job_name[JOBS_NAME_MAX];       // and whether nothing says that its
    bool assumed;                       // captures are all of it
    char others[JOB_LIST_NOTE_MAX];     // what its result says of the others
    struct raw_capture *raw;            // those that were never analysed
    size_t nraw;
    struct steps_filter steps;
    struct roster roster;
    struct cli_derive derive;
    struct publish out;
    bool made_out;                      // the directory of -o was not there
    unsigned wanted;                    // of enum results_wanted
    struct results beside;              // what was made of it
    struct cli_progress progress;
    struct build_remote remote;         // with other processes
};

extern const struct command_spec analyze_command;       // its table

#define FAIL(status, ...) cli_fail (&analyze_command, status, __VA_ARGS__)

/* Functions return an exit status: 0, or a failure that was reported already.
 */

/* ---- analyze_options.c ---- */

/* Fill a->wanted and a->derive from a->opt, which was checked. */
int analyze_check_options (struct analysis *a);

/* ---- analyze_find.c ---- */

/* Search a->dirs: fill a->found. */
int analyze_find (struct analysis *a);

/* Fill a->items, sorted by rank, and a->raw with what is known of captures
 * before they are read.  If possible, analyses those that were never analysed;
 * needs a->out.
 */
int analyze_plan (struct analysis *a);

/* Fill in what rollcall knew of a capture that it laid there. */
void analyze_recall (const struct analysis *a, size_t source,
                     struct capture *c);

/* Record the result of analysing a capture that was examined before. */
void analyze_tell_raw (const struct analysis *a, size_t source,
                       struct capture *c);

/* ---- analyze_build.c ---- */

/* Read the planned captures and build a->out from them.  ANALYZE_CHOOSE:
 * nothing was built, since there are several jobs, or a certain job was
 * requested.
 */
#define ANALYZE_CHOOSE (-1)
int analyze_build (struct analysis *a, struct build_result *result);

/* Read the planned captures and fill a->jobs; nothing is written. */
int analyze_look (struct analysis *a);

/* Make the wanted files beside analysis.db, and fill a->beside. */
int analyze_build_others (struct analysis *a,
                          const struct build_result *result);

/* ---- analyze_jobs.c ---- */

/* A build_decide_fn: fills a->jobs; -EAGAIN when a job has to be chosen. */
int analyze_decide (void *arg, struct select_item *items, size_t n,
                    struct err *err);

/* Select this job: its captures become the first a->nitems. */
void analyze_choose_job (struct analysis *a, size_t job);

/* Close a->out, and remove what was created for it; for --all-jobs, open it for
 * the selected job.
 */
void analyze_drop_output (struct analysis *a);
int analyze_open_job (struct analysis *a);

#endif
