/* aggregator/transfer/transfer_private.h - shared by the parts of transfers */
#ifndef ROLLCALL_TRANSFER_TRANSFER_PRIVATE_H
#define ROLLCALL_TRANSFER_TRANSFER_PRIVATE_H

#include "transfer/hasher.h"
#include "transfer/transfer.h"
#include "transfer/transfer_states.h"

#include <sys/queue.h>

// size of hash tables; entries are removed again, which base/map.h does not do
#define TRANSFER_BUCKETS 4096

// how fast an agent answers, by its last chunk
enum transfer_pace {
    PACE_STALLED,               // no chunk came for TRANSFER_STALL_NS
    PACE_NEW,                   // it has sent no chunk yet
    PACE_QUICK,
    PACE_SLOW,                  // a chunk took longer than TRANSFER_SLOW_NS
    PACES,
};

/* A content that is received from the first agent that offers it, or is
 * complete and waits for the commit: later offers need not be sent.
 */
struct body {
    LIST_ENTRY (body) same_bucket;
    LIST_ENTRY (body) all_whole;
    TAILQ_ENTRY (body) in_turn;
    TAILQ_HEAD (, transfer) offers;
    struct digest id;           // with 'size': agents may offer several sizes,
    struct digest incoming;     // of which at most one is right; its file
    uint64_t size, received, asked;     // bytes; 'asked' is the end of the last
                                        // request
    size_t noted;               // chunks that are recorded in the ledger
    struct content_hash hash;   // of the chunks that were received
    struct state state;         // of content_states
    enum transfer_pace pace;    // of the queue that it is in
    enum item_kind kind;
    unsigned damaged;           // chunks in a row that did not unpack
    struct net_peer from;       // the sender of the received chunks
    bool mixed;                 // several senders, or chunks from before a
                                // restart
    bool alone;                 // its hash was wrong when mixed: take all from
                                // one sender
    struct ledger_place place;  // if it is whole
    int64_t unoffered_ns;       // when the last offer ended
};

/* A key, which any number of connections may use. */
struct sharer {
    LIST_ENTRY (sharer) all;
    LIST_ENTRY (sharer) crowded;        // while 'parked' is not empty
    char who[NET_WHO_MAX];
    unsigned nsenders, nitems;
    unsigned fresh;             // parts of credits that its new agents hold
    TAILQ_HEAD (, body) parked; // their contents, which wait until they hold
                                // fewer
};

/* One agent's connection. */
struct sender {
    LIST_ENTRY (sender) same_bucket;
    LIST_ENTRY (sender) all;
    struct net_peer peer;
    struct sharer *key;
    LIST_HEAD (, transfer) items;
    unsigned nitems, parts;     // of credits, that it holds
    unsigned limit;             // credits that it may hold
    enum transfer_pace pace;
    bool wrong;                 // it sent wrong content: ask other senders
                                // first
    int64_t moved_ns;           // of the last chunk, or the first request
};

/* An item that an agent offers. */
struct transfer {
    LIST_ENTRY (transfer) of_sender;
    LIST_ENTRY (transfer) same_bucket;
    TAILQ_ENTRY (transfer) of_body;     // or in the list of complete items
    struct state state;         // of item_states
    struct sender *sender;      // NULL: it has left
    struct body *body;          // while it is expected
    struct net_peer peer;
    uint64_t id;                // the agent's number of the item
    struct ledger_item item;
    uint64_t ever_asked;        // bytes that were requested of the body, from
                                // this sender
};

