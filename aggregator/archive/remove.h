/* aggregator/archive/remove.h - remove captures of a job on purpose
 *
 * Their deletions are records in the segments, then rows of the ledger
 * (ledger/ledger_deletions.h); the bytes stay until they are collected
 * (store/gc.h).  A pinned job is never removed.
 */
#ifndef ROLLCALL_ARCHIVE_REMOVE_H
#define ROLLCALL_ARCHIVE_REMOVE_H

#include "store/store.h"

#include <errno.h>

/* What of a job to remove. */
struct remove_what {
    const char *job;
    const char *what;           // a capture's name or a rank; "": all of it
    const char *verb;           // for the audit log: "archive rm", ...
    const char *by;             // the user
    int64_t uid;                // of that user, -1: unknown
    int64_t now_ns;             // since 1970
    int64_t newest;             // the job's last item (ledger_newest) when that
                                // was decided; 0: newer ones go, too
};

/* What that is. */
struct removal {
    int64_t captures, files;    // versions of captures; their items
    uint64_t bytes;             // of these, unpacked
    uint64_t shared;            // of these, that other jobs or captures have,
                                // too; only remove_plan finds that out
    bool pinned;                // the job is: nothing will be removed
    bool all;                   // nothing of the job remains
};

/* Find out, and change nothing: -ENOENT: there is no such job or capture. */
int remove_plan (struct ledger *ledger, const struct remove_what *what,
                 struct removal *ret, struct err *err);

/* Remove it; durable on return, and so are parts of it if this fails or is
 * killed: repeat it then.  A line of the audit log precedes it.  In the commit
 * of the last captures the ledger forgets the job's command, and how many ranks a
 * user expects.  Tags stay: who imports the job again has them, and rules of
 * retention go by them.  The directory of the job's result is removed then; if
 * that was killed in between, the next one removes it, with nothing else in
 * 'ret'.  Nothing uncommitted may be appended to the store.  -EPERM: the job is pinned; -EBUSY: it has newer
 * items; or as remove_plan, ledger and store.
 */
int remove_apply (struct ledger *ledger, struct store *store,
                  const struct remove_what *what, struct removal *ret,
                  struct err *err);

/* Whether what was decided no longer holds: the job was pinned or removed, or has
 * newer items.
 */
static inline bool remove_is_late (int rc)
{
    return rc == -EPERM || rc == -EBUSY || rc == -ENOENT;
}

/* Forget the command and the environment of a job: the ledger forgets the
 * command, and results are built without both.  What agents delivered stays as it
 * is, since its hash is its name.  A line of the audit log precedes it; the job's
 * result must be rebuilt.  1, or 0 if it was forgotten before; errors as those of
 * remove_apply.
 */
int remove_metadata (struct ledger *ledger, struct store *store,
                     const struct remove_what *what, struct err *err);

#endif
