/* node_agent/discovery/raw_files.h - the files of a capture, as they are
 * delivered
 *
 * Those in its directory, and those that a profiler left beside it
 * (model/beside.h).  No symbolic link is followed, and what is no regular file
 * is skipped.  So is what rollcall itself puts there, without a word (model/job_mark.h).
 */
#ifndef ROLLCALL_DISCOVERY_RAW_FILES_H
#define ROLLCALL_DISCOVERY_RAW_FILES_H

#include "base/err.h"

#define RAW_FILES_DEPTH_MAX 32
#define RAW_FILES_PATH_MAX 1024         // bytes of a path, with the NUL
#define RAW_FILES_MAX (1u << 16)        // files of one capture: their names
                                        // take 10 MB

/* What becomes of them.  'path' is the name of an item: relative to the capture,
 * or for a file beside it to the directory above.  A negative result ends the
 * list, and is returned.
 */
struct raw_files {
    // a regular file, which may be another one when it is opened
    int (*file) (void *arg, int dirfd, const char *name, const char *path,
                 struct err *err);
    // something that could not be listed: a negative errno
    int (*pass_over) (void *arg, const char *path, int rc, struct err *err);
    // something that cannot be delivered, and why
    void (*leave_out) (void *arg, const char *path, const char *why);
    // a link, or another thing without bytes; NULL: nobody wants to know
    void (*skip) (void *arg, const char *path, const char *why);
    // before each entry; NULL: go on
    int (*rest) (void *arg, struct err *err);
    void *arg;
};

/* List the files of the capture at 'path', which may be a file itself. */
int raw_files_each (const char *path, const struct raw_files *files,
                    struct err *err);

#endif
