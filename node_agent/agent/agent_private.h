/* node_agent/agent/agent_private.h - rollcall-agent, between its files
 *
 * Each file calls only those above it in this list, and what has a header of
 * its own: agent_life, capture_object, exit_rule, sealer.
 *
 * agent_choice.c      which of several aggregators it delivers to
 * agent_second.c      the second copy, if only one aggregator is there
 * agent_basics.c      what all of them use
 * local_ranks.[ch]    the ranks of this host
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
    int64_t asked_ns, deaf_ns;  // see exit_deaf_ns; the sum of it
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

/* ---- agent_choice.c ---- */

/* Read which aggregators there are, and the keys for them; -ENOKEY, or as
 * endpoints_read.  agent_close_targets always cleans up.
 */
int agent_open_targets (struct agent *a, struct err *err);
void agent_close_targets (struct agent *a);

/* Begin to deliver to the first choices. */
int agent_open_ship (struct agent *a, const struct ship_events *events,
                     struct err *err);

/* Where a copy goes now; where all of them go, and those of raw files that do
 * not go with the rows ("": none), for people.
 */
const char *agent_endpoint (const struct agent *a, unsigned copy);
const char *agent_endpoints (const struct agent *a,
                             char out[MESSAGE_TEXT_MAX]);
const char *agent_raw_endpoints (const struct agent *a,
                                 char out[MESSAGE_TEXT_MAX]);

/* Which raw files are wanted has changed: they may go elsewhere.  Whether a
 * copy has raw files.
 */
void agent_route (struct agent *a);
bool agent_gives_raw_to (const struct agent *a, unsigned copy);

/* Keep the name of the aggregator whose mark the spool has for a copy; the name
 * before that, if it is another one ("": not known), or NULL.
 */
void agent_keep_holder (struct agent *a, unsigned copy);
const char *agent_former_holder (const struct agent *a, unsigned copy,
                                 char out[MESSAGE_NAME_MAX]);

/* Whether no aggregator stands in for another one. */
bool agent_is_at_first_choice (const struct agent *a);

/* Move to another one if one is away, or back: now and then by a timer. */
void agent_look_at_targets (void *arg);

/* Call it before silence is judged: silence while this process did not listen
 * is none.
 */
void agent_look_whether_deaf (struct agent *a);

/* ---- agent_second.c ---- */

/* Items that only one aggregator has acknowledged, of which the second copy is not
 * known to be in its object store.
 */
uint64_t agent_count_kept (const struct agent *a);

/* Why there is no second copy, and will be none soon; "": there is, or will be. */
const char *agent_lacks_second (const struct agent *a,
                                char out[MESSAGE_TEXT_MAX]);
void agent_tell_second (struct agent *a);       // when that changes

/* Whether the store may have what is kept soon: it is asked to hurry. */
bool agent_awaits_store (struct agent *a);

/* What the end leaves here of that, or "". */
void agent_name_kept (const struct agent *a, char *out, size_t size);

/* Log whether an object store stands in for an aggregator, when that changes. */
void agent_tell_keeper (struct agent *a);

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

/* ---- local_ranks.c ---- */

/* A COMMAND here started this rank.  False: its wrapper is not known yet. */
bool agent_rank_began (struct agent *a, const struct process_report *t);

/* MPI gave a process of a COMMAND here its rank.  False as above. */
bool agent_rank_by_mpi (struct agent *a, const struct process_report *t);

bool agent_has_rank (struct agent *a, int64_t rank);
bool agent_all_ended (const struct agent *a);   // false while there are none
int64_t agent_count_ranks (const struct agent *a);      // that have joined

/* ---- agent_process_reports.c ---- */

/* Check whether processes of COMMANDs reported that they are ranks
 * (world/process_reports.h): now and then by a timer.  'arg' is the agent.
 */
void agent_look_at_reports (void *arg);

/* Read the reports again, even if nothing is new. */
void agent_read_reports (struct agent *a);
void agent_remove_reports (const struct agent *a);

/* ---- agent_runs.c ---- */

/* Watch this directory, which belongs to no run, for captures of this run. */
void agent_share_dir (struct agent *a, const char *dir);

/* Whether another run watches one of our directories. */
bool agent_has_rivals (const struct agent *a);

/* ---- agent_owner.c ---- */

/* Become known to the agents of other runs on this host. 0 or -errno;
 * agent_close_owners always cleans up.
 */
int agent_open_owners (struct agent *a, struct err *err);
void agent_close_owners (struct agent *a);

/* Whose a capture in a shared directory is.  One that stays in doubt is
 * reported to the log and the summary, and is foreign.
 */
enum watch_owner agent_owner (struct agent *a, const char *path);
size_t agent_count_doubtful (const struct agent *a);

/* A sentence about the captures in doubt, for a rank without another reason;
 * false: there are none.
 */
bool agent_explain_doubt (const struct agent *a, char *out, size_t size);

