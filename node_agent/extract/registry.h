/* node_agent/extract/registry.h - the forms in which captures come
 *
 * Private to this folder.  Each form of file from which rows can be had is an
 * extractor: a row of the table in registry.c, in order of preference, and a
 * file that has its function.  A table is asked of one after the other, until
 * one has it whole.
 */
#ifndef ROLLCALL_EXTRACT_REGISTRY_H
#define ROLLCALL_EXTRACT_REGISTRY_H

#include "extract/sink/source.h"

/* How it went with one table. */
struct verdict {
    enum reading how;
    struct err why;             // of READING_DAMAGED
};

struct extractor {
    const char *source;         // what Capture.source says
    const char *what;           // the same in a sentence
    const char *file;           // what it reads; may be a pattern (fnmatch)
    unsigned tables;            // which it may have: a set of 1 << table_id

    /* Whether the capture has its file, and its size (which may be NULL):
     * cheap, by name.  NULL: 'file' in the directory of the results.
     */
    bool (*is_there) (const struct source *src, uint64_t *size);

    /* Read the tables of 'want'.  Sets v[t] of each of them (all are
     * READING_ABSENT before).  What ends the whole capture (memory, the sink)
     * is noted in src->stopped, with 'err'.
     */
    void (*read) (struct source *src, unsigned want, struct verdict *v,
                  struct err *err);

    bool made;                  // its tables are the profiler's own, and not
                                // computed here of what happened
};

/* The same for all tables of 'want'. */
void verdict_all (struct verdict *v, unsigned want, enum reading how,
                  const struct err *why, struct err *err);

/* Whether there is a file that some extractor would read. */
bool extractors_any (const struct source *src);

/* Whether some extractor reads files of this name. */
bool extractors_know (const char *name);

/* Bytes of the files that will be read, about. */
uint64_t extractors_work (const struct source *src);

/* Read all tables: rows to the sink, state and reason into the capture.
 * Returns 0 or what stopped it.
 */
int extractors_run (struct source *src, struct err *err);

/* ---- the readers ---- */

bool link_csv_is_there (const struct source *src, uint64_t *size);
bool minddata_is_there (const struct source *src, uint64_t *size);
bool memory_timeline_is_there (const struct source *src, uint64_t *size);
bool timeline_is_there (const struct source *src, uint64_t *size);
bool communication_is_there (const struct source *src, uint64_t *size);
bool matrix_is_there (const struct source *src, uint64_t *size);
bool analyzer_db_is_there (const struct source *src, uint64_t *size);

void read_analysis_db (struct source *src, unsigned want, struct verdict *v,
                       struct err *err);
void read_communication (struct source *src, unsigned want, struct verdict *v,
                         struct err *err);
void read_kernel_details (struct source *src, unsigned want,
                          struct verdict *v, struct err *err);
void read_kernels (struct source *src, unsigned want, struct verdict *v,
                   struct err *err);
void read_matrix (struct source *src, unsigned want, struct verdict *v,
                  struct err *err);
void read_step_csv (struct source *src, unsigned want, struct verdict *v,
                    struct err *err);
void read_op_statistic (struct source *src, unsigned want, struct verdict *v,
                        struct err *err);
void read_api_statistic (struct source *src, unsigned want, struct verdict *v,
                         struct err *err);
void read_link_csv (struct source *src, unsigned want, struct verdict *v,
                    struct err *err);
void read_memory_record (struct source *src, unsigned want, struct verdict *v,
                         struct err *err);
void read_memory_timeline (struct source *src, unsigned want,
                           struct verdict *v, struct err *err);
void read_minddata (struct source *src, unsigned want, struct verdict *v,
                    struct err *err);
void read_module_memory (struct source *src, unsigned want, struct verdict *v,
                         struct err *err);
void read_timeline (struct source *src, unsigned want, struct verdict *v,
                    struct err *err);
void read_kineto (struct source *src, unsigned want, struct verdict *v,
                  struct err *err);
void read_event_db (struct source *src, unsigned want, struct verdict *v,
                    struct err *err);
void read_marks (struct source *src, unsigned want, struct verdict *v,
                 struct err *err);
void read_analyzer_db (struct source *src, unsigned want, struct verdict *v,
                       struct err *err);

/* The same, unless the event database has steps, of which this one tells
 * nothing.
 */
void read_analyzer_first (struct source *src, unsigned want, struct verdict *v,
                          struct err *err);

/* Whether there is an event database that names steps. */
bool event_db_has_steps (struct source *src);

#endif
