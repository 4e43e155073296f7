/* node_agent/agent/agent_local.h - ranks, wrappers and other runs on this host */
#ifndef ROLLCALL_AGENT_AGENT_LOCAL_H
#define ROLLCALL_AGENT_AGENT_LOCAL_H

#include "agent/agent_private.h"

/* ---- local_ranks.c ---- */

struct local_rank {             // a rank of this host; outlives its wrapper
    int64_t rank, local_rank;
    int64_t parent;             // the rank whose COMMAND started it; -1: it
                                // has a wrapper of its own
    bool stays;                 // its COMMAND has started this rank itself
    bool launches;              // its COMMAND started others, but not this:
                                // it is a rank of another host
    int64_t mpi_rank, mpi_size; // the rank of its process in MPI; size 0: MPI
                                // has not reported it
    bool joined;                // its wrapper joined this agent
    bool ended;
    int64_t status;
    struct command_end end;     // of its COMMAND
    char text[MESSAGE_TEXT_MAX];
    char *ending;               // why its wrapper began to end it, or NULL
    char *dirs;                 // where its captures were looked for
    char *capture_dir;          // its own directory
    struct local_rank *next;
};

struct local_rank *local_rank_find (struct agent *a, int64_t rank);   // or NULL

/* Add a new rank; NULL: no memory. */
struct local_rank *local_rank_add (struct agent *a, int64_t rank);

/* Tell the aggregator, once, that its COMMAND runs, or has ended. */
void local_rank_run (struct agent *a, const struct local_rank *r);
void local_rank_end (struct agent *a, struct local_rank *r, int64_t status,
                     const char *text);

/* Kill what its COMMAND started and left running; the COMMAND is gone. */
void local_rank_kill_orphans (const struct local_rank *r);

/* Forget all ranks, and kill what ended COMMANDs left running. */
void local_rank_free_all (struct agent *a);

/* A COMMAND here started this rank.  False: its wrapper is not known yet. */
bool agent_rank_began (struct agent *a, const struct process_report *t);

/* MPI gave a process of a COMMAND here its rank.  False as above. */
bool agent_rank_by_mpi (struct agent *a, const struct process_report *t);

bool agent_has_rank (struct agent *a, int64_t rank);
bool agent_all_ended (const struct agent *a);   // false while there are none
int64_t agent_count_ranks (const struct agent *a);      // that have joined

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

/* Wrappers of an earlier agent that have not come back by now are dead. */
void agent_check_rejoined (struct agent *a);

/* Send a message to all wrappers: type and members of control/control.h. */
void agent_tell_wrappers (struct agent *a, const char *type, const char *text,
                          bool complete);

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

#endif
