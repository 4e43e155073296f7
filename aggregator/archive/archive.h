/* aggregator/archive/archive.h - what an aggregator's root holds
 *
 * To be read beside the aggregator that serves it: nothing is locked, and
 * nothing is written.
 *
 * This folder: what a root holds, read beside its service: divided into
 * jobs, built into results, changed by hand.
 */
#ifndef ROLLCALL_ARCHIVE_ARCHIVE_H
#define ROLLCALL_ARCHIVE_ARCHIVE_H

#include "ledger/ledger.h"
#include "store/store.h"
#include "store/tree.h"

struct archive {
    char root[PATH_MAX];
    struct ledger *ledger;
    struct store *store;
};

/* The items of a job, all kinds, oldest first. */
struct archive_items {
    struct ledger_item *items;
    size_t n;
};

/* -ENOENT: that is no root; -EBADMSG: its ledger is damaged. */
int archive_open (const char *root, struct archive *a, struct err *err);
void archive_close (struct archive *a);

/* The names of all jobs, in order; to be freed, each and all. */
int archive_jobs (struct archive *a, char ***names, size_t *n,
                  struct err *err);

/* As of now; to be freed with free (ret->items). */
int archive_list (struct archive *a, const char *job,
                  struct archive_items *ret, struct err *err);

/* Whether the bytes of an item are there and have its hash: -EBADMSG, or
 * -ENOENT when they are not there.
 */
int archive_check (struct archive *a, const struct ledger_item *item,
                   struct err *err);

/* Write an item to a file of a tree that is not there yet (-EEXIST), byte for
 * byte; directories above it are made, and no symbolic link is followed (-ELOOP).
 * Its hash is checked meanwhile, and the file removed if it is another.
 */
int archive_get (struct archive *a, const struct ledger_item *item,
                 const struct tree *to, const char *path, struct err *err);

#endif
