/* node_agent/spool/spool_states.c - states of the ledger's rows */
#include "spool/spool_private.h"

#define NEDGES(edges) (sizeof (edges) / sizeof ((edges)[0]))

static const char *const event_names[SPOOL_EVENTS] = {
    [SPOOL_IS_FOUND] = "is-found", [SPOOL_IS_BEGUN] = "is-begun",
    [SPOOL_GIVEN_UP] = "given-up", [SPOOL_ELSEWHERE] = "elsewhere",
    [SPOOL_IS_SEALED] = "is-sealed", [SPOOL_WAS_OFFERED] = "was-offered",
    [SPOOL_WAS_SENT] = "was-sent", [SPOOL_ACKNOWLEDGED] = "acknowledged",
    [SPOOL_IS_CLOSED] = "closed", [SPOOL_FILE_REMOVED] = "file-removed",
    [SPOOL_HAS_CHANGED] = "has-changed", [SPOOL_IS_GONE] = "gone",
    [SPOOL_ASK_AGAIN] = "ask-again", [SPOOL_NOT_THERE] = "not-there",
    [SPOOL_SET_ASIDE] = "set-aside", [SPOOL_ROW_DAMAGED] = "row-damaged",
    [SPOOL_NOT_WANTED] = "not-wanted", [SPOOL_IS_WANTED] = "is-wanted",
};

#define EDGE(from, event, to) { SPOOL_##from, SPOOL_##event, 0, 0, SPOOL_##to }

/* ---- captures ---- */

static const char *const capture_names[SPOOL_STATES + 1] = {
    [SPOOL_SEEN] = "seen", [SPOOL_SETTLED] = "settled",
    [SPOOL_SEALED] = "sealed", [SPOOL_DURABLE] = "durable",
    [SPOOL_VANISHED] = "vanished", [SPOOL_QUARANTINED] = "quarantined",
    [SPOOL_LOST] = "lost", [SPOOL_NO_ROW] = "no-row",
};

/* A damaged row of an item may name any capture: the one that lacks an item is
 * set aside.  Requests for items of a capture survive its quarantine.
 */
static const struct states_edge capture_edges[] = {
    EDGE (NO_ROW, IS_FOUND, SEEN),

    EDGE (SEEN, IS_BEGUN, SETTLED),
    EDGE (SEEN, IS_GONE, VANISHED),
    EDGE (SEEN, ELSEWHERE, VANISHED),
    EDGE (SEEN, SET_ASIDE, QUARANTINED),

    EDGE (SETTLED, IS_SEALED, SEALED),
    EDGE (SETTLED, GIVEN_UP, SEEN),
    EDGE (SETTLED, SET_ASIDE, QUARANTINED),

    EDGE (SEALED, IS_CLOSED, DURABLE),
    EDGE (SEALED, ASK_AGAIN, SEALED),
    EDGE (SEALED, IS_WANTED, SEALED),
    EDGE (SEALED, NOT_THERE, LOST),
    EDGE (SEALED, SET_ASIDE, QUARANTINED),

    EDGE (DURABLE, ASK_AGAIN, SEALED),
    EDGE (DURABLE, IS_WANTED, SEALED),
    EDGE (DURABLE, SET_ASIDE, QUARANTINED),

    EDGE (VANISHED, SET_ASIDE, QUARANTINED),

    EDGE (QUARANTINED, NOT_THERE, LOST),
    EDGE (QUARANTINED, SET_ASIDE, QUARANTINED),

    EDGE (LOST, ASK_AGAIN, SEALED),
    EDGE (LOST, NOT_THERE, LOST),
    EDGE (LOST, SET_ASIDE, QUARANTINED),
};

const struct states spool_capture_states = {
    "capture", capture_names, event_names, NULL, NULL, capture_edges,
    NEDGES (capture_edges), SPOOL_STATES + 1, SPOOL_EVENTS,
};

/* ---- items ---- */

static const char *const item_names[SPOOL_STATES + 1] = {
    [SPOOL_ASKED] = "asked", [SPOOL_SEALED] = "sealed",
    [SPOOL_OFFERED] = "offered", [SPOOL_TRANSFERRING] = "transferring",
    [SPOOL_DURABLE] = "durable", [SPOOL_RELEASED] = "released",
    [SPOOL_CHANGED] = "changed", [SPOOL_VANISHED] = "vanished",
    [SPOOL_QUARANTINED] = "quarantined", [SPOOL_LOST] = "lost",
    [SPOOL_UNWANTED] = "unwanted", [SPOOL_NO_ROW] = "no-row",
};

