/* node_agent/agent/agent_end.h - when the agent is over, and what rollcall status
 * is told meanwhile
 */
#ifndef ROLLCALL_AGENT_AGENT_END_H
#define ROLLCALL_AGENT_AGENT_END_H

#include "agent/agent_private.h"

/* ---- agent_end.c ---- */

/* Begin the life (agent_life.h), and set the callbacks of 'end'. */
void agent_begin_life (struct agent *a);

/* End with 0 if nothing is open or lost, else with this status. */
void agent_finish (struct agent *a, int status, const char *why);

/* When an earlier agent recorded that the run has ended on this host, since 1970;
 * 0: none has.
 */
int64_t agent_over_ns (const struct agent *a);

/* With --once --run-dir: when the run ended here, also if its agents had died before;
 * now, if that is not known.
 */
int64_t agent_left_ns (const struct agent *a);

/* The run goes on: that other wrappers have ended says nothing any more. */
void agent_forget_left (const struct agent *a);

/* Check the deadline and for a silent aggregator: now and then by a timer. */
void agent_check_exit_rule (void *arg);

/* Handlers of struct ship_events. */
void agent_on_roll (void *arg, bool complete, const char *text);
void agent_on_said (void *arg);

/* ---- agent_status.c ---- */

/* Write the status now and then by a timer; remove it at the end. */
void agent_write_status (void *arg);
void agent_end_status (struct agent *a);

#endif
