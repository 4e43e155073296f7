/* node_agent/extract/extract.h - extract the rows of a capture
 *
 * For each table the best source in the capture is read, in the order of
 * doc/formats.md ("Order of preference"), and its rows go to a sink.  Damage of
 * a capture is not an error here: it becomes the state and reason of that
 * capture, and other captures are not affected.
 *
 * This folder: convert the files of a capture into rows.  Each kind of source
 * has its own folder; the order of preference is here.
 */
#ifndef ROLLCALL_EXTRACT_EXTRACT_H
#define ROLLCALL_EXTRACT_EXTRACT_H

#include "base/err.h"
#include "model/batch.h"
#include "model/capture.h"
#include "model/steps.h"

/* What is known of a capture before its rows are read. */
struct extract_look {
    uint64_t work_bytes;        // about how many bytes reading the rows will
                                // read
    uint64_t tree_bytes;        // of all files
    uint64_t tree_files;
    uint64_t tree_sum;          // of names, sizes, dates and permissions
    int64_t newest_ns;          // the latest mtime in the tree
    int64_t newest_file_ns;     // the latest mtime of a file
    char newest_file[256];      // its name; "": there is none
    bool done_marker;           // analyse.done exists
};

/* Fill 'c', which the caller has initialised, with identity, rank, groups,
 * level and a state: collecting, raw, analysing, failed, or complete if there
 * is something to read.  A directory that cannot be read is a failed capture.
 * Returns 0 or -ENOMEM.
 */
int extract_look (const char *path, struct capture *c,
                  struct extract_look *look, struct err *err);

/* As extract_look, but takes only what is needed before the rows are read:
 * rank, age and state; groups and world size only if they tell the rank, or if
 * there are no rows.  All members of *look but work_bytes may be zero.
 */
int extract_glance (const char *path, struct capture *c,
                    struct extract_look *look, struct err *err);

/* Take only facts of stat(2): tree_*, newest_ns and done_marker.  A capture
 * that cannot be opened gives zeros.  Negative: they are not reliable because
 * of an error that may be temporary (fileio_trouble); try again later.
 */
int extract_measure (const char *path, struct extract_look *look);

/* As extract_look, then read the rows.  'c' gets state, reason, source and
 * steps.  'steps' may be NULL.  Returns 0 if the sink accepted everything,
 * whatever the state is; otherwise the error of the sink, or -ENOMEM: then the
 * capture was not delivered.  If something could not be read, but may be
 * readable later, state and reason tell that, too, and c->hindered is set.
 */
int extract_capture (const char *path, const struct steps_filter *steps,
                     const struct row_sink *sink, struct capture *c,
                     struct err *err);

#endif
