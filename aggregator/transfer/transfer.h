/* aggregator/transfer/transfer.h - receive items
 *
 * One global pool of credits limits how many chunks can be requested from all
 * agents and not have arrived; credits are granted in turn.  If several agents
 * offer the same content, it is requested from one of them.  Complete items
 * wait for the next group commit; only then are they acknowledged.
 *
 * This folder: items on their way in, and the credit for them.
 */
#ifndef ROLLCALL_TRANSFER_TRANSFER_H
#define ROLLCALL_TRANSFER_TRANSFER_H

#include "net/net.h"
#include "store/store.h"

// how many chunks of 1 MiB may be requested at a time; this bounds the memory.
// Some are reserved for each pace (see below), even if other agents hold all
// credits
#define TRANSFER_CREDITS 64
// a small content takes one of these parts of a credit, so that more of them
// can be requested at once
#define TRANSFER_PARTS (CONTENT_CHUNK / CONTENT_SMALL)
#define TRANSFER_NEW_CREDITS 16         // for agents that have sent nothing yet
#define TRANSFER_QUICK_CREDITS 16
#define TRANSFER_SLOW_CREDITS 16
// credits for one item: more do not make one connection faster
#define TRANSFER_WINDOW 4
// credits for one agent that answers: each chunk that arrives raises its limit
// by one, so that silent agents hold one credit each
#define TRANSFER_AGENT_CREDITS 8
// credits for all agents together that did not answer the last time
#define TRANSFER_PROBES 8
// if keys share (transfers_share): credits for all agents of one key that have
// sent nothing yet, half of TRANSFER_NEW_CREDITS
#define TRANSFER_KEY_NEW_CREDITS (TRANSFER_NEW_CREDITS / 2)
// an agent whose chunk takes longer than this is slow, until a chunk comes
// sooner: its chunks are requested one at a time
#define TRANSFER_SLOW_NS (1 * INT64_C (1000000000))
// if an agent sends no requested chunk for this time, it does not answer, and
// its credits go to others.  One MiB in this time is 0.8 Mbit/s
#define TRANSFER_STALL_NS (10 * INT64_C (1000000000))
// items that are offered and not acknowledged: of one agent (ours offers 528,
// most of them small), and of all agents, at 2 KiB each.  Further offers are
// dropped, and the agents repeat them.  When half of TRANSFER_ITEMS are
// in use, one agent may have only TRANSFER_AGENT_FEW
#define TRANSFER_AGENT_ITEMS 1024
#define TRANSFER_AGENT_FEW 64
#define TRANSFER_ITEMS 32768
// so many complete items make a commit worthwhile: with more of them the cost
// per item does not fall any more
#define TRANSFER_COMMIT_ITEMS 256
// chunks of contents that are not complete are recorded in the ledger after
// this many bytes, but not more often than this, since it needs a sync
#define TRANSFER_NOTE_BYTES (UINT64_C (16) << 20)
#define TRANSFER_NOTE_NS (1 * INT64_C (1000000000))
// after a write or commit failed (a full disk), nothing is requested for this
// time
#define TRANSFER_PAUSE_NS (5 * INT64_C (1000000000))
// content that nobody offers for this time is forgotten; its chunks stay
#define TRANSFER_ORPHAN_NS (60 * INT64_C (1000000000))

// memory for the ids of chunks: 33 bytes for each MiB that is on its way.  A
// content waits while others have it, a key leaves as much for others
#define TRANSFER_LIST_BYTES (UINT64_C (80) << 20)

struct transfers;

/* How a GET or ACK is sent: as net_send. */
typedef int transfer_send_fn (void *arg, const struct net_peer *to,
                              const struct message *m);

struct transfers *transfers_create (transfer_send_fn *send, void *arg,
                                    struct ledger *ledger,
                                    struct store *store);
void transfers_destroy (struct transfers *t);   // t may be NULL

/* Limit one key to as many items as remain for others, and its new agents
 * together to TRANSFER_KEY_NEW_CREDITS: unresponsive agents of one key then do
 * not delay others.
 */
