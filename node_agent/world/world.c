/* node_agent/world/world.c - find the rank in the launcher's variables */
#include "world/world.h"

#include "base/units.h"
#include "model/capture.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *const world_launcher_variables[] = {
    "OMPI_*", "PMIX_*", "PMI_*", "ORTE_*", "PRTE_*", "OPAL_*", "SLURM_PMI*",
    "HYDRA_*", NULL,
};

/* The variables of one launcher. The values of 'instance' are joined by '.'. */
struct launcher {
    const char *name, *rank, *size, *local_rank, *local_size;
    const char *nodes;          // the number of nodes, if local_size is absent
    const char *instance[3];
};

static const struct launcher launchers[] = {
    { "open mpi", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
      "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE", NULL,
      { "PMIX_NAMESPACE", "OMPI_MCA_orte_hnp_uri", "SLURM_STEP_ID" } },
    { "mpich", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS",
      NULL, { NULL, NULL, NULL } },
    { "slurm", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", NULL,
      "SLURM_STEP_NUM_NODES",
      { "SLURM_JOB_ID", "SLURM_STEP_ID", "SLURM_CLUSTER_NAME" } },
    { "torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", NULL,
      { "TORCHELASTIC_RUN_ID", "MASTER_ADDR", "MASTER_PORT" } },
};

#define MPICH 1                 // index in the list
#define TORCHRUN 3
#define LAUNCHERS (sizeof (launchers) / sizeof (launchers[0]))

/* torchrun may run in a step of Slurm or below mpirun: then it is the inner
 * launcher, which started us.  RANK and WORLD_SIZE alone prove nothing:
 * schedulers set them for nodes.
 */
static bool is_torchrun (void)
{
    return getenv ("TORCHELASTIC_RUN_ID") ||
           (getenv ("RANK") && getenv ("WORLD_SIZE") &&
            getenv ("LOCAL_WORLD_SIZE"));
}

bool world_is_torchrun (const struct world *w)
{
    return w->launcher == launchers[TORCHRUN].name;
}

static int get_int (const char *name, int64_t min, int64_t max, int64_t *ret,
                    struct err *err)
{
    const char *text = name ? getenv (name) : NULL;

    if (!text)
        return -ENOENT;
    if (units_int (text, min, max, ret) < 0)
        return err_set (err, EINVAL, "%s=%s is not a number from %lld to "
                        "%lld", name, text, (long long)min, (long long)max);
    return 0;
}

static void set_instance (struct world *w, const struct launcher *l)
{
    size_t used = 0;

    for (size_t i = 0; i < 3 && used < sizeof (w->instance); i++) {
        const char *text = l->instance[i] ? getenv (l->instance[i]) : NULL;

        if (text)
            used += (size_t)snprintf (w->instance + used,
                                      sizeof (w->instance) - used, "%s.",
                                      text);
    }
    // what is equal on a host identifies the process that started us
    if (l == &launchers[MPICH])
        PRINT (w->instance, "mpich.%ld", (long)getppid ());
}

static int from_launcher (struct world *w, const struct launcher *l,
                          struct err *err)
{
    int64_t nodes;
    int rc;

    // srun sets the variables of PMI, too, but its own are more reliable
    if (l == &launchers[MPICH] && !getenv (l->local_rank))
        return -ENOENT;
    rc = get_int (l->size, 1, capture_world_max, &w->size, err);
    if (rc == 0)
        rc = get_int (l->rank, 0, w->size - 1, &w->rank, err);
    if (rc < 0)
        return rc;
    w->launcher = l->name;
    rc = get_int (l->local_rank, 0, w->size - 1, &w->local_rank, err);
    if (rc == 0)
        rc = get_int (l->local_size, 1, w->size, &w->local_size, err);
    if (rc == -ENOENT && get_int (l->nodes, 1, w->size, &nodes, NULL) == 0 &&
        nodes == 1)
        w->local_size = w->size;
    set_instance (w, l);
    return rc == -ENOENT ? 0 : rc;
}

int world_from_environment (struct world *w, struct err *err)
{
    for (size_t i = is_torchrun () ? TORCHRUN : 0; i < LAUNCHERS; i++) {
        int rc;

        memset (w, 0, sizeof (*w));
        rc = from_launcher (w, &launchers[i], err);
        if (rc != -ENOENT)
            return rc;
    }
    *w = (struct world){ .size = 1, .local_size = 1, .launcher = "none" };
    return 0;
}
