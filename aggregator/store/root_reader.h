/* aggregator/store/root_reader.h - read a root in a thread of its own, while this
 * process serves it
 *
 * What takes minutes for a large root must not keep the loop from answering.
 */
#ifndef ROLLCALL_STORE_ROOT_READER_H
#define ROLLCALL_STORE_ROOT_READER_H

#include "store/store.h"

struct root_reader;

/* Runs in the thread, with a ledger and a store of its own: both as they were
 * when it began.  Nothing is collected meanwhile (store/lease.h).  Once it is
 * cancelled, its queries fail.
 */
typedef int root_reader_fn (void *arg, struct ledger *l, struct store *s,
                            struct err *err);

/* -ENOMEM, -EAGAIN (no thread), or as ledger and store. */
int root_reader_begin (const char *root, root_reader_fn *fn, void *arg,
                       struct root_reader **ret, struct err *err);
bool root_reader_ended (const struct root_reader *r);

/* Let it end soon.  'r' may be NULL. */
void root_reader_cancel (struct root_reader *r);

/* Wait until it has ended, and free it: what 'fn' returned.  'r' may be NULL. */
int root_reader_end (struct root_reader *r, struct err *err);

#endif