void transfers_share (struct transfers *t);

/* An agent offers an item.  Known content is entered and acknowledged at the
 * next commit; else it is requested.  'host' and 'job' are the agent's.  1: it
 * was removed here on purpose: it will be acknowledged, and not stored.
 * -ESTALE: known content was removed (store_look).  -EPROTO: it has another
 * size than offered.
 */
int transfers_offer (struct transfers *t, const struct net_peer *from,
                     const char *job, const char *host,
                     const struct message *offer, struct err *err);
int transfers_chunk (struct transfers *t, const struct net_peer *from,
                     const struct message *chunk, struct err *err);
void transfers_gone (struct transfers *t, const struct net_peer *from,
                     uint64_t item);

/* The number of items that this agent offers, that were accepted and are not
 * acknowledged yet, and the first of them.
 */
size_t transfers_offered (struct transfers *t, const struct net_peer *from,
                          struct ledger_item *first);

/* Whether 'is' holds for an item that was accepted and is not acknowledged yet,
 * of an agent that is here.
 */
bool transfers_any (const struct transfers *t,
                    bool (*is) (void *arg, const struct ledger_item *item),
                    void *arg);

/* Look up again each chunk that incomplete contents count on, for a ledger that
 * begins to mark what is used (ledger/ledger_gc.h).
 */
void transfers_touch (struct transfers *t);

/* Chunks may have been lost (store_repair): look for all of them again. */
void transfers_recheck (struct transfers *t);

/* This agent is gone: forget its requests. */
void transfers_forget (struct transfers *t, const struct net_peer *from);

/* While held, nothing is requested and offers are not answered: agents keep
 * their items and offer them again.  Chunks requested before (some
 * TRANSFER_CREDITS) are still accepted.
 */
void transfers_hold (struct transfers *t, bool hold);

/* Call it from time to time: it finds slow and unresponsive agents, and gives
 * credits of the latter to others.
 */
void transfers_tick (struct transfers *t, int64_t now_ns);

/* Whether a commit is due, and the commit: bytes are synced, rows committed,
 * then acknowledgements sent.  'entered' is called for each new item, and for
 * items, of any job, whose lost content is restored, as in
 * ledger_each_restored.  Repeated items are only acknowledged.  If it fails,
 * nothing is acknowledged, and agents offer everything again; -ESTALE: a file
 * that was written to was removed.
 */
bool transfers_pending (const struct transfers *t);

/* Whether anything was appended that the next commit enters: nobody else may
 * commit or revert the store now.
 */
bool transfers_uncommitted (const struct transfers *t);

/* Whether small items were requested that could share the commit with the
 * waiting ones, of which there are few so far.
 */
bool transfers_gather (const struct transfers *t);
int transfers_commit (struct transfers *t,
                      void (*entered) (void *arg,
                                       const struct ledger_item *item),
                      void *arg, struct err *err);

/* Extra work for the next commit: 'fn' is called with each phase in order,
 * until one fails. transfers_due: there is such work.
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

/* Call 'fn' for each chunk that was not here, with its item as it was offered,
 * and the bytes that are stored.
 */
typedef void transfer_stored_fn (void *arg, const struct ledger_item *item,
                                 uint64_t bytes);
void transfers_set_stored (struct transfers *t, transfer_stored_fn *fn,
                           void *arg);

/* Who says whether there is room: 'ask' before the first request of a content
 * that nobody sends, with the bytes that are missing of it: > 0: they are
 * promised to it, by this number; 0: nobody counts; -1: it is not answered, and
 * offered again.  'change': so many more, or fewer, are promised by a number.
 */
struct transfer_room {
    int64_t (*ask) (void *arg, const struct ledger_item *item, uint64_t bytes);
    void (*change) (void *arg, int64_t number, int64_t bytes);
    void *arg;
};
void transfers_set_room (struct transfers *t, const struct transfer_room *room);

/* Record everything that was received, before the process ends. */
int transfers_note_all (struct transfers *t, struct err *err);

/* Credits that are not in use; for tests. */
unsigned transfers_credits (const struct transfers *t);

#endif
