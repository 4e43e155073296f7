/* aggregator/service/aggregator_private.h - what the parts of the aggregator
 * share
 *
 * Each file calls only those above it in this list:
 *
 *   aggregator_peers.c     which agent a connection is
 *   aggregator_jobs.c      the jobs that are served
 *   aggregator_keys.c      which keys may speak for a host
 *   aggregator_shares.c    how much memory a key may take
 *   aggregator_enter.c     what has come is made durable
 *   aggregator_lost.c      what is removed from the root while it is served
 *   aggregator_commit.c    when a group of items is committed
 *   aggregator_divide.c    which jobs a scope has
 *   aggregator_notes.c     what agents said, beside items
 *   aggregator_messages.c  what agents say
 *   aggregator_build.c     a result is built
 *   aggregator_run.c       the end of a run
 *   aggregator_silent.c    agents that are not heard
 *   aggregator_control.c   what verbs ask
 *   aggregator.c           the service's life, and its clock
 */
#ifndef ROLLCALL_SERVICE_AGGREGATOR_PRIVATE_H
#define ROLLCALL_SERVICE_AGGREGATOR_PRIVATE_H

#include "archive/divide.h"
#include "archive/job_build.h"
#include "archive/root_control.h"
#include "base/clock.h"
#include "base/loop.h"
#include "service/access.h"
#include "service/aggregator.h"
#include "service/build_schedule.h"
#include "service/job.h"
#include "transfer/transfer.h"

#include <limits.h>
#include <pthread.h>

// what a service has in memory: a job that is idle leaves when another comes.
// One key has half of it at most (aggregator_shares.c)
#define AGGREGATOR_JOBS_MAX 2048
#define AGGREGATOR_AGENTS_MAX 16384     // of all jobs, at 600 bytes each
#define AGGREGATOR_RANKS_MAX (2 * JOB_RANKS_MAX)        // at 50 bytes each
#define AGGREGATOR_TEXTS_MAX ((size_t)64 << 20) // bytes: 250 for each of these
#define AGGREGATOR_IDLE_NS (600 * NS_PER_S)     // agents this silent make room
#define AGGREGATOR_GONE_NS (3600 * NS_PER_S)    // one this silent leaves; who
                                // looks into the status in the morning has the
                                // log. Of a job of which all have ended in
                                // peace AGGREGATOR_IDLE_NS is enough
#define AGGREGATOR_JOINED "joined"      // in a run's directory: an agent has
#define AGGREGATOR_NAME_MAX (MESSAGE_NAME_MAX + NET_WHO_MAX + 8)
#define AGGREGATOR_CLOCK_NS NS_PER_S    // a clock that is so wrong is said

struct served {                 // a job, and what was built of it
    struct job job;
    char opened_by[NET_WHO_MAX];        // the key that spoke of it first, or ""
    int64_t noted_size;         // the world size as of the last commit
    int64_t ended_ns;           // when all COMMANDs had ended, 0: not yet
    struct build_schedule schedule;     // of a service: when to build
    struct served *next;
};

struct aggregator {
    const struct aggregator_options *opt;
    struct loop *loop;
    struct net *net;
    struct access peer_access;
    struct control *control;
    int root_fd;                // the lock
    struct ledger *ledger;
    struct store *store;
    struct transfers *transfers;
    struct served *jobs;
    size_t njobs;
    void *peers;                // their agents by connection, for tsearch(3)
    char **unbuilt;             // names of jobs that a former life left so
    size_t nunbuilt;
    int64_t began_ns;
    int64_t ending_ns;          // when a service was told to end, 0: not yet
    bool commit_armed;
    int64_t commit_until_ns;    // it waits for more so long
    int64_t commit_took_ns;     // the last one
    bool notes_due;             // a world size or clock is to be committed
    struct ledger_bound *bound; // to be committed
    size_t nbound;
    struct divide divided;      // so, too
    bool divided_in;            // it has been
    int64_t last_turn_ns, awake_ns;     // when the loop did last turn, and when
                                // it did again after a while without
    int64_t swept_ns;           // when agents that are gone were forgotten
    int64_t shares_ns;          // when memory was given back, if any was due
    char *status_text;          // for rollcall status, written last
    struct space_floor floor;   // of the root
    struct err no_room;         // what was said when it was reached
    bool unrepaired;            // something was removed below the root, and
                                // that could not be dealt with: it is tried
                                // again, and nothing is taken in until then
    int64_t looked_ns;          // when it was looked for last
    // the build that is under way
    struct served *building;
    struct job_build *build;
    int64_t build_seq;          // the newest item in it
    struct roster roster;
    struct build_result built;
    size_t left;                // of the last: job_build_left
    char out[PATH_MAX];
    pthread_t thread;
    bool threaded;              // there is one to be joined
    int build_fd;               // becomes readable when it has ended
    int build_rc;
    struct err build_err;
    // the end of a run
    int64_t last_peer_ns;       // when somebody was last there, or to come
    struct served *over;        // the job whose result has been written
    bool resumed;               // a former life had agents
    int64_t run_ns;             // when its first agent said hello, or this one
                                // started (clock_wall_ns)
    bool closed;                // nothing more is taken in
    bool root_gone;             // it was removed: nothing is acknowledged
    bool complete;              // every rank is present, nothing is left here
    int64_t over_ns;
    char unwritten[MESSAGE_TEXT_MAX];   // why OUT has not all of it, or ""
    int status;                 // of the program
};

