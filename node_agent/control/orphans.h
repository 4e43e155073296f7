/* node_agent/control/orphans.h - kill processes that COMMAND leaves behind
 *
 * COMMAND itself dies with its wrapper (PR_SET_PDEATHSIG), but its children do
 * not.  They are identified by their inherited environment.
 */
#ifndef ROLLCALL_CONTROL_ORPHANS_H
#define ROLLCALL_CONTROL_ORPHANS_H

#include <stddef.h>
#include <sys/types.h>

/* Send SIGKILL to all processes of this user with NAME=VALUE in their
 * environment.  Returns how many there were.
 */
size_t orphans_kill (const char *name, const char *value);

/* Compare a variable of a process; 'process' is a descriptor of its /proc/PID.
 * 1: it has NAME=VALUE; 0: it has another value, so it is not ours; -1:
 * unknown, since it is dead, has no NAME, or cannot be read (another user's).
 */
int orphans_compare (int process, const char *name, const char *value);

#endif
