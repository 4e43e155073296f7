/* node_agent/extract/registry.h - the sources of rows
 *
 * Private to this folder.  Each kind of file with rows has an extractor: a row
 * of the table in registry.c, in order of preference, and a function.  For each
 * table they are tried in turn, until one has it completely.
 */
#ifndef ROLLCALL_EXTRACT_REGISTRY_H
#define ROLLCALL_EXTRACT_REGISTRY_H

#include "extract/sink/source.h"

struct extractor {
    const char *source;         // its name in Capture.source
    const char *what;           // its name in a sentence
    const char *file;           // the file that it reads; may be a pattern
                                // (fnmatch)
    unsigned tables;            // tables that it may have: a set of 1 <<
                                // table_id

    bool made;                  // its tables are the profiler's own, and not
                                // computed here of what happened

    /* Where its file is, cheaply and by name; 'size' may be NULL.  None of
     * these: 'file' in the directory of the results.
     */
    bool in_comm_dir;           // 'file' in source_comm_dir
    bool (*is_there) (const struct source *src, uint64_t *size);
    bool (*is_one) (const char *path);  // of capture_facts_read_files

    /* One of these reads the tables of 'want'.  What ends the whole capture
     * (memory, the sink) is noted in src->stopped, with 'err'.  The first gives
     * the verdict on all the tables, with its reason in 'err'; the second sets
     * v[t] of each of them (all are READING_ABSENT before); the third is for
     * is_one.
     */
    enum reading (*read) (struct source *src, unsigned want, struct err *err);
    void (*read_each) (struct source *src, unsigned want, struct verdict *v,
                       struct err *err);
    enum reading (*read_file) (struct source *src, const char *path,
                               struct err *err);
};

/* Whether any extractor would read a file. */
bool extractors_any (const struct source *src);

/* About how many bytes of files will be read. */
uint64_t extractors_input_bytes (const struct source *src);

/* Read all tables: rows go to the sink, state and reason to the capture.
 * Returns 0, or the error that stopped it.
 */
int extractors_run (struct source *src, struct err *err);

#endif