/* A COMMAND begins, or began at 'since_ns' (since 1970), below this wrapper. */
void agent_own_command (struct agent *a, int64_t wrapper, int64_t since_ns);

/* ---- agent_losses.c ---- */

/* Report losses of earlier agents to the log and the summary; what can still be
 * read again is not a loss yet.  At the end, report those too.
 */
void agent_recall_losses (struct agent *a);
void agent_explain_losses (struct agent *a);

/* Whether anything is lost, or was refused. */
bool agent_has_losses (struct agent *a);

/* A sentence about all that will not be delivered; "" if there is none. */
void agent_sum_up (struct agent *a, char *text, size_t size);

/* Tell the aggregator how each rank ended, and for ranks without a capture
 * where it was looked for.
 */
void agent_explain_ranks (struct agent *a);

/* ---- disk_pressure.c ---- */

/* Parse the options. */
void agent_open_disk_pressure (struct agent *a);
void agent_close_disk_pressure (struct agent *a);

/* Captures are also written below 'dir': watch its file system's space. */
void agent_add_disk (struct agent *a, const char *dir);

/* Tell the sealer's thread how far to give way to the job. */
void agent_give_way (struct agent *a);

/* Whether another capture may be read into the spool: 1 yes; 0 not yet; -EDQUOT
 * never (--when-full refuse, already noted).  'again': it was sealed before and
 * has been analysed.
 */
int agent_has_disk_space (struct agent *a, const char *capture, bool again);

/* A write found the spool's disk full: read nothing more for a while. */
void agent_ran_out (struct agent *a, const struct err *why);

/* Whether the spool was full, and takes captures again from now on. */
bool agent_has_room_again (struct agent *a);

/* Whether a file system with captures is nearly full, so that the job's
 * profiler will fail there; that is logged once each time.
 */
bool agent_check_disks (struct agent *a);

/* Whether the aggregator confirmed within 10 seconds that it has everything it
 * acknowledged.  Nothing is released otherwise.
 */
bool agent_is_confirmed (const struct agent *a);

/* Finish removals that an earlier agent began, once, as soon as the aggregator
 * has confirmed that it has everything it acknowledged.  True: captures were
 * put back instead, and have to be searched for.
 */
bool agent_go_on_removing (struct agent *a);

/* Release some of the captures that may be removed, more of them if a disk is
 * 'full'.  Release one more at the end; false: there is none.
 */
void agent_release_some (struct agent *a, bool full);
bool agent_release_next (struct agent *a);

/* ---- local_wrappers.c ---- */

/* Listen for wrappers, if this is the agent of a run. 0 or -errno;
 * agent_close_wrappers always cleans up.
 */
int agent_open_wrappers (struct agent *a, struct err *err);

/* Forget all wrappers and ranks, and kill what ended COMMANDs left running. */
void agent_close_wrappers (struct agent *a);

/* Restore from the spool what wrappers told an earlier agent; everything else
 * must be open. 0 or -errno.
 */
int agent_recall_wrappers (struct agent *a, struct err *err);

/* Wrappers of an earlier agent that have not come back by 'now' are dead. */
void agent_check_rejoined (struct agent *a, int64_t now);

/* Send a message to all wrappers: type and members of control/control.h. */
void agent_tell_wrappers (struct agent *a, const char *type, const char *text,
                          bool complete);

/* ---- agent_connection.c ---- */

/* NULL if the aggregator is heard, else "not-connected" or "refused"; 'why'
 * gets the reason, if it is known.
 */
const char *agent_not_connected (const struct agent *a,
                                 char why[MESSAGE_TEXT_MAX]);

/* Log changes of this, and repeat it once a minute while it lasts: now and then
 * by a timer.
 */
void agent_look_at_connection (void *arg);

/* The text 'end' followed by why the aggregator is not heard. */
void agent_explain_end (struct agent *a, const char *end,
                        char text[MESSAGE_TEXT_MAX]);

/* Handlers of struct ship_events. */
void agent_on_connected (struct agent *a, unsigned copy);
void agent_on_refused (void *arg, unsigned copy, enum refusal reason,
                       const char *why);
void agent_on_problem (void *arg, unsigned copy, enum net_problem what,
                       const char *text);

/* ---- agent_analyse.c ---- */

/* Resume the analyses that an earlier agent had queued. 0 or -errno;
 * agent_close_analyses kills running ones, and must always be called.
 */
int agent_open_analyses (struct agent *a, struct err *err);
void agent_close_analyses (struct agent *a);

/* Whether the capture is being analysed now: it is handed on again afterwards.
 */
bool agent_is_analysing (const struct agent *a, const char *path);

/* Add what is known of the analysis of a settled capture to its fingerprint.
 * -EAGAIN: nothing is known before the next search.
 */
int agent_recall_analysis (struct agent *a, struct watch_settled *s,
                           struct sealer_analysis *ret);

/* A capture is about to be sealed: true if it has to be analysed first.
 * Recorded for a later agent, whether the sealing succeeds or not.
 */
