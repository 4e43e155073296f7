/* aggregator/uploads/uploads.h - the segments of a root, as objects in a store
 *
 * A thread writes segments that are sealed to the store and compares what is
 * there, deletes the objects of those that were collected, and tries again what
 * failed, after pauses; with a limit, it lets go here what is whole there.  Until
 * then the root has everything, whatever becomes of the store.
 *
 * This folder: the thread that carries segments to an object store.
 */
#ifndef ROLLCALL_UPLOADS_UPLOADS_H
#define ROLLCALL_UPLOADS_UPLOADS_H

#include "json/json.h"
#include "object_store/object_store.h"
#include "store/store.h"

#define UPLOADS_AGAIN_FIRST_NS (1 * NS_PER_S)   // after a failure; each pause
#define UPLOADS_AGAIN_MAX_NS (60 * NS_PER_S)    // is twice as long

struct uploads;

/* Start the thread, for the root whose lock the caller has.  'opt' may go, but
 * its texts stay; 'cancel' in it is not used.  -EINVAL, -ENOTSUP as
 * object_store_open; -EEXIST: segments are only in another store; -ENOMEM, or an
 * error of the root.  A store that is away is no error: it is tried again.
 * 'cache_size': bytes that segments may have here (uploads/cache.h); 0: all.
 * 'why': what object_owner_probe_first has said; if it is not "", the thread asks again
 * before it does anything.
 */
int uploads_start (const char *root, const struct object_options *opt,
                   uint64_t cache_size, const char *why, struct uploads **ret,
                   struct err *err);

/* Break off what is under way, and end the thread.  'u' may be NULL. */
void uploads_stop (struct uploads *u);

/* Tell it which segments are sealed and committed, and which are no more, or are
 * shorter, after a loss, in the thread that owns the store; call it from time to
 * time.  -ENOMEM: later.
 */
int uploads_offer (struct uploads *u, const struct store *s);

/* Whether the segments up to this one were offered, and are in the store: compared
 * with what is here, by this or an earlier life.
 */
bool uploads_have (struct uploads *u, int64_t segment);

struct uploads_state {
    uint64_t waiting, waiting_bytes;    // segments that are not there yet
    int64_t since_ns;           // since 1970, of the oldest of them; 0: none
    uint64_t stored, stored_bytes;      // that are there, ...
    bool answered;              // ... or, if the store has not answered since the
                                // start, were when an earlier life compared them
    uint64_t local_bytes;       // that segments have here
    uint64_t evicted, linked;   // as cache_state
    uint64_t summed;            // parts that were hashed while their segment
                                // filled
    uint64_t lost;              // objects that were gone, and are uploaded again
    uint64_t deleted;           // objects, by this process
    uint64_t collected;         // objects that are to go, when what was copied
                                // out of their segments is there
    uint64_t conflicts;         // segments whose object has other bytes, or that
                                // were damaged or removed here before they went;
                                // one whose object was removed or replaced is
                                // tried again, one that the ledger has given up
                                // is forgotten
    int error;                  // errno of the last try; 0: it went well, or
                                // has shown a conflict; EHOSTUNREACH: 'why' of
                                // uploads_start
    char why[ERR_TEXT_MAX];     // its sentence, or ""
    char conflict[ERR_TEXT_MAX];        // of the last conflict; "": there is none
};
void uploads_state (struct uploads *u, struct uploads_state *ret);
const char *uploads_url (const struct uploads *u);

/* Add "store" to a status: url, waiting, waiting_bytes, since, why, ... */
void uploads_add_status (struct uploads *u, struct json *status);

#endif
