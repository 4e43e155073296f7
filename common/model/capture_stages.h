/* common/model/capture_stages.h - the stages of a capture on its host
 *
 * One table of states for discovery, which has a capture until it is handed on,
 * and for the agent, which has it until it is sealed.  It is drawn in
 * doc/states.md.
 */
#ifndef ROLLCALL_MODEL_CAPTURE_STAGES_H
#define ROLLCALL_MODEL_CAPTURE_STAGES_H

#include "base/states.h"

enum capture_stage {
    STAGE_SEEN,                 // it is there, and was not looked at yet
    STAGE_UNDECIDED,            // whose it is
    STAGE_GROWING,              // a new version, which has not settled
    STAGE_AGAIN,                // this version is to be handed on once more
    STAGE_AWAY,                 // that, if it comes back
    STAGE_MISSED,               // it was not handed on, and is not there
    STAGE_SETTLED,              // it is handed on to the agent
    STAGE_WAITING,              // for room
    STAGE_QUEUED,               // the sealer has it
    STAGE_FAILED,               // it could not be sealed: tried again
    STAGE_LAST_OPEN = STAGE_FAILED,
    STAGE_SEALED,               // the spool has it
    STAGE_REFUSED,              // --when-full refuse
    STAGE_MOVED,                // it is where a search will find it
    STAGE_FOREIGN,              // of another job, or of a rank of another host
    STAGE_VANISHED,
    STAGE_STATES
};

enum stage_event {
    STAGE_IS_OURS,              // decided
    STAGE_IS_UNDECIDED,
    STAGE_IS_FOREIGN,
    STAGE_CHANGED,
    STAGE_HAS_SETTLED,          // or is taken as it is
    STAGE_WANTED_AGAIN,
    STAGE_MAY_BE_BACK,          // it is to be handed on then
    STAGE_IS_BACK,
    STAGE_NO_ROOM,
    STAGE_NEVER_ROOM,
    STAGE_HANDED_ON,            // to the sealer
    STAGE_IS_SEALED,
    STAGE_SEAL_FAILED,
    STAGE_NOT_THERE,            // where it was
    STAGE_ELSEWHERE,            // it was found there
    STAGE_GONE,                 // it is nowhere, says a search
    STAGE_EVENTS
};

extern const struct states capture_stages;

#endif
