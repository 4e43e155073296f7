/* node_agent/analyse/capture_lock.h - one analysis of a capture at a time */
#ifndef ROLLCALL_ANALYSE_CAPTURE_LOCK_H
#define ROLLCALL_ANALYSE_CAPTURE_LOCK_H

#include "base/err.h"

/* A descriptor of the capture's directory that holds its lock (flock(2)), to be
 * closed.  -EWOULDBLOCK: not now, another process has the lock ('err' names it,
 * if known), or resources are short; any other error is the capture's own: it
 * does not exist, or must not be written.
 */
int lock_capture (const char *path, struct err *err);

#endif
