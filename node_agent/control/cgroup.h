/* node_agent/control/cgroup.h - the control groups of a process
 *
 * A scheduler's step, a container and a session each have one.  Processes
 * started in a group stay in it, whatever their parent is.
 */
#ifndef ROLLCALL_CONTROL_CGROUP_H
#define ROLLCALL_CONTROL_CGROUP_H

#include <stdbool.h>

/* Read /proc/PID/cgroup; 'process' is a descriptor of /proc/PID.  The caller
 * frees the text.  NULL: it cannot be read.
 */
char *cgroup_read (int process);

/* Whether 'in' is, in each hierarchy, the group 'group' or below it.  False if
 * 'group' is the root, which has all processes, and for NULLs.
 */
bool cgroup_is_within (const char *in, const char *group);

#endif
