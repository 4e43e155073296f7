/* node_agent/agent/agent_life.c - the life of an agent: states and events */
#include "agent/agent_life.h"

static const char *const state_names[LIFE_STATES] = {
    [LIFE_STARTING] = "starting", [LIFE_COLLECTING] = "collecting",
    [LIFE_DRAINING] = "draining", [LIFE_DONE_SAID] = "done-said",
    [LIFE_TAKEN_BACK] = "taken-back", [LIFE_ENDING] = "ending",
    [LIFE_LATE] = "late", [LIFE_ROLLED] = "rolled", [LIFE_OVER] = "over",
};

static const char *const event_names[LIFE_EVENTS] = {
    [LIFE_OPENED] = "opened", [LIFE_COMMANDS_ENDED] = "commands-ended",
    [LIFE_COMMAND_RUNS] = "command-runs", [LIFE_NOTHING_LEFT] = "nothing-left",
    [LIFE_FOUND_MORE] = "found-more", [LIFE_LOST] = "lost",
    [LIFE_WORD_HEARD] = "word-heard", [LIFE_DEADLINE] = "deadline",
    [LIFE_NOT_YET] = "not-yet", [LIFE_ROLL] = "roll",
    [LIFE_RELEASED] = "released", [LIFE_STOP] = "stop",
};

static const char *const guard_names[LIFE_GUARDS] = {
    [LIFE_ALWAYS] = "", [LIFE_IF_ONCE] = "once",
    [LIFE_IF_SEARCHED] = "searched", [LIFE_IF_SAID] = "said",
    [LIFE_IF_NEW_WORD] = "new-word", [LIFE_IF_ALL_JOINED] = "all-joined",
};

static const char *const action_names[LIFE_ACTIONS] = {
    [LIFE_NO_ACTION] = "", [LIFE_SEARCH_ALL] = "search-all",
    [LIFE_REOPEN] = "reopen", [LIFE_SAY_DONE] = "say-done",
    [LIFE_TAKE_BACK] = "take-back", [LIFE_FORGET_DONE] = "forget-done",
    [LIFE_RELEASE] = "release", [LIFE_TAKE_ROLL] = "take-roll",
    [LIFE_STOP_LOOP] = "stop-loop",
};

