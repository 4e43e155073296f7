/* node_agent/agent/local_ranks.h - a rank of this host, between the files that
 * speak of it
 */
#ifndef ROLLCALL_AGENT_LOCAL_RANKS_H
#define ROLLCALL_AGENT_LOCAL_RANKS_H

#include "agent/agent_private.h"

struct local_rank {             // a rank of this host, also after its wrapper
    int64_t rank, local_rank;
    int64_t parent;             // of which the COMMAND has started it; -1: it
                                // has a wrapper of its own
    bool stays;                 // its COMMAND has started it itself
    bool launches;              // its COMMAND has started others, and not it:
                                // it is a rank of another host
    int64_t mpi_rank, mpi_size; // which its process is for MPI; size 0: MPI
                                // has said nothing
    bool joined;                // its wrapper has, in this life
    bool ended;
    int64_t status;
    struct command_end end;     // of its COMMAND
    char text[MESSAGE_TEXT_MAX];
    char *ending;               // why its wrapper has begun to end it, or NULL
    char *dirs;                 // where its captures were looked for
    char *capture_dir;          // its own of them
    struct local_rank *next;
};

struct local_rank *local_rank_find (struct agent *a, int64_t rank);   // or NULL

/* A new one, which is no other's; NULL: no memory. */
struct local_rank *local_rank_add (struct agent *a, int64_t rank);

/* Its COMMAND runs, or has ended, unless that was said: tell the aggregator. */
void local_rank_run (struct agent *a, const struct local_rank *r);
void local_rank_end (struct agent *a, struct local_rank *r, int64_t status,
                     const char *text);

/* Kill what its COMMAND, which is gone, has started and left. */
void local_rank_kill_orphans (const struct local_rank *r);

/* Forget all, and kill what those that have ended have left. */
void local_rank_free_all (struct agent *a);

#endif