struct transfers {
    transfer_send_fn *send;
    void *arg;
    struct ledger *ledger;
    struct store *store;
    LIST_HEAD (, sender) senders[TRANSFER_BUCKETS], all_senders;
    LIST_HEAD (, sharer) keys, crowded;
    LIST_HEAD (, body) bodies[TRANSFER_BUCKETS], whole;
    LIST_HEAD (, transfer) by_id[TRANSFER_BUCKETS];     // of each sender
    TAILQ_HEAD (, body) turns[PACES][2];        // rows, and raw files
    TAILQ_HEAD (, transfer) complete;
    unsigned held[PACES];       // parts of credits that are in use
    size_t nitems, ncomplete;
    unsigned small;             // requested chunks that take one part
    bool hold, note_due, shared;
    int64_t paused_until_ns, noted_ns;
    transfer_extra_work_fn *also;       // NULL: nothing more
    void *also_arg;
    void *raw;                  // a chunk that is unpacked
    struct hasher *hasher;
};

/* ---- transfer_objects.c ---- */

/* Follow an edge of the table of states; false: there is none. */
bool transfer_change (struct transfer *x, enum item_event event);
bool transfer_change_content (struct body *b, enum content_event event);

struct sender *transfer_sender (struct transfers *t,
                                const struct net_peer *peer, bool make);
struct body *transfer_body (struct transfers *t, const struct digest *id,
                            uint64_t size);

/* The name of a content of several chunks in incoming/ and in the ledger, until
 * it is complete.
 */
int transfer_name_incoming (const struct digest *id, uint64_t size,
                            struct digest *name);

/* Release the credits of a body: stop waiting for its requested chunks. */
void transfer_release (struct transfers *t, struct body *b);

/* Put a body, or all bodies of a sender, into the queue. */
void transfer_queue (struct transfers *t, struct body *b);
void transfer_unqueue (struct transfers *t, struct body *b);
void transfer_queue_all (struct transfers *t, struct sender *s);

/* Remove a sender, item or body, with everything that belongs to it.  Complete
 * items of a removed sender are still entered.
 */
void transfer_end_sender (struct transfers *t, struct sender *s);
void transfer_drop (struct transfers *t, struct transfer *x,
                    enum item_event event);
void transfer_end_body (struct transfers *t, struct body *b);

/* Drop the received chunks and request all of them again. */
void transfer_restart (struct transfers *t, struct body *b);

/* So many chunks of a body are no longer expected from this sender. */
void transfer_give_back (struct transfers *t, struct sender *s,
                         const struct body *b, unsigned chunks);

/* Whether the next chunk can be requested from its source. */
bool transfer_can_ask (const struct body *b);

/* The number of chunks that were requested and have not come; and the parts of
 * a credit that each takes.
 */
static inline unsigned transfer_in_flight (const struct body *b)
{
    return b->asked <= b->received
               ? 0 : (unsigned)(content_chunks (b->asked) -
                                content_chunks (b->received));
}

static inline unsigned transfer_parts_of (const struct body *b)
{
    return b->size <= CONTENT_SMALL ? 1 : TRANSFER_PARTS;
}

/* Whether the sender is new, and its key's new agents hold all credits that
 * they may.
 */
static inline bool transfer_is_over (const struct transfers *t,
                                     const struct sender *s)
{
    return t->shared && *s->key->who && s->pace == PACE_NEW &&
           s->key->fresh >= TRANSFER_KEY_NEW_CREDITS * TRANSFER_PARTS;
}

static inline bool transfer_is_waiting (const struct body *b)
{
    return b->state.now == CONTENT_QUEUED || b->state.now == CONTENT_PARKED;
}

/* ---- transfer_credit.c: when to request, and from whom ---- */

/* The next chunk of a body came: a credit is free. */
void transfer_arrived (struct transfers *t, struct body *b,
                       struct sender *from);

/* The source does not answer in time. */
void transfer_stalled (struct transfers *t, struct sender *s);

/* The sender offers it again: if no chunk of the body is on its way, request it
 * from this sender.
 */
void transfer_prefer (struct transfers *t, struct transfer *x);

/* Request chunks while there are credits; and stop requesting for
 * TRANSFER_PAUSE_NS, after a failure that may be temporary.
 */
void transfer_grant (struct transfers *t);
void transfer_pause (struct transfers *t);

#endif
