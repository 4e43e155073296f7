/* aggregator/service/job.h - one job as its agents report it
 *
 * Its ranks, how their COMMANDs ended, its agents, and whether these have
 * delivered everything.  It is kept in memory only: agents repeat their
 * reports, so a restarted aggregator learns them again.
 */
#ifndef ROLLCALL_SERVICE_JOB_H
#define ROLLCALL_SERVICE_JOB_H

#include "json/json.h"
#include "ledger/size_claims.h"
#include "model/roster.h"
#include "net/net.h"

#define JOB_AGENTS_MAX 8192     // hosts: twice the largest known cluster,
                                // since one key may have half of them
#define JOB_RANKS_MAX ((size_t)capture_world_max)       // of all its agents,
                                // at some 100 bytes
#define JOB_TEXT_COST 24        // bytes of overhead for each text
#define JOB_NOTES_MAX 200       // more do not help users; the notes at the
#define JOB_LAST_NOTES_MAX 400  // end have room of their own

struct job_rank {
    int64_t rank, local_rank;   // sorted by rank
    enum rank_phase phase;
    int64_t status;             // of its COMMAND, when ended
    struct command_end command;
    int64_t mpi_rank, mpi_size; // MPI's rank and size of its process; size
                                // 0: unknown
    bool noted;                 // MPI's rank, host and end are in the ledger
    char *text;                 // its agent's text about it, or NULL
    size_t agent;               // index
};

struct job_agent {
    struct net_peer peer;
    char host[MESSAGE_NAME_MAX];
    char host_key[MESSAGE_NAME_MAX];
    int64_t heard_ns;           // monotonic, as the next three
    int64_t probed_ns;          // when it was last probed; 0: never
    int64_t rival_ns;           // another connection claims to be this agent:
    int64_t rival_heard_ns;     // the first and the last time; 0: none
    int64_t rival_told_ns;      // when that was logged, 0: never
    bool done;                  // said that it has delivered everything
    bool lost;                  // silent for too long
    int64_t last_wall_ns;       // when a lost one was last heard
    bool asked_again;           // for lost data: what it said before it knew of
                                // that does not count
    bool loss_unrecorded;       // data was lost since its last HELLO: what it
                                // delivers is ignored until the next one
    uint64_t left_items, left_captures; // its last report: items not
                                // delivered, captures not read
    bool clock_known;           // the next two are
    bool clock_noted;           // they are in the ledger
    int64_t clock_offset_ns, clock_error_ns;
    char *text;                 // of DONE: what it will not deliver, or NULL
    uint64_t doubtful;          // captures in it that may be another job's
    size_t ranks, texts;        // of its last reports: ranks, bytes of texts,
    size_t notes;               // and bytes of notes, which outlive it
};

struct job {
    char id[MESSAGE_NAME_MAX];
    struct size_claims claims;  // of how many ranks there are
    int64_t world_size;         // the claim that counts; 0: unknown
    struct job_rank *ranks;     // by rank
    size_t nranks;
    struct job_agent *agents;
    size_t nagents;
    char **notes;
    size_t nnotes;
    size_t texts;               // bytes of all texts
    bool resumed;               // an earlier aggregator had agents, some of
                                // which may be gone
};

/* What one more message would add. */
struct job_use {
    size_t ranks, texts;
};

void job_init (struct job *j, const char *id);
void job_fini (struct job *j);

/* Add a claim of the number of ranks; as size_claims_put. */
int job_claim (struct job *j, const struct size_claim *word);
void job_set_claims (struct job *j, struct size_claims *claims); // takes them

/* Handle a HELLO, also a repeated one.  A restarted agent of a host replaces
 * the former one (which the caller knows to be gone), whose peer is put into
 * *old (size 0: none).  NULL: no memory, or JOB_AGENTS_MAX reached.
 */
struct job_agent *job_hello (struct job *j, const struct net_peer *from,
                             const struct message *m, int64_t now_ns,
                             struct net_peer *old);
/* The same for a known agent on the same connection. */
void job_hello_again (struct job *j, struct job_agent *a,
                      const struct message *m, int64_t now_ns);
struct job_agent *job_agent_of_host (struct job *j, const char *host_key);

/* Handle RANK, NOTE and DONE.  0, -ENOMEM, or -E2BIG when there are too many.
 * MPI's world size in a RANK is a claim, too.
 */
int job_rank (struct job *j, struct job_agent *a,
              const struct message *m);
const struct job_rank *job_find_rank (const struct job *j, int64_t rank);
int job_note (struct job *j, const char *text);
int job_note_final (struct job *j, const char *text);
int job_done (struct job *j, struct job_agent *a, const char *text,
              uint64_t doubtful);

/* How much memory the message would add; a repetition adds nothing. */
struct job_use job_rank_adds (const struct job *j, const struct message *m);
struct job_use job_text_adds (const char *text);

/* This process did not listen for so long: then silence says nothing. */
void job_was_deaf (struct job *j, int64_t ns, int64_t now_ns);

/* Mark an agent as lost that was silent for 'limit_ns'; NULL: none. */
const struct job_agent *job_lose_silent (struct job *j, int64_t now_ns,
                                         int64_t limit_ns);

/* Forget agents that were silent since 'before_ns', with the ranks that only
 * they reported; calls 'fn' for each.  Invalidates pointers to agents.
 */
void job_forget_silent (struct job *j, int64_t before_ns,
                        void (*fn) (void *arg, const struct net_peer *peer),
                        void *arg);

/* The lowest rank whose COMMAND failed by itself, or NULL (a status below 0 is
 * that of a COMMAND that was ended on request).
 */
const struct job_rank *job_failed (const struct job *j);

/* Every rank that reported has ended (or its agent is lost) ... */
bool job_ended (const struct job *j);
/* ... and there are as many as there should be, of agents that are done. */
bool job_delivered (const struct job *j);
bool job_all_reported (const struct job *j);
/* Whether an agent has captures that may be another job's. */
bool job_has_doubtful (const struct job *j);
/* Whether every rank has reported, and every agent has delivered all that its
 * ranks left.
 */
bool job_is_whole (const struct job *j);

/* Fill a roster, which has the expected ranks, with what is known, also with
 * hosts that an earlier aggregator recorded.
 */
int job_fill_roster (const struct job *j, struct roster *r);

/* "failed_ranks" and "notes" of a result document. */
void job_to_json (const struct job *j, struct json *out);

#endif
