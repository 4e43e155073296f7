/* node_agent/ship/ship.h - deliver what the spool holds
 *
 * Offers items in order, answers the aggregator's questions for pieces of
 * them, and marks them durable when they are acknowledged.  Whatever may have
 * been lost on the way (ZeroMQ drops messages when connections break) is said
 * again every few seconds: the other side takes repetitions.
 */
#ifndef ROLLCALL_SHIP_SHIP_H
#define ROLLCALL_SHIP_SHIP_H

#include "base/loop.h"
#include "net/net.h"
#include "spool/spool.h"

struct ship;

/* What the agent is told. */
struct ship_events {
    void (*welcome) (void *arg);                        // connected
    void (*stop) (void *arg, const char *why);          // end the COMMANDs
    void (*roll) (void *arg, bool complete, const char *text);  // job over
    void (*refused) (void *arg, const char *why);       // final
    void (*delivered) (void *arg);                      // spool is empty now
    void *arg;
};

struct ship_identity {
    const char *job, *host, *host_key;
    int64_t world_size;         // 0: unknown
};

/* Connect and start.  The spool and the loop are borrowed. */
int ship_create (struct loop *loop, struct spool *spool, const char *endpoint,
                 const struct ship_identity *who,
                 const struct ship_events *events, struct ship **ret,
                 struct err *err);
void ship_destroy (struct ship *s);     // s may be NULL

/* New items have been sealed. */
void ship_kick (struct ship *s);

/* State of a rank on this node; kept and repeated.  0 or -ENOMEM. */
int ship_rank (struct ship *s, int64_t rank, int64_t local_rank,
               enum rank_phase phase, int64_t status, const char *text);

/* A sentence for the summary; kept and repeated. */
int ship_note (struct ship *s, const char *text);

/* Everything has been said and delivered; repeated until the job is over. */
void ship_done (struct ship *s, const char *text);

/* When the aggregator was last heard (monotonic ns), 0: never. */
int64_t ship_heard_ns (const struct ship *s);

#endif
