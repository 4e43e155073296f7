/* aggregator/ledger/size_claims.h - how many ranks a job has, and who says so
 *
 * Each word is kept with who said it, so that one that is wrong can be named,
 * and does not count for ever.  The last word of each counts.
 */
#ifndef ROLLCALL_LEDGER_SIZE_CLAIMS_H
#define ROLLCALL_LEDGER_SIZE_CLAIMS_H

#include "net/net.h"

#define WORDS_MAX 4096          // of a job, at 350 bytes: one for each host of
                                // the largest cluster that is known of
#define WORDS_KEPT 16           // of them for those that are not of nodes

enum size_claim_by {            // of the first three the later one counts
                                // more; kept on disk
    CLAIM_NODE = 1,             // an agent, in its HELLO
    CLAIM_FRONT = 2,            // who started the aggregator: --world-size
    CLAIM_EXPECT = 3,           // rollcall jobs --expect
    CLAIM_MPI = 4,              // MPI, in processes of a node, says its agent:
                                // a lower bound, since a program may make a
                                // smaller world of its own
};

struct size_claim {
    enum size_claim_by by;
    char who[NET_WHO_MAX];      // of a node: its key's name, "" without keys,
    char host[MESSAGE_NAME_MAX];        // and its host; "": not known any more
    int64_t world_size;         // 0: it does not say any more
    bool noted;                 // it is in the ledger as it is
};

struct size_claims {            // begins as zeros
    struct size_claim *list;    // by who said it
    size_t n;
};

/* Whether this may have been said: what is on disk may be somebody else's. */
bool size_claim_valid (const struct size_claim *w);

/* Take a word in place of the former one of the same.  1; 0: it is the same
 * again; -ENOMEM, or -E2BIG when there is no room.
 */
int size_claims_put (struct size_claims *w, const struct size_claim *word);
/* The word of the same, or NULL. */
const struct size_claim *size_claims_find (const struct size_claims *w,
                                           const struct size_claim *of);
void size_claims_fini (struct size_claims *w);

/* The one that counts among them: of the kind that counts most the size that is
 * said most often, the larger one of two; MPI's if that is larger, unless a
 * person says otherwise.  NULL: nobody says anything.
 */
const struct size_claim *size_claims_settle (const struct size_claims *w);

/* How many ranks are expected where the captures' own metadata agree on
 * 'agreed' (0: they do not): 0 when nobody says anything.  Metadata that agree
 * count more than nodes; but not than those of a run of its own ('run'), which
 * know it as well as whoever started them.  '*known_by' is how it is known;
 * 'note' what nodes say otherwise, with who they are, or "".
 */
int64_t size_claims_judge (const struct size_claims *w, bool run,
                           int64_t agreed,
                           const char **known_by, char *note, size_t size);

#endif
