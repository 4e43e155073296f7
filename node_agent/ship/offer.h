/* node_agent/ship/offer.h - an item that is offered, and its bytes
 *
 * Chunks of rows are compared with their hashes before they are sent, those of
 * raw files when they are asked for again: the aggregator compares all it gets
 * with the id of the content, and asks again for what is not that.  So the
 * node hashes a file once, unless it has changed, and then it is found out
 * here which chunk it was and what is to blame.
 */
#ifndef ROLLCALL_SHIP_OFFER_H
#define ROLLCALL_SHIP_OFFER_H

#include "base/states.h"
#include "spool/spool.h"

#include <sys/queue.h>

/* Its table is drawn in doc/states.md. */
enum offer_state {
    OFFER_FREE,                 // there is none
    OFFER_DUE,                  // to be said
    OFFER_SAID,
    OFFER_AGAIN,                // to be said again
    OFFER_DURABLE,              // acknowledged, not in the ledger yet
    OFFER_LOST,                 // it was only asked for, and is not there: as
                                // well
    OFFER_STATES
};

enum offer_event {
    OFFER_WAS_SAID,
    OFFER_REPEAT,               // what was said may not have been heard
    OFFER_ACKNOWLEDGED,
    OFFER_NOT_HERE,
    OFFER_UNRECORDED,           // the ledger could not be told
    OFFER_OVER,                 // it was told, or the item is given up
    OFFER_EVENTS
};

extern const struct states offer_states;

struct offer {
    LIST_ENTRY (offer) same_bucket;     // of a ship's
    struct spool_item item;
    struct state state;
    int fd;                     // -1: not open
    struct digest *hashes;      // a segment of them, or NULL
    uint64_t first;             // chunk of hashes[0]
    int nhashes;
    uint64_t noted;             // offset that the ledger has been told
    uint64_t sent;              // so many bytes in this life
    uint64_t plain_until;       // offset from which packing is tried again
    unsigned plain_run;         // chunks left plain after the last trial
    unsigned failures;          // of reading, that may pass
};

enum offer_read {
    OFFER_READ,                 // these are the bytes
    OFFER_ASTRAY,               // nobody asks so, or it cannot be read just
                                // now: ignore it, it is asked for again
    OFFER_CHANGED,              // the file was written to: give it up
    OFFER_VANISHED,             // it is gone, or cannot be read
    OFFER_DAMAGED,              // what the spool keeps is: set it aside
};

/* Whether it is said again until there is an answer. */
static inline bool offer_is_open (const struct offer *o)
{
    return o->state.now >= OFFER_DUE && o->state.now <= OFFER_AGAIN;
}

/* Follow the edge of its table; false: there is none. */
bool offer_change (struct offer *o, enum offer_event event);

void offer_begin (struct offer *o, const struct spool_item *item);
void offer_end (struct offer *o);       // closes, frees; may be used again

/* The chunk at 'offset', of which 'length' bytes are wanted, into 'out', which
 * has room for CONTENT_CHUNK.  offer_sent: it left.
 */
enum offer_read offer_chunk (struct offer *o, struct spool *s,
                             uint64_t offset, uint32_t length, void *out);
void offer_sent (struct offer *o, uint64_t offset);

/* Whether to try and pack the chunk at 'offset', and what came of it: content
 * that does not get smaller is tried ever more rarely.
 */
bool offer_may_pack (const struct offer *o, uint64_t offset);
void offer_packed (struct offer *o, uint64_t offset, bool smaller);

void offer_message (const struct offer *o, struct message *m);

/* Of the items on offer: how many there are if the aggregator, although it was
 * 'heard', has not wanted any of them for a minute, else 0.  *since_ns
 * (monotonic, 0 at first) is when that was, or when it was last told; the
 * caller sets it when one is asked for or acknowledged.
 */
unsigned offers_ignored (const struct offer *offers, size_t n, bool heard,
                         int64_t now_ns, int64_t *since_ns);

#endif
