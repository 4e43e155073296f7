/* common/model/about.h - what a launch knows of its job beside ranks
 *
 * Kept for whoever asks months later which run this was.  The wrapper of a run
 * leaves it in the run's directory, from where the agent takes it.
 */
#ifndef ROLLCALL_MODEL_ABOUT_H
#define ROLLCALL_MODEL_ABOUT_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

#define ABOUT_NAME "about.json"
#define ABOUT_TEXT_MAX 64
#define ABOUT_COMMAND_MAX 256   // bytes; a longer one is cut

struct job_about {              // "": not known
    char scheduler_id[ABOUT_TEXT_MAX];  // as Slurm, PBS or LSF name the job
    char user[ABOUT_TEXT_MAX];          // whose it is
    char command[ABOUT_COMMAND_MAX];    // COMMAND and its arguments
};

/* Leave it in 'dir'; 'command' ends with NULL.  -errno. */
int about_write (const char *dir, const char *scheduler_id, const char *user,
                 char *const command[], struct err *err);

/* Take it away from there.  Of arguments such as "--api-key=x", or "--token"
 * "x", the values are left out, and words that look like secrets (model/secret.h).
 * 0, -ENOENT (there is none, *ret is empty), -EBADMSG or another -errno.
 */
int about_take (const char *dir, struct job_about *ret);

#endif
