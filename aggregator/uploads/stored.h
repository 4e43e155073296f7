/* aggregator/uploads/stored.h - how far a ledger is in the object store
 *
 * What a commit has entered is in the segments that had something then, or in
 * earlier ones: so if these are in the store, all is that the ledger had at that
 * mark.  What was collected meanwhile stays there until its copy is
 * (store/object_mark.h).  Nothing of this is on the disk: marks of segments are,
 * and the next life finds out the same of later marks of its own.
 */
#ifndef ROLLCALL_UPLOADS_STORED_H
#define ROLLCALL_UPLOADS_STORED_H

#include "ledger/ledger.h"
#include "uploads/uploads.h"

#define STORED_HURRY_NS (2 * NS_PER_S)  // the open segment is sealed after that if
                                        // somebody waits for it, and it has ...
#define STORED_HURRY_BYTES ((uint64_t)16 << 20) // ... so much: a sixteenth of a
                                        // full one.  Of smaller ones ...
#define STORED_HURRIES 16               // ... so many are sealed at once, ...
#define STORED_HURRY_EVERY_NS (60 * NS_PER_S)   // ... and then one in this time:
                                        // who waits all night leaves 500 objects,
                                        // not 15,000

struct stored {
    struct ledger_mark mark;    // all up to this one is there; epoch 0: unknown
    struct ledger_mark next;    // that is known next, when the segments up to
    int64_t segment;            // this one are there
    int64_t hurry_ns;           // when somebody last said that he waits
    int64_t turns_ns;           // when all turns of small segments are back
};

/* Look again: after uploads_offer, with nothing half committed. */
void stored_look (struct stored *s, struct uploads *u, const struct store *store,
                  const struct ledger *ledger);

/* Somebody waits: the open segment is sealed soon.  'now_ns' is monotonic. */
void stored_hurry (struct stored *s, int64_t now_ns);

/* After which time an open segment of so many bytes is to be sealed, if it is
 * 'after_ns' when nobody waits.  While others wait for upload, one more would help
 * nobody.  And one was sealed sooner than that.
 */
int64_t stored_seal_after (const struct stored *s, const struct uploads_state *u,
                           uint64_t bytes, int64_t after_ns, int64_t now_ns);
void stored_sealed (struct stored *s, uint64_t bytes, int64_t now_ns);

#endif
