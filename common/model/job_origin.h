/* common/model/job_origin.h - scheduler id, user and command of a job
 *
 * Kept to identify a run months later.  The wrapper of a run writes it to the
 * run's directory, where the agent reads it.
 */
#ifndef ROLLCALL_MODEL_JOB_ORIGIN_H
#define ROLLCALL_MODEL_JOB_ORIGIN_H

#include "base/err.h"

#define JOB_ORIGIN_NAME "about.json"
#define JOB_ORIGIN_TEXT_MAX 64
#define JOB_ORIGIN_COMMAND_MAX 256      // bytes; a longer one is cut

struct job_origin {             // "": not known
    char scheduler_id[JOB_ORIGIN_TEXT_MAX]; // as Slurm, PBS or LSF name the job
    char user[JOB_ORIGIN_TEXT_MAX];     // whose it is
    char command[JOB_ORIGIN_COMMAND_MAX];       // COMMAND and its arguments
};

/* Write it to 'dir'; 'command' ends with NULL.  0 or -errno. */
int job_origin_write (const char *dir, const char *scheduler_id,
                      const char *user,
                      char *const command[], struct err *err);

/* Read it from there.  Values of arguments such as "--api-key=x", or "--token"
 * "x", and words that look like secrets (model/secret.h) are left out. 0,
 * -ENOENT (there is none, *ret is empty), -EBADMSG or another -errno.
 */
int job_origin_take (const char *dir, struct job_origin *ret);

#endif
