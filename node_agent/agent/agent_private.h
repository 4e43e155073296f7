/* node_agent/agent/agent_private.h - rollcall-agent, between its files
 *
 * agent.c             set-up, the loop, the aggregator's words, the end
 * agent_analyse.c     captures that were never analysed
 * agent_captures.c    captures that have settled go to the sealer
 * capture_object.[ch] captures between found and sealed: a table of states
 * agent_connection.c  whether the aggregator is there, and why not
 * agent_end.c         when it is over, and how: guards and actions of its life
 * agent_life.[ch]     the life of an agent: a table of states and events
 * agent_losses.c      what will not be delivered
 * agent_owner.c       whose a capture in a shared directory is
 * agent_redeliver.c   the aggregator has lost what it acknowledged
 * disk_pressure.c        room on disks: waiting for it, making it
 * agent_runs.c        what other runs on this host are told, and say
 * agent_seals.c       what the sealer has sealed, or could not
 * agent_search.c      captures are searched for, again and again
 * agent_status.c      what rollcall status is told
 * agent_process_reports.c        what COMMANDs say of themselves
 * local_ranks.c    the ranks of this host, and their wrappers
 */
#ifndef ROLLCALL_AGENT_AGENT_PRIVATE_H
#define ROLLCALL_AGENT_AGENT_PRIVATE_H

#include "agent/agent.h"

#include "agent/agent_life.h"
#include "agent/capture_object.h"
#include "agent/sealer.h"
#include "analyse/analyser.h"
#include "base/log.h"
#include "base/loop.h"
#include "discovery/finder.h"
#include "discovery/watch.h"
#include "disk/disk_quota.h"
#include "disk/release.h"
#include "disk/roots.h"
#include "ship/ship.h"
#include "spool/spool.h"
#include "throttle/bulk.h"
#include "world/host.h"

#include <stdbool.h>
#include <stdint.h>

struct analysis;                // a capture's, to come or over
struct client;                  // a wrapper's connection
struct disk;                    // where captures are written
struct local_rank;              // a rank of this host
struct owners;                  // what is known of processes and other runs
struct process_report;          // what a COMMAND says of itself

/* What keeps the aggregator from being heard. */
struct connection {
    char met[MESSAGE_TEXT_MAX]; // the last thing, and when; 0: nothing yet
    int64_t met_ns;
    bool refused;               // that will not change by itself
    bool missed;                // it was said that it is not there
    int64_t said_ns[2];         // when: not connected, refused; 0: never
    int64_t closed_ns;          // since when connections end in the handshake
};

/* Who this agent is. */
struct self {
    struct net_security security;
    char host[HOST_NAME_MAX_BYTES], key[HOST_KEY_SIZE], host_id[HOST_KEY_SIZE];
    struct job_origin about;    // of a run
};

/* The ranks of this host, and their wrappers. */
struct local {
    int listener;               // for wrappers; -1: none
    struct client *clients;
    struct local_rank *ranks;   // those that a wrapper has said hello for, and
                                // that its COMMAND has started
    int64_t world_size;         // 0: unknown
    char out[PATH_MAX];         // where a run's result has raw files, or ""
};

/* What MPI has said of ranks, each once. */
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
    bool memory_noted;          // that they wait for it was logged
    int64_t forget_gone_ns;     // when to look for those that are gone
};

/* Looking for captures: scans of what is known and of small directories,
 * searches of large ones.
 */
struct search {
    int64_t interval_ns;        // between scans
    int64_t scan_began_ns;      // the latest one
    unsigned scans_after_end;   // of COMMANDs
    int64_t began_ns;           // the latest search
    int64_t searched_ns;        // when the latest began that has ended
    int64_t moved_ns;           // when a capture was not where it had been
    int64_t failure_ns;         // when one was logged, 0: never
    bool looked;                // a search has ended: what is there is known
    bool complete;              // one that began after moved_ns, and after the
                                // end of COMMANDs, has ended
    bool flushed;               // what had not settled was taken as it was
    bool unread;                // a directory could not be searched (--once)
    bool waiting;               // settled captures wait
    bool left_noted;            // some of the working directory is left
};

/* What the sealer gives back, and does not get. */
struct seals {
    int64_t latest_ns;          // when it gave back the last one
    bool again;                 // a timer is set for those that failed
    uint64_t late;              // captures that were removed but for what came
                                // later: so often that was met
    size_t kept;                // captures of a former life without a release
    char kept_first[PATH_MAX];  // to be told of
};

/* Room on disks. */
struct room {
    struct disk_quota disk_quota;
    struct disk *disks;
    bool held;                  // for want of room; guard.why says it
    bool noted;                 // that is in the summary
    int64_t collecting_ns;      // since when without a break; 0: it is not
    int64_t full_until_ns;      // a write found no room: wait so long
};

