/* node_agent/control/orphans.h - processes that a COMMAND leaves behind
 *
 * COMMAND itself dies with its wrapper (PR_SET_PDEATHSIG), its children do not.
 * Their inherited environment identifies them.
 */
#ifndef ROLLCALL_CONTROL_ORPHANS_H
#define ROLLCALL_CONTROL_ORPHANS_H

#include <stddef.h>
#include <sys/types.h>

/* SIGKILL all our processes with NAME=VALUE in the environment; how many. */
size_t orphans_kill (const char *name, const char *value);

/* 1: the process has NAME=VALUE; 0: another value, so it is not ours; -1:
 * unknown: it is dead, has no NAME, or cannot be read (another user's).
 * 'process': a descriptor of its /proc/PID.
 */
int orphans_compare (int process, const char *name, const char *value);

#endif
