/* node_agent/control/cgroup.h - the control groups that a process is in
 *
 * A scheduler's step, a container, a session each have one: processes started
 * in it stay there, whatever their parent is.
 */
#ifndef ROLLCALL_CONTROL_CGROUP_H
#define ROLLCALL_CONTROL_CGROUP_H

#include <stdbool.h>

/* The content of /proc/PID/cgroup, by a descriptor of /proc/PID; the caller
 * frees it.  NULL: unreadable.
 */
char *cgroup_read (int process);

/* Whether 'in' is, in each hierarchy, the same group as 'group' or one below
 * it; false if 'group' is the root, which has all processes.  NULLs are in
 * none.
 */
bool cgroup_is_within (const char *in, const char *group);

#endif
