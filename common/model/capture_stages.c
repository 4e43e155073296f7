/* common/model/capture_stages.c - the stages of a capture on its host */
#include "model/capture_stages.h"

static const char *const stage_names[STAGE_STATES] = {
    [STAGE_SEEN] = "seen", [STAGE_UNDECIDED] = "undecided",
    [STAGE_GROWING] = "growing", [STAGE_AGAIN] = "again",
    [STAGE_AWAY] = "away", [STAGE_MISSED] = "missed",
    [STAGE_SETTLED] = "settled", [STAGE_WAITING] = "waiting",
    [STAGE_QUEUED] = "queued", [STAGE_FAILED] = "failed",
    [STAGE_SEALED] = "sealed", [STAGE_REFUSED] = "refused",
    [STAGE_MOVED] = "moved", [STAGE_FOREIGN] = "foreign",
    [STAGE_VANISHED] = "vanished",
};

static const char *const event_names[STAGE_EVENTS] = {
    [STAGE_IS_OURS] = "is-ours", [STAGE_IS_UNDECIDED] = "is-undecided",
    [STAGE_IS_FOREIGN] = "not-ours", [STAGE_CHANGED] = "changed",
    [STAGE_HAS_SETTLED] = "has-settled",
    [STAGE_WANTED_AGAIN] = "wanted-again",
    [STAGE_MAY_BE_BACK] = "may-be-back", [STAGE_IS_BACK] = "is-back",
    [STAGE_NO_ROOM] = "no-room", [STAGE_NEVER_ROOM] = "never-room",
    [STAGE_HANDED_ON] = "handed-on", [STAGE_IS_SEALED] = "is-sealed",
    [STAGE_SEAL_FAILED] = "seal-failed", [STAGE_NOT_THERE] = "not-there",
    [STAGE_ELSEWHERE] = "elsewhere", [STAGE_GONE] = "gone",
};

/* A failed capture keeps this state while it waits for room or is refused, so
 * that it is named at the end.  The sealer may return a forgotten capture.
 */
#define EDGE(from, event, to) \
    { STAGE_##from, STAGE_##event, 0, 0, STAGE_##to }
static const struct states_edge edges[] = {
    EDGE (SEEN, CHANGED, GROWING),
    EDGE (SEEN, HAS_SETTLED, SETTLED),
    EDGE (SEEN, IS_UNDECIDED, UNDECIDED),
    EDGE (SEEN, IS_FOREIGN, FOREIGN),
    EDGE (SEEN, NOT_THERE, MISSED),

    EDGE (UNDECIDED, IS_OURS, SEEN),
    EDGE (UNDECIDED, IS_FOREIGN, FOREIGN),
    EDGE (UNDECIDED, NOT_THERE, MISSED),

    EDGE (GROWING, HAS_SETTLED, SETTLED),
    EDGE (GROWING, NOT_THERE, MISSED),

    EDGE (AGAIN, CHANGED, GROWING),
    EDGE (AGAIN, HAS_SETTLED, SETTLED),
    EDGE (AGAIN, NOT_THERE, MISSED),

    EDGE (AWAY, CHANGED, GROWING),
    EDGE (AWAY, WANTED_AGAIN, AGAIN),
    EDGE (AWAY, IS_BACK, AGAIN),

    EDGE (MISSED, IS_BACK, SEEN),
    EDGE (MISSED, ELSEWHERE, MOVED),
    EDGE (MISSED, GONE, VANISHED),

    EDGE (SETTLED, CHANGED, GROWING),
    EDGE (SETTLED, WANTED_AGAIN, AGAIN),
    EDGE (SETTLED, MAY_BE_BACK, AWAY),
    EDGE (SETTLED, NO_ROOM, WAITING),
    EDGE (SETTLED, NEVER_ROOM, REFUSED),
    EDGE (SETTLED, HANDED_ON, QUEUED),
    EDGE (SETTLED, SEAL_FAILED, FAILED),

    EDGE (WAITING, NEVER_ROOM, REFUSED),
    EDGE (WAITING, HANDED_ON, QUEUED),
    EDGE (WAITING, GONE, VANISHED),

    EDGE (QUEUED, IS_SEALED, SEALED),
    EDGE (QUEUED, SEAL_FAILED, FAILED),
    EDGE (QUEUED, NOT_THERE, MOVED),
    EDGE (QUEUED, IS_FOREIGN, FOREIGN),
    EDGE (QUEUED, GONE, VANISHED),

    EDGE (FAILED, HANDED_ON, QUEUED),
    EDGE (FAILED, GONE, VANISHED),
};
#undef EDGE

const struct states capture_stages = {
    "capture", stage_names, event_names, NULL, NULL, edges,
    sizeof (edges) / sizeof (edges[0]), STAGE_STATES, STAGE_EVENTS,
};
