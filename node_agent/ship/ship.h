/* node_agent/ship/ship.h - deliver what the spool holds
 *
 * Offers items, all rows before any raw file, answers the aggregator's requests
 * for chunks, and marks items durable when they are acknowledged, or lost if
 * they were only asked about (spool_next) and it requests their bytes.
 * Messages that may be lost (ZeroMQ drops them when connections break) are
 * repeated every few seconds: the other side accepts repetitions.
 *
 * With several copies, each goes to an aggregator of its own.  All are told the
 * same, and an item is durable when all have acknowledged it that are awaited
 * (ship_judge); until then those that have wait for the others, so each has the
 * same window of items.  If only
 * some have an item that was asked about, it is durable, too.  Raw files may have
 * copies of their own (numbers from SPOOL_RAW_COPY on), which are told of no
 * rank.
 *
 * This folder: offers, answers and chunks to the aggregator, and its clock.
 */
#ifndef ROLLCALL_SHIP_SHIP_H
#define ROLLCALL_SHIP_SHIP_H

#include "base/loop.h"
#include "net/net.h"
#include "ship/clock_sync.h"
#include "spool/spool.h"

#define SHIP_NOTES_MAX 256      // 0.7 MB; nobody reads more

struct ship;

/* Callbacks to the agent.  'copy' says which aggregator it is from. */
struct ship_events {
    void (*welcome) (void *arg, unsigned copy);         // connected
    void (*stop) (void *arg, const char *why);          // end the COMMANDs
    void (*roll) (void *arg, bool complete, const char *text);  // job over
    void (*refused) (void *arg, unsigned copy, enum refusal reason,
                     const char *why);
    void (*problem) (void *arg, unsigned copy, enum net_problem what,
                     const char *text);
    void (*delivered) (void *arg);                      // spool is empty now
    void (*clock) (void *arg, const struct clock_sync *c);      // first known,
                                        // or it began or ceased to be off;
                                        // of the first copy
    void (*said) (void *arg);   // everything before ship_done has arrived
    void (*lost) (void *arg, unsigned copy);    // acknowledged data is lost
                                // there, or that cannot be determined; repeated
                                // until spool_begin_redelivery has been called
    void (*raw) (void *arg, enum raw_wanted raw, int64_t asked_ns);
                                // which raw files are wanted, as each WELCOME
                                // of the first copy says, before anything is
                                // offered by it; it answers a HELLO of that
                                // time (monotonic)
    void (*want) (void *arg, unsigned copy, const struct message *m);
                                // answer: ship_have
    void (*judged) (void *arg); // ship_keeper or ship_store has changed
    void *arg;
};

struct ship_identity {
    const char *job, *host, *host_key;
    int64_t world_size;         // 0: unknown
    const struct net_security *security;        // NULL: none
};

/* Connect and start.  The spool and the loop are borrowed. */
int ship_create (struct loop *loop, struct spool *spool, const char *endpoint,
                 const struct ship_identity *who,
                 const struct ship_events *events, struct ship **ret,
                 struct err *err);
void ship_destroy (struct ship *s);     // s may be NULL

/* Add a copy with a number below SPOOL_COPIES_ALL; it rests until ship_move.
 * Call it before the loop runs and before anything is said.
 */
int ship_add_copy (struct ship *s, unsigned copy, struct err *err);

/* How many copies an item needs: 1 unless it is called, or 2.  There are two if two
 * of all aggregators that it goes to and their object stores have it: if all but
 * one of these aggregators are away (ship_set_away), or it is the only one, its
 * store has the second one, and the spool keeps what it acknowledges (spool_keep)
 * until that is there.  Of several, it has to have a store: else all are awaited.
 */
void ship_copies (struct ship *s, unsigned n);
void ship_set_away (struct ship *s, unsigned copy, bool away);

/* Decide anew which copies are awaited: call it after any of these, and after
 * copies were added, moved, rest or take other kinds.  Repeating it is harmless.
 * 0, or negative, as spool_keep: call it again.
 */
int ship_judge (struct ship *s);

/* The copy whose aggregator keeps the items of a kind, or SPOOL_NO_COPY. */
unsigned ship_keeper (const struct ship *s, enum item_kind kind);

/* Whether a copy's aggregator has an object store, if it was asked; and why nothing
 * gets there now, as it says, or "".
 */
enum ship_store { SHIP_STORE_UNKNOWN, SHIP_STORE_NONE, SHIP_STORE_THERE };
enum ship_store ship_store (const struct ship *s, unsigned copy);
const char *ship_store_waits (const struct ship *s, unsigned copy);

/* Whether somebody waits for what is kept to be in a store. */
void ship_hurry (struct ship *s, bool hurry);

/* Deliver only these kinds of items to this copy, a bit (1 << kind) for each;
 * all unless it is called.  Items that are asked for are asked of all.
 */
