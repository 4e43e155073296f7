/* aggregator/uploads/stuck.h - segments that cannot go to the store
 *
 * The object of that name has other bytes, or the segment is damaged here, or
 * somebody has removed its file.  From time to time one is looked at, in turn: what
 * somebody has repaired goes on its way again.  What is damaged here is not looked at
 * before the next start, unless the ledger has given it up.
 */
#ifndef ROLLCALL_UPLOADS_STUCK_H
#define ROLLCALL_UPLOADS_STUCK_H

#include "object_store/object_store.h"
#include "store/store.h"

struct stuck_one {
    struct store_extent segment;
    int64_t since_ns;           // since 1970, when it was written to
    char etag[OBJECT_ETAG_MAX]; // of the object with other bytes; "": it is
                                // damaged here, or its file is not
    char why[ERR_TEXT_MAX];     // the sentence
};

/* All 0 at first. */
struct stuck {
    struct stuck_one *all;
    size_t n;
    size_t turn;                // of the next one to look at
    int64_t look_ns, pause_ns;  // monotonic: not before that; between looks
};

int stuck_add (struct stuck *s, const struct stuck_one *one, int64_t now_ns);
void stuck_fini (struct stuck *s);

/* The lowest number of a segment, or 0; whether this one is stuck. */
int64_t stuck_first (const struct stuck *s);
bool stuck_has (const struct stuck *s, int64_t segment);

/* Which one is to be looked at now, if any.  The pauses grow, from
 * UPLOADS_AGAIN_FIRST_NS to UPLOADS_AGAIN_MAX_NS.
 */
bool stuck_due (struct stuck *s, int64_t now_ns, struct stuck_one *ret);

/* Its object is another one now, or the ledger has it no more: it is stuck no longer,
 * and the next one is due.
 */
void stuck_drop (struct stuck *s, int64_t segment);

#endif
