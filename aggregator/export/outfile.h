/* aggregator/export/outfile.h - write a file that a user has named
 *
 * The file appears under its name when it is complete; until then an older file
 * stays.  A name that ends in .gz is compressed; "-" is standard output.
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
    FILE *f;                    // the stream to write to
    char path[PATH_MAX];
    struct tree dir;            // its directory, open; or closed
    const char *name;           // its name in that directory
    char temp[NAME_MAX + 24];   // until it is complete; "": written in place
    int fd;
    struct deflate *z;          // or NULL
    const atomic_bool *cancel;  // or NULL
    int failed;                 // the first write error
};

/* Whether the file is written under another name until it is complete.  Pipes
 * and devices are written in place.
 */
bool outfile_is_replaced (const char *path);

/* Open a pipe or device to write: a descriptor, which the caller closes; -EEXIST:
 * it is a regular file by now; or an error of open(2).
 */
int outfile_open_special (const char *path);

/* Open 'path' for writing.  Writes fail with -EINTR once *cancel is true, which
 * may be NULL.  -EACCES, -ENOENT (no directory), -EISDIR, -EPERM (for root: the
 * directory belongs to another user and 'foreign' is false), ...
 */
int outfile_open (struct outfile *o, const char *path, bool foreign,
                  const atomic_bool *cancel, struct err *err);

/* The same for a name in a tree, whoever owns the tree. */
int outfile_open_in (struct outfile *o, const struct tree *dir,
                     const char *name, const atomic_bool *cancel,
                     struct err *err);

/* If 'good', publish the file; otherwise remove it.  Returns failed writes,
 * too: -ENOSPC, -EPIPE, -EINTR ...
 */
int outfile_close (struct outfile *o, bool good, struct err *err);

#endif