/* Captures that are delivered, and may go. */
struct release {
    struct release_policy policy;
    char below[PATH_MAX];       // what 'policy' borrows
    struct roots *roots;        // of what is watched, but in a run
    int64_t stale_ns;           // when one was to go that stays: it may have
                                // changed
    int64_t failed_ns;          // when a failure was logged, 0: never
    bool repaired;              // removals of former lives were gone on with
};

/* What the aggregator has lost comes again. */
struct redelivery {
    struct spool_redelivery spool;      // that is under way
    bool asking;                // what is lost is to be told when the answers
                                // have come
};

/* How it ends; when is said by its life. */
struct end {
    int64_t commands_ns;        // when all COMMANDs had ended; 0: not yet
    char last_word[MESSAGE_TEXT_MAX];   // that DONE said; "": none, or it was
                                // taken back
    bool was_done;              // that was said, in this life or another
    bool roll_whole;            // what ROLL said
    char roll_text[MESSAGE_TEXT_MAX];
    bool complete;              // every rank is present, nothing is left here
    int status;                 // to exit with
};

/* What the files share.  It begins as zeros, apart from the options, the
 * listener (-1) and its life.
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
    struct connection connection;
    struct local local;
    struct reports reports;
    struct search search;
    struct analyses analyses;
    struct capture_objects captures;
    struct seals seals;
    struct room room;
    struct release release;
    struct redelivery redelivery;
    struct end end;
    char spool_dir[PATH_MAX];
    bool ledger_gone;           // and it could not be put back; that was said
    char *status_text;          // of rollcall status, that was written last
};

/* ---- agent.c ---- */

/* Say something both to the log and to the summary, which names it until the
 * end of the job: what may change is only logged.
 */
void agent_note (struct agent *a, enum log_level level, const char *event,
                 const char *fmt, ...) __attribute__ ((format (printf, 4, 5)));

/* ---- agent_analyse.c ---- */

/* Go on with what a former life had queued.  0 or -errno; agent_close_analyses
 * kills what is under way, in any case.
 */
int agent_open_analyses (struct agent *a, struct err *err);
void agent_close_analyses (struct agent *a);

/* Whether the capture is being analysed right now: it will be handed on again
 * at the end of that.
 */
bool agent_is_analysing (const struct agent *a, const char *path);

/* What is known of the analysis of a capture that has settled, which becomes
 * part of its fingerprint.  -EAGAIN: nothing before the next search.
 */
int agent_recall_analysis (struct agent *a, struct watch_settled *s,
                           struct sealer_analysis *ret);

/* A capture is about to be sealed: true if it is to be analysed.  A later life
 * knows, whether it was sealed or not.
 */
bool agent_plan_analysis (struct agent *a, const struct sealed *s);

/* A capture has been sealed: true if it is to be analysed, so that it will be
 * sealed once more.
 */
bool agent_take_analysis (struct agent *a, const struct sealed *s);

/* A capture has settled that was sealed in a former life: true if it is to be
 * analysed, because that life could not, or had no program for it.
 */
bool agent_resume_analysis (struct agent *a, const char *path);

/* A capture cannot be sealed: what is known of its analysis waits for another
 * try, and nobody for it.
 */
void agent_hold_analysis (struct agent *a, const char *path);
void agent_forget_analysis (struct agent *a, const char *path);

/* Captures that are to be analysed, or to be sealed after that. */
size_t agent_open_count (const struct agent *a);

/* Half of the deadline was not enough for some: say so. */
void agent_note_analyses (struct agent *a);

/* Now and again: forget what is gone, give way. */
void agent_check_analyses (struct agent *a);

/* ---- agent_captures.c ---- */

/* Note for the next life, too, whether DONE was said: from then on the result
 * of a run is built, and what is in it is no capture.
 */
void agent_set_done (struct agent *a, bool done);

/* Begin to watch, and start the sealer's thread; searching begins with the
 * first agent_scan.  0 or -errno; agent_close_captures cleans up in any case.
 */
int agent_open_captures (struct agent *a, struct err *err);
void agent_close_captures (struct agent *a);    // waits for the thread

/* Tell of what the spool found at the start; the rest of it must be open.
 * 0 or -errno.
 */
int agent_recall_captures (struct agent *a, struct err *err);

/* Captures are not where they were, and were not read: have them looked for;
 * those that are nowhere have vanished.
 */
void agent_lose_gone (struct agent *a);

/* Say how many captures are not released that a former life has delivered, of
 * those that have settled since this was called before.
 */
void agent_tell_kept (struct agent *a);

