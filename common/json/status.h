/* common/json/status.h - what a daemon does now, for rollcall status
 *
 * A JSON object in a file that is replaced, without fsync: it is of no use to
 * the next life.  Blanks after it keep room on the disk: once that is full the
 * file is written over in its place.  Every daemon's begins with who it is, by
 * pid and start time.
 */
#ifndef ROLLCALL_JSON_STATUS_H
#define ROLLCALL_JSON_STATUS_H

#include "json/json.h"

#include <sys/types.h>

#define STATUS_EVERY_NS INT64_C (1000000000)    // between two of them
#define STATUS_MAX (1u << 20)                   // bytes of one

/* When the process began, in clock ticks since boot; 0: it is gone. */
int64_t status_start_time (pid_t pid);

/* A new object with program, pid, start_time, job and state, and all
 * counters; members are added by the caller.  NULL: no memory.
 */
struct json *status_begin (const char *program, const char *job,
                           const char *state);

/* Write it to 'path' unless it is what was written last ('*last', to be freed
 * at the end); frees 'j'.  If it fails the next second tries again.
 */
void status_write (struct json *j, const char *path, char **last);

#endif