/* aggregator_silent.c: look for agents of a service that are silent, and say it
 * once of each; and for its status: how many there are, also as a sentence.
 */
void aggregator_check_silent (struct aggregator *a, int64_t now);
size_t aggregator_add_silent (const struct aggregator *a, struct json *status,
                              char *text, size_t size);

/* aggregator_lost.c: whether the root is there.  If it was removed all that was
 * written is in files without a name: that is said, and the loop ends.
 */
bool aggregator_has_root (struct aggregator *a);

/* Whether what was acknowledged can be told from the files
 * below the root; a look at some of them, or at 'all'.  If any was removed or
 * cut meanwhile that is said, and dealt with: false if that is not possible now,
 * or the loop ends: then nothing may be acknowledged.
 */
bool aggregator_look (struct aggregator *a, bool all);

/* As that, at once, if one that is written to is not the one of its name. */
bool aggregator_is_sound (struct aggregator *a);

/* aggregator_jobs.c: a host and its key, for the log. */
const char *aggregator_name (const struct net_peer *peer, const char *host,
                             char out[AGGREGATOR_NAME_MAX]);

/* A job that is served, or NULL; and one that is from now on (NULL: a run has
 * another one, or there are too many).
 */
struct served *aggregator_find_job (struct aggregator *a, const char *id);
struct served *aggregator_job (struct aggregator *a, const char *id);

/* Take the words about it from the ledger; to be called again when they have
 * changed.
 */
void aggregator_recall_claims (struct aggregator *a, struct served *s);

/* Idle jobs and agents make room, but not this job (or NULL); and agents of a
 * service that are gone leave, with their job if that has no others.
 */
void aggregator_give_back (struct aggregator *a, const struct served *but);
void aggregator_forget_gone (struct aggregator *a, int64_t now);

/* A sentence for the log and the summary, once; of this agent, or NULL. */
void aggregator_note (struct served *s, struct job_agent *agent,
                      const char *text);

/* The kinds of items that go into a result, up to this one; and where the
 * results of a job go.
 */
enum item_kind aggregator_last_kind (const struct aggregator *a);
void aggregator_name_out (const struct aggregator *a, const char *job,
                          char out[PATH_MAX]);

/* Jobs that are to be built one by one when nothing else is: there may be more
 * of them than are served at a time.  0 or -ENOMEM.
 */
int aggregator_note_unbuilt (struct aggregator *a, const char *job);
void aggregator_forget_unbuilt (struct aggregator *a);

/* aggregator_messages.c: a net_fn. */
void aggregator_on_message (void *arg, const struct net_peer *from,
                            const struct message *m, int bad,
                            const struct err *err);

/* aggregator_peers.c: the agent that a connection is, and its job, or NULL.  It
 * is to be noted when it is new, and when its place in the job is another one
 * (-ENOMEM: then it is not known; it says hello again), and forgotten before it
 * leaves.
 */
struct served *aggregator_find_peer (struct aggregator *a,
                                     const struct net_peer *from,
                                     struct job_agent **agent);
int aggregator_note_peer (struct aggregator *a, struct served *s,
                          const struct job_agent *agent);
void aggregator_forget_peer (void *arg, const struct net_peer *peer);
void aggregator_forget_peers (struct aggregator *a);

/* aggregator_keys.c: whether a HELLO may speak for its host, 'why' says why
 * not; the part of it that is a commit; and its end.
 */
