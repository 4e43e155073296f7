/* common/json/status.h - status files of daemons, for rollcall status
 *
 * A JSON object in a file that is replaced without fsync: the next process does
 * not need it.  Blanks after it reserve space: when the disk is full, the file
 * is overwritten in place.  Every daemon's begins with its pid and start time.
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

/* Write it to 'path' unless it equals the last text ('*last', to be freed at
 * the end); frees 'j'.  After a failure, the next second tries again.
 */
void status_write (struct json *j, const char *path, char **last);

#endif
