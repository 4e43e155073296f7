/* node_agent/agent/agent_private.h - rollcall-agent, between its files: its state,
 * and what all of them use
 *
 * What they do for each other is in agent_local.h (ranks, wrappers and runs of this
 * host), agent_captures.h (from being found to being released), agent_delivery.h
 * (aggregators) and agent_end.h.  Each file calls only those above it in this
 * list, and what has a header of its own: agent_life, capture_object, exit_rule,
 * sealer.
 *
 * agent_choice.c      which of several aggregators it delivers to
 * agent_second.c      the second copy, if only one aggregator is there
 * agent_basics.c      what all of them use
 * local_ranks.c       the ranks of this host
 * agent_process_reports.c  what COMMANDs report of themselves
 * agent_runs.c        what other runs on this host are told, and say
 * agent_owner.c       whose a capture in a shared directory is
 * agent_losses.c      what will not be delivered
 * disk_pressure.c     room on disks: waiting for it, making it
 * local_wrappers.c    what wrappers report
 * agent_connection.c  whether the aggregator is there, and why not
 * agent_analyse.c     captures that were never analysed
 * agent_captures.c    captures that have settled go to the sealer
 * agent_search.c      captures are searched for, again and again
 * agent_wants.c       raw files that the aggregator wants, or does not
 * agent_seals.c       what the sealer has sealed, or could not
 * agent_end.c         when it is over, and how: guards and actions of its life
 * agent_redeliver.c   the aggregator has lost what it acknowledged
 * agent_status.c      what rollcall status is told
 * agent.c             set-up, the loop, the aggregator's messages, the end
 */
#ifndef ROLLCALL_AGENT_AGENT_PRIVATE_H
#define ROLLCALL_AGENT_AGENT_PRIVATE_H

#include "agent/agent.h"

#include "agent/agent_life.h"
#include "agent/capture_object.h"
#include "agent/sealer.h"
#include "offline_analysis/analyser.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/pace.h"
#include "discovery/finder.h"
#include "discovery/watch.h"
#include "disk/disk_quota.h"
#include "disk/release.h"
#include "disk/roots.h"
#include "ship/choice.h"
#include "ship/ship.h"
#include "spool/spool.h"
#include "throttle/bulk.h"
#include "world/host.h"

#include <stdbool.h>
#include <stdint.h>

struct agent;
struct agent_want;              // raw files that the aggregator has asked for
struct analysis;                // of a capture: waiting, running or over
struct client;                  // a wrapper's connection
struct disk;                    // where captures are written
struct local_rank;              // a rank of this host
struct owners;                  // what is known about processes and other runs
struct process_report;          // what a COMMAND reports of itself

/* Why the aggregator is not heard. */
struct connection {
    char met[MESSAGE_TEXT_MAX]; // the last problem, and when; 0: none yet
    int64_t met_ns;
    bool refused;               // permanent until somebody acts
    bool missed;                // its absence was logged
    int64_t said_ns[2];         // when logged: not-connected, refused
    int64_t closed_ns;          // since when connections end in the handshake
};

/* Whether one of several aggregators that is away answers again. */
struct probe {
    struct net *net;            // NULL: nothing is probed now
    size_t endpoint;
    int64_t began_ns;           // or ended; 0: never
    bool answers;
};

/* Where it delivers to. */
struct targets {
    struct endpoints endpoints; // in the order of the job
    struct choice choice;
    unsigned at_work;           // copies with a connection: a bit for each
    bool marks_due;             // the spool is to forget marks of others
    unsigned copies;            // that an item needs
    bool stands_in;             // an object store does for an aggregator
    bool no_second;             // a second copy is nowhere; logged
    struct probe probe;
};

/* The agent's identity. */
struct self {
    char host[HOST_NAME_MAX_BYTES], key[HOST_KEY_SIZE], host_id[HOST_KEY_SIZE];
    struct job_origin about;    // of a run
};

/* The ranks of this host, and their wrappers. */
struct local {
    int listener;               // for wrappers; -1: none
    struct client *clients;
    struct local_rank *ranks;   // those for which a wrapper said hello, and
                                // those that its COMMAND has started
    int64_t world_size;         // 0: unknown
    char out[PATH_MAX];         // where a run's result has raw files, or ""
};

