/* node_agent/agent/agent_captures.h - captures, from being found until they are
 * released
 */
#ifndef ROLLCALL_AGENT_AGENT_CAPTURES_H
#define ROLLCALL_AGENT_AGENT_CAPTURES_H

#include "agent/agent_private.h"

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

/* Whether it has to be analysed when it is sealed, and then sealed again. */
bool agent_awaits_analysis (struct agent *a, const struct sealed *s);

/* A capture was sealed: its analysis begins, or ends. */
void agent_take_analysis (struct agent *a, const struct sealed *s);

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

#endif
