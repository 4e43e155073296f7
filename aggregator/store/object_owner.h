/* aggregator/store/object_owner.h - whose the objects of a root are
 *
 * Keys begin with the root's id, which a root that was made of its backup has,
 * too.  So PREFIX/ID/owner names the one that may write and delete below it, by
 * a token that only that one has (store/root.h).
 */
#ifndef ROLLCALL_STORE_OBJECT_OWNER_H
#define ROLLCALL_STORE_OBJECT_OWNER_H

#include "base/clock.h"
#include "object_store/object_store.h"

#define OWNER_BYTES 1024        // of the object
#define OWNER_NAME "owner"      // its key, behind the id and a slash

struct object_owner {
    char token[40];
    char host[256], root[512];  // where it was, for a person
    char since[CLOCK_TEXT_MAX];
};

/* Who it is.  -ENOENT: nobody; -EBADMSG: the object says nothing of the kind; or
 * as object_store.h.
 */
int object_owner_read (struct object_store *s, const char *id, struct object_owner *ret,
                struct err *err);

/* Whether it is this root; if there is none, it becomes the owner.  -ENOTUNIQ: it
 * is another one, and 'err' names it; errors of object_store.h and of the root.
 */
int object_owner_check (struct object_store *s, const char *root, const char *id,
                 struct err *err);

/* This root becomes the owner, whoever was it. */
int object_owner_become (struct object_store *s, const char *root, const char *id,
                  struct err *err);

/* Ask for all that a service needs: the owner, and to write, list and delete
 * below the id.  Without the right to delete: 0, and 'why' says so.
 */
int object_owner_probe (struct object_store *s, const char *root, const char *id,
                 struct err *why, struct err *err);

/* The same before a service starts, once, and for some seconds at most.  0: it
 * may start; *why: what is wrong all the same, since the store is away now, or
 * was right before; negative: it may not.
 */
int object_owner_probe_first (const char *root, const struct object_options *opt,
                       struct err *why, struct err *err);

#endif