/* What MPI has reported about ranks, each report once. */
struct reports {
    struct process_report *all;
    size_t n;
    int64_t read_ns;            // when those files were read (wall clock)
};

/* Captures that were never analysed. */
struct analyses {
    struct analyser *analyser;
    struct analysis *first;     // to come, or over
    void *by_path;              // the same, for tsearch(3)
    char dir[PATH_MAX];         // their logs
    bool unavailable[OWN_ANALYSES];     // looked for, and not there
    bool memory_noted;          // it was logged that they wait for memory
    int64_t forget_gone_ns;     // when to look for those that are gone
};

/* Looking for captures: scans of known captures and small directories, searches
 * of large directories.
 */
struct search {
    int64_t interval_ns;        // between scans
    struct pace scans, searches;
    int64_t scan_began_ns;      // the latest one
    unsigned scans_after_end;   // of COMMANDs
    int64_t began_ns;           // the latest search
    int64_t searched_ns;        // start of the latest search that has ended
    int64_t moved_ns;           // when a capture was last missed
    int64_t failure_ns;         // when one was logged, 0: never
    bool looked;                // a search has ended
    bool complete;              // one that began after moved_ns, and after the
                                // end of COMMANDs, has ended
    bool flushed;               // unsettled captures were taken as they were
    bool unread;                // a directory could not be searched (--once)
    bool waiting;               // settled captures wait
    bool left_noted;            // some of the working directory is left
};

/* Results of the sealer, and captures that could not be sealed. */
struct seals {
    int64_t latest_ns;          // when the last one came back
    bool again;                 // a timer is set for those that failed
    uint64_t late;              // how often captures were found that are
                                // removed except for later files
    size_t kept;                // an earlier agent's, without a release
    char kept_first[PATH_MAX];  // the first of them
};

/* Room on disks. */
struct room {
    struct disk_quota disk_quota;
    struct disk *disks;
    bool held;                  // no room; disk_quota.why says why
    bool noted;                 // the summary says so
    int64_t collecting_ns;      // collecting since then; 0: it is not
    int64_t full_until_ns;      // a write found no room: wait until then
};

/* Delivered captures that may be removed. */
struct release {
    struct release_policy policy;
    char below[PATH_MAX];       // borrowed by 'policy'
    struct roots *roots;        // of watched directories; NULL in a run
    int64_t stale_ns;           // when one was to go that stays: it may have
                                // changed
    int64_t failed_ns;          // when a failure was logged, 0: never
    bool repaired;              // removals that were cut short are finished
};

/* Items of captures that are no longer here, of which one of two aggregators has
 * nothing: it is a note of the spool, too.
 */
struct one_copy {
    uint64_t items;             // 0: there are none
    int64_t since_ns;           // since 1970
    char lacks[MESSAGE_NAME_MAX];       // the endpoint of that aggregator
};

/* Delivering again what the aggregator has lost, or never had. */
struct redelivery {
    struct spool_redelivery spool;      // under way
    char to[MESSAGE_NAME_MAX];  // another one than acknowledged it; "": the same
    bool asking;                // losses are to be reported when the
                                // answers have come
    uint64_t revised;           // captures that only one aggregator had, and
                                // that are offered to another one
    struct one_copy one_copy;
    bool ask_due;               // somebody may have copied it: see agent_ask_gone
};

/* Which raw files the aggregator wants. */
struct wants {
    bool known;                 // whether on demand, by this or an earlier
                                // WELCOME
    bool on_demand;             // only those that a WANT names
    int64_t decided_ns;         // the HELLO after which no WANT was to be
                                // expected; 0: one is
    int64_t undecided_ns;       // since when one is; 0: none is
    struct agent_want *list;
    size_t n;
    bool sealing;               // the sealer has files of one of them
};

