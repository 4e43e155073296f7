/* common/json/status.h - status files of daemons, for rollcall status
 *
 * A status file is a JSON object that is replaced without fsync, since the next
 * process does not need it.  Blanks at its end reserve space: when the disk is
 * full, the file is overwritten in place.  It begins with the pid and the start
 * time of the daemon.
 */
#ifndef ROLLCALL_JSON_STATUS_H
#define ROLLCALL_JSON_STATUS_H

#include "base/buf.h"
#include "json/json.h"

#include <sys/types.h>

#define STATUS_NAME "status.json"
#define STATUS_EVERY_NS INT64_C (1000000000)    // between two writes
#define STATUS_MAX (1u << 20)                   // bytes of a file

/* The start time of a process, in clock ticks since boot; 0: it does not exist.
 */
int64_t status_start_time (pid_t pid);

/* Create an object with program, pid, start_time, job, state and all counters;
 * the caller adds members.  NULL: no memory.
 */
struct json *status_begin (const char *program, const char *job,
                           const char *state);

/* Write the object to 'path' unless it equals the last text, and free it.  The
 * caller frees '*last' at the end.  A failure is ignored: the next call, a
 * second later, tries again.
 */
void status_write (struct json *j, const char *path, char **last);

/* Read the file of a daemon: NULL, there is none; the caller frees the tree.  Not
 * 'alive': the daemon was killed, as it would have removed the file.  'text', whose
 * limit is STATUS_MAX, has the bytes.
 */
struct json *status_read (const char *path, struct buf *text, bool *alive);

#endif
