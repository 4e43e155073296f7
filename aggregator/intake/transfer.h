/* aggregator/intake/transfer.h - items on their way in
 *
 * One global pool of credits: so many chunks may be asked for and not yet have
 * come, from all agents together, granted in turn.  Complete items wait for
 * the next group commit; only then are they acknowledged.
 */
#ifndef ROLLCALL_INTAKE_TRANSFER_H
#define ROLLCALL_INTAKE_TRANSFER_H

#include "intake/store.h"
#include "net/net.h"

#define TRANSFER_CREDITS 64             // chunks of 1 MiB, asked for at once
#define TRANSFER_WINDOW 4               // of them, for one item

struct transfers;

struct transfers *transfers_create (struct net *net, struct ledger *ledger,
                                    struct store *store);
void transfers_destroy (struct transfers *t);   // t may be NULL

/* An agent has this.  Known content is entered and acknowledged at the next
 * commit; else it is asked for.  'host' and 'job' are the agent's.
 */
int transfers_offer (struct transfers *t, const struct net_peer *from,
                     const char *job, const char *host,
                     const struct message *offer, struct err *err);
int transfers_chunk (struct transfers *t, const struct net_peer *from,
                     const struct message *chunk, struct err *err);
void transfers_gone (struct transfers *t, const struct net_peer *from,
                     uint64_t item);

/* This agent is no more: forget what was asked of it. */
void transfers_forget (struct transfers *t, const struct net_peer *from);

/* Whether a commit is due, and the commit: bytes are synced, rows committed,
 * then acknowledgements sent.  *added counts the items that are new.
 */
bool transfers_pending (const struct transfers *t);
int transfers_commit (struct transfers *t, size_t *added, struct err *err);

#endif