#define SHIP_ROWS (1U << ITEM_ROWS)
#define SHIP_RAW (1U << ITEM_RAW)
#define SHIP_ALL (SHIP_ROWS | SHIP_RAW)
void ship_take (struct ship *s, unsigned copy, unsigned kinds);

/* Go on without this copy, until ship_move. */
void ship_rest (struct ship *s, unsigned copy);

/* What was acknowledged may not be at the aggregator of this copy: the same as
 * if it had said so (ship_events.lost), now and until it is recorded.
 */
void ship_doubt (struct ship *s, unsigned copy);

/* Tell the aggregator of this copy where the rest of the job goes: raw files, or
 * if it has those, rows and reports; "": nowhere else.
 */
void ship_divided (struct ship *s, unsigned copy, const char *elsewhere);

/* Deliver this copy to another aggregator from now on.  What the former one has
 * acknowledged stays acknowledged; the new one is told everything again, and
 * lacks the mark: see ship_events.lost.  Returns as net_connect; after a failure
 * this copy goes nowhere until the next call.
 */
int ship_move (struct ship *s, unsigned copy, const char *endpoint,
               const struct net_security *security, struct err *err);

/* Limit the bytes per second of all copies together, 0: no limit. */
void ship_limit (struct ship *s, int64_t bytes_per_s);

/* Pack raw files in this codec (CODEC_PLAIN: not at all, which holds until it is
 * called), or in LZ4 if the aggregator does not have it.
 */
void ship_pack (struct ship *s, enum chunk_codec codec);
/* Hold raw files back until the next call, or not. */
void ship_hold (struct ship *s, bool held);

/* Announce a larger world than the identity has, from the next HELLO on. */
void ship_world (struct ship *s, int64_t world_size);

/* Say once what became of a WANT of this copy: the aggregator repeats it. */
void ship_have (struct ship *s, unsigned copy, const struct message *m);

/* The spool has given up an item: if it is on offer, withdraw the offer. */
void ship_withdraw (struct ship *s, uint64_t item);

/* When anything was last acknowledged (monotonic ns), 0: never. */
int64_t ship_acked_ns (const struct ship *s);

/* How many items that are no longer here this copy lacks, which another one has:
 * since the last call.
 */
uint64_t ship_take_lacked (struct ship *s, unsigned copy);

/* New items were sealed; ship_ask: older ones are now asked about. */
void ship_kick (struct ship *s);
void ship_ask (struct ship *s);

/* Report the state of a rank on this node; kept and repeated.  'end': how its
 * COMMAND ended, NULL: it has not ended.  0 or -ENOMEM.
 */
int ship_rank (struct ship *s, int64_t rank, int64_t local_rank,
               enum rank_phase phase, int64_t status, const char *text,
               const struct command_end *end);

/* Add the rank that MPI gives the process of a reported rank: it is sent with
 * it from now on.
 */
void ship_rank_by_mpi (struct ship *s, int64_t rank, int64_t mpi_rank,
                       int64_t mpi_size);

/* The rank is not of this node: do not repeat its report. */
void ship_forget_rank (struct ship *s, int64_t rank);

/* Send a sentence for the summary; kept and repeated.  Beyond SHIP_NOTES_MAX
 * they are dropped and counted. 0 or -ENOMEM.
 */
int ship_note (struct ship *s, const char *text);

/* Everything was reported and delivered, except what 'text' says; 'doubtful'
 * captures of that may be another job's.  Repeated until the job is over.
 */
void ship_done (struct ship *s, const char *text, uint64_t doubtful);

/* Withdraw ship_done until it is called again; the counts of ship_left are sent
 * at once.
 */
void ship_not_done (struct ship *s);

/* Report the number of unread captures, and from now on that of items in the
 * spool.  Only in a run, which ends without them.
 */
void ship_left (struct ship *s, uint64_t captures);

/* Whether all aggregators that are awaited told this agent that they have
 * everything they acknowledged, or nothing ever was acknowledged; after 'since_ns'
 * (monotonic), if that is not 0.
 */
bool ship_confirmed (const struct ship *s, int64_t since_ns);

/* When all aggregators that are awaited were last heard (monotonic ns), 0: one
 * never was; and when that of one copy was.  One that is away is awaited if nobody
 * else has what is no longer here.  Refusals do not count, here or below.
 */
int64_t ship_heard_ns (const struct ship *s);
int64_t ship_copy_heard_ns (const struct ship *s, unsigned copy);

/* This process did not listen for so long: then silence says nothing. */
void ship_was_deaf (struct ship *s, int64_t ns);

/* Whether that of a copy is heard now; whether HELLOs have been unanswered for
 * about 10 s.  Both are false at first, and after ship_move.
 */
bool ship_is_heard (const struct ship *s, unsigned copy);
bool ship_is_silent (const struct ship *s, unsigned copy);

/* Why an aggregator requests nothing now, as it says; "": none does. */
const char *ship_waits (const struct ship *s);

/* The offset of the aggregator's clock to this host's, if it is known. */
const struct clock_sync *ship_clock (const struct ship *s);

#endif
