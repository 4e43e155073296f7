/* node_agent/control/cgroup.h - the control groups that a process is in
 *
 * A scheduler's step, a container, a session each have one: what is started in
 * it stays there, whoever its parent is.
 */
#ifndef ROLLCALL_CONTROL_CGROUP_H
#define ROLLCALL_CONTROL_CGROUP_H

#include <stdbool.h>

/* What /proc/PID/cgroup says, by a descriptor of /proc/PID; to be freed.  NULL:
 * it cannot be read.
 */
char *cgroup_read (int process);

/* Whether 'in' is, in each hierarchy, the same group as 'group' or one below
 * it; false if that is the root of all, in which everybody is.  NULLs are in
 * none.
 */
bool cgroup_is_within (const char *in, const char *group);

#endif
