/* node_agent/offline_analysis/analyser.h - analyse captures that were never analysed
 *
 * A queue of captures, and the programs that analyse them: as many at once as
 * are allowed and fit into free memory.  Each run of a program is limited in
 * time and memory, and has a log; a failure affects only its own capture.  An
 * analyser belongs to a loop, and never blocks it for long.
 */
#ifndef ROLLCALL_OFFLINE_ANALYSIS_ANALYSER_H
#define ROLLCALL_OFFLINE_ANALYSIS_ANALYSER_H

#include "offline_analysis/own_analysis.h"
#include "base/err.h"
#include "base/loop.h"
#include "model/capture.h"
#include "options/options.h"
#include "store/tree.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ANALYSER_NONE "none"            // a command that stands for no analysis
#define ANALYSER_JOBS_MAX 64
#define ANALYSER_PROCESSES_MAX 1024     // more than a node has of processors
#define ANALYSER_WHY_MAX 400            // bytes of a reason

/* The user's settings: ANALYSER_OPTIONS. */
struct analyser_settings {
    const char *command;        // --analyse-with; NULL: the profiler's own
                                // analysis, if it is installed, which is
                                // checked when it is needed
    int64_t jobs;               // at most so many at once
    int64_t timeout_ns;         // of one analysis
    int64_t memory;             // of each process; 0: half of the machine's
    struct own_settings own;    // of the profilers' own analyses
};

struct analyser_options {
    struct analyser_settings set;
    bool idle;                  // run the programs in the idle class
    bool once;                  // give up a capture that cannot be begun, after
                                // 60 s or timeout_ns, so that nobody waits for
                                // ever
    const char *log_dir;        // it is made when it is needed ...
    const struct tree *log_in;  // ... in this tree, by its last name, where no
                                // link is followed; NULL: by path
    // called for each analysis that was looked for; may be NULL
    void (*found) (void *arg, enum own_analysis own, bool there);
    // called once for each capture that cannot be begun now: another analysis
    // has locked it, or there is no room for a log or a process; may be NULL
    void (*put_off) (void *arg, const char *path, const char *why);
};

enum analysed {
    ANALYSED_WELL,              // its program has exited with 0
    ANALYSED_BADLY,             // 'why' says how it ended
    ANALYSED_NOT,               // there is no program for this capture
    ANALYSED_LATER,             // it was given up; 'why' as for put_off
};

typedef void analysed_fn (void *arg, const char *path, enum analysed how,
                          const char *why);

struct analyser;

/* The loop calls 'done' once for each added capture.  'opt' is copied, but its
 * texts are borrowed.  NULL: no memory.
 */
struct analyser *analyser_create (struct loop *loop,
                                  const struct analyser_options *opt,
                                  analysed_fn *done, void *arg);

/* Kill running programs, and call no callback any more. */
void analyser_destroy (struct analyser *x);     // x may be NULL

/* Queue a capture of the profiler 'own'; no effect if it is queued or under
 * way.  Returns 0 or -ENOMEM.
 */
int analyser_add (struct analyser *x, const char *path, enum own_analysis own);

/* Remove a capture from the queue, unless its program was started. */
void analyser_drop (struct analyser *x, const char *path);

bool analyser_is_running (const struct analyser *x, const char *path);
size_t analyser_pending (const struct analyser *x);     // queued or under way

/* Whether captures wait for free memory. */
bool analyser_is_short (const struct analyser *x);

/* Whether programs that are started from now on run in the idle class. */
void analyser_set_idle (struct analyser *x, bool idle);

/* The path of the log of a capture's program. */
void analyser_log (const struct analyser *x, const char *path, char *out,
                   size_t max);

/* How many more programs may be started.  At most 'jobs' run at once, and
 * 'running' do.  Each may need 'need' of the 'available' bytes, and running
 * ones may not have allocated theirs yet.  A pure function.
 */
size_t analyser_free_slots (size_t jobs, size_t running, uint64_t need,
                            uint64_t available);

/* Record the result of an analysis in an examined capture.  Without any results
 * the capture is raw with this reason.  After a failure with some results it
 * gets the reason and becomes partial, since others may be missing.  An
 * unreadable one always gets the reason.
 */
void analyser_tell (struct capture *c, const char *why, bool failed);

/* Set rank and host of 'c', which was examined again after its analysis, to
 * those from before: an analysis may remove or replace its capture.  If the
 * rank now differs, the capture becomes failed.
 */
void analyser_keep (struct capture *c, const struct capture *before);

/* The options, for a struct whose member 'analyse' is a struct
 * analyser_settings.
 */
#define ANALYSER_OPTIONS(type) \
    OPTION (TEXT, "analyse-with", 0, type, analyse.command, "COMMAND", NULL, \
      "ROLLCALL_ANALYSE_WITH", \
      "Analyse captures that were never analysed with COMMAND, a shell command " \
      "that gets the capture's directory as its last argument. none: do not. " \
      "Without it: with the analysis of torch_npu or MindSpore, if python3 " \
      "can import the one that wrote the capture."), \
    OPTION_NUMBER ("analyse-processes", 0, type, analyse.own.processes, "N", \
      "0", "ROLLCALL_ANALYSE_PROCESSES", 0, ANALYSER_PROCESSES_MAX, \
      "How many processes the analysis of torch_npu or MindSpore may use for " \
      "a capture (its max_process_number); 0: its own default. This option " \
      "and the next two do not affect COMMAND."), \
    OPTION (TEXT, "analyse-export", 0, type, analyse.own.export, "FORM", NULL, \
      "ROLLCALL_ANALYSE_EXPORT", \
      "What torch_npu's analysis writes (its export_type): text, db or " \
      "text,db. Without it: as the capture's profiler was configured."), \
    OPTION (TEXT, "analyse-steps", 0, type, analyse.own.steps, "LIST", NULL, \
      "ROLLCALL_ANALYSE_STEPS", \
      "The steps that MindSpore's analysis reads (its step_list), as in " \
      "10,12-15; it wants them to be consecutive. Without it: all."), \
    OPTION_NUMBER ("analyse-jobs", 0, type, analyse.jobs, "N", "1", \
      "ROLLCALL_ANALYSE_JOBS", 1, ANALYSER_JOBS_MAX, \
      "How many captures are analysed at once, at most; fewer while there is " \
      "not enough free memory."), \
    OPTION (DURATION, "analyse-timeout", 0, type, analyse.timeout_ns, "TIME", \
      "1h", "ROLLCALL_ANALYSE_TIMEOUT", \
      "An analysis that takes longer is killed."), \
    OPTION (BYTES, "analyse-memory", 0, type, analyse.memory, "SIZE", "0", \
      "ROLLCALL_ANALYSE_MEMORY", \
      "How much address space each process of an analysis may have, as " \
      "20GB; 0 is half of the machine's memory.")

/* Check the settings.  -EINVAL: 'err' has the error and the correct form, for
 * the user.
 */
int analyser_check (const struct analyser_settings *set, struct err *err);

#endif
