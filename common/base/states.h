/* common/base/states.h - state machines with a table of edges
 *
 * A table of edges (state, event, guard, action, next state), with names for
 * the log; doc/states.md draws each.  States change, and changes are logged,
 * only here.  The owner implements guards and actions, which a table only
 * names.
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

/* The table and its owner.  An action runs in the new state, and may take the
 * next event.
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
    int64_t since_ns;           // when it came into it, monotonic; 0: that is
                                // not known, and not logged
};

/* Set the first state. */
void state_begin (struct state *s, unsigned first);

/* Take an event with its reason (NULL: its name says it): follow the first edge
 * from the state whose guard holds, and log a change with the duration of the
 * last state, as that of 'key'='name' (NULL: there is only one owner).  False,
 * and nothing is changed, if there is no such edge.
 */
bool state_take (struct state *s, const struct states_owner *o,
                 unsigned event, const char *why, const char *key,
                 const char *name);

/* Whether the state has an edge for the event, ignoring guards. */
bool states_have (const struct states *table, unsigned from, unsigned event);

#endif
