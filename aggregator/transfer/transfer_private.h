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

/* Where a chunk of a content is. */
enum chunk_state {
    CHUNK_ABSENT,
    CHUNK_ASKED,                // requested from the content's source
    CHUNK_HERE,                 // appended, and not committed
    CHUNK_DURABLE,              // in the ledger
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
    uint64_t size;              // of which at most one is right
    size_t n;                   // chunks
    struct digest *ids;         // of them; NULL: none is known
    size_t listed;              // ids that have come; all are right if it is n
    uint8_t *chunks;            // an enum chunk_state for each
    uint8_t only;               // of the chunk, if there is one
    size_t next;                // all before it are asked or here
    bool looked;                // the next one is absent from the store, too
    uint64_t parts_came;        // t->parts_came when its only chunk was
                                // looked up
    size_t missing, here;       // chunks that are not here; CHUNK_HERE
    unsigned flying;            // requests that were not answered
    struct state state;         // of content_states
    enum transfer_pace pace;    // of the queue that it is in
    enum item_kind kind;
    unsigned damaged;           // chunks in a row that were
    size_t list_bytes;          // of memory, counted in t->list_bytes
    struct sharer *list_key;    // by which it is counted, or NULL
    struct ledger_place place;  // if it is whole
    int64_t promise;            // number of its room, or 0: none is promised
    uint64_t promised;          // bytes
    int64_t unoffered_ns;       // when the last offer ended
};

/* A chunk, or a list of some, that the next commit enters. */
struct pending {
    LIST_ENTRY (pending) same_bucket;
    TAILQ_ENTRY (pending) in_order;
    struct digest id;
    struct ledger_place place;
};

/* A key, which any number of connections may use. */
struct sharer {
    LIST_ENTRY (sharer) all;
    LIST_ENTRY (sharer) crowded;        // while 'parked' is not empty
    char who[NET_WHO_MAX];
    unsigned nsenders, nitems;
    unsigned fresh;             // parts of credits that its new agents hold
    size_t list_bytes;          // of lists of its contents, and
    size_t nlists;              // how many they are
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
    uint64_t list_asked;        // this sender, and of its list
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
    LIST_HEAD (, pending) pending[TRANSFER_BUCKETS];
    TAILQ_HEAD (, pending) appended;
    uint64_t uncommitted;       // bytes of them
    uint64_t parts_came;        // chunks of contents of several
    size_t list_bytes;          // memory of all lists of chunks
    bool hold, note_due, shared;
    int64_t paused_until_ns, noted_ns;
    transfer_extra_work_fn *also;       // NULL: nothing more
    void *also_arg;
    transfer_stored_fn *stored; // NULL: nobody counts
    void *stored_arg;
    struct transfer_room room;
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

/* Release the credits of a body: stop waiting for its requested chunks. */
void transfer_release (struct transfers *t, struct body *b);

/* Put a body, or all bodies of a sender, into the queue. */
void transfer_queue (struct transfers *t, struct body *b);
void transfer_unqueue (struct transfers *t, struct body *b);
void transfer_queue_all (struct transfers *t, struct sender *s);

/* Forget a key that has no senders and no lists. */
void transfer_leave_key (struct sharer *k);

/* Drop a content whose received bytes are useless; agents offer it again. */
void transfer_throw_away (struct transfers *t, struct body *b);

/* What is promised to a body is what is missing of it, while somebody offers
 * it.
 */
uint64_t transfer_missing (const struct body *b);
void transfer_settle (struct transfers *t, struct body *b);

/* The bytes of chunk i. */
static inline size_t transfer_chunk_size (const struct body *b, size_t i)
{
    uint64_t left = b->size - (uint64_t)i * CONTENT_CHUNK;

    return left < CONTENT_CHUNK ? (size_t)left : CONTENT_CHUNK;
}

/* All chunks are here: its items wait for the commit.  If that fails, the body
 * is gone, and offered again.
 */
int transfer_finish (struct transfers *t, struct body *b, struct err *err);

/* Remove a sender, item or body, with everything that belongs to it.  Complete
 * items of a removed sender are still entered.
 */
void transfer_end_sender (struct transfers *t, struct sender *s);
void transfer_drop (struct transfers *t, struct transfer *x,
                    enum item_event event);
void transfer_end_body (struct transfers *t, struct body *b);

/* So many chunks of a body are no longer expected from this sender. */
void transfer_give_back (struct transfers *t, struct sender *s,
                         const struct body *b, unsigned chunks);

/* Whether the next chunk, or a part of the list of them, can be requested from
 * its source.
 */
bool transfer_can_ask (const struct transfers *t, const struct body *b);

/* Whether the ids of its chunks have come. */
static inline bool transfer_is_listed (const struct body *b)
{
    return b->listed == b->n;
}

/* The parts of a credit that each request takes. */
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

/* ---- transfer_chunks.c: what of a content is here ---- */

/* Find a chunk that is appended or in the ledger, and still there: 1, 0;
 * negative.  Of a body: its chunk i, without asking the ledger twice for an only
 * one.
 */
int transfer_find_chunk (struct transfers *t, struct body *b, size_t i,
                         bool *durable, struct err *err);
int transfer_find (struct transfers *t, const struct digest *id,
                   struct ledger_place *ret, bool *durable, struct err *err);

/* Note what was appended, for the next commit.  -ENOMEM. */
int transfer_append (struct transfers *t, const struct digest *id,
                     const struct ledger_place *place, struct err *err);

/* Whether there may be memory for the ids of a content now, or it has to wait
 * for that of others; and take it: -ENOMEM.
 */
bool transfer_has_memory (const struct transfers *t, const struct body *b);
int transfer_begin_list (struct transfers *t, struct body *b);
void transfer_end_list (struct transfers *t, struct body *b);

/* Go to the next chunk that has to be requested, beyond those that are here.
 * -EILSEQ: one of these has another size, so the offered size is wrong.
 */
int transfer_skip (struct transfers *t, struct body *b, struct err *err);

/* A chunk of the body is here now, or is not asked for any more. */
void transfer_have (struct body *b, size_t i, enum chunk_state how);
void transfer_unask (struct body *b);

/* In a transaction: enter all that was appended.  Then: it is durable, or it is
 * not here.
 */
int transfer_enter_pending (struct transfers *t, struct err *err);
void transfer_end_pending (struct transfers *t, bool durable);

/* ---- transfer_credit.c: when to request, and from whom ---- */

/* What was requested for a body came: a credit is free, if one was 'asked'. */
void transfer_arrived (struct transfers *t, struct body *b,
                       struct sender *from, bool asked);

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
