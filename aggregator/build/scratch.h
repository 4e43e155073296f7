/* aggregator/build/scratch.h - a directory for the files of one build
 *
 * ".rollcall-XXXXXX", made by mkdtemp(3), so that no name in it can be guessed
 * or be there already.  A lock on a file within tells that its build lives,
 * whichever process, container or host it runs in; the system takes the lock
 * back when that dies.
 */
#ifndef ROLLCALL_BUILD_SCRATCH_H
#define ROLLCALL_BUILD_SCRATCH_H

#include "base/err.h"

#include <limits.h>

struct scratch {
    char path[PATH_MAX];        // "" when there is none
    int lock;
};

/* Make one below 'dir'; what open(2), mkdir(2) or flock(2) said. */
int scratch_create (struct scratch *s, const char *dir, struct err *err);

/* Remove it with all files in it; fine when there is none (all zero). */
void scratch_destroy (struct scratch *s);

/* Remove those below 'dir' whose builds have died; as far as that goes. */
void scratch_clean (const char *dir);

#endif
