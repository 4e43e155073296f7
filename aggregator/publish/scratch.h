/* aggregator/publish/scratch.h - a directory for the files of one build
 *
 * ".rollcall-XXXXXX", with a random name, only its owner's, and held: whoever
 * owns the directory around it may rename it or put something in its place, and
 * nothing is read or written there.  A lock on a file within tells that its
 * build lives, whichever process, container or host it runs in; the system
 * takes the lock back when that dies.
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

/* Make one below 'above'; what open(2), mkdir(2) or flock(2) said. */
int scratch_create (struct scratch *s, const struct tree *above,
                    struct err *err);

/* Remove it with all files in it; fine when there is none (all zero). */
void scratch_destroy (struct scratch *s);

/* Remove those below 'above' whose builds have died; as far as that goes. */
void scratch_clean (const struct tree *above);

#endif
