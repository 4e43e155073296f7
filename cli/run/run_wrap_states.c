/* cli/run/run_wrap_states.c - the life of a wrapper: states and events */
#include "run/run_wrap_states.h"

static const char *const state_names[WRAP_STATES] = {
    [WRAP_STARTING] = "starting", [WRAP_RUNNING] = "running",
    [WRAP_ENDING] = "ending", [WRAP_IN_DOUBT] = "in-doubt",
    [WRAP_ENDED] = "ended", [WRAP_NOTED] = "noted", [WRAP_BUILT] = "built",
    [WRAP_OVER] = "over", [WRAP_GIVEN_UP] = "given-up", [WRAP_LEFT] = "left",
};

static const char *const event_names[WRAP_EVENTS] = {
    [WRAP_STARTED] = "started", [WRAP_STOP] = "stop", [WRAP_SIGNAL] = "signal",
    [WRAP_COMMAND_ENDED] = "command-ended", [WRAP_DOUBT_OVER] = "doubt-over",
    [WRAP_WAS_NOTED] = "was-noted", [WRAP_ROLL] = "roll",
    [WRAP_RESULT] = "result", [WRAP_SILENCE] = "silence", [WRAP_LOOK] = "look",
};

static const char *const guard_names[WRAP_GUARDS] = {
    [WRAP_ALWAYS] = "", [WRAP_IF_FOR_ALL] = "for-all",
    [WRAP_IF_SENT_AWAY] = "sent-away", [WRAP_IF_UNHEARD] = "unheard",
    [WRAP_IF_SPARE] = "spare", [WRAP_IF_RELEASED] = "released",
    [WRAP_IF_SAID] = "said",
};

static const char *const action_names[WRAP_ACTIONS] = {
    [WRAP_NO_ACTION] = "", [WRAP_TERMINATE] = "terminate",
    [WRAP_SAY_ENDING] = "say-ending", [WRAP_SAY_ENDED] = "say-ended",
};

#define EDGE(from, event, guard, action, to) \
    { WRAP_##from, WRAP_##event, WRAP_##guard, WRAP_##action, WRAP_##to }
static const struct states_edge edges[] = {
    EDGE (STARTING, STARTED, ALWAYS, NO_ACTION, RUNNING),

    EDGE (RUNNING, STOP, ALWAYS, TERMINATE, ENDING),
    EDGE (RUNNING, SIGNAL, ALWAYS, SAY_ENDING, ENDING),
    EDGE (RUNNING, COMMAND_ENDED, IF_FOR_ALL, NO_ACTION, IN_DOUBT),
    EDGE (RUNNING, COMMAND_ENDED, ALWAYS, SAY_ENDED, ENDED),

    EDGE (ENDING, COMMAND_ENDED, ALWAYS, SAY_ENDED, ENDED),

    EDGE (IN_DOUBT, DOUBT_OVER, ALWAYS, SAY_ENDED, ENDED),

    EDGE (ENDED, WAS_NOTED, ALWAYS, NO_ACTION, NOTED),
    EDGE (ENDED, RESULT, ALWAYS, NO_ACTION, BUILT),
    EDGE (ENDED, ROLL, ALWAYS, NO_ACTION, OVER),
    EDGE (ENDED, SILENCE, ALWAYS, NO_ACTION, GIVEN_UP),
    EDGE (ENDED, LOOK, IF_SENT_AWAY, NO_ACTION, LEFT),
    EDGE (ENDED, LOOK, IF_UNHEARD, NO_ACTION, LEFT),

    EDGE (NOTED, RESULT, ALWAYS, NO_ACTION, BUILT),
    EDGE (NOTED, ROLL, ALWAYS, NO_ACTION, OVER),
    EDGE (NOTED, SILENCE, ALWAYS, NO_ACTION, GIVEN_UP),
    EDGE (NOTED, LOOK, IF_SENT_AWAY, NO_ACTION, LEFT),
    EDGE (NOTED, LOOK, IF_SPARE, NO_ACTION, LEFT),

    EDGE (BUILT, ROLL, ALWAYS, NO_ACTION, OVER),
    EDGE (BUILT, SILENCE, ALWAYS, NO_ACTION, GIVEN_UP),
    EDGE (BUILT, LOOK, IF_SENT_AWAY, NO_ACTION, LEFT),
    EDGE (BUILT, LOOK, IF_RELEASED, NO_ACTION, LEFT),

    EDGE (OVER, LOOK, IF_SENT_AWAY, NO_ACTION, LEFT),
    EDGE (OVER, LOOK, IF_SAID, NO_ACTION, LEFT),
};
#undef EDGE

const struct states wrap_states = {
    "wrapper", state_names, event_names, guard_names, action_names, edges,
    sizeof (edges) / sizeof (edges[0]), WRAP_STATES, WRAP_EVENTS,
};
