/* node_agent/control/orphans.h - what a COMMAND leaves behind
 *
 * COMMAND itself dies with its wrapper (PR_SET_PDEATHSIG), what COMMAND has
 * started does not.  It is known by its environment, which it has inherited.
 */
#ifndef ROLLCALL_CONTROL_ORPHANS_H
#define ROLLCALL_CONTROL_ORPHANS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* SIGKILL every process of ours whose environment has NAME=VALUE; how many. */
size_t orphans_kill (const char *name, const char *value);

/* Whether a process lives that has NAME with another value: it belongs to
 * somebody else.  False for one that is dead, that cannot be looked at, or
 * that does not have NAME: nothing is known of it.
 */
bool orphans_is_foreign (pid_t pid, const char *name, const char *value);

#endif
