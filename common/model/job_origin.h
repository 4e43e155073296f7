/* common/model/job_origin.h - what a launch knows of its job beside ranks
 *
 * Kept for whoever asks months later which run this was.  The wrapper of a run
 * leaves it in the run's directory, from where the agent takes it.
 */
#ifndef ROLLCALL_MODEL_JOB_ORIGIN_H
#define ROLLCALL_MODEL_JOB_ORIGIN_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

#define JOB_ORIGIN_NAME "about.json"
#define JOB_ORIGIN_TEXT_MAX 64
#define JOB_ORIGIN_COMMAND_MAX 256      // bytes; a longer one is cut

struct job_origin {             // "": not known
    char scheduler_id[JOB_ORIGIN_TEXT_MAX]; // as Slurm, PBS or LSF name the job
    char user[JOB_ORIGIN_TEXT_MAX];     // whose it is
    char command[JOB_ORIGIN_COMMAND_MAX];       // COMMAND and its arguments
};

/* Leave it in 'dir'; 'command' ends with NULL.  -errno. */
int job_origin_write (const char *dir, const char *scheduler_id,
                      const char *user,
                      char *const command[], struct err *err);

/* Take it away from there.  Of arguments such as "--api-key=x", or "--token"
 * "x", the values are left out, and words that look like secrets (model/secret.h).
 * 0, -ENOENT (there is none, *ret is empty), -EBADMSG or another -errno.
 */
int job_origin_take (const char *dir, struct job_origin *ret);

#endif
