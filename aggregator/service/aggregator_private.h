/* aggregator/service/aggregator_private.h - what the parts of the aggregator
 * share
 *
 * Each file calls only those above it in this list:
 *
 *   aggregator_peers.c     which agent a connection is
 *   aggregator_jobs.c      the jobs that are served
 *   aggregator_keys.c      which keys may speak for a host
 *   aggregator_shares.c    how much memory a key may take
 *   aggregator_quota.c     refuses what is beyond a quota
 *   aggregator_forecast.c  says when the root is full
 *   aggregator_enter.c     commits what has arrived
 *   aggregator_lost.c      files removed from the root while it is served
 *   aggregator_commit.c    when a group of items is committed
 *   aggregator_divide.c    divides a scope into jobs
 *   aggregator_facts.c     who started a job, and how; where the rest of it is
 *   aggregator_notes.c     reports of agents besides items
 *   aggregator_wants.c     raw files that are wanted
 *   aggregator_messages.c  messages of agents
 *   aggregator_build.c     builds a result
 *   aggregator_gc.c        collects what nothing refers to
 *   aggregator_control.c   requests of verbs
 *   aggregator_retention.c removes jobs that are no longer kept
 *   aggregator_run.c       the end of a run
 *   aggregator_silent.c    silent agents
 *   aggregator_askers.c    who may ask for what
 *   aggregator_views.c     reads the root for users who cannot
 *   aggregator.c           start, end and timers
 */
#ifndef ROLLCALL_SERVICE_AGGREGATOR_PRIVATE_H
#define ROLLCALL_SERVICE_AGGREGATOR_PRIVATE_H

#include "answers/answers.h"
#include "archive/divide.h"
#include "archive/job_facts.h"
#include "job_build/job_build.h"
#include "archive/root_control.h"
#include "base/clock.h"
#include "base/loop.h"
#include "findings/suspects.h"
#include "postgres/pusher.h"
#include "service/access.h"
#include "service/aggregator.h"
#include "service/build_schedule.h"
#include "service/job.h"
#include "service/wants.h"
#include "store/gc.h"
#include "store/root_reader.h"
#include "store/segment.h"
#include "store/steady_clock.h"
#include "transfer/transfer.h"
#include "uploads/stored.h"

#include <limits.h>
#include <pthread.h>

// limits of a service's memory: an idle job is forgotten when another one needs
// the room.  One key has half of it at most (aggregator_shares.c)
#define AGGREGATOR_JOBS_MAX 2048
#define AGGREGATOR_AGENTS_MAX 16384     // of all jobs, at 600 bytes each
#define AGGREGATOR_RANKS_MAX (2 * JOB_RANKS_MAX)        // at 50 bytes each
#define AGGREGATOR_TEXTS_MAX ((size_t)64 << 20) // bytes: 250 for each of these
#define AGGREGATOR_IDLE_NS (600 * NS_PER_S)     // agents this silent make room
#define AGGREGATOR_GONE_NS (3600 * NS_PER_S)    // agents this silent are
                                // forgotten: the log still names them.  If all
                                // agents of a job are done, AGGREGATOR_IDLE_NS
                                // is enough
#define AGGREGATOR_JOINED "joined"      // in a run's directory: an agent has
#define AGGREGATOR_NAME_MAX (MESSAGE_NAME_MAX + NET_WHO_MAX + 8)
#define AGGREGATOR_CLOCK_NS NS_PER_S    // larger clock offsets are logged

struct unbuilt {                // of a job whose last build failed
    int64_t since_ns;           // since 1970, when the first of them failed in a
                                // row; 0: none did
    uint64_t tries;             // of these
    char why[ERR_TEXT_MAX];
    char hint[ERR_TEXT_MAX];    // what would help
};

struct served {                 // a job, and its build schedule
    struct job job;
    char opened_by[NET_WHO_MAX];        // the key that opened it, or ""
    int64_t noted_size;         // the world size as of the last commit
    int64_t ended_ns;           // when all COMMANDs had ended, 0: not yet
    struct build_schedule schedule;     // of a service: when to build
    struct unbuilt unbuilt;
    bool lacks_ranks;           // its last result does
    char waits[MESSAGE_TEXT_MAX];       // why an OFFER was not answered, ...
    char waits_hint[ERR_TEXT_MAX];      // ... what would help, ...
    int64_t waits_ns;           // ... and when, 0: never
    int64_t waits_told_ns;      // when it was logged
    bool told_removed;          // that agents deliver what was removed
    char home[FACT_VALUE_MAX], raw_at[FACT_VALUE_MAX];  // as facts, if agents
                                // have said so to this process; else ""
    struct served *next;
};

