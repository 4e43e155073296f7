/* aggregator/store/segment.h - a segment to read from, here or in an object store
 *
 * doc/architecture.md, An object store beside the root.  Bytes of contents that
 * were let go here are holes of the file; each read looks for them, and asks the
 * store for just what it wants, or, if the reads follow each other, for more.
 */
#ifndef ROLLCALL_STORE_SEGMENT_H
#define ROLLCALL_STORE_SEGMENT_H

#include "base/err.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SEGMENT_AHEAD_MAX ((size_t)8 << 20)     // bytes of one question

/* The connections of a root's readers, for any thread. */
struct segments;

/* Nothing is opened yet.  -ENOMEM. */
int segments_create (const char *root, struct segments **ret, struct err *err);

/* Of a root that is not here: all is read from its store. */
struct object_place;
int segments_create_far (const struct object_place *place, const char *root_id,
                         struct segments **ret, struct err *err);
void segments_destroy (struct segments *s);     // s may be NULL

/* How to ask the store; say it before any read. */
enum segments_how {
    SEGMENTS_PATIENT,
    SEGMENTS_HURRY,             // a store that is away must not be waited for:
                                // for a while after that it is not asked
    SEGMENTS_HERE,              // never
};
void segments_ask (struct segments *s, enum segments_how how);

/* Break questions off when *stop is true; say it before any read. */
void segments_stop_on (struct segments *s, const atomic_bool *stop);

/* Whether it was away just now, and who hurries does not ask it. */
bool segments_rest (struct segments *s);

/* From now on keep what comes from the store in a file without a name, 1 GiB at
 * most: it is read again soon; or keep no more, and give it from there; or forget
 * it.  Without room for it, it is asked for again.
 */
enum segments_keep {
    SEGMENTS_KEEP,
    SEGMENTS_KEPT,
    SEGMENTS_FORGET,
};
void segments_keep (struct segments *s, enum segments_keep how);

/* Whether these bytes were kept: they are not asked for again. */
bool segments_have_kept (struct segments *s, int64_t segment, size_t n,
                         uint64_t at);

/* Why the last read of any thread got no bytes from the store. */
void segments_why (struct segments *s, struct err *err);

struct segment {
    struct segments *of;        // NULL: all of it is in 'fd'
    int fd;                     // -1: none open, or its root is not here
    int64_t number;
    bool far;                   // its mark says that bytes are elsewhere
    bool check_far;             // record_scan reads those, too
    uint64_t until;             // the caller will read on up to here
    bool again;                 // after segment_forget
    // what came beyond what was wanted
    void *ahead;
    uint64_t at;
    size_t n, window;
};

#define SEGMENT_NONE { .fd = -1 }

/* Open a segment to read: 0, or the error of open(2).  A failure and segment_close
 * leave SEGMENT_NONE.
 */
int segment_open (struct segments *of, int64_t number, struct segment *ret,
                  struct err *err);
void segment_close (struct segment *f);

/* Read exactly n bytes: 0; -ENODATA: it is shorter; -EREMOTEIO: they are only in
 * the store, and segments_why says why they do not come; -EIO, -ENOMEM.
 */
int segment_read (struct segment *f, void *out, size_t n, uint64_t at);

/* Whether some of these bytes are only in the store. */
bool segment_is_far (struct segment *f, uint64_t n, uint64_t at);

/* Read them again: what came from the store was not what it has to be. */
void segment_forget (struct segment *f);

#endif
