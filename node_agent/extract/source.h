/* node_agent/extract/source.h - an open capture, between the readers
 *
 * Private to this folder.  A reader takes a source, sends rows to its sink and
 * returns how it went; extract.c decides what that means for the capture.
 */
#ifndef ROLLCALL_EXTRACT_SOURCE_H
#define ROLLCALL_EXTRACT_SOURCE_H

#include "extract/extract.h"

#define OUTPUT_DIR "ASCEND_PROFILER_OUTPUT"

enum reading {
    READING_ABSENT,             // there is no such file or table
    READING_WHOLE,
    READING_DAMAGED,            // the reason is in 'err'
    READING_STOPPED,            // the sink or memory failed: give up
};

struct source {
    const char *path;           // of the capture, for messages
    int dir;                    // the capture's directory
    int out;                    // ASCEND_PROFILER_OUTPUT, or -1
    char info_name[64];         // profiler_info*.json, "" if there is none
    char event_db[80];          // an event database in 'out', or ""
    bool has_prof;              // PROF_* or FRAMEWORK
    bool has_done;              // analyse.done
    bool damaged;               // metadata is: the reason is noted
    bool many_steps;            // more than can be noted
    bool glance;                // rows come later: only what they need
    struct capture *capture;
    const struct row_sink *sink;
    const struct steps_filter *steps;
    double communication_us;    // sum over StepTraceTime; NaN: not read
    uint64_t rows[TABLE_COUNT]; // given to the sink and not forgotten
    int stopped;                // the error behind READING_STOPPED
};

/* Identity: what the directory's name says, which is there even if nothing
 * else can be read, and what the metadata files say (identity.c).
 */
void source_name (struct source *src);
bool source_has_output (const struct source *src);      // something to read
int source_identify (struct source *src, struct err *err);

/* What profiler_metadata.json says: world size, groups, and the rank where it
 * is not known yet.  Damage is noted in the capture's reason; negative only
 * without memory.
 */
int read_metadata (struct source *src, struct err *err);

/* The readers.  Each sends the rows of the wanted tables; 'want' is a set of
 * 1 << table_id.  On damage the rows that came before it have been sent.
 */
enum reading read_communication (struct source *src, unsigned want,
                                 struct err *err);
enum reading read_matrix (struct source *src, struct err *err);
enum reading read_step_csv (struct source *src, struct err *err);

/* A database in the output directory; 'name' is borrowed. */
struct profiler_db;
enum reading profiler_db_open (struct source *src, const char *name,
                               struct profiler_db **ret, struct err *err);

/* One table of analysis.db. */
enum reading profiler_db_read (struct profiler_db *db, struct source *src,
                               enum table_id table, struct err *err);

/* Rank and device as an event database maps them, into 'c'. */
enum reading profiler_db_rank (struct profiler_db *db, struct capture *c);
void profiler_db_close (struct profiler_db *db);        // db may be NULL

/* Give the rows to the sink; a failure is noted in src->stopped. */
bool source_flush (struct source *src, struct batch *b, struct err *err);

/* Note the device of the capture; the first one that is known counts. */
void source_note_device (struct source *src, double device);

/* Note a step of the capture ("step13" and "13" are one). */
bool source_note_step (struct source *src, const char *step, size_t n,
                       struct err *err);

#endif