/* How the agent ends; 'life' says when. */
struct end {
    // callbacks of agent_end.c, for files that it calls
    void (*check) (struct agent *a);    // something was delivered or searched:
                                        // end, or tell, if nothing is left
    void (*scanned) (struct agent *a);  // after a scan: report unread captures
    int64_t commands_ns;        // when all COMMANDs had ended; 0: not yet
    char last_word[MESSAGE_TEXT_MAX];   // the text of DONE; "": none, or it was
                                // withdrawn
    bool was_done;              // DONE was said, by this or an earlier agent
    bool roll_whole;            // as ROLL said
    char roll_text[MESSAGE_TEXT_MAX];
    bool complete;              // every rank is present, nothing is left here
    int64_t asked_ns, deaf_ns;  // see clock_missed_ns; the sum of it,
    int64_t commands_deaf_ns;   // and what it was at commands_ns
    int status;                 // the exit status
};

/* State shared by the files.  It begins as zeros, except for the options, the
 * listener (-1) and 'life'.
 */
struct agent {
    const struct agent_options *opt;
    struct loop *loop;
    struct watch *watch;
    struct finder *finder;
    struct spool *spool;
    struct bulk *bulk;
    struct sealer *sealer;
    struct ship *ship;
    struct owners *owners;      // NULL: not of a run
    struct life life;
    struct self self;
    struct targets targets;
    struct connection connection[SPOOL_COPIES_ALL];
    struct local local;
    struct reports reports;
    struct search search;
    struct analyses analyses;
    struct capture_objects captures;
    struct seals seals;
    struct room room;
    struct release release;
    struct redelivery redelivery;
    struct wants wants;
    struct end end;
    char spool_dir[PATH_MAX];
    bool ledger_gone;           // it could not be restored; logged
    char *status_text;          // the latest text for rollcall status
};

/* ---- agent_basics.c ---- */

/* Write a note of this host to the log and to the job's summary.  The summary
 * keeps it, so only log what may change.
 */
void agent_note (struct agent *a, enum log_level level, const char *event,
                 const char *fmt, ...) __attribute__ ((format (printf, 4, 5)));

/* End with this status, whatever is open or lost. */
void agent_stop (struct agent *a, int status, const char *why);

/* Whether nothing more will be written: all COMMANDs have ended, or there are
 * none (--once).
 */
bool agent_is_draining (const struct agent *a);

#define AGENT_LOOK_NS NS_PER_S          // between looks at aggregators

/* How long ago all COMMANDs have ended, or this agent has begun, without the time
 * in which it was stopped.
 */
int64_t agent_ended_for_ns (const struct agent *a);
int64_t agent_began_for_ns (const struct agent *a);

/* Whether a part of the deadline (1: all, 2: half of it) has passed since all
 * COMMANDs ended.
 */
bool agent_is_past_deadline (const struct agent *a, int part);

/* How long a capture must currently be unchanged to count as settled. */
int64_t agent_quiet_ns (const struct agent *a);

/* Whether raw files of new captures are sealed: it may give them (--raw), and
 * the aggregator does not want them on demand only.
 */
bool agent_gives_raw (const struct agent *a);

/* Whether an agent that may give raw files waits until it knows which ones are
 * wanted, before it seals anything: an aggregator that is there says so at once.
 * With --once there is nothing else to do, and on a busy host the answer may
 * take longer.
 */
#define AGENT_POLICY_NS (2 * NS_PER_S)
#define AGENT_POLICY_ONCE_NS (20 * NS_PER_S)
bool agent_awaits_policy (const struct agent *a);

/* Whether the aggregator may want raw files of captures that are delivered:
 * until it has said that it does not, but for AGENT_DECISION_NS at most after
 * the last acknowledgement.
 */
#define AGENT_DECISION_NS (120 * NS_PER_S)      // a build of a large job, and
                                                // of another one before it
bool agent_awaits_wants (const struct agent *a);

/* When a capture that could not be sealed is tried again: the disk may have room
 * then.
 */
#define AGENT_SEAL_AGAIN_NS (10 * NS_PER_S)

/* The path of a directory of this agent: RUN_DIR/NAME, or STATE/NAME-JOB. */
int agent_name_dir (const struct agent *a, const char *name,
                    char out[PATH_MAX], struct err *err);

/* Whether 'path' is below 'dir'; below "" there is nothing. */
bool agent_is_below (const char *path, const char *dir);

/* Record, also for the next agent, whether DONE was said: from then on a run's
 * result is built, and files in it are not captures.
 */
void agent_set_done (struct agent *a, bool done);
void agent_recall_done (struct agent *a);       // of an earlier agent

#endif
