/* aggregator/transfer/transfer.h - items on their way in
 *
 * One global pool of credits: so many chunks may be asked for and not yet have
 * come, from all agents together, granted in turn.  What several agents offer
 * is asked of one of them.  Complete items wait for the next group commit;
 * only then are they acknowledged.
 *
 * This folder: items on their way in, and the credit for them.
 */
#ifndef ROLLCALL_TRANSFER_TRANSFER_H
#define ROLLCALL_TRANSFER_TRANSFER_H

#include "net/net.h"
#include "store/store.h"

// chunks of 1 MiB, asked for at once: what is in flight takes that much memory.
// Agents of one pace (see below) have some of them for themselves: they are
// asked for so many whatever all others hold, which may be all of them
#define TRANSFER_CREDITS 64
// a small content takes one of these parts of a credit: so many more are asked
// for, else each would wait for the one before
#define TRANSFER_PARTS (CONTENT_CHUNK / CONTENT_SMALL)
#define TRANSFER_NEW_CREDITS 16         // who has sent nothing yet
#define TRANSFER_QUICK_CREDITS 16
#define TRANSFER_SLOW_CREDITS 16
// of them, for one item: more does not make one connection faster
#define TRANSFER_WINDOW 4
// of them, for one agent, once it has shown that it answers: each chunk that
// comes raises its limit by one, so that silent agents hold one credit each
#define TRANSFER_AGENT_CREDITS 8
// of them, for all agents together that did not answer the last time, and no
// more
#define TRANSFER_PROBES 8
// of them, where keys share (transfers_share), for those agents of one key
// together that have sent nothing yet: half of what is theirs
#define TRANSFER_KEY_NEW_CREDITS (TRANSFER_NEW_CREDITS / 2)
// an agent whose chunk takes longer than this is slow, until one comes sooner:
// it is asked for one at a time
#define TRANSFER_SLOW_NS (1 * INT64_C (1000000000))
// an agent that has been asked and sends no chunk for so long does not answer:
// its credits go to others.  One MiB in this time is 0.8 Mbit/s
#define TRANSFER_STALL_NS (10 * INT64_C (1000000000))
// items offered and not acknowledged: of one agent (ours offers 528, most of
// them small), and of all, at 2 KiB each.  More are not taken now; they are
// offered again.  Once half of all are taken an agent has those few only
#define TRANSFER_AGENT_ITEMS 1024
#define TRANSFER_AGENT_FEW 64
#define TRANSFER_ITEMS 32768
// complete items that are a good commit: more do not make it cheaper for each
#define TRANSFER_COMMIT_ITEMS 256
// what came of a larger content is noted in the ledger: when there is so much
// of it, and not more often than this, since it takes a sync of the disk
#define TRANSFER_NOTE_BYTES (UINT64_C (16) << 20)
#define TRANSFER_NOTE_NS (1 * INT64_C (1000000000))
// after a write or commit failed (a full disk), nothing is asked for so long
#define TRANSFER_PAUSE_NS (5 * INT64_C (1000000000))
// content that nobody offers any more is forgotten; what the ledger has of it
// stays for STORE_LEASE_S
#define TRANSFER_ORPHAN_NS (60 * INT64_C (1000000000))

struct transfers;

/* How a GET or ACK is sent: as net_send. */
typedef int transfer_send_fn (void *arg, const struct net_peer *to,
                              const struct message *m);

struct transfers *transfers_create (transfer_send_fn *send, void *arg,
                                    struct ledger *ledger,
                                    struct store *store);
void transfers_destroy (struct transfers *t);   // t may be NULL

/* From now on one key has at most as many items as then remain for others, and
 * its new agents together TRANSFER_KEY_NEW_CREDITS: any number of them that do
 * not answer do not hold up those of others.
 */
void transfers_share (struct transfers *t);

/* An agent has this.  Known content is entered and acknowledged at the next
 * commit; else it is asked for.  'host' and 'job' are the agent's.  -ESTALE:
 * what is known was removed (store_look).
 */
int transfers_offer (struct transfers *t, const struct net_peer *from,
                     const char *job, const char *host,
                     const struct message *offer, struct err *err);
int transfers_chunk (struct transfers *t, const struct net_peer *from,
                     const struct message *chunk, struct err *err);
void transfers_gone (struct transfers *t, const struct net_peer *from,
                     uint64_t item);

/* How many items this agent offers that are not acknowledged yet, of those that
 * are looked at, and the first of them.
 */
size_t transfers_offered (struct transfers *t, const struct net_peer *from,
                          struct ledger_item *first);

/* This agent is no more: forget what was asked of it. */
void transfers_forget (struct transfers *t, const struct net_peer *from);

/* While it is held, nothing more is asked for and offers are not answered: the
 * agents keep what they have, and offer it again.  What was asked for before
 * (some TRANSFER_CREDITS chunks) is still taken.
 */
void transfers_hold (struct transfers *t, bool hold);

/* From time to time: agents that are slow, or do not answer, are taken for
 * such, and credits of the latter go to others.
 */
void transfers_tick (struct transfers *t, int64_t now_ns);

/* Whether a commit is due, and the commit: bytes are synced, rows committed,
 * then acknowledgements sent.  'entered' is called for each item that the
 * ledger did not have; and for those, of any job, whose content it did not have
 * any more, as in ledger_each_restored.  What came a second time is only
 * acknowledged.  When it fails nothing is acknowledged, and agents offer
 * everything again; -ESTALE: since what it was written to was removed.
 */
bool transfers_pending (const struct transfers *t);

/* Whether items that are small enough to share a commit with those that wait
 * for one are about to come: they were asked for, and not so many wait yet.
 */
bool transfers_gather (const struct transfers *t);
int transfers_commit (struct transfers *t,
                      void (*entered) (void *arg,
                                       const struct ledger_item *item),
                      void *arg, struct err *err);

/* What else is to be durable with the next commit: 'fn' is called with each of
 * the phases in order, and not again when one fails.  transfers_due: there is
 * something.
 */
enum transfer_phase {
    TRANSFER_APPEND,            // records, to the store
    TRANSFER_ENTER,             // rows, into the ledger
    TRANSFER_COMMITTED,         // all of it is durable
};
typedef int transfer_extra_work_fn (void *arg, enum transfer_phase phase,
                                    struct err *err);
void transfers_set_extra_work (struct transfers *t, transfer_extra_work_fn *fn,
                               void *arg);
void transfers_due (struct transfers *t);

/* Note all that came, before the end of a life. */
int transfers_note_all (struct transfers *t, struct err *err);

/* Credits that are not given out; for tests. */
unsigned transfers_credits (const struct transfers *t);

#endif
