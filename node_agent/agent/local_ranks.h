/* node_agent/agent/local_ranks.h - a rank of this host, between the files that
 * use it
 */
#ifndef ROLLCALL_AGENT_LOCAL_RANKS_H
#define ROLLCALL_AGENT_LOCAL_RANKS_H

#include "agent/agent_private.h"

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

#endif
