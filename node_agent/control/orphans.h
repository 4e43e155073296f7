/* node_agent/control/orphans.h - what a COMMAND leaves behind
 *
 * COMMAND itself dies with its wrapper (PR_SET_PDEATHSIG), what COMMAND has
 * started does not.  It is known by its environment, which it has inherited.
 */
#ifndef ROLLCALL_CONTROL_ORPHANS_H
#define ROLLCALL_CONTROL_ORPHANS_H

#include <stddef.h>
#include <sys/types.h>

/* SIGKILL every process of ours whose environment has NAME=VALUE; how many. */
size_t orphans_kill (const char *name, const char *value);

/* 1: the process has NAME=VALUE; 0: another value, so that it belongs to
 * somebody else; -1: nothing is known of it: it is dead, has no NAME, or cannot
 * be looked at (another user's).  'process': a descriptor of its /proc/PID.
 */
int orphans_compare (int process, const char *name, const char *value);

#endif
