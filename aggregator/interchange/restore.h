/* aggregator/interchange/restore.h - make a root of what an object store has
 */
#ifndef ROLLCALL_INTERCHANGE_RESTORE_H
#define ROLLCALL_INTERCHANGE_RESTORE_H

#include "interchange/backup.h"
#include "object_store/object_store.h"
#include "store/object_owner.h"
#include "store/root.h"

/* Make a new root, as backup_restore: 'fill' puts all that it consists of into
 * the directory 'part', which becomes the root.
 */
typedef int restore_fill_fn (void *arg, const char *part, struct err *err);
int restore_root (const char *root, restore_fill_fn *fill, void *arg,
                  struct err *err);

/* A root whose segments are in a store. */
struct stored_root {
    char id[ROOT_ID_SIZE];
    uint64_t segments, bytes;
    int64_t last;               // number of the last segment
    struct object_owner owner;  // token "": nobody
};

/* The roots below a prefix, in the order of their ids; *list is the caller's.
 * Errors of object_store.h; -ENOMEM.
 */
int restore_list (struct object_store *s, struct stored_root **list, size_t *n,
                  struct err *err);

struct restore_sums {
    uint64_t segments, bytes;   // of the root
    uint64_t read;              // bytes from the store
    size_t damaged;             // things that a check has found
    size_t jobs, lacking;       // jobs; of these, that are known to lack something
    int64_t newest_ns;          // when the last item had arrived, since 1970
};

/* Make a root of the objects of one that is gone for good: heads, lists and items
 * are read, contents stay there, as if they had been let go.  The new root has
 * the id of the former one and becomes the owner of its objects.  What had not
 * been uploaded is not in it.  'say' gets a sentence for each thing that is
 * damaged, and for each job that is known to lack something.  Errors as
 * backup_restore and of object_store.h; -ENOENT: there is nothing of this id;
 * -EBUSY also if the former root still lives: the new one is not all that it had.
 */
int restore_from_store (const struct object_options *opt, const char *id,
                        const char *root,
                        void (*say) (void *arg, const char *sentence),
                        void *arg, struct restore_sums *ret, struct err *err);

#endif
