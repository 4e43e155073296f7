/* node_agent/ship/ship.h - deliver what the spool holds
 *
 * Offers items, all rows before any raw file, answers the aggregator's
 * questions for pieces of them, and marks them durable when they are
 * acknowledged; or lost, if they are only asked for (spool_next) and it wants
 * their bytes.  Whatever may have
 * been lost on the way (ZeroMQ drops messages when connections break) is said
 * again every few seconds: the other side takes repetitions.
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

/* What the agent is told. */
struct ship_events {
    void (*welcome) (void *arg);                        // connected
    void (*stop) (void *arg, const char *why);          // end the COMMANDs
    void (*roll) (void *arg, bool complete, const char *text);  // job over
    void (*refused) (void *arg, enum refusal reason, const char *why);
    void (*problem) (void *arg, enum net_problem what, const char *text);
    void (*delivered) (void *arg);                      // spool is empty now
    void (*clock) (void *arg, const struct clock_sync *c);      // first known,
                                        // or it began or ceased to be off
    void (*said) (void *arg);   // what was said before ship_done has arrived
    void (*lost) (void *arg);   // what was acknowledged is not there any more,
                                // or there is no telling; said again until
                                // spool_begin_redelivery has been called
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

/* At most so many bytes a second, 0: any; and whether raw files are held back
 * until the next call.
 */
void ship_limit (struct ship *s, int64_t bytes_per_s);
void ship_hold (struct ship *s, bool held);

/* There are more ranks than the identity had said; from the next HELLO on. */
void ship_world (struct ship *s, int64_t world_size);

/* New items have been sealed; and older ones are asked for from now on. */
void ship_kick (struct ship *s);
void ship_ask (struct ship *s);

/* State of a rank on this node; kept and repeated.  'end': how its COMMAND has
 * ended, NULL: it has not.  0 or -ENOMEM.
 */
int ship_rank (struct ship *s, int64_t rank, int64_t local_rank,
               enum rank_phase phase, int64_t status, const char *text,
               const struct command_end *end);

/* What MPI calls the process of a rank that was said: it is said with it from
 * now on.
 */
void ship_rank_by_mpi (struct ship *s, int64_t rank, int64_t mpi_rank,
                       int64_t mpi_size);

/* That rank is not of this node after all: it is not said again. */
void ship_forget_rank (struct ship *s, int64_t rank);

/* A sentence for the summary; kept and repeated, up to SHIP_NOTES_MAX of them:
 * more are dropped, and counted.  0 or -ENOMEM.
 */
int ship_note (struct ship *s, const char *text);

/* Everything has been said and delivered, but for what 'text' says; 'doubtful'
 * captures of that may be another job's.  Repeated until the job is over.
 */
void ship_done (struct ship *s, const char *text, uint64_t doubtful);

/* That does not hold any more, until it is said again; what was said of
 * captures that are left (ship_left) is told at once.
 */
void ship_not_done (struct ship *s);

/* So many captures are not read yet: from now on the aggregator is told of that
 * and of what is in the spool.  Only in a run, which ends without them.
 */
void ship_left (struct ship *s, uint64_t captures);

/* Whether the aggregator has said, to this agent, that it has all that was
 * acknowledged, or nothing ever was; if 'since_ns' (monotonic) is not 0, after
 * that time.
 */
bool ship_confirmed (const struct ship *s, int64_t since_ns);

/* When the aggregator was last heard (monotonic ns), 0: never.  That it refuses
 * this agent does not count, nor below.
 */
int64_t ship_heard_ns (const struct ship *s);

/* Whether it is heard now, and whether a fair number of HELLOs have gone
 * without an answer (10 s of them, about); at first neither.
 */
bool ship_is_heard (const struct ship *s);
bool ship_is_silent (const struct ship *s);

/* How far the aggregator's clock is from this host's, as far as it is known. */
const struct clock_sync *ship_clock (const struct ship *s);

#endif
