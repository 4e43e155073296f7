/* node_agent/extract/sink/source.h - an open capture, shared by the readers
 *
 * A reader takes a source, sends rows to its sink and returns a verdict;
 * extract.c decides what that means for the capture.
 */
#ifndef ROLLCALL_EXTRACT_SINK_SOURCE_H
#define ROLLCALL_EXTRACT_SINK_SOURCE_H

#include "base/err.h"
#include "model/batch.h"
#include "model/capture.h"
#include "model/steps.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OUTPUT_DIR "ASCEND_PROFILER_OUTPUT"

enum reading {
    READING_ABSENT,             // there is no such file or table
    READING_WHOLE,
    READING_DAMAGED,            // the reason is in 'err'
    READING_STOPPED,            // the sink failed, or there is no memory: end
                                // the capture
};

/* The verdict on one table. */
struct verdict {
    enum reading how;
    struct err why;             // of READING_DAMAGED
};

/* Set the verdict for all tables of 'want' (a set of 1 << table_id).  For
 * READING_STOPPED 'err' gets the reason.
 */
void verdict_for_tables (struct verdict *v, unsigned want, enum reading how,
                         const struct err *why, struct err *err);

/* The form of a capture. */
enum source_form {
    FORM_ASCEND,                // ..._ascend_pt, ..._ascend_ms: a directory
    FORM_MSPROF,                // PROF_...: a directory of the msprof program
    FORM_TRACE,                 // one file, of torch.profiler
};

/* The kind of a JSON file. */
enum trace_kind {
    TRACE_OTHER,                // no trace
    TRACE_KINETO,               // of torch.profiler: an object, with times as
                                // numbers; or, without Kineto, a list
    TRACE_TORCH_NPU,            // times are texts; usually a bare array
};

struct capture_facts;

struct source {
    const char *path;           // of the capture, for messages
    enum source_form form;
    int dir;                    // of the capture, or of its file's directory
    int out;                    // directory of the results, or -1; its name is
    char out_name[64];          // ASCEND_PROFILER_OUTPUT,
                                // mindstudio_profiler_output, or
                                // device_<N>/timeline
    bool iterations;            // it is device_<N>/timeline, of 2023
    int analyze;                // FORM_MSPROF: directory "analyze", or -1
    const char *file;           // FORM_TRACE: the file's name, within 'path'
    enum trace_kind trace;      // FORM_TRACE: its kind, by its content
    char info_name[64];         // profiler_info*.json, "" if there is none
    char event_db[80];          // name of an event database, or ""
    int event_dir;              // directory of that; borrowed
    bool has_prof;              // PROF_* or FRAMEWORK; in PROF_*, raw data
    bool has_done;              // analyse.done
    bool damaged;               // metadata is damaged; the reason is recorded
    bool collections;           // the profiler was configured to record them
    bool many_steps;            // there are more steps than can be recorded
    bool glance;                // rows are read later: take only what that
                                // needs
    bool own_clock;             // times of rows are of no known clock, so they
                                // are no evidence
    struct capture *capture;
    const struct row_sink *sink;
    const struct steps_filter *steps;
    struct capture_facts
        *extras; // facts (capture_facts.h), or NULL
    char (*group_keys)[CAPTURE_HASH_MAX];       // keys that the results name,
                                                // at
    uint32_t ngroup_keys;                       // most CAPTURE_GROUPS_MAX
    double communication_us;    // sum over StepTraceTime; NaN: not read
    uint64_t rows[TABLE_COUNT]; // sent to the sink and not forgotten
    unsigned filtered;          // tables with steps that were not wanted
    unsigned nameless;          // those of these with rows of no step
    unsigned stale;             // tables (1 << table_id) of which an earlier
                                // source sent rows and then was damaged
    int stopped;                // the error behind READING_STOPPED
};

/* Whether the types of ops are taken from their names: MindSpore defines p2p
 * differently, and captures of msprof do not record it.
 */
bool source_retypes (const struct source *src);

/* The directory of the communication summaries of the profiler, or -1. */
int source_comm_dir (const struct source *src);

/* Record that something could not be opened or read; 'rc' is the error, or 0.
 * Only temporary errors count (fileio_trouble); a lack of descriptors or memory
 * takes precedence over an error of the disk.
 */
void source_transient_error (const struct source *src, int rc);

/* Whether there is such a file, and its size.  'dir' may be -1. */
bool source_has (int dir, const char *name, uint64_t *size);

/* Whether rows of a step are wanted.  If not, that is recorded for these tables
 * (a set of 1 << table_id).
 */
bool source_wants (struct source *src, unsigned tables, const char *step,
                   size_t n);

/* Send the rows to the sink, in place of what an earlier source sent for this
 * table, and record what they tell about the capture: its device, its steps,
 * its time of communication.  False: see src->stopped.
 */
bool source_flush (struct source *src, struct batch *b, struct err *err);

/* End a batch: as source_flush if 'rc', the result of batch_init, is 0, and
 * batch_fini in any case.  False: the capture is stopped.
 */
bool source_finish (struct source *src, struct batch *b, int rc,
                    struct err *err);

/* Forget what an earlier source sent for this table, if that was damaged. */
bool source_forget (struct source *src, enum table_id table, struct err *err);

/* Record a step of the capture ("step13" and "13" are the same). */
bool source_note_step (struct source *src, const char *step, size_t n,
                       struct err *err);

#endif