/* What is to be done with a capture that has settled: see watch_scan. */
int agent_on_settled (void *arg, const struct watch_settled *s,
                      struct err *err);

/* ---- agent_connection.c ---- */

/* NULL if the aggregator is heard, else "not-connected" or "refused"; and
 * 'why', as far as that is known.
 */
const char *agent_not_connected (const struct agent *a,
                                 char why[MESSAGE_TEXT_MAX]);

/* Log it when that changes, and once a minute while it lasts: now, and again by
 * a timer.
 */
void agent_look_at_connection (void *arg);

/* For an end to be logged: 'end', and why the aggregator is not heard. */
void agent_explain_end (struct agent *a, const char *end,
                        char text[MESSAGE_TEXT_MAX]);

/* What is met: see ship_events. */
void agent_on_connected (struct agent *a);
void agent_on_refused (void *arg, enum refusal reason, const char *why);
void agent_on_problem (void *arg, enum net_problem what, const char *text);

/* ---- agent_end.c ---- */

/* Begin to live: see agent_life.h.  An event, and why it came, or NULL. */
void agent_begin_life (struct agent *a);
bool agent_take (struct agent *a, enum life_event event, const char *why);

/* Whether nothing more will be written: all COMMANDs have ended, or there are
 * none (--once).
 */
bool agent_is_draining (const struct agent *a);

/* Whether a part of the deadline (1: all, 2: half of it) has passed since all
 * COMMANDs ended.
 */
bool agent_is_past_deadline (const struct agent *a, int part);

/* Something was delivered or searched: if that was the last there is,
 * end (--once), or tell the aggregator (a run).
 */
void agent_check_done (struct agent *a);

/* Captures were searched for: tell the aggregator of a run's own how many are
 * to be read.  What is found behind DONE takes that back.
 */
void agent_tell_left (struct agent *a);

/* End: with 0 if nothing is open or lost, else with this status; or with this
 * one in any case.
 */
void agent_finish (struct agent *a, int status, const char *why);
void agent_stop (struct agent *a, int status, const char *why);

/* The aggregator does not want this agent: the end. */
void agent_give_up (struct agent *a, int status, const char *why);

/* Whether the run has ended on this host, says a former life. */
bool agent_was_over (const struct agent *a);

/* The deadline, and an aggregator that is silent: now, and again by a timer. */
void agent_check_exit_rule (void *arg);

/* What the aggregator says: see ship_events. */
void agent_on_roll (void *arg, bool complete, const char *text);
void agent_on_said (void *arg);

/* ---- agent_losses.c ---- */

/* Say what a former life has lost, to the log and the summary; what can still
 * be read again is no loss yet.  And at the end, what was not.
 */
void agent_recall_losses (struct agent *a);
void agent_explain_losses (struct agent *a);

/* Whether anything is lost, or was refused. */
bool agent_has_losses (struct agent *a);

/* All that will not be delivered, in a sentence; "" if that is nothing. */
void agent_sum_up (struct agent *a, char *text, size_t size);

/* ---- agent_owner.c ---- */

/* Become known to the agents of other runs on this host.  0 or -errno;
 * agent_close_owners cleans up in any case.
 */
int agent_open_owners (struct agent *a, struct err *err);
void agent_close_owners (struct agent *a);

/* Whose a capture in a shared directory is.  One that stays in doubt is said to
 * the log and the summary, and is foreign.
 */
enum watch_owner agent_owner (struct agent *a, const char *path);
size_t agent_count_doubtful (const struct agent *a);

/* Of those that stay in doubt, a sentence for a rank that has no other; false:
 * there are none.
 */
bool agent_explain_doubt (const struct agent *a, char *out, size_t size);

/* ---- agent_redeliver.c ---- */

/* The aggregator does not have what it had acknowledged (see ship_events); and
 * what a former life has not finished of that.
 */
void agent_on_lost (void *arg);
void agent_recall_redelivery (struct agent *a);

/* Once the aggregator has said of all that is not here whether it is there. */
void agent_tell_lost (struct agent *a);

void agent_stop_redelivery (struct agent *a);

/* ---- disk_pressure.c ---- */

/* Take the options. */
void agent_open_disk_pressure (struct agent *a);
void agent_close_disk_pressure (struct agent *a);

/* Captures are written below 'dir', too: watch the room of its file system. */
void agent_add_disk (struct agent *a, const char *dir);

/* Tell the sealer's thread how far it has to give way. */
void agent_give_way (struct agent *a);

/* Whether another capture may be read into the spool now: 1; 0 not yet; -EDQUOT
 * never (--when-full refuse; that has been noted).  'again': it was there, and
 * has been analysed.
 */