/* Of several edges for one event, the first one whose guard holds is taken. */
#define EDGE(from, event, guard, action, to) \
    { LIFE_##from, LIFE_##event, LIFE_##guard, LIFE_##action, LIFE_##to }
static const struct states_edge edges[] = {
    EDGE (STARTING, OPENED, IF_ONCE, NO_ACTION, DRAINING),
    EDGE (STARTING, OPENED, ALWAYS, NO_ACTION, COLLECTING),
    EDGE (STARTING, STOP, ALWAYS, STOP_LOOP, OVER),

    EDGE (COLLECTING, COMMANDS_ENDED, ALWAYS, SEARCH_ALL, DRAINING),
    EDGE (COLLECTING, ROLL, ALWAYS, TAKE_ROLL, ROLLED),
    EDGE (COLLECTING, STOP, ALWAYS, STOP_LOOP, OVER),

    EDGE (DRAINING, NOTHING_LEFT, IF_ONCE, RELEASE, ENDING),
    EDGE (DRAINING, NOTHING_LEFT, IF_SEARCHED, SAY_DONE, DONE_SAID),
    EDGE (DRAINING, COMMAND_RUNS, ALWAYS, REOPEN, COLLECTING),
    EDGE (DRAINING, DEADLINE, ALWAYS, RELEASE, LATE),
    EDGE (DRAINING, ROLL, ALWAYS, TAKE_ROLL, ROLLED),
    EDGE (DRAINING, STOP, ALWAYS, STOP_LOOP, OVER),

    EDGE (DONE_SAID, NOTHING_LEFT, IF_NEW_WORD, SAY_DONE, DONE_SAID),
    EDGE (DONE_SAID, FOUND_MORE, ALWAYS, TAKE_BACK, TAKEN_BACK),
    EDGE (DONE_SAID, LOST, ALWAYS, FORGET_DONE, TAKEN_BACK),
    EDGE (DONE_SAID, COMMAND_RUNS, ALWAYS, REOPEN, COLLECTING),
    EDGE (DONE_SAID, WORD_HEARD, IF_ALL_JOINED, RELEASE, ENDING),
    EDGE (DONE_SAID, DEADLINE, ALWAYS, RELEASE, LATE),
    EDGE (DONE_SAID, ROLL, ALWAYS, TAKE_ROLL, ROLLED),
    EDGE (DONE_SAID, STOP, ALWAYS, STOP_LOOP, OVER),

    EDGE (TAKEN_BACK, NOTHING_LEFT, IF_ONCE, RELEASE, ENDING),
    EDGE (TAKEN_BACK, NOTHING_LEFT, IF_SEARCHED, SAY_DONE, DONE_SAID),
    EDGE (TAKEN_BACK, COMMAND_RUNS, ALWAYS, REOPEN, COLLECTING),
    EDGE (TAKEN_BACK, DEADLINE, ALWAYS, RELEASE, LATE),
    EDGE (TAKEN_BACK, ROLL, ALWAYS, TAKE_ROLL, ROLLED),
    EDGE (TAKEN_BACK, STOP, ALWAYS, STOP_LOOP, OVER),

    EDGE (ENDING, NOTHING_LEFT, IF_NEW_WORD, SAY_DONE, ENDING),
    EDGE (ENDING, FOUND_MORE, IF_SAID, TAKE_BACK, TAKEN_BACK),
    EDGE (ENDING, LOST, ALWAYS, FORGET_DONE, TAKEN_BACK),
    EDGE (ENDING, COMMAND_RUNS, ALWAYS, REOPEN, COLLECTING),
    EDGE (ENDING, DEADLINE, ALWAYS, NO_ACTION, LATE),
    EDGE (ENDING, NOT_YET, IF_SAID, NO_ACTION, DONE_SAID),
    EDGE (ENDING, NOT_YET, ALWAYS, NO_ACTION, DRAINING),
    EDGE (ENDING, ROLL, ALWAYS, TAKE_ROLL, ROLLED),
    EDGE (ENDING, RELEASED, ALWAYS, STOP_LOOP, OVER),
    EDGE (ENDING, STOP, ALWAYS, STOP_LOOP, OVER),

    // no way back: it has waited long enough for the rest
    EDGE (LATE, NOTHING_LEFT, IF_NEW_WORD, SAY_DONE, LATE),
    EDGE (LATE, FOUND_MORE, IF_SAID, TAKE_BACK, LATE),
    EDGE (LATE, LOST, ALWAYS, FORGET_DONE, LATE),
    EDGE (LATE, COMMAND_RUNS, ALWAYS, REOPEN, LATE),
    EDGE (LATE, COMMANDS_ENDED, ALWAYS, SEARCH_ALL, LATE),
    EDGE (LATE, ROLL, ALWAYS, TAKE_ROLL, ROLLED),
    EDGE (LATE, RELEASED, ALWAYS, STOP_LOOP, OVER),
    EDGE (LATE, STOP, ALWAYS, STOP_LOOP, OVER),

    EDGE (ROLLED, COMMAND_RUNS, ALWAYS, REOPEN, ROLLED),
    EDGE (ROLLED, COMMANDS_ENDED, ALWAYS, SEARCH_ALL, ROLLED),
    EDGE (ROLLED, RELEASED, ALWAYS, STOP_LOOP, OVER),
    EDGE (ROLLED, STOP, ALWAYS, STOP_LOOP, OVER),
};
#undef EDGE

const struct states life_states = {
    "life", state_names, event_names, guard_names, action_names, edges,
    sizeof (edges) / sizeof (edges[0]), LIFE_STATES, LIFE_EVENTS,
};

bool life_take (struct life *l, enum life_event event, const char *why)
{
    return state_take (&l->state, &l->owner, event, why, NULL, NULL);
}

bool life_is_over (const struct life *l)
{
    return l->state.now >= LIFE_ROLLED;
}
