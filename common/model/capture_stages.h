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
    STAGE_SEEN,                 // it was found, but not examined yet
    STAGE_UNDECIDED,            // it is not known whose it is
    STAGE_GROWING,              // a new version, which has not settled
    STAGE_AGAIN,                // this version has to be handed on again
    STAGE_AWAY,                 // the same, once it comes back
    STAGE_MISSED,               // it was not handed on and is gone
    STAGE_SETTLED,              // it is handed on to the agent
    STAGE_WAITING,              // it waits for room
    STAGE_QUEUED,               // the sealer has it
    STAGE_FAILED,               // sealing failed and is tried again
    STAGE_LAST_OPEN = STAGE_FAILED,
    STAGE_SEALED,               // the spool has it
    STAGE_REFUSED,              // --when-full refuse
    STAGE_MOVED,                // a search will find it elsewhere
    STAGE_FOREIGN,              // of another job, or of a rank of another host
    STAGE_VANISHED,
    STAGE_STATES
};

enum stage_event {
    STAGE_IS_OURS,              // it is decided
    STAGE_IS_UNDECIDED,
    STAGE_IS_FOREIGN,
    STAGE_CHANGED,
    STAGE_HAS_SETTLED,          // or it is taken as it is
    STAGE_WANTED_AGAIN,
    STAGE_MAY_BE_BACK,          // if it is back, hand it on again
    STAGE_IS_BACK,
    STAGE_NO_ROOM,
    STAGE_NEVER_ROOM,
    STAGE_HANDED_ON,            // to the sealer
    STAGE_IS_SEALED,
    STAGE_SEAL_FAILED,
    STAGE_NOT_THERE,            // it is not where it was
    STAGE_ELSEWHERE,            // a search found it elsewhere
    STAGE_GONE,                 // a search did not find it
    STAGE_EVENTS
};

extern const struct states capture_stages;

#endif
