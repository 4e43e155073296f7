/* aggregator/ledger/size_claims.h - claims of how many ranks a job has
 *
 * Each claim is kept with its source, so that a wrong one can be named, and
 * does not count for ever.  The last claim of each source counts.
 */
#ifndef ROLLCALL_LEDGER_SIZE_CLAIMS_H
#define ROLLCALL_LEDGER_SIZE_CLAIMS_H

#include "net/net.h"

#define CLAIMS_MAX 4096          // of a job, at 350 bytes: one for each host of
                                // the largest known cluster
#define CLAIMS_RESERVED 16           // of these, for claims by others than
                                     // nodes

enum size_claim_by {            // stored on disk; of the first three, a later
                                // one counts more
    CLAIM_NODE = 1,             // an agent, in its HELLO
    CLAIM_FRONT = 2,            // the aggregator's --world-size
    CLAIM_EXPECT = 3,           // rollcall jobs --expect
    CLAIM_MPI = 4,              // MPI, in processes of a node, as its agent
                                // reports: a lower bound, since a program may
                                // make a smaller world of its own
};

struct size_claim {
    enum size_claim_by by;
    char who[NET_WHO_MAX];      // for a node: its key's name, "" without keys,
    char host[MESSAGE_NAME_MAX];        // and its host; "": no longer known
    int64_t world_size;         // 0: the claim was withdrawn
    bool noted;                 // the ledger has this claim
};

struct size_claims {            // begins as zeros
    struct size_claim *list;    // sorted by source
    size_t n;
};

/* Whether a stored claim is valid. */
bool size_claim_valid (const struct size_claim *w);

/* Replace the claim of the same source.  1; 0: nothing changed; -ENOMEM, or
 * -E2BIG when there is no room.
 */
int size_claims_put (struct size_claims *w, const struct size_claim *word);
/* The claim of the same source, or NULL. */
const struct size_claim *size_claims_find (const struct size_claims *w,
                                           const struct size_claim *of);
void size_claims_fini (struct size_claims *w);

/* The claim that counts: of the strongest kind the most frequent size, then the
 * larger one; MPI's if that is larger, unless a user made a claim.  NULL: none.
 */
const struct size_claim *size_claims_settle (const struct size_claims *w);

/* How many ranks are expected, given that the captures' metadata agree on
 * 'agreed' (0: they do not); 0: not known.  Agreeing metadata count more than
 * nodes, except the nodes of a run ('run'), which are as reliable as the user
 * who started them.  '*known_by' is the source; 'note' names nodes that claim
 * another number, or is "".
 */
int64_t size_claims_judge (const struct size_claims *w, bool run,
                           int64_t agreed,
                           const char **known_by, char *note, size_t size);

#endif