bool aggregator_may_speak (struct aggregator *a, const struct net_peer *from,
                           const struct message *m, struct err *why);
int aggregator_commit_bound (struct aggregator *a, enum transfer_phase phase,
                             struct err *err);
void aggregator_forget_bound (struct aggregator *a);

/* aggregator_shares.c: whether the key of a peer may have so many more of what a
 * service has in memory; or one more agent of this job; it may not, for the
 * log; and once in a while memory that idle agents have left is given back.
 */
enum share { SHARE_JOBS, SHARE_AGENTS, SHARE_RANKS, SHARE_TEXTS };
bool aggregator_has_share (const struct aggregator *a,
                           const struct net_peer *from, enum share what,
                           size_t more);
void aggregator_tell_share (struct aggregator *a, const struct net_peer *from,
                            enum share what);
bool aggregator_has_share_of_job (const struct aggregator *a,
                                  const struct job *j,
                                  const struct net_peer *from);
void aggregator_check_shares (struct aggregator *a, int64_t now);

/* aggregator_commit.c: commit what has come, if anything has, now or soon. */
void aggregator_commit (struct aggregator *a);
void aggregator_commit_soon (struct aggregator *a);

/* aggregator_enter.c: commit, whatever the files look like.  As
 * transfers_commit; a failure is in the log.
 */
int aggregator_commit_now (struct aggregator *a);

/* Say that a rank's rows were of another key before, if so: perhaps it moved;
 * perhaps somebody wants to be it.
 */
void aggregator_tell_sender (struct aggregator *a, struct served *s,
                             int64_t rank);

/* aggregator_notes.c: what goes with a commit of what agents said (a
 * transfer_extra_work_fn).
 */
int aggregator_commit_notes (void *arg, enum transfer_phase phase,
                             struct err *err);

/* Whether the next commit has something of this rank: what MPI has said, how
 * COMMAND ended, and of a run its host, which nobody else knows when its agent
 * is killed.  (What the nodes of a service call a rank is not all kept for
 * ever.)
 */
bool aggregator_rank_is_due (const struct aggregator *a,
                             const struct job_rank *r);

/* aggregator_divide.c: give what agents sent that were told no job to jobs, and
 * let those be built whose captures changed; 'came_ns': since when it had come,
 * 0: before this life.  1 if the scope has nothing of its own to be built, 0 if
 * it has, or negative: it is tried again.  And the part of it that is a commit.
 */
int aggregator_divide (struct aggregator *a, const struct served *s,
                       int64_t came_ns);
int aggregator_commit_divided (struct aggregator *a,
                               enum transfer_phase phase, struct err *err);

/* The result of a job that has no captures any more, or of all such, is removed.
 */
void aggregator_drop_result (struct aggregator *a, const char *job);
int aggregator_drop_empty (struct aggregator *a, struct err *err);

/* aggregator_build.c: begin a build, in a thread; tell how it ended, when
 * build_fd is readable (false: it has not); and forget it.
 */
void aggregator_start_build (struct aggregator *a, struct served *s);
bool aggregator_end_build (struct aggregator *a);
void aggregator_forget_build (struct aggregator *a);

/* Give up the build that is under way, if there is one. */
void aggregator_cancel_build (struct aggregator *a);

/* Whether all raw files are in OUT that were to be. */
bool aggregator_raw_is_whole (const struct aggregator *a);

/* Note the jobs of a service whose results are not what the ledger has: a former
 * life may have ended before a build that was due, and results are a cache that
 * anybody may delete.  And build one of them: false, none can be built now.
 */
int aggregator_find_unbuilt (struct aggregator *a, struct err *err);
bool aggregator_build_next_unbuilt (struct aggregator *a);

/* aggregator_control.c: a control_fn. */
int aggregator_on_request (void *arg, const struct json *request,
                           struct json *answer, struct err *err);

/* aggregator_run.c: whether the run is over (then it is built); what is to be
 * done when it has been built: an end, with a result that has everything that
 * was acknowledged, or more is waited for; and whether the ledger has no more
 * of the run than its result.
 */
void aggregator_check_run (struct aggregator *a, int64_t now);
void aggregator_on_run_built (struct aggregator *a);
bool aggregator_result_has_all (struct aggregator *a, const struct served *s);

/* aggregator.c: what is to be done when build_fd is readable. */
void aggregator_on_built (void *arg);

#endif
