/* node_agent/world/world.h - who am I among how many
 *
 * From the launcher's variables (Open MPI, MPICH, Slurm, torchrun) and, where
 * that is allowed, over MPI.  A wrapper whose COMMAND may call MPI_Init must not touch
 * MPI itself: then the variables are all there is.
 *
 * This folder: ranks and hosts, from the launcher's variables or MPI, and
 * what is loaded into COMMAND.
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
    char instance[WORLD_TEXT_MAX];      // the same for all ranks of one
                                        // launch only (MPICH: and host); ""
                                        // without a launcher
};

/* From the environment.  Without a launcher: a world of 1.  -EINVAL when the
 * variables contradict each other.
 */
int world_from_environment (struct world *w, struct err *err);

/* Whether torchrun has started us, which has no MPI. */
bool world_is_torchrun (const struct world *w);

/* Names of the variables that launchers set ("PREFIX*" for all that begin so),
 * ended by NULL: not to be handed to programs that are not part of the launch.
 */
extern const char *const world_launcher_variables[];

#define WORLD_KEY_SIZE 41               // a key as text, with the NUL

/* What the agents of a run need to connect; all "": nothing is encrypted. */
struct world_keys {
    char server_public[WORLD_KEY_SIZE];
    char agent_public[WORLD_KEY_SIZE], agent_secret[WORLD_KEY_SIZE];
};

/* What rank 0 tells everybody. */
struct world_bulletin {
    char job[WORLD_TEXT_MAX];
    char endpoints[1024];       // where the aggregator will listen
    char master_addr[WORLD_TEXT_MAX];
    int64_t master_port;
    struct world_keys keys;
    bool ok;                    // rank 0 is bound, OUT can be written
    char why[512];              // else: why not, and
    int32_t status;             // with what to exit
};

/* One rank of the roster. */
struct world_member {
    int64_t local_rank;
    char host[64];
    char host_key[24];
};

/* MPI_Init, an allgather of members, a broadcast of rank 0's bulletin, an
 * allreduce of "ok".  'w' is corrected by what MPI says: rank,
 * size, local rank and size (ranks with the same host key).  'members' is the
 * caller's to free, by rank.  -EINVAL: MPI's world has 1 rank although the
 * launcher says otherwise.
 */
int world_discover (struct world *w, const char *host, const char *host_key,
                    struct world_bulletin *bulletin, bool *all_ok,
                    struct world_member **members, struct err *err);

/* MPI_Finalize, after world_discover in any case.  No rank leaves before all
 * have come here: what rank 0 says before is heard although others fail.
 */
void world_leave (void);

#endif
