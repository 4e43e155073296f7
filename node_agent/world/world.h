/* node_agent/world/world.h - find the rank of this process and the size of its
 * world
 *
 * The launcher's variables (Open MPI, MPICH, Slurm, torchrun) tell it and,
 * where that is allowed, MPI does.  A wrapper whose COMMAND may call MPI_Init
 * must not use MPI itself: then only the variables remain.
 *
 * This folder: ranks and hosts, from the launcher's variables or MPI, and the
 * library that is loaded into COMMAND.
 */
#ifndef ROLLCALL_WORLD_WORLD_H
#define ROLLCALL_WORLD_WORLD_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

#define WORLD_TEXT_MAX 256

struct world {
    int64_t rank, size;
    int64_t local_rank;
    int64_t local_size;         // 0: unknown
    const char *launcher;       // "open mpi", "mpich", "slurm", "torchrun",
                                // "none"
    char instance[WORLD_TEXT_MAX];      // equal for all ranks of one launch,
                                        // and only for these (MPICH: of one
                                        // launch and host); "" without a
                                        // launcher
};

/* Read the environment.  Without a launcher the world has 1 rank.  -EINVAL: the
 * variables contradict each other; the user has to correct them.
 */
int world_from_environment (struct world *w, struct err *err);

/* Whether torchrun has started us, which does not use MPI. */
bool world_is_torchrun (const struct world *w);

/* Names of the variables that launchers set ("PREFIX*": all that begin with
 * it), ended by NULL. Programs that are not part of the launch must not get
 * them.
 */
extern const char *const world_launcher_variables[];

#define WORLD_KEY_SIZE 41               // a key as text, with the NUL

/* The keys with which the agents of a run connect; all "": nothing is
 * encrypted.
 */
struct world_keys {
    char server_public[WORLD_KEY_SIZE];
    char agent_public[WORLD_KEY_SIZE], agent_secret[WORLD_KEY_SIZE];
};

/* What rank 0 sends to all ranks. */
struct world_bulletin {
    char job[WORLD_TEXT_MAX];
    char endpoints[1024];       // where the aggregator will listen
    char master_addr[WORLD_TEXT_MAX];
    int64_t master_port;
    struct world_keys keys;
    bool ok;                    // rank 0 listens, and OUT can be written
    char why[512];              // otherwise: why not, and
    int32_t status;             // the exit status
};

/* One rank of the roster. */
struct world_member {
    int64_t local_rank;
    char host[64];
    char host_key[24];
};

/* Call MPI_Init, gather the members, broadcast rank 0's bulletin, and combine
 * all 'ok'.  MPI's rank, size, local rank and local size (ranks with the same
 * host key) replace those in 'w'.  '*members' is by rank; the caller frees it.
 * -EINVAL: the launcher and MPI do not match; 'err' tells the user
 * what to change.  -ENOMEM, -EIO: MPI_Init failed.
 */
int world_discover (struct world *w, const char *host, const char *host_key,
                    struct world_bulletin *bulletin, bool *all_ok,
                    struct world_member **members, struct err *err);

/* Call MPI_Finalize; required after world_discover, even if that failed.  No
 * rank returns before all have called it: what rank 0 prints before that is
 * seen even if others fail.
 */
void world_leave (void);

#endif
