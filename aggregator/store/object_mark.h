/* aggregator/store/object_mark.h - which segments of a root are objects in a store
 *
 * doc/architecture.md, An object store beside the root.  Marks may be read and
 * written by any thread of the process that has the root's lock.
 */
#ifndef ROLLCALL_STORE_OBJECT_MARK_H
#define ROLLCALL_STORE_OBJECT_MARK_H

#include "base/err.h"
#include "object_store/object_store.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OBJECT_MARK_DIR "store"         // in the root
#define OBJECT_MARK_GONE "gone"         // in that: segments that were collected
#define OBJECT_MARK_URL_MAX 640
#define OBJECT_MARK_UPLOAD_MAX 512
#define OBJECT_MARK_KEY_MAX 80

enum object_mark_state {
    OBJECT_UNMARKED,
    OBJECT_BEGUN,               // it may be there, or parts of it
    OBJECT_WHOLE,               // it has the bytes of the segment
    OBJECT_GONE,                // it is to be deleted: the segment was collected
};

struct object_mark {
    enum object_mark_state state;
    char url[OBJECT_MARK_URL_MAX];      // of the store
    uint64_t size;              // bytes of the segment
    char upload[OBJECT_MARK_UPLOAD_MAX];        // of an upload in parts, or ""
    char etag[OBJECT_ETAG_MAX]; // of the whole object, when it was compared
    bool evicted;               // bytes of contents are only there: holes here
    bool freed;                 // and all that could go has gone
    bool lost;                  // they were, and nobody has them: holes are zeros
};

/* Where the store is: what those who read the root need to ask it.  Credentials
 * are not in it.
 */
struct object_place {
    char url[OBJECT_MARK_URL_MAX], endpoint[512], region[64];
    char ca_file[PATH_MAX], proxy[512]; // or ""
};

/* The key of a segment of the root with this id. */
void object_mark_key (const char *root_id, int64_t segment,
                      char out[OBJECT_MARK_KEY_MAX]);

/* Make the directories: from now on segments that are collected are noted. */
int object_mark_begin (const char *root, struct err *err);

/* Then note the place, which 's' is a client of; or read it.  -ENOENT: this root
 * has no store.
 */
int object_place_write (const char *root, const struct object_options *opt,
                        const struct object_store *s, struct err *err);
int object_place_read (const char *root, struct object_place *ret,
                       struct err *err);
bool object_place_is (const struct object_place *place,
                      const struct object_store *s);

/* Complete options of a client by it: what is NULL in them.  They point into
 * 'place'.
 */
void object_place_fill (const struct object_place *place,
                        struct object_options *opt);

/* What a segment's mark says; one that cannot be parsed counts as none, but as
 * 'evicted': a hole is not taken for zeros.
 */
int object_mark_read (const char *root, int64_t segment,
                      struct object_mark *ret, struct err *err);

/* Replace a mark, durably.  -ESTALE: the segment was collected meanwhile, and
 * that stays.
 */
int object_mark_set (const char *root, int64_t segment,
                     const struct object_mark *mark, struct err *err);

/* Note, durably and before its file goes, that a segment is collected, and that
 * what was alive in it is in others up to 'copied_to'; nothing if this root has no
 * store.
 */
int object_mark_condemn (const char *root, int64_t segment, int64_t copied_to,
                         struct err *err);

/* What was noted; 0: nothing of the kind. */
int64_t object_mark_copied_to (const char *root, int64_t segment);

/* Its object is deleted: forget it. */
int object_mark_drop (const char *root, int64_t segment, struct err *err);

/* The segments that have a mark, or (gone) were collected and whose objects have
 * to be deleted, in order; *numbers is the caller's.
 */
int object_mark_list (const char *root, bool gone, int64_t **numbers,
                      size_t *n, struct err *err);

#endif