/* An ACK may answer an offer of an earlier agent. */
static const struct states_edge item_edges[] = {
    EDGE (NO_ROW, IS_SEALED, SEALED),
    EDGE (NO_ROW, ROW_DAMAGED, QUARANTINED),

    EDGE (SEALED, WAS_OFFERED, OFFERED),
    EDGE (SEALED, WAS_SENT, TRANSFERRING),
    EDGE (SEALED, ACKNOWLEDGED, DURABLE),
    EDGE (SEALED, HAS_CHANGED, CHANGED),
    EDGE (SEALED, IS_GONE, VANISHED),
    EDGE (SEALED, NOT_WANTED, UNWANTED),
    EDGE (SEALED, SET_ASIDE, QUARANTINED),

    EDGE (OFFERED, WAS_OFFERED, OFFERED),
    EDGE (OFFERED, WAS_SENT, TRANSFERRING),
    EDGE (OFFERED, ACKNOWLEDGED, DURABLE),
    EDGE (OFFERED, HAS_CHANGED, CHANGED),
    EDGE (OFFERED, IS_GONE, VANISHED),
    EDGE (OFFERED, NOT_WANTED, UNWANTED),
    EDGE (OFFERED, SET_ASIDE, QUARANTINED),

    EDGE (TRANSFERRING, WAS_OFFERED, OFFERED),
    EDGE (TRANSFERRING, WAS_SENT, TRANSFERRING),
    EDGE (TRANSFERRING, ACKNOWLEDGED, DURABLE),
    EDGE (TRANSFERRING, HAS_CHANGED, CHANGED),
    EDGE (TRANSFERRING, IS_GONE, VANISHED),
    EDGE (TRANSFERRING, NOT_WANTED, UNWANTED),
    EDGE (TRANSFERRING, SET_ASIDE, QUARANTINED),

    EDGE (DURABLE, FILE_REMOVED, RELEASED),
    EDGE (DURABLE, ASK_AGAIN, ASKED),

    EDGE (RELEASED, ASK_AGAIN, ASKED),

    EDGE (ASKED, ACKNOWLEDGED, DURABLE),
    EDGE (ASKED, NOT_THERE, LOST),

    EDGE (LOST, ASK_AGAIN, ASKED),
};

const struct states spool_item_states = {
    "item", item_names, event_names, NULL, NULL, item_edges,
    NEDGES (item_edges), SPOOL_STATES + 1, SPOOL_EVENTS,
};
#undef EDGE

/* ---- releases ---- */

static const char *const release_names[RELEASE_STATES + 1] = {
    [RELEASE_KEPT] = "kept", [RELEASE_BEGUN] = "begun",
    [RELEASE_DONE] = "done", [RELEASE_CHANGED] = "changed",
    [RELEASE_LEFT] = "left", [RELEASE_KEPT_ROWS] = "kept-rows",
    [RELEASE_NO_ROW] = "no-row",
};

static const char *const release_event_names[RELEASE_EVENTS] = {
    [RELEASE_ALL_SEALED] = "all-sealed", [RELEASE_ROWS_SEALED] = "rows-sealed",
    [RELEASE_REMOVE] = "remove", [RELEASE_PUT_OFF] = "put-off",
    [RELEASE_ROWS_PUT_OFF] = "rows-put-off", [RELEASE_REMOVED] = "removed",
    [RELEASE_OTHER_FILES] = "other-files", [RELEASE_DIFFERS] = "differs",
    [RELEASE_DROP] = "drop",
};

#define EDGE(from, event, to) \
    { RELEASE_##from, RELEASE_##event, 0, 0, RELEASE_##to }
static const struct states_edge release_edges[] = {
    EDGE (NO_ROW, ALL_SEALED, KEPT),
    EDGE (NO_ROW, ROWS_SEALED, KEPT_ROWS),

    EDGE (KEPT, REMOVE, BEGUN),
    EDGE (KEPT, DIFFERS, CHANGED),
    EDGE (KEPT, DROP, NO_ROW),

    EDGE (KEPT_ROWS, REMOVE, BEGUN),
    EDGE (KEPT_ROWS, DIFFERS, CHANGED),
    EDGE (KEPT_ROWS, DROP, NO_ROW),

    EDGE (BEGUN, REMOVED, DONE),
    EDGE (BEGUN, OTHER_FILES, LEFT),
    EDGE (BEGUN, PUT_OFF, KEPT),
    EDGE (BEGUN, ROWS_PUT_OFF, KEPT_ROWS),
    EDGE (BEGUN, DIFFERS, CHANGED),
    EDGE (BEGUN, DROP, NO_ROW),

    EDGE (LEFT, DROP, NO_ROW),
};
#undef EDGE

const struct states spool_release_states = {
    "release", release_names, release_event_names, NULL, NULL, release_edges,
    NEDGES (release_edges), RELEASE_STATES + 1, RELEASE_EVENTS,
};

/* ---- transitions ---- */

static const struct states *const tables[SPOOL_TABLES] = {
    [SPOOL_TABLE_CAPTURE] = &spool_capture_states,
    [SPOOL_TABLE_ITEM] = &spool_item_states,
    [SPOOL_TABLE_RELEASE] = &spool_release_states,
};

bool spool_change (struct spool *s, enum spool_table table, uint64_t id,
                   const char *path, int *state, unsigned event,
                   const char *why)
{
    struct spool_since *since = &s->since[table][id % SINCE_MAX];
    // the agent's objects log what comes before that
    bool is_news = table == SPOOL_TABLE_CAPTURE && event > SPOOL_IS_SEALED;
    const struct states_owner owner = {
        .table = tables[table],
        .level = is_news ? s->level : LOG_LEVEL_DEBUG,
    };
    struct state st = { (unsigned)*state,
                        since->id == id ? since->since_ns : 0 };
    char number[24];

    PRINT (number, "%llu", (unsigned long long)id);
    if (!state_take (&st, &owner, event, why && *why ? why : NULL,
                     path ? "path" : "number", path ? path : number))
        return false;
    *since = (struct spool_since){ id, st.since_ns };
    *state = (int)st.now;
    return true;
}