int agent_has_disk_space (struct agent *a, const char *capture, bool again);

/* The spool's disk turned out to be full: nothing more for a while. */
void agent_ran_out (struct agent *a, const struct err *why);

/* agent.c: whether files of the spool were removed; what can be is put back. */
void agent_look_at_spool (struct agent *a);

/* Look at the disks and release what may go, now and again by a timer. */
void agent_check_disk_pressure (void *arg);

/* Whether the aggregator has what it acknowledged, by its word of the last 10
 * seconds: nothing is released without it.
 */
bool agent_is_confirmed (const struct agent *a);

/* Go on with what a former life has begun to remove, once, as soon as the
 * aggregator has confirmed that it has all that it had acknowledged.
 */
void agent_go_on_removing (struct agent *a);

/* Release one more that may go, at the end; false: there is none. */
bool agent_release_next (struct agent *a);

/* ---- agent_seals.c ---- */

/* A capture was sealed, or could not be: see sealer_create. */
void agent_on_sealed (void *arg, struct sealed *s);
void agent_close_seals (struct agent *a);

/* Whether the end has to wait for another try of a capture that could not be
 * sealed: in a run while there is time, elsewhere for the second one.
 */
bool agent_is_retrying_seal (const struct agent *a);

/* At the end, tell of the captures that could not be sealed; why one below
 * 'dir' could not, or NULL.
 */
void agent_explain_captures (struct agent *a);
const char *agent_why_unsealed (const struct agent *a, const char *dir);

/* ---- agent_runs.c ---- */

/* This directory, which is no run's, is watched for captures of this one. */
void agent_share_dir (struct agent *a, const char *dir);

/* A COMMAND begins, or began at 'since_ns' (since 1970), below this wrapper. */
void agent_own_command (struct agent *a, int64_t wrapper, int64_t since_ns);

/* Whether another run watches a directory that is ours, too. */
bool agent_has_rivals (const struct agent *a);

/* ---- agent_search.c ---- */

/* Look at captures and small directories now, and again by a timer; begin a
 * search of large ones, as soon as the one before has ended.  'arg' is the
 * agent.
 */
void agent_scan (void *arg);
void agent_search (void *arg);

/* How long a capture must be unchanged by now. */
int64_t agent_quiet_ns (const struct agent *a);

/* Something is at a place where a search may have found nothing. */
void agent_search_again (struct agent *a);

/* A search of large directories has ended: see finder_create. */
void agent_on_searched (void *arg, struct finder_result *results, size_t n);

/* Go on with captures that had to wait for room or for the sealer. */
void agent_hand_on (struct agent *a);

/* ---- agent_status.c ---- */

/* Write it now, and again by a timer; and none any more at the end. */
void agent_write_status (void *arg);
void agent_end_status (struct agent *a);

/* ---- agent_process_reports.c ---- */

/* Look whether processes of COMMANDs have said that they are ranks (see
 * world/process_reports.h): now, and again by a timer.  'arg' is the agent.
 */
void agent_look_at_reports (void *arg);

/* Read them again, whether or not there is anything new. */
void agent_read_reports (struct agent *a);
void agent_remove_reports (const struct agent *a);

/* ---- local_ranks.c ---- */

/* A COMMAND here has started this rank.  False: its wrapper is not known yet. */
bool agent_rank_began (struct agent *a, const struct process_report *t);

/* MPI has told a process of a COMMAND here its rank.  False as well. */
bool agent_rank_by_mpi (struct agent *a, const struct process_report *t);

/* Listen for wrappers, if this is the agent of a run.  0 or -errno;
 * agent_close_local_ranks cleans up in any case.
 */
int agent_open_local_ranks (struct agent *a, struct err *err);

/* Forget all wrappers and ranks, and kill what ended COMMANDs have left. */
void agent_close_local_ranks (struct agent *a);

/* Take from the spool what wrappers said to a former life of this agent; the
 * rest of it must be open.  0 or -errno.
 */
int agent_recall_local_ranks (struct agent *a, struct err *err);

/* Wrappers of a former life that have not come back by 'now' are dead. */
void agent_check_rejoined (struct agent *a, int64_t now);

/* Say something to all wrappers: a type and members of control/control.h. */
void agent_tell_wrappers (struct agent *a, const char *type, const char *text,
                          bool complete);

bool agent_has_rank (struct agent *a, int64_t rank);
bool agent_all_ended (const struct agent *a);   // false while there are none
int64_t agent_count_ranks (const struct agent *a);      // that have joined

/* Tell the aggregator of each rank how it ended, and of those that left no
 * capture where that was looked for.
 */
void agent_explain_ranks (struct agent *a);

#endif
