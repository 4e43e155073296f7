/* node_agent/ship/offer.h - an offered item and its bytes
 *
 * Chunks of rows are checked against their hashes before they are sent, those
 * of raw files only when they are requested again: the aggregator compares the
 * whole content with its hash, and requests it again if it differs.  So the
 * node hashes a file once, unless it has changed; then the damaged chunk is
 * found here.
 */
#ifndef ROLLCALL_SHIP_OFFER_H
#define ROLLCALL_SHIP_OFFER_H

#include "base/pack.h"
#include "base/states.h"
#include "spool/spool.h"

#include <sys/queue.h>

/* Its table is drawn in doc/states.md. */
enum offer_state {
    OFFER_FREE,                 // there is none
    OFFER_DUE,                  // to be sent
    OFFER_SAID,
    OFFER_AGAIN,                // to be sent again
    OFFER_DURABLE,              // acknowledged, not in the ledger yet
    OFFER_LOST,                 // only asked about, and the aggregator lost it:
                                // not in the ledger yet
    OFFER_STATES
};

enum offer_event {
    OFFER_WAS_SAID,
    OFFER_REPEAT,               // the offer may have been lost
    OFFER_ACKNOWLEDGED,
    OFFER_NOT_HERE,
    OFFER_UNRECORDED,           // the ledger could not be written
    OFFER_OVER,                 // recorded, or the item is given up
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
    uint64_t noted;             // offset recorded in the ledger
    uint64_t sent;              // bytes sent by this agent
    struct pack_trial packing;
    unsigned failures;          // of reading, that may be temporary
};

enum offer_read {
    OFFER_READ,                 // the bytes were read
    OFFER_ASTRAY,               // an invalid request, or it cannot be read
                                // now: ignore it, it will be requested again
    OFFER_CHANGED,              // the file was written to: give it up
    OFFER_VANISHED,             // it is gone, or cannot be read
    OFFER_DAMAGED,              // its file in the spool is: set it aside
};

/* Whether it is repeated until there is an answer. */
static inline bool offer_is_open (const struct offer *o)
{
    return o->state.now >= OFFER_DUE && o->state.now <= OFFER_AGAIN;
}

/* Follow the edge of its table; false: there is none. */
bool offer_change (struct offer *o, enum offer_event event);

void offer_begin (struct offer *o, const struct spool_item *item);
void offer_end (struct offer *o);       // closes, frees; may be used again

/* Read 'length' bytes of the chunk at 'offset' into 'out', which has room for
 * CONTENT_CHUNK. offer_sent: the chunk was sent.
 */
enum offer_read offer_chunk (struct offer *o, struct spool *s,
                             uint64_t offset, uint32_t length, void *out);

/* The same of the list of the hashes of its chunks. */
enum offer_read offer_list (struct offer *o, struct spool *s, uint64_t offset,
                            uint32_t length, void *out);
void offer_sent (struct offer *o, uint64_t offset);

void offer_message (const struct offer *o, struct message *m);

/* The number of items on offer if the aggregator was 'heard' but has requested
 * none of them for a minute, else 0. *since_ns (monotonic, 0 at first) is when
 * that began or was last reported; the caller sets it when an item is requested
 * or acknowledged.
 */
unsigned offers_ignored (const struct offer *offers, size_t n, bool heard,
                         int64_t now_ns, int64_t *since_ns);

#endif