struct aggregator {
    const struct aggregator_options *opt;
    struct loop *loop;
    struct net *net;
    struct access peer_access;
    struct control *control;
    struct view *views;         // verbs that read for users
    struct answers *answers;    // to those who ask over the network
    unsigned getting;           // of these, that read contents, for so long as
                                // nothing is collected
    int root_fd;                // the lock
    char root_path[PATH_MAX];   // absolute, without links
    struct ledger *ledger;
    struct store *store;
    struct transfers *transfers;
    struct uploads *uploads;    // NULL: no object store
    struct uploads_state uploaded;      // as the log knows it
    struct stored stored;       // how far the ledger is there
    struct served *jobs;
    size_t njobs;
    void *peers;                // their agents by connection, for tsearch(3)
    char **unbuilt;             // jobs that wait to be built
    size_t nunbuilt;
    int64_t began_ns;
    int64_t ending_ns;          // when a service was told to end, 0: not yet
    bool commit_armed;
    int64_t commit_until_ns;    // the commit waits for more until then
    int64_t commit_took_ns;     // duration of the last commit
    bool notes_due;             // a world size or clock has to be committed
    struct ledger_bound *bound; // to be committed
    size_t nbound;
    struct job_facts said;      // the same
    struct wants wants;         // raw files
    struct divide divided;      // to be committed
    bool divided_in;            // 'divided' was committed
    int64_t last_turn_ns, awake_ns;     // when the loop last turned, and when
                                // it went on after the last pause
    int64_t swept_ns;           // when silent agents were last forgotten
    int64_t shares_ns;          // when memory was given back, if any was due
    char *status_text;          // for rollcall status, written last
    struct space_floor floor;   // of the root
    struct usage usage;         // of a service's root
    struct root_reader *counting;       // it again, or NULL: into 'counted', ...
    struct usage counted, since;        // ... and what came since then
    struct usage promised;      // of this, to open transfers
    bool usage_stale;           // count it again
    int64_t counted_ns, count_began_ns, count_took_ns;
    struct err no_room;         // the reason when it was reached
    bool unrepaired;            // something was removed below the root, and
                                // the repair failed: it is tried again, and
                                // nothing is accepted until then
    int64_t looked_ns;          // when that was last checked
    // the running build
    struct served *building;
    struct job_build *build;
    int64_t build_seq;          // the newest item in it
    struct roster roster;
    struct build_result built;
    size_t left;                // of the last build: job_build_left
    int64_t suspects[SUSPECTS_MAX + 1]; // of this build
    size_t nsuspects;
    char out[PATH_MAX];
    pthread_t thread;
    bool threaded;              // 'thread' has to be joined
    int build_fd;               // becomes readable when it has ended
    int build_rc;
    struct err build_err;
    int64_t upkeep_waits_ns;    // since when it waits for builds, 0: it does not
    int64_t upkeep_until_ns;    // until then it has its turn
    struct pusher *pusher;      // into PostgreSQL, or NULL
    char program[PATH_MAX];     // of it
    struct gc *gc;              // collecting, or NULL
    int64_t gc_run, gc_next_ns; // how many there were; when to go on
    unsigned gc_held;           // how often a lease kept it from that
    struct gc_report gc_report; // of the last one
    int gc_rc;                  // how that ended
    struct err gc_err;
    struct {                    // of what is kept
        struct root_reader *reader;     // makes the plan, or NULL
        int64_t now_ns;         // when it was begun
        struct retention_plan plan;
        struct steady_clock clock;
        bool timeless;          // it may be wrong
        bool under_way, has_next;
        bool gc_due;            // until a collection has ended
        size_t at;              // the last of the plan's jobs that was looked
                                // at, from the oldest on
        size_t removed, skipped, forgotten;     // in this run
        uint64_t bytes;
        int64_t next_ns;        // when to decide again, 0: not yet known
        int64_t go_on_ns;       // when to remove the next one
        struct retention_job next;      // to go, when nothing arrives
        struct err doubt;       // why jobs stay that rules do not keep, or ""
        int rc;
    } keep;
    // the end of a run
    int64_t last_peer_ns;       // when an agent was last heard or expected
    struct served *over;        // the job whose result has been written
    bool resumed;               // an earlier aggregator had agents
    int64_t run_ns;             // when its first agent said hello, or this one
                                // started (clock_wall_ns)
    bool closed;                // no more data is accepted
    bool root_gone;             // removed: nothing is acknowledged
    bool complete;              // every rank is present, nothing is left here
    int64_t over_ns;
    char unwritten[MESSAGE_TEXT_MAX];   // why OUT is not complete, or ""
    int status;                 // of the program
};

