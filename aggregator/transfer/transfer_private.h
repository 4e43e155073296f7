/* aggregator/transfer/transfer_private.h - shared by the parts of transfers */
#ifndef ROLLCALL_TRANSFER_TRANSFER_PRIVATE_H
#define ROLLCALL_TRANSFER_TRANSFER_PRIVATE_H

#include "transfer/hasher.h"
#include "transfer/transfer.h"
#include "transfer/transfer_states.h"

#include <sys/queue.h>

// of hash tables, whose entries come and go, as those of base/map.h cannot
#define TRANSFER_BUCKETS 4096

// how an agent answers, as its last chunk says, or one that does not come
enum transfer_pace {
    PACE_STALLED,               // none came for TRANSFER_STALL_NS
    PACE_NEW,                   // it has sent none yet
    PACE_QUICK,
    PACE_SLOW,                  // one took longer than TRANSFER_SLOW_NS
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
    struct digest id;           // with its size: agents may say several, and
    struct digest incoming;     // one of them at most is right; its file
    uint64_t size, received, asked;     // bytes; asked is ahead of received
    size_t noted;               // chunks that the ledger has
    struct content_hash hash;   // of chunks that were received
    struct state state;         // of content_states
    enum transfer_pace pace;    // of the queue that it is in
    enum item_kind kind;
    unsigned damaged;           // chunks in a row that did not unpack
    struct net_peer from;       // who sent what was received
    bool mixed;                 // others did, too, or a former life received it
    bool alone;                 // it was mixed and wrong: all from one, now
    struct ledger_place place;  // of one that is whole
    int64_t unoffered_ns;       // since when nobody offers it
};

/* A key, of any number of connections. */
struct sharer {
    LIST_ENTRY (sharer) all;
    LIST_ENTRY (sharer) crowded;        // while 'parked' is not empty
    char who[NET_WHO_MAX];
    unsigned nsenders, nitems;
    unsigned fresh;             // parts of credits that its new agents hold
    TAILQ_HEAD (, body) parked; // of them, which wait for fewer
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
    bool wrong;                 // it sent what it had not offered: others first
    int64_t moved_ns;           // when a chunk came, or was asked for first
};

/* An item that an agent offers. */
struct transfer {
    LIST_ENTRY (transfer) of_sender;
    LIST_ENTRY (transfer) same_bucket;
    TAILQ_ENTRY (transfer) of_body;     // or of the complete ones
    struct state state;         // of item_states
    struct sender *sender;      // NULL: it is gone
    struct body *body;          // while it is expected
    struct net_peer peer;
    uint64_t id;                // the agent's number of the item
    struct ledger_item item;
    uint64_t ever_asked;        // bytes; of a body, from this one
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
    unsigned held[PACES];       // parts of credits that are given out
    size_t nitems, ncomplete;
    unsigned small;             // chunks of one part that are on their way
    bool hold, note_due, shared;
    int64_t paused_until_ns, noted_ns;
    transfer_extra_work_fn *also;       // NULL: nothing more
    void *also_arg;
    void *raw;                  // a chunk that is unpacked
    struct hasher *hasher;
};

/* ---- transfer_objects.c ---- */

/* Follow the edge of its table; false: there is none. */
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

/* Take back the credits of a body: stop waiting for what its source was asked
 * for.
 */
void transfer_release (struct transfers *t, struct body *b);

/* Let a body, or all of a sender, wait for its turn. */
void transfer_queue (struct transfers *t, struct body *b);
void transfer_unqueue (struct transfers *t, struct body *b);
void transfer_queue_all (struct transfers *t, struct sender *s);

/* An end, with what belongs to it.  What a sender offered that is
 * complete is entered all the same.
 */
void transfer_end_sender (struct transfers *t, struct sender *s);
void transfer_drop (struct transfers *t, struct transfer *x,
                    enum item_event event);
void transfer_end_body (struct transfers *t, struct body *b);

/* Forget what came of it, which is asked for from the beginning. */
void transfer_restart (struct transfers *t, struct body *b);

/* So many chunks of a body are not on their way from there any more. */
void transfer_give_back (struct transfers *t, struct sender *s,
                         const struct body *b, unsigned chunks);

/* Whether its source may be asked for its next chunk. */
bool transfer_can_ask (const struct body *b);

/* Chunks that it waits for; what each of them takes of a credit. */
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

/* It is new, and its key's new agents hold all that they may. */
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

/* ---- transfer_credit.c: who is asked, and when ---- */

/* The next chunk of a body came: a credit is free. */
void transfer_arrived (struct transfers *t, struct body *b,
                       struct sender *from);

/* The source does not answer as it should. */
void transfer_stalled (struct transfers *t, struct sender *s);

/* Its sender offers it again: if nothing of the body is under way, ask this
 * one.
 */
void transfer_prefer (struct transfers *t, struct transfer *x);

/* Request while there are credits; and not for a while, after a failure that
 * may be temporary.
 */
void transfer_grant (struct transfers *t);
void transfer_pause (struct transfers *t);

#endif
