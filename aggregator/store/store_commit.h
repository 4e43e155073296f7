/* aggregator/store/store_commit.h - records and their rows, in one commit */
#ifndef ROLLCALL_STORE_STORE_COMMIT_H
#define ROLLCALL_STORE_STORE_COMMIT_H

#include "store/store.h"

/* What is to be committed: 'append' writes its records (store_note and its like),
 * 'enter' their rows, in a transaction.  Negative: it failed.
 */
struct store_change {
    int (*append) (void *arg, struct store *s, struct err *err);
    int (*enter) (void *arg, struct ledger *l, struct err *err);
    void *arg;
};

/* Commit a change, and contents that were appended before it: append its records,
 * make them durable (store_sync), enter their rows and the extents of segments
 * (store_account) in one transaction, and keep what was appended.  So a row is
 * never there without the record that it is of; a record without its row (this
 * was interrupted) is entered when the root is opened.
 *
 * Negative: what failed of these, which are not gone on with.  No row was
 * written, and all that was appended since the last commit is dropped, the
 * contents, too (store_revert).
 */
int store_commit (struct store *s, struct ledger *l,
                  const struct store_change *change, struct err *err);

#endif
