/* aggregator/transfer/transfer_states.h - states of items and of contents
 *
 * Both tables are drawn in doc/states.md.  An item is what one agent offers;
 * several may offer the same content, which comes once.
 */
#ifndef ROLLCALL_TRANSFER_TRANSFER_STATES_H
#define ROLLCALL_TRANSFER_TRANSFER_STATES_H

#include "base/states.h"

enum item_state {
    ITEM_OFFERED,               // is its content here?
    ITEM_EXPECTED,              // it comes, of this agent or of another
    ITEM_STORED,                // it came of this item; to be committed
    ITEM_KNOWN,                 // it was here, or came of another; the same
    ITEM_ENTERED,               // the ledger has it, once that is committed
    ITEM_REPEATED,              // the ledger had it before
    ITEM_ACKNOWLEDGED,          // from here on there is no item any more
    ITEM_REFUSED,               // what was offered, or came, is of no use
    ITEM_ABANDONED,             // nothing came of it: it is offered again
    ITEM_GONE,                  // its agent does not have it any more
    ITEM_STATES
};

enum item_event {
    ITEM_IS_ABSENT,             // its content is to be asked for
    ITEM_IS_HERE,               // its content is, or waits for the commit
    ITEM_CAME,                  // all of it, with the right hash
    ITEM_OTHER_CAME,            // the content of another, which is the same
    ITEM_IS_NEW,                // to the ledger
    ITEM_IS_OLD,
    ITEM_COMMITTED,
    ITEM_COMMIT_FAILED,
    ITEM_FAILED,                // it could not be looked for
    ITEM_WRONG,                 // what came is not what was offered, or lost
    ITEM_CHANGED,               // says its agent
    ITEM_AGENT_LEFT,
    ITEM_CLOSED,                // this is the end of the aggregator
    ITEM_EVENTS
};

enum content_state {
    CONTENT_IDLE,               // nothing of it is to be asked for now
    CONTENT_QUEUED,             // in the queue of its source's pace and kind
    CONTENT_PARKED,             // in that of its source's key
    CONTENT_WHOLE,              // it has come, and waits for the commit
    CONTENT_ENDED,
    CONTENT_STATES
};

enum content_event {
    CONTENT_ASKABLE,            // its source may be asked for more
    CONTENT_CROWDED,            // it may, but new agents of its key hold all
                                // that they may
    CONTENT_TAKEN,              // out of its queue
    CONTENT_COMPLETE,           // all of it is here
    CONTENT_OVER,               // committed, or nobody is to send it
    CONTENT_EVENTS
};

extern const struct states item_states, content_states;

#endif
