/* aggregator/publish/scratch.h - a temporary directory of one build
 *
 * ".rollcall-XXXXXX", a random name, mode 0700, and held: if the owner of the
 * directory around it renames or replaces it, nothing is read or written there.
 * A lock on a file in it shows that its build is alive, in any process,
 * container or host; the system releases the lock when that dies.
 */
#ifndef ROLLCALL_PUBLISH_SCRATCH_H
#define ROLLCALL_PUBLISH_SCRATCH_H

#include "base/err.h"
#include "store/tree.h"

struct scratch {
    struct tree tree;           // closed when there is none
    int above;                  // the directory that it is in
    int lock;
};

/* Create one below 'above'; errors of open(2), mkdir(2) or flock(2). */
int scratch_create (struct scratch *s, const struct tree *above,
                    struct err *err);

/* Remove it with all files in it; fine when there is none (all zero). */
void scratch_destroy (struct scratch *s);

/* Remove those below 'above' whose builds have died, if possible. */
void scratch_clean (const struct tree *above);

#endif