bool agent_plan_analysis (struct agent *a, const struct sealed *s);

/* A capture was sealed: true if it has to be analysed, and then sealed again.
 */
bool agent_take_analysis (struct agent *a, const struct sealed *s);

/* A capture settled that an earlier agent had sealed: true if it has to be
 * analysed, because that agent could not or had no program for it.
 */
bool agent_resume_analysis (struct agent *a, const char *path);

/* A capture cannot be sealed: keep what is known of its analysis for another
 * try; nothing waits for it.
 */
void agent_hold_analysis (struct agent *a, const char *path);
void agent_forget_analysis (struct agent *a, const char *path);

/* Number of captures to be analysed, or to be sealed after their analysis. */
size_t agent_open_count (const struct agent *a);

/* Report the captures whose analysis took more than half of the deadline. */
void agent_note_analyses (struct agent *a);

/* Periodic work: forget analyses of captures that are gone, and give way. */
void agent_check_analyses (struct agent *a);

/* ---- agent_captures.c ---- */

/* Report what the spool found when it was opened; everything else must be open.
 * 0 or -errno.
 */
int agent_recall_captures (struct agent *a, struct err *err);

/* Log how many captures, settled since the last call, an earlier agent
 * delivered and nobody will release.
 */
void agent_tell_kept (struct agent *a);

/* Handle a settled capture: see watch_scan. */
int agent_on_settled (void *arg, const struct watch_settled *s,
                      struct err *err);

/* ---- agent_search.c ---- */

/* Begin to watch; the first agent_scan begins to search. 0 or -errno;
 * agent_close_search always cleans up.
 */
int agent_open_search (struct agent *a, struct err *err);
void agent_close_search (struct agent *a);

/* Scan captures and small directories now and then by a timer; begin a search
 * of large ones as soon as the last one has ended.  'arg' is the agent.
 */
void agent_scan (void *arg);
void agent_search (void *arg);

/* Something appeared, at 'moved_ns' (monotonic), where a search may have found
 * nothing: search again.
 */
void agent_search_again (struct agent *a, int64_t moved_ns);

/* Go on with captures that had to wait for room or for the sealer. */
void agent_hand_on (struct agent *a);

/* ---- agent_wants.c ---- */

/* Recall what an earlier agent was told of raw files; forget all wants. */
void agent_recall_raw (struct agent *a);
void agent_close_wants (struct agent *a);

/* Handlers of struct ship_events. */
void agent_on_raw (void *arg, enum raw_wanted raw, int64_t asked_ns);
void agent_on_want (void *arg, unsigned copy, const struct message *m);

/* Take the files that the sealer has sealed for a want. */
void agent_take_wanted (struct agent *a, struct sealed *s);

/* Something was delivered: say so of the wants that are complete. */
void agent_answer_wants (struct agent *a);

/* ---- agent_seals.c ---- */

/* Start the sealer's thread. 0 or -errno; agent_close_seals always cleans up.
 */
int agent_open_seals (struct agent *a, struct err *err);
void agent_close_seals (struct agent *a);       // waits for the thread

/* Whether the end must wait for another try to seal a capture: in a run while
 * there is time, otherwise for a second try.
 */
bool agent_is_retrying_seal (const struct agent *a);

/* At the end, report the captures that could not be sealed. */
void agent_explain_captures (struct agent *a);

/* ---- agent_end.c ---- */

/* Begin the life (agent_life.h), and set the callbacks of 'end'. */
void agent_begin_life (struct agent *a);

/* End with 0 if nothing is open or lost, else with this status. */
void agent_finish (struct agent *a, int status, const char *why);

/* When an earlier agent recorded that the run has ended on this host, since 1970;
 * 0: none has.
 */
int64_t agent_over_ns (const struct agent *a);

/* Check the deadline and for a silent aggregator: now and then by a timer. */
void agent_check_exit_rule (void *arg);

/* Handlers of struct ship_events. */
void agent_on_roll (void *arg, bool complete, const char *text);
void agent_on_said (void *arg);

/* ---- agent_redeliver.c ---- */

/* Redeliver: the aggregator has lost acknowledged data (see ship_events).
 * Resume what an earlier agent had begun.
 */
void agent_on_lost (void *arg, unsigned copy);
void agent_recall_redelivery (struct agent *a);

/* Offer what one aggregator alone has (spool_revise), if there is any, once all
 * that are chosen are heard, or another one alone keeps.
 */
void agent_revise (struct agent *a);

/* A handler of struct ship_events. */
void agent_on_judged (void *arg);

/* Report losses once the aggregator has answered for all that is not here. */
void agent_tell_lost (struct agent *a);

/* A sentence about what only one of two aggregators has; "" if there is nothing. */
const char *agent_name_one_copy (const struct agent *a,
                                 char out[MESSAGE_TEXT_MAX]);

/* ---- agent_status.c ---- */

/* Write the status now and then by a timer; remove it at the end. */
void agent_write_status (void *arg);
void agent_end_status (struct agent *a);

#endif