/* aggregator_silent.c: log each silent agent of a service once; for its status:
 * how many there are, and a sentence.
 */
void aggregator_check_silent (struct aggregator *a, int64_t now);
size_t aggregator_add_silent (const struct aggregator *a, struct json *status,
                              char *text, size_t size);

/* aggregator_lost.c: check that the root exists.  If it was removed, its open
 * files have no name: log that and end the loop.
 */
bool aggregator_has_root (struct aggregator *a);

/* Check some files below the root, or 'all'.  Removed or cut ones are logged
 * and handled: false if that is not possible now, or the loop ends; then
 * nothing may be acknowledged.
 */
bool aggregator_look (struct aggregator *a, bool all);

/* True if the files being written are in place; else aggregator_look at all. */
bool aggregator_is_sound (struct aggregator *a);

/* aggregator_jobs.c: a host and its key, for the log. */
const char *aggregator_name (const struct net_peer *peer, const char *host,
                             char out[AGGREGATOR_NAME_MAX]);

/* Find a served job, or NULL; and find or begin to serve one (NULL: a run has
 * another one, or there are too many).
 */
struct served *aggregator_find_job (struct aggregator *a, const char *id);
struct served *aggregator_job (struct aggregator *a, const char *id);

/* Read the claims about a job from the ledger; call it again when they have
 * changed.
 */
void aggregator_recall_claims (struct aggregator *a, struct served *s);

/* Forget idle jobs, except this one (or NULL), and idle agents, to make room;
 * and forget agents of a service that are gone, with a job that has no others.
 */
void aggregator_give_back (struct aggregator *a, const struct served *but);
void aggregator_forget_gone (struct aggregator *a, int64_t now);

/* Note a sentence for log and summary, once; from this agent, or NULL. */
void aggregator_note (struct served *s, struct job_agent *agent,
                      const char *text);

/* The kinds of items that go into a result, up to this one; and where the
 * results of a job go.
 */
enum item_kind aggregator_last_kind (const struct aggregator *a);
void aggregator_name_out (const struct aggregator *a, const char *job,
                          char out[PATH_MAX]);

/* Note a job to be built when nothing else is due: there may be more such jobs
 * than can be served at a time.  0 or -ENOMEM.
 */
int aggregator_note_unbuilt (struct aggregator *a, const char *job);
void aggregator_forget_unbuilt (struct aggregator *a);

/* aggregator_wants.c: what an agent is told in a WELCOME; send it the WANTs that
 * are open, as they are repeated; and take its answers.
 */
enum raw_wanted aggregator_raw_of (struct aggregator *a,
                                   const struct served *s,
                                   const struct job_agent *agent);
void aggregator_say_wants (struct aggregator *a, const struct served *s,
                           const struct job_agent *agent);
void aggregator_on_have (struct aggregator *a, const struct served *s,
                         const struct job_agent *agent,
                         const struct message *m);

/* Read ROOT/wants.json; open the wants of an agent that has to deliver again
 * what is lost; free the list.
 */
void aggregator_open_wants (struct aggregator *a);
void aggregator_reopen_wants (struct aggregator *a, const struct served *s,
                              const struct job_agent *agent);

/* Forget those of a job that was removed. */
void aggregator_forget_wants (struct aggregator *a, const char *job);

/* Find the suspects of the build that has ended, in its thread; and want their
 * raw files, before the build is recorded.
 */
void aggregator_find_suspects (struct aggregator *a);
void aggregator_want_suspects (struct aggregator *a);

/* Execute the request "fetch"; as a control_fn. */
int aggregator_fetch (struct aggregator *a, const struct json *request,
                      struct json *answer, struct err *err);

/* aggregator_messages.c: a net_fn. */
void aggregator_on_message (void *arg, const struct net_peer *from,
                            const struct message *m, int bad,
                            const struct err *err);

/* aggregator_peers.c: the agent of a connection, and its job, or NULL.  Record
 * an agent when it is new or its index in the job changes (-ENOMEM: it is not
 * known, and says hello again), and forget it before it leaves.
 */
struct served *aggregator_find_peer (struct aggregator *a,
                                     const struct net_peer *from,
                                     struct job_agent **agent);
int aggregator_note_peer (struct aggregator *a, struct served *s,
                          const struct job_agent *agent);
void aggregator_forget_peer (void *arg, const struct net_peer *peer);
void aggregator_forget_peers (struct aggregator *a);

/* aggregator_keys.c: whether a HELLO's key is allowed for its host ('why': why
 * not); the commit of bindings; the end.
 */
