/* aggregator/transfer/transfer_states.c - states of items and of contents */
#include "transfer/transfer_states.h"

static const char *const item_names[ITEM_STATES] = {
    [ITEM_OFFERED] = "offered", [ITEM_EXPECTED] = "expected",
    [ITEM_STORED] = "stored", [ITEM_KNOWN] = "known",
    [ITEM_ENTERED] = "entered", [ITEM_REPEATED] = "repeated",
    [ITEM_ACKNOWLEDGED] = "acknowledged", [ITEM_REFUSED] = "refused",
    [ITEM_ABANDONED] = "abandoned", [ITEM_GONE] = "gone",
};

static const char *const item_event_names[ITEM_EVENTS] = {
    [ITEM_IS_ABSENT] = "is-absent", [ITEM_IS_HERE] = "is-here",
    [ITEM_CAME] = "came", [ITEM_OTHER_CAME] = "other-came",
    [ITEM_IS_NEW] = "is-new", [ITEM_IS_OLD] = "is-old",
    [ITEM_COMMITTED] = "committed", [ITEM_COMMIT_FAILED] = "commit-failed",
    [ITEM_FAILED] = "failed", [ITEM_WRONG] = "wrong",
    [ITEM_CHANGED] = "changed", [ITEM_AGENT_LEFT] = "agent-left",
    [ITEM_CLOSED] = "closed",
};

/* A complete item is entered even if its agent has left.  Content that was
 * damaged and arrived again counts as a new item.
 */
#define EDGE(from, event, to) \
    { ITEM_##from, ITEM_##event, 0, 0, ITEM_##to }
static const struct states_edge item_edges[] = {
    EDGE (OFFERED, IS_ABSENT, EXPECTED),
    EDGE (OFFERED, IS_HERE, KNOWN),
    EDGE (OFFERED, CAME, STORED),       // it is empty
    EDGE (OFFERED, FAILED, REFUSED),

    EDGE (EXPECTED, CAME, STORED),
    EDGE (EXPECTED, OTHER_CAME, KNOWN),
    EDGE (EXPECTED, WRONG, REFUSED),
    EDGE (EXPECTED, CHANGED, GONE),
    EDGE (EXPECTED, AGENT_LEFT, ABANDONED),

    EDGE (STORED, IS_NEW, ENTERED),
    EDGE (STORED, IS_OLD, ENTERED),
    EDGE (STORED, COMMIT_FAILED, ABANDONED),
    EDGE (STORED, CLOSED, ABANDONED),

    EDGE (KNOWN, IS_NEW, ENTERED),
    EDGE (KNOWN, IS_OLD, REPEATED),
    EDGE (KNOWN, COMMIT_FAILED, ABANDONED),
    EDGE (KNOWN, CLOSED, ABANDONED),

    EDGE (ENTERED, COMMITTED, ACKNOWLEDGED),
    EDGE (ENTERED, COMMIT_FAILED, ABANDONED),

    EDGE (REPEATED, COMMITTED, ACKNOWLEDGED),
    EDGE (REPEATED, COMMIT_FAILED, ABANDONED),
};
#undef EDGE

const struct states item_states = {
    "item", item_names, item_event_names, NULL, NULL, item_edges,
    sizeof (item_edges) / sizeof (item_edges[0]), ITEM_STATES, ITEM_EVENTS,
};

static const char *const content_names[CONTENT_STATES] = {
    [CONTENT_IDLE] = "idle", [CONTENT_QUEUED] = "queued",
    [CONTENT_PARKED] = "parked", [CONTENT_WHOLE] = "whole",
    [CONTENT_ENDED] = "ended",
};

static const char *const content_event_names[CONTENT_EVENTS] = {
    [CONTENT_ASKABLE] = "askable", [CONTENT_CROWDED] = "crowded",
    [CONTENT_TAKEN] = "taken", [CONTENT_COMPLETE] = "complete",
    [CONTENT_OVER] = "over",
};

#define EDGE(from, event, to) \
    { CONTENT_##from, CONTENT_##event, 0, 0, CONTENT_##to }
static const struct states_edge content_edges[] = {
    EDGE (IDLE, ASKABLE, QUEUED),
    EDGE (IDLE, CROWDED, PARKED),
    EDGE (IDLE, COMPLETE, WHOLE),
    EDGE (IDLE, OVER, ENDED),
    EDGE (QUEUED, TAKEN, IDLE),
    EDGE (PARKED, TAKEN, IDLE),
    EDGE (WHOLE, OVER, ENDED),
};
#undef EDGE

const struct states content_states = {
    "content", content_names, content_event_names, NULL, NULL, content_edges,
    sizeof (content_edges) / sizeof (content_edges[0]), CONTENT_STATES,
    CONTENT_EVENTS,
};
