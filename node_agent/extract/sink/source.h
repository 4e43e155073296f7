/* node_agent/extract/sink/source.h - an open capture, between the readers
 *
 * A reader takes a source, sends rows to its sink and returns how it went;
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
    READING_STOPPED,            // the sink or memory failed: give up
};

/* The verdict on one table. */
struct verdict {
    enum reading how;
    struct err why;             // of READING_DAMAGED
};

/* The same for all tables of 'want' (a set of 1 << table_id); 'err' gets the
 * reason of READING_STOPPED.
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
    TRACE_KINETO,               // of torch.profiler: an object, times are
                                // numbers; or a list, without Kineto
    TRACE_TORCH_NPU,            // times are texts; mostly a bare array
};

struct capture_facts;

struct source {
    const char *path;           // of the capture, for messages
    enum source_form form;
    int dir;                    // the capture's directory, or the file's
    int out;                    // where the results are, or -1:
    char out_name[64];          // ASCEND_PROFILER_OUTPUT,
                                // mindstudio_profiler_output, or
                                // device_<N>/timeline
    bool iterations;            // in the last of these, of 2023
    int analyze;                // FORM_MSPROF: analyze, or -1
    const char *file;           // FORM_TRACE: the file's name; within 'path'
    enum trace_kind trace;      // FORM_TRACE: which, by its content
    char info_name[64];         // profiler_info*.json, "" if there is none
    char event_db[80];          // an event database's name, or ""
    int event_dir;              // where that is; borrowed
    bool has_prof;              // PROF_* or FRAMEWORK; in PROF_*, raw data
    bool has_done;              // analyse.done
    bool damaged;               // metadata is: the reason is noted
    bool collections;           // the profiler was told to note them
    bool many_steps;            // more than can be noted
    bool glance;                // rows come later: only what they need
    bool own_clock;             // times of rows are of no clock: no evidence
    struct capture *capture;
    const struct row_sink *sink;
    const struct steps_filter *steps;
    struct capture_facts
        *extras; // collected by many (capture_facts.h), or NULL
    char (*group_keys)[CAPTURE_HASH_MAX];       // that the results named, at
    uint32_t ngroup_keys;                       // most CAPTURE_GROUPS_MAX
    double communication_us;    // sum over StepTraceTime; NaN: not read
    uint64_t rows[TABLE_COUNT]; // given to the sink and not forgotten
    unsigned filtered;          // tables of which steps were not wanted
    unsigned nameless;          // those of them with rows of no step
    unsigned stale;             // tables of which an earlier source gave rows
                                // and then was damaged: 1 << table_id
    int stopped;                // the error behind READING_STOPPED
};

/* Whether types of ops come from their names: MindSpore defines p2p
 * differently, and captures of msprof do not record it.
 */
bool source_retypes (const struct source *src);

/* The directory of the profiler's communication summaries, or -1. */
int source_comm_dir (const struct source *src);

/* Record that something was not opened or read: 'rc' is the error, or 0.  Only
 * temporary errors count (fileio_trouble), a lack of descriptors or memory
 * before an error of the disk.
 */
void source_transient_error (const struct source *src, int rc);

/* Whether there is such a file, and its size.  'dir' may be -1. */
bool source_has (int dir, const char *name, uint64_t *size);

/* Whether rows of a step are wanted; if not, that is recorded for these tables
 * (a set of 1 << table_id).
 */
bool source_wants (struct source *src, unsigned tables, const char *step,
                   size_t n);

/* Give the rows to the sink, in place of what an earlier source gave of this
 * table, and note what they say of the capture: its device, its steps, its time
 * of communication.  A failure is recorded in src->stopped.
 */
bool source_flush (struct source *src, struct batch *b, struct err *err);

/* The end of a batch: as source_flush if batch_init returned 0, which is 'rc',
 * and batch_fini in any case.  False if the capture is stopped, by whatever.
 */
bool source_finish (struct source *src, struct batch *b, int rc,
                    struct err *err);

/* Forget what an earlier source gave of this table, if that was damaged. */
bool source_forget (struct source *src, enum table_id table, struct err *err);

/* Note a step of the capture ("step13" and "13" are one). */
bool source_note_step (struct source *src, const char *step, size_t n,
                       struct err *err);

#endif
