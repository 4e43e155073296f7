/* aggregator/export/outfile.h - write a file that a user has named
 *
 * It appears under its name when it is whole; an older file stays until then.
 * A name in .gz is compressed; "-" is standard output.
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
    char temp[NAME_MAX + 24];   // until it is whole; "": written in place
    int fd;
    struct deflate *z;          // or NULL
    const atomic_bool *cancel;  // or NULL
    int failed;                 // error of a write
};

/* Whether the file is written beside 'path' until it is whole; pipes and
 * devices are written in place.
 */
bool outfile_is_replaced (const char *path);

/* Writing fails with -EINTR once *cancel is true; NULL: never. -EACCES, -ENOENT
 * (of the directory), -EISDIR, -EPERM (for root: its directory is another
 * user's, and 'foreign' is false), ...
 */
int outfile_open (struct outfile *o, const char *path, bool foreign,
                  const atomic_bool *cancel, struct err *err);

/* The same for a name in a tree, whoever owns that. */
int outfile_open_in (struct outfile *o, const struct tree *dir,
                     const char *name, const atomic_bool *cancel,
                     struct err *err);

/* 'good': publish the file, else remove it.  Reports failed writes, too:
 * -ENOSPC, -EPIPE, -EINTR ...
 */
int outfile_close (struct outfile *o, bool good, struct err *err);

#endif
