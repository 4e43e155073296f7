/* aggregator/export/outfile.h - a file that a user has named, written as a
 * stream
 *
 * It appears under its name when it is whole, and a file that was there stays
 * until then.  What ends in .gz is compressed; "-" is standard output.
 */
#ifndef ROLLCALL_EXPORT_OUTFILE_H
#define ROLLCALL_EXPORT_OUTFILE_H

#include "store/tree.h"

#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>

struct deflate;

struct outfile {
    FILE *f;                    // to write to
    char path[PATH_MAX];
    struct tree dir;            // that it is in, or closed
    const char *name;           // its name in there
    char temp[NAME_MAX + 24];   // until it is whole; "": it is not replaced
    int fd;
    struct deflate *z;          // or NULL
    const atomic_bool *cancel;  // or NULL
    int failed;                 // what a write said
};

/* Whether the file is written beside 'path' until it is whole, and not, as a
 * pipe or device is, in its place.
 */
bool outfile_is_replaced (const char *path);

/* What is written fails with -EINTR once *cancel is true; NULL: never.
 * -EACCES, -ENOENT (of the directory), -EISDIR, -EPERM (for root: its directory
 * is another user's, and 'foreign' is false), ...
 */
int outfile_open (struct outfile *o, const char *path, bool foreign,
                  const atomic_bool *cancel, struct err *err);

/* The same for a name in a tree, whoever owns that. */
int outfile_open_in (struct outfile *o, const struct tree *dir,
                     const char *name, const atomic_bool *cancel,
                     struct err *err);

/* With 'good' under its name now, otherwise gone.  What could not be written
 * fails here: -ENOSPC, -EPIPE, -EINTR ...
 */
int outfile_close (struct outfile *o, bool good, struct err *err);

#endif
