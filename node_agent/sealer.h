/* node_agent/sealer.h - captures into sealed shipments, in a thread
 *
 * Reading a capture can take seconds; the agent's loop must go on meanwhile.
 * The thread extracts, packs, fsyncs and hashes; it never touches the ledger.
 */
#ifndef ROLLCALL_AGENT_SEALER_H
#define ROLLCALL_AGENT_SEALER_H

#include "base/loop.h"
#include "spool/spool.h"
#include "watch/watch.h"

struct sealer;

/* One capture's worth of work, and what came of it. */
struct sealed {
    struct watch_settled what;          // 'path' is this struct's own
    char temp[PATH_MAX];                // the shipment's file
    struct spool_item *items;           // rows first, then raw files
    size_t nitems;
    int64_t rank;                       // -1: none
    char state[16];                     // of the capture
    int rc;                             // negative: 'err' says why
    struct err err;
};

/* 'done' is called from the loop for each; the sealed is freed afterwards. */
int sealer_create (struct loop *loop, bool raw,
                   void (*done) (void *arg, struct sealed *s), void *arg,
                   struct sealer **ret, struct err *err);
void sealer_destroy (struct sealer *s); // waits for the thread; NULL is fine

/* Queue a capture; 'temp' is where its shipment goes.  0 or -ENOMEM. */
int sealer_add (struct sealer *s, const struct watch_settled *what,
                const char *temp);

size_t sealer_pending (const struct sealer *s); // queued or under way

#endif
