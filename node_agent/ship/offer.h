/* node_agent/ship/offer.h - an item that is offered, and its bytes
 *
 * Every chunk is compared with its hash before it is sent, whichever it is:
 * the aggregator may go on from any boundary after either side was restarted.
 */
#ifndef ROLLCALL_SHIP_OFFER_H
#define ROLLCALL_SHIP_OFFER_H

#include "spool/spool.h"

struct offer {
    struct spool_item item;
    int fd;                     // -1: not open
    bool used;
    bool durable;               // acknowledged, not in the ledger yet
    bool said;                  // at least once
    struct digest *hashes;      // a segment of them, or NULL
    uint64_t first;             // chunk of hashes[0]
    int nhashes;
    uint64_t noted;             // offset that the ledger has been told
};

enum offer_read {
    OFFER_READ,                 // these are the bytes
    OFFER_ASTRAY,               // nobody asks so: ignore it
    OFFER_CHANGED,              // the file was written to: give it up
    OFFER_VANISHED,             // it is gone, or cannot be read
    OFFER_DAMAGED,              // what the spool keeps is: set it aside
};

void offer_begin (struct offer *o, const struct spool_item *item);
void offer_end (struct offer *o);       // closes, frees; may be used again

/* The chunk at 'offset', of which 'length' bytes are wanted, into 'out', which
 * has room for CONTENT_CHUNK.
 */
enum offer_read offer_chunk (struct offer *o, struct spool *s,
                             uint64_t offset, uint32_t length, void *out);

void offer_message (const struct offer *o, struct message *m);

#endif
