/* common/base/states.h - what has a table of states and events
 *
 * A table of edges (state, event, guard, action, next state), with names for
 * the log; doc/states.md draws each.  This is the one place where a state
 * changes, and where that is logged.  What guards ask and what actions do is
 * the owner's affair: a table only names them.
 */
#ifndef ROLLCALL_BASE_STATES_H
#define ROLLCALL_BASE_STATES_H

#include "base/log.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct states_edge {
    uint8_t from, event, guard, action, to;     // guard 0: always; action 0:
                                                // none
};

struct states {
    const char *what;           // the event in the log
    const char *const *states, *const *events;  // names, by number
    const char *const *guards, *const *actions; // NULL: there are none
    const struct states_edge *edges;
    size_t nedges;
    unsigned nstates, nevents;
};

/* Of which table, and whose.  An action may bring the next event: it runs in
 * the new state.
 */
struct states_owner {
    const struct states *table;
    bool (*holds) (void *arg, unsigned guard);
    void (*act) (void *arg, unsigned action);
    void *arg;
    enum log_level level;       // of transitions
};

struct state {
    unsigned now;
    int64_t since_ns;           // when it came into it, monotonic
};

/* Its first state. */
void state_begin (struct state *s, unsigned first);

/* An event, and why it came, or NULL if its name says that: follow the first
 * edge from here whose guard holds, and log a change of the state, with how
 * long the one before had lasted, as that of 'key'='name' (NULL: there is only
 * one).  False, and nothing is changed: there is no such edge.
 */
bool state_take (struct state *s, const struct states_owner *o,
                 unsigned event, const char *why, const char *key,
                 const char *name);

/* Whether there is an edge for the event from here, whatever its guard. */
bool states_have (const struct states *table, unsigned from, unsigned event);

#endif