bool aggregator_may_speak (struct aggregator *a, const struct net_peer *from,
                           const struct message *m, struct err *why);
int aggregator_commit_bound (struct aggregator *a, enum transfer_phase phase,
                             struct err *err);
void aggregator_forget_bound (struct aggregator *a);

/* aggregator_shares.c: whether a peer's key may use 'more' of a service's
 * resources in memory, or have one more agent of this job; log a refusal; and
 * free memory of idle agents from time to time.
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

/* aggregator_quota.c: count what the root holds, and from now on what comes;
 * again, in a thread, if it is stale: captures changed their job, were removed,
 * or could not be committed.  From then on an OFFER of new bytes beyond a quota is not
 * answered.
 */
void aggregator_count_usage (struct aggregator *a);
void aggregator_check_usage (struct aggregator *a, int64_t now);
void aggregator_end_usage (struct aggregator *a);

/* The job for which an item counts: that of its version, if it was assigned;
 * 'i' holds the text.
 */
const char *aggregator_job_of (struct aggregator *a, struct ledger_item *i);

/* For WELCOME: why an OFFER of this job was not answered a moment ago, or "". */
const char *aggregator_waits (const struct aggregator *a,
                              const struct served *s);

/* aggregator_forecast.c: for the status of a service, what it holds and when it
 * is full.  Days until so many bytes are used up; NaN: not at this rate.
 */
void aggregator_add_forecast (const struct aggregator *a, struct json *status);
double aggregator_days_left (double room, double bytes_a_day);

/* aggregator_commit.c: commit what has arrived, if anything, now or soon; and all
 * that was appended, as who writes by himself needs the store to himself: false,
 * that failed.
 */
void aggregator_commit (struct aggregator *a);
bool aggregator_is_quiet (struct aggregator *a);
void aggregator_commit_soon (struct aggregator *a);

/* aggregator_enter.c: commit without checking files first.  As
 * transfers_commit; a failure is logged.
 */
int aggregator_commit_now (struct aggregator *a);

/* Warn if a rank's rows came with another key before: it moved, or somebody
 * impersonates it.
 */
void aggregator_tell_sender (struct aggregator *a, struct served *s,
                             int64_t rank);

/* aggregator_notes.c: what goes with a commit of what agents said (a
 * transfer_extra_work_fn).
 */
int aggregator_commit_notes (void *arg, enum transfer_phase phase,
                             struct err *err);

/* Whether the next commit has to record something of this rank: MPI's rank, how
 * COMMAND ended, and in a run its host, which would be lost if its agent is
 * killed.  (A service does not keep the hosts of all ranks for ever.)
 */
bool aggregator_rank_is_due (const struct aggregator *a,
                             const struct job_rank *r);

/* aggregator_facts.c: after a build, commit what its captures say of who started
 * the job; false: that failed, and was logged.
 */
bool aggregator_note_origin (struct aggregator *a);

/* Handle DIVIDED: whether a fact is to be committed; and its commit. */
bool aggregator_on_divided (struct aggregator *a, struct served *s,
                            const struct job_agent *agent,
                            const struct message *m);
int aggregator_commit_said (struct aggregator *a, enum transfer_phase phase,
                            struct err *err);

/* aggregator_divide.c: divide captures that were sent without a job into jobs,
 * and have changed jobs built; 'came_ns': when they arrived, 0: before this
 * process.  1 if the scope itself has nothing to be built, 0 if it has,
 * negative: it is tried again.  And its commit.
 */
int aggregator_divide (struct aggregator *a, const struct served *s,
                       int64_t came_ns, struct err *err);
int aggregator_commit_divided (struct aggregator *a,
                               enum transfer_phase phase, struct err *err);

/* Remove the result of a job without captures, or of all such jobs. */
void aggregator_drop_result (struct aggregator *a, const char *job);
int aggregator_drop_empty (struct aggregator *a, struct err *err);

/* aggregator_build.c: begin a build, in a thread; log how it ended, when
 * build_fd is readable (false: it has not); and forget it.
 */
void aggregator_start_build (struct aggregator *a, struct served *s);
bool aggregator_end_build (struct aggregator *a);
void aggregator_forget_build (struct aggregator *a);

/* Cancel the running build, if there is one. */
void aggregator_cancel_build (struct aggregator *a);

/* Whether the last build of a job has failed; and which these are, for the status.
 */
bool aggregator_has_unbuilt (const struct aggregator *a);
void aggregator_add_unbuilt (const struct aggregator *a, struct json *status);

/* Whether all requested raw files are in OUT. */
bool aggregator_raw_is_whole (const struct aggregator *a);

