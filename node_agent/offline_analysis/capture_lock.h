/* node_agent/offline_analysis/capture_lock.h - lock a capture for one analysis at a time
 */
#ifndef ROLLCALL_OFFLINE_ANALYSIS_CAPTURE_LOCK_H
#define ROLLCALL_OFFLINE_ANALYSIS_CAPTURE_LOCK_H

#include "base/err.h"

/* Lock the capture's directory (flock(2)).  Returns a descriptor that holds the
 * lock, which the caller closes.  -EWOULDBLOCK: try again later, since another
 * process has the lock ('err' names it, if it is known), or resources are
 * short.  Any other error is of the capture: it does not exist, or must not be
 * written; do not try again.
 */
int lock_capture (const char *path, struct err *err);

#endif
