/* node_agent/extract/extract.h - the rows of one capture
 *
 * Reads the best source that a capture directory has for each table, in the
 * order of doc/formats.md ("Order of preference"), and gives the rows to a
 * sink.  Damage in the capture is not an error here: it becomes the capture's
 * state and reason, and the other captures go on.
 *
 * This folder: convert a capture's files into rows; the order of preference of
 * the kinds of sources, each in its own folder.
 */
#ifndef ROLLCALL_EXTRACT_EXTRACT_H
#define ROLLCALL_EXTRACT_EXTRACT_H

#include "base/err.h"
#include "model/batch.h"
#include "model/capture.h"
#include "model/steps.h"

/* What is known of a capture without reading its rows. */
struct extract_look {
    uint64_t work_bytes;        // what reading the rows will read, about
    uint64_t tree_bytes;        // of all files
    uint64_t tree_files;
    uint64_t tree_sum;          // of names, sizes, dates and permissions
    int64_t newest_ns;          // the latest mtime in the tree
    int64_t newest_file_ns;     // that of a file
    char newest_file[256];      // and its name; "": there is none
    bool done_marker;           // analyse.done is there
};

/* Fill 'c' (initialised by the caller) with identity, rank, groups, level and
 * a state: one of collecting, raw, analysing, or failed; complete means that
 * there is something to read.  Returns 0, -ENOMEM; a directory that cannot be
 * read is a failed capture.
 */
int extract_look (const char *path, struct capture *c,
                  struct extract_look *look, struct err *err);

/* As extract_look, but only what is needed before the rows are read: rank, age
 * and state; groups and the world's size only if they tell the rank, or if
 * there are no rows.  Leaves most of look zero, except work_bytes.
 */
int extract_glance (const char *path, struct capture *c,
                    struct extract_look *look, struct err *err);

/* Only the facts of stat(2): tree_*, newest_ns and done_marker.  A capture that
 * cannot be opened gives zeros.  Negative if they are not reliable, because of
 * an error that may be temporary (fileio_trouble).
 */
int extract_measure (const char *path, struct extract_look *look);

/* extract_look, then the rows: 'c' is filled in (state, reason, source, steps).
 * Returns 0 if the sink accepted everything, for any state.  Otherwise the
 * sink's error or -ENOMEM: the capture was not delivered.  'steps' may be NULL.
 * What could not be read, and may be another time, is in the state and the
 * reason, too; c->hindered tells.
 */
int extract_capture (const char *path, const struct steps_filter *steps,
                     const struct row_sink *sink, struct capture *c,
                     struct err *err);

#endif
