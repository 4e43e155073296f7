/* aggregator/job_build/raw_tree.h - restore the trees of a job's raw files */
#ifndef ROLLCALL_JOB_BUILD_RAW_TREE_H
#define ROLLCALL_JOB_BUILD_RAW_TREE_H

#include "model/job_mark.h"
#include "store/store.h"
#include "store/tree.h"

#include <stdatomic.h>

#define RAW_TREE_NAMED_MAX 20   // missing files that are named, at
                                // most

struct raw_tree {
    struct store *store;
    struct raw_file *files;
    size_t n;
    size_t left;                // delivered files that are not in the list:
                                // see raw_tree_choose
    // of raw_tree_put
    size_t missing;             // files that could not be written
    struct err named[RAW_TREE_NAMED_MAX];       // their names and reasons
};

/* Collect what the ledger has of a job, in the thread that owns the ledger: a
 * hundred thousand files take some 30 MB, and those beyond 1 MiB take 80 bytes
 * for each MiB more.  'store' has to last as long as 'ret'.  -ENOMEM, or what ledger_each says.
 */
int raw_tree_create (struct ledger *ledger, struct store *store,
                     const char *job, struct raw_tree **ret, struct err *err);
void raw_tree_destroy (struct raw_tree *t);     // t may be NULL

/* The version of a capture that counts: its newest_ns, INT64_MAX: the newest.
 */
typedef int64_t raw_version_fn (void *arg, int64_t rank, const char *capture,
                                const char *dir);

/* Keep the files of that version of each capture (NULL: the newest).  A file
 * that several versions share is stored with the newest of them only, so files
 * that only a later version has stay too.  Call it also to find the captures
 * that are one file.
 */
void raw_tree_choose (struct raw_tree *t, raw_version_fn *version, void *arg);

/* Where raw_tree_put will put which captures, with ranks and hosts: the caller
 * frees the list, which is valid until the tree changes.  0 or -ENOMEM.
 */
int raw_tree_captures (const struct raw_tree *t,
                       struct job_mark_capture **ret, size_t *n);

/* Put the files into DIR, beneath which no symbolic link is followed: into
 * DIR/<capture>/..., durably.  A capture that is one file of that name in all
 * of its versions becomes DIR/<capture>; if it later has more files, that one
 * moves to DIR/<capture>/<capture>.  Files beside a capture are beside it there
 * too (model/beside.h).  This may run in a thread of its own.  Each file
 * appears whole, or stays as it is if it already has this content.  A file
 * whose stored data is damaged or gone counts as missing.  -EINTR when 'cancel'
 * becomes true; else the error of writing.
 *
 * If captures of several ranks share a name, each is in DIR/rank<N>/<capture>/
 * ("no-rank" without a rank), and so is a capture whose own name is "rank<N>"
 * or "no-rank": no two files of a job share a path.  Captures whose job's id
 * was not given are in DIR/<place>/..., since their names are told apart by
 * directories.
 */
int raw_tree_put (struct raw_tree *t, const struct tree *dir,
                  const atomic_bool *cancel, struct err *err);

#endif
