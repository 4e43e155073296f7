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

    /* Whether the capture has its file, and the size of that, which may be
     * NULL; must be cheap, by name.  NULL: the file is 'file' in the directory
     * of the results.
     */
    bool (*is_there) (const struct source *src, uint64_t *size);

    /* Read the tables of 'want', and set v[t] of each of them, which is
     * READING_ABSENT before.  An error that ends the whole capture (no memory,
     * or of the sink) goes to src->stopped and 'err'.
     */
    void (*read) (struct source *src, unsigned want, struct verdict *v,
                  struct err *err);

    bool made;                  // its tables were made by the profiler, not
                                // computed here from events
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
