/* aggregator/archive/raw_tree.h - a job's raw files, as the trees they were */
#ifndef ROLLCALL_ARCHIVE_RAW_TREE_H
#define ROLLCALL_ARCHIVE_RAW_TREE_H

#include "store/store.h"
#include "store/tree.h"

#include <stdatomic.h>

#define RAW_TREE_NAMED_MAX 20   // of those that are not there: more do not
                                // tell a person more

struct raw_tree {
    struct raw_file *files;
    size_t n;
    size_t left;                // delivered, and not among these: see
                                // raw_tree_choose
    // of raw_tree_put
    size_t missing;             // files that could not be put there
    struct err named[RAW_TREE_NAMED_MAX];       // which, and why
};

/* Collect what the ledger has of a job, in the thread that owns the ledger: a
 * hundred thousand files take some 25 MB.  -ENOMEM, or what ledger_each says.
 */
int raw_tree_create (struct ledger *ledger, const char *job,
                     struct raw_tree **ret, struct err *err);
void raw_tree_destroy (struct raw_tree *t);     // t may be NULL

/* Which version of a capture counts: its newest_ns, INT64_MAX for the newest.
 */
typedef int64_t raw_version_fn (void *arg, int64_t rank, const char *capture,
                                const char *dir);

/* Of the files of each capture keep those of that version.  A file that later
 * versions have, too, is known by the newest of them only: so one that this
 * version has not, but a later one, stays.  NULL: the newest of each.
 * This sees, too, which captures are one file; without it none is.
 */
void raw_tree_choose (struct raw_tree *t, raw_version_fn *version, void *arg);

/* Put the files into DIR, beneath which no symbolic link is followed: into
 * DIR/<capture>/... (a capture that is one file of that
 * name in all of its versions: into DIR/<capture>; should it turn out to have
 * more, the file moves to DIR/<capture>/<capture>; what was beside a capture is
 * beside it there, too: model/beside.h), durably; may run in a
 * thread of its own.  Each appears whole, or stays as it is if it is there
 * already with this content.  What is not as it was delivered, or is here no
 * more, is counted as missing.  -EINTR when 'cancel' becomes true; else what
 * went wrong with writing.
 *
 * Where captures of several ranks have one name each is in
 * DIR/rank<N>/<capture>/, and so is a capture whose own name is "rank<N>" or
 * "no-rank" (that is where those go that have none): no two files of a job
 * share a path.  Captures whose job's id was not given are in DIR/<place>/...,
 * since their names are told apart by directories.
 */
int raw_tree_put (struct raw_tree *t, struct store *store,
                  const struct tree *dir, const atomic_bool *cancel,
                  struct err *err);

#endif
