/* common/base/states.h - state machines with a table of edges
 *
 * A table has edges (state, event, guard, action, next state) and names for the
 * log; doc/states.md draws each table.  States change only here, and changes
 * are logged here.  Guards and actions are only named in a table; its owner
 * implements them.
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
    const char *what;           // the name of the event in the log
    const char *const *states, *const *events;  // names, by number
    const char *const *guards, *const *actions; // NULL: there are none
    const struct states_edge *edges;
    size_t nedges;
    unsigned nstates, nevents;
};

/* A table and its owner.  An action runs in the new state, and may take the
 * next event.
 */
struct states_owner {
    const struct states *table;
    bool (*holds) (void *arg, unsigned guard);
    void (*act) (void *arg, unsigned action);
    void *arg;
    enum log_level level;       // of log lines of transitions
};

struct state {
    unsigned now;
    int64_t since_ns;           // monotonic, when it entered the state; 0:
                                // unknown, and not logged
};

/* Enter the first state. */
void state_begin (struct state *s, unsigned first);

/* Take an event, with its reason (NULL: the event's name says enough).  Follow
 * the first edge from the current state whose guard holds.  A change is logged,
 * with the duration of the last state, for 'key'='name' (NULL: there is only
 * one owner).  False: there is no such edge, and nothing has changed.
 */
bool state_take (struct state *s, const struct states_owner *o,
                 unsigned event, const char *why, const char *key,
                 const char *name);

/* Whether the state has an edge for the event, ignoring guards. */
bool states_have (const struct states *table, unsigned from, unsigned event);

#endif
