/* node_agent/world/world_mpi.c - exchange ranks and hosts over MPI
 *
 * MPI is finalized before anything else starts: one killed rank aborts a whole
 * MPI job, and must not end the collection.
 */
#include "world/world.h"

#include <errno.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

static void count_locals (struct world *w, const struct world_member *members)
{
    const char *own = members[w->rank].host_key;

    w->local_rank = w->local_size = 0;
    for (int64_t r = 0; r < w->size; r++) {
        if (strcmp (members[r].host_key, own) != 0)
            continue;
        w->local_rank += r < w->rank;
        w->local_size++;
    }
}

static int exchange (struct world *w, const char *host, const char *host_key,
                     struct world_bulletin *bulletin, bool *all_ok,
                     struct world_member **ret, struct err *err)
{
    struct world_member own, *members;
    int ok, everybody = 0;

    memset (&own, 0, sizeof (own));
    own.local_rank = w->local_rank;
    PRINT (own.host, "%.63s", host);
    PRINT (own.host_key, "%.23s", host_key);
    members = calloc ((size_t)w->size, sizeof (*members));
    ok = members != NULL && bulletin->ok;
    if (!members)
        return err_set (err, ENOMEM, "no memory for %lld ranks",
                        (long long)w->size);
    (void)MPI_Allgather (&own, (int)sizeof (own), MPI_BYTE, members,
                         (int)sizeof (own), MPI_BYTE, MPI_COMM_WORLD);
    (void)MPI_Bcast (bulletin, (int)sizeof (*bulletin), MPI_BYTE, 0,
                     MPI_COMM_WORLD);
    (void)MPI_Allreduce (&ok, &everybody, 1, MPI_INT, MPI_MIN,
                         MPI_COMM_WORLD);
    *all_ok = everybody;
    count_locals (w, members);
    *ret = members;
    return 0;
}

static int world_mpi_misfit (const struct world *w, int64_t said,
                             struct err *err)
{
    return err_set (err, EINVAL, "the launcher (%s) says %lld ranks, but MPI "
                    "finds a world of 1: they do not match (under Slurm: srun "
                    "--mpi=pmix)", w->launcher, (long long)said);
}

/* Whether srun has started us without an interface for MPI: MPI_Init would end
 * this process.
 */
static bool is_alone (const struct world *w)
{
    return strcmp (w->launcher, "slurm") == 0 && w->size > 1 &&
           !getenv ("PMIX_NAMESPACE") && !getenv ("PMI_FD") &&
           !getenv ("PMI_RANK");
}

int world_discover (struct world *w, const char *host, const char *host_key,
                    struct world_bulletin *bulletin, bool *all_ok,
                    struct world_member **members, struct err *err)
{
    int64_t said = w->size;
    int rank, size, rc;

    if (is_alone (w))
        return world_mpi_misfit (w, said, err);
    if (MPI_Init (NULL, NULL) != MPI_SUCCESS)
        return err_set (err, EIO, "MPI_Init failed");
    (void)MPI_Comm_rank (MPI_COMM_WORLD, &rank);
    (void)MPI_Comm_size (MPI_COMM_WORLD, &size);
    w->rank = rank;
    w->size = size;
    if (size == 1 && said > 1)
        rc = world_mpi_misfit (w, said, err);
    else
        rc = exchange (w, host, host_key, bulletin, all_ok, members, err);
    return rc;
}

void world_leave (void)
{
    int begun = 0;

    if (MPI_Initialized (&begun) == MPI_SUCCESS && begun)
        (void)MPI_Finalize ();
}
