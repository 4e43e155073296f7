/* aggregator/publish/publish_lock.h - one publisher at a time in a directory
 *
 * The lock is one on the file ".rollcall.lock" in the results' directory, open
 * for writing: NFS and Lustre tell the server of such locks, but not of those on
 * a directory.  The file names its process, for people, and is removed by who
 * has the lock; so a lock on a file without a name counts for nothing.  The
 * system ends it with the process, but an NFSv3 server may keep it if the host is
 * gone, until the host is back or somebody removes the file.
 */
#ifndef ROLLCALL_PUBLISH_PUBLISH_LOCK_H
#define ROLLCALL_PUBLISH_PUBLISH_LOCK_H

#include "base/err.h"
#include "store/tree.h"

#include <stdatomic.h>
#include <stdbool.h>

#define PUBLISH_LOCK_NAME ".rollcall.lock"

struct publish_lock {
    bool held;
    bool blind;                 // numbers of files mean nothing there: no two can
                                // be compared
    int fd;
    int dir;                    // that the file is in
};

/* Who publishes. */
struct publish_caller {
    const atomic_bool *cancel;  // once true: -EINTR; or NULL
    void (*say) (void *arg, const char *sentence);      // to a person, while it
    void *arg;                                  // goes on; or NULL
};

/* Take the lock of a directory.  Another one that has it is waited for as long
 * as that lives, however long it takes, and named to 'caller' after a second.
 * 0: but if the file system has no locks, l->held is false.  With a sentence:
 * -EINTR, -EACCES (the file is another user's, who let nobody else lock it),
 * -ENOENT, ...
 */
int publish_lock_take (struct publish_lock *l, const struct tree *dir,
                       const struct publish_caller *caller, struct err *err);

/* Fine if it is not held. */
void publish_lock_drop (struct publish_lock *l);

#endif
