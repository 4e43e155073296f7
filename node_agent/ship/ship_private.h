/* node_agent/ship/ship_private.h - shipping, between its files
 *
 * Each copy has a struct ship, and all of a spool are in a list.  What ship.h
 * declares is done for all of them, whichever is given.  One that rests knows
 * what is said, and takes part in nothing else.
 *
 * Each file calls only those above it in this list:
 *
 * ship_says.c         what is sent, and repeated until it arrives
 * ship_offers.c       what is on offer, until it is acknowledged
 * ship_safety.c       which copies an item needs
 * ship_answers.c      which GET is answered next
 * ship.c              set-up, the aggregator's messages, the end
 */
#ifndef ROLLCALL_SHIP_SHIP_PRIVATE_H
#define ROLLCALL_SHIP_SHIP_PRIVATE_H

#include "ship/ship.h"

#include "base/buf.h"
#include "ship/offer.h"
#include "throttle/bucket.h"

#define LARGE_MAX 16            // offered and not yet acknowledged; rows that
#define LARGE_RAW_MAX 8         // come later find room
#define SMALL_MAX 512           // and of small ones, which share round trips,
#define SMALL_RAW_MAX 480       // commits and fsyncs: they are some 6 KB each
#define OFFERS_MAX (LARGE_MAX + SMALL_MAX)
#define OFFER_BUCKETS 256       // not base/map.h: offers come and go
#define QUEUE_MAX 256           // answers that found no room in the socket
#define HELLO_NS (100 * NS_PER_MS)      // until welcomed, at first; doubled

struct get {
    uint64_t item, offset;
    enum chunk_part part;
    uint32_t length;
};

struct ship {
    struct ship *first, *next;  // of all copies
    unsigned copy;              // its number
    unsigned kinds;             // of items that it delivers: a bit for each
    bool rests;
    struct loop *loop;
    struct spool *spool;
    struct net *net;
    struct ship_events events;
    struct message hello;
    struct message done;
    struct message left;        // PING
    struct message divided;     // DIVIDED; type 0: it is not
    bool away;                  // see ship_set_away
    unsigned lags;              // kinds that do not wait for this copy: a bit for
                                // each
    bool alone;                 // all other copies of a kind are away
    bool keeps;                 // its store has the second copies of a kind
    enum ship_store store;      // as the last STORED said
    char store_waits[MESSAGE_TEXT_MAX];
    bool is_done, welcomed, over;
    int64_t confirmed_ns;       // when a WELCOME said that all is there, 0: it
                                // has not, or said that it is not
    int64_t lost_ns;            // when it was told that it is not, 0: never
    bool loss_unrecorded;       // the spool could not record it yet
    bool doubted;               // see ship_doubt; until it is recorded
    bool done_due;              // to be sent in this round
    bool recount_inconclusive;  // the spool was recounted, without effect
    bool failing;               // the spool failed at the last try
    int64_t failure_ns;         // when that was logged, 0: never
    int64_t hello_ns;           // between HELLOs
    uint64_t random;            // state; for jitter only
    struct clock_sync clock;
    bool clock_told, clock_off;
    struct offer offers[OFFERS_MAX];
    LIST_HEAD (, offer) by_id[OFFER_BUCKETS];   // those that are used
    size_t noffers[ITEM_RAW + 1][2];    // by kind; large ones, small ones
    bool nowhere;               // there is no connection at all
    bool full;                  // the socket: when there is room it calls
    void (*on_room) (void *arg);        // ship_on_room
    uint64_t last[ITEM_RAW + 1];        // ids offered, by kind
    struct message **said;      // RANKs and NOTEs, repeated
    size_t nsaid, nnotes;
    size_t next_said;           // those before it were sent in this round
    struct get *queue;          // GETs to be answered
    size_t nqueue;
    void *chunk;
    struct buf packed;
    enum chunk_codec codec;     // of raw files, if the aggregator has it
    unsigned codecs;            // that it has
    struct bucket rate;
    bool held;                  // no raw files are sent meanwhile
    int64_t heard_ns;
    int64_t acked_ns;           // the last ACK, 0: none
    uint64_t lacked;            // see ship_take_lacked
    unsigned unanswered;        // HELLOs since then, except quick ones
    int64_t done_ns;            // when DONE was first said, 0: not yet
    bool done_heard;            // and that has arrived
    int64_t wanted_ns;          // see offers_ignored
    char waits[MESSAGE_TEXT_MAX];       // as ship_waits
    // of the first one, for all
    unsigned needed;            // copies of an item
    struct spool_keepers keepers;
    bool hurry;                 // see ship_hurry
    bool put_off;               // items that only one that is away may have are
                                // not on offer
};

// all, and those at work
#define EACH_SHIP(c, s) (struct ship *c = (s)->first; c; c = c->next)
#define EACH_COPY(c, s) \
    (struct ship *c = ship_at_work ((s)->first); c; c = ship_at_work (c->next))

static inline struct ship *ship_at_work (struct ship *s)
{
    while (s && s->rests)
        s = s->next;
    return s;
}

static inline struct ship *ship_find_copy (const struct ship *s, unsigned copy)
{
    struct ship *c = s->first;

    while (c->copy != copy)
        c = c->next;
    return c;
}

/* Whether nothing waits for this copy. */
static inline bool ship_lags (const struct ship *s)
{
    return s->lags != 0 && s->lags == s->kinds;
}

// ship_says.c: from ship_repeat's first call on, until it is over
int ship_say (struct ship *s, const struct message *m);
bool ship_hears (const struct ship *s);         // see ship_is_heard
bool ship_hears_nothing (const struct ship *s); // see ship_is_silent
int ship_say_gone (struct ship *s, uint64_t item, const char *why);
void ship_say_offers (struct ship *s);  // that are due, as there is room
void ship_repeat (void *arg);
void ship_stop_words (struct ship *s);
void ship_say_kept (struct ship *s);    // if it keeps, or is asked whether it can
void ship_word_heard (struct ship *s);  // DONE, and all before it, by this one

// ship_offers.c
struct offer *ship_find_offer (const struct ship *s, uint64_t id);
void ship_end_offer (struct ship *s, struct offer *o);
void ship_end_all (struct ship *s, uint64_t item, const char *why);     // by
                                        // all copies; GONE is said
void ship_offer_more (void *arg);       // while there is room
void ship_next_items (struct ship *s);  // the same; or all is delivered
void ship_spool_failed (struct ship *s, int rc, const struct err *err);
void ship_on_ack (struct ship *s, const struct message *m);
void ship_commit_soon (struct ship *s); // what is acknowledged, or lost
void ship_commit (void *arg);           // now
void ship_forget_offers (struct ship *s);       // of this copy: all are due
void ship_stop_offers (struct ship *s); // its timers, and all offers

// ship_safety.c
void ship_on_stored (struct ship *s, const struct message *m);
void ship_forget_safety (struct ship *s);       // of this copy: it moves

// ship_answers.c
void ship_on_get (struct ship *s, const struct message *m);
void ship_on_room (void *arg);          // of the socket
void ship_stop_answers (struct ship *s);

#endif