/* Find jobs of a service whose results are missing or outdated: an earlier
 * aggregator may have ended before a build, and users may delete results.  They
 * are listed; and one of them is built: false, none can be built now.
 */
int aggregator_find_unbuilt (struct aggregator *a, struct err *err);
bool aggregator_build_next_unbuilt (struct aggregator *a);

/* aggregator_askers.c: whether this user may ask for this: 0; -EACCES, or -ENOENT
 * about a job that is not to be known.  '*visible_to': a user whose jobs only
 * may be shown, or NULL; until the next call.  And whether this root is meant.
 */
int aggregator_may_ask (struct aggregator *a, const struct control_peer *peer,
                        const struct json *request, const char **visible_to,
                        struct err *err);
bool aggregator_is_meant (const struct aggregator *a,
                          const struct control_peer *peer,
                          const struct json *request);

/* aggregator_askers.c: a message ASK or MORE, of a person with a key. */
void aggregator_on_ask (struct aggregator *a, const struct net_peer *from,
                        const struct message *m);

/* aggregator_views.c: run the verb of a request {"do": "view", "verb": VERB,
 * "options": [WORD, ...], "operands": [WORD, ...]}: CONTROL_LATER, and the
 * answer has its "exit_status"; -EINVAL; -EBUSY: others are running, or a
 * collection waits for those that read contents.
 */
int aggregator_view (struct aggregator *a, const struct control_peer *peer,
                     const struct json *request, const char *visible_to,
                     struct err *err);

/* The same for who is no user of this host: 0 and *ret, and 'end' is called with
 * the answer, which it takes over, when the verb has ended; or it is ended before,
 * and nothing is called.
 */
struct view;
struct view_asker {
    char who[NET_WHO_MAX + 8];  // of these two may ask at a time
    int out, said;              // where it prints; closed by whoever made them
    void (*end) (void *arg, struct json *answer);
    void *arg;                  // not NULL
    bool limited;               // no operator: nothing waits for him for ever
};
int aggregator_begin_view (struct aggregator *a, const struct view_asker *asker,
                           const struct json *request, const char *visible_to,
                           struct view **ret, struct err *err);
void aggregator_end_view (void *view);

/* Whether a process used less CPU than 'least_ns' since the last call, which left
 * '*cpu_ns' (at first so far below 0): it waits for whoever reads what it prints.
 */
bool aggregator_view_stalls (pid_t pid, int64_t *cpu_ns, int64_t least_ns);

/* aggregator_gc.c: whether collection and retention, one of which is due, have to
 * wait for a build; and whether they waited for so long that for some minutes no
 * other build begins.
 */
bool aggregator_upkeep_waits (struct aggregator *a, int64_t now);
bool aggregator_upkeep_has_turn (struct aggregator *a, int64_t now);

/* aggregator_gc.c: for how long the collection that is under way has waited in
 * all for those who read contents: not for builds.  0: there is none.
 */
int64_t aggregator_gc_waits (const struct aggregator *a);

/* aggregator_gc.c: begin to collect, unless it is under way; a step of it, when
 * it is time; the end, finished or not; and the request "gc", as a control_fn.
 */
int aggregator_start_gc (struct aggregator *a, const struct gc_options *opt,
                         struct err *err);
void aggregator_check_gc (struct aggregator *a, int64_t now);
void aggregator_end_gc (struct aggregator *a);
int aggregator_gc_request (struct aggregator *a, const struct json *request,
                           struct json *answer, struct err *err);

/* aggregator_retention.c: remove a job that is no longer kept, or decide which,
 * when it is time; what goes next, for the status; the end.
 */
void aggregator_check_retention (struct aggregator *a, int64_t now);
void aggregator_add_retention (const struct aggregator *a, struct json *status);
void aggregator_end_retention (struct aggregator *a);

/* aggregator_control.c: refresh a job from the ledger, after what it has was
 * changed; and a control_fn.
 */
void aggregator_take_up (struct aggregator *a, const char *id);
int aggregator_on_request (void *arg, const struct control_peer *peer,
                           const struct json *request, struct json *answer,
                           struct err *err);

/* aggregator_run.c: check whether the run is over, and build it then; after the
 * build, end if the result has everything that was acknowledged, or wait for
 * more; and whether the result has everything that the ledger has.
 */
void aggregator_check_run (struct aggregator *a, int64_t now);
void aggregator_on_run_built (struct aggregator *a);
bool aggregator_result_has_all (struct aggregator *a, const struct served *s);

/* aggregator.c: call it when build_fd is readable. */
void aggregator_on_built (void *arg);

#endif
