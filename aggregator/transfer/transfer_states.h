/* aggregator/transfer/transfer_states.h - states of items and of contents
 *
 * Both tables are drawn in doc/states.md.  An item is what one agent offers;
 * several may offer the same content, which comes once.
 */
#ifndef ROLLCALL_TRANSFER_TRANSFER_STATES_H
#define ROLLCALL_TRANSFER_TRANSFER_STATES_H

#include "base/states.h"

enum item_state {
    ITEM_OFFERED,               // it is being looked up
    ITEM_EXPECTED,              // its content comes, from this agent or another
    ITEM_STORED,                // its content came from this agent
    ITEM_KNOWN,                 // its content was here, or another agent sent
                                // it
    ITEM_ENTERED,               // the next commit writes it into the ledger
    ITEM_REPEATED,              // the ledger had it before
    ITEM_ACKNOWLEDGED,          // from here on the item no longer exists
    ITEM_REFUSED,               // the offer or the content is invalid
    ITEM_ABANDONED,             // its agent will offer it again
    ITEM_GONE,                  // its agent no longer has it
    ITEM_STATES
};

enum item_event {
    ITEM_IS_ABSENT,             // its content has to be requested
    ITEM_IS_HERE,               // its content is stored, or waits for the
                                // commit
    ITEM_CAME,                  // its content arrived, with the right hash
    ITEM_OTHER_CAME,            // the same content, from another agent
    ITEM_IS_NEW,                // to the ledger
    ITEM_IS_OLD,
    ITEM_COMMITTED,
    ITEM_COMMIT_FAILED,
    ITEM_FAILED,                // its content could not be looked up
    ITEM_WRONG,                 // the content is not the one that was offered,
                                // or was lost
    ITEM_CHANGED,               // its agent says so
    ITEM_AGENT_LEFT,
    ITEM_CLOSED,                // the aggregator ends
    ITEM_EVENTS
};

enum content_state {
    CONTENT_IDLE,               // nothing has to be requested now
    CONTENT_QUEUED,             // in the queue for the pace of its source and
                                // its kind
    CONTENT_PARKED,             // in the queue of its source's key
    CONTENT_WHOLE,              // complete, waits for the commit
    CONTENT_ENDED,
    CONTENT_STATES
};

enum content_event {
    CONTENT_ASKABLE,            // more can be requested from its source
    CONTENT_CROWDED,            // the same, but new agents of its key hold all
                                // credits that they may
    CONTENT_TAKEN,              // removed from its queue
    CONTENT_COMPLETE,           // all of it is here
    CONTENT_OVER,               // it is committed, or nobody will send it
    CONTENT_EVENTS
};

extern const struct states item_states, content_states;

#endif
