/* node_agent/spool/spool_states.h - states of the ledger's rows
 *
 * A table for each of the ledger's columns 'state', drawn in doc/states.md.
 * The numbers of states are those in the ledger (doc/format-spool.md).
 */
#ifndef ROLLCALL_SPOOL_SPOOL_STATES_H
#define ROLLCALL_SPOOL_SPOOL_STATES_H

#include "base/states.h"

enum spool_state {              // of captures and items
    SPOOL_ASKED = 0,            // an item was acknowledged, and is no longer
                                // here: the aggregator is asked whether it has
                                // it
    SPOOL_SEEN = 1,             // a capture exists
    SPOOL_SETTLED = 2,          // it is finished, and being sealed
    SPOOL_SEALED = 3,
    SPOOL_OFFERED = 4,          // this and the next are only hints
    SPOOL_TRANSFERRING = 5,
    SPOOL_DURABLE = 6,          // of a capture: no item of it is open
    SPOOL_RELEASED = 7,         // an item's file in the spool is removed
    SPOOL_CHANGED = 8,          // a raw file was written to after sealing
    SPOOL_VANISHED = 9,
    SPOOL_QUARANTINED = 10,     // damaged: set aside, its capture sealed again
    SPOOL_LOST = 11,            // it was acknowledged, and no longer exists
    SPOOL_UNWANTED = 12,        // a raw file that the aggregator did not want
    SPOOL_STATES,
    SPOOL_NO_ROW = SPOOL_STATES // not in the ledger: there is no row, or it
                                // cannot be trusted
};

enum spool_event {              // of captures and items
    SPOOL_IS_FOUND,
    SPOOL_IS_BEGUN,             // sealing begins
    SPOOL_GIVEN_UP,             // sealing ended without a result
    SPOOL_ELSEWHERE,            // the capture is known by another path
    SPOOL_IS_SEALED,
    SPOOL_WAS_OFFERED,
    SPOOL_WAS_SENT,             // some of its bytes were
    SPOOL_ACKNOWLEDGED,
    SPOOL_IS_CLOSED,            // no item of the capture is open now
    SPOOL_FILE_REMOVED,
    SPOOL_HAS_CHANGED,
    SPOOL_NOT_WANTED,           // the aggregator does not want the raw file
    SPOOL_IS_WANTED,            // it wants one more of the capture
    SPOOL_IS_GONE,
    SPOOL_ASK_AGAIN,            // the aggregator may have lost it
    SPOOL_NOT_THERE,            // the aggregator has lost it
    SPOOL_SET_ASIDE,            // its sealed data is damaged or outdated
    SPOOL_ROW_DAMAGED,
    SPOOL_EVENTS
};

enum release_state {
    RELEASE_KEPT = 0,           // the capture exists
    RELEASE_BEGUN = 1,          // its removal has to be finished
    RELEASE_DONE = 2,
    RELEASE_CHANGED = 3,        // not what was delivered: stays
    RELEASE_LEFT = 4,           // removed, except for other files in it
    RELEASE_KEPT_ROWS = 5,      // as RELEASE_KEPT, but only rows were sealed
    RELEASE_STATES,
    RELEASE_NO_ROW = RELEASE_STATES     // not in the ledger
};

enum release_event {
    RELEASE_ALL_SEALED,         // all files of the capture were
    RELEASE_ROWS_SEALED,        // only its rows were
    RELEASE_REMOVE,
    RELEASE_PUT_OFF,            // what was begun cannot be done now: back to
    RELEASE_ROWS_PUT_OFF,       // RELEASE_KEPT, or to RELEASE_KEPT_ROWS
    RELEASE_REMOVED,
    RELEASE_OTHER_FILES,        // it holds files that were not delivered
    RELEASE_DIFFERS,            // it is not what was delivered
    RELEASE_DROP,               // its row is no longer needed
    RELEASE_EVENTS
};

extern const struct states spool_capture_states, spool_item_states,
    spool_release_states;

#endif
