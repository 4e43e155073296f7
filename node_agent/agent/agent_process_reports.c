/* node_agent/agent/agent_process_reports.c - what COMMANDs report of themselves
 *
 * A COMMAND may be a launcher whose children are the ranks, and MPI knows best
 * which rank a process is.  Both are read from small files in the run's
 * directory, which also stay for the next agent.
 */
#include "agent/agent_private.h"

#include "agent/agent_local.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/vec.h"
#include "store/fileio.h"
#include "world/process_reports.h"

#include <limits.h>
#include <sys/stat.h>

#define LOOK_NS NS_PER_S        // between two checks of the directory

static bool path_of_told (const struct agent *a, char path[PATH_MAX])
{
    return fileio_join (path, PATH_MAX, a->opt->run_dir, PRELOAD_DIR);
}

/* Whether this was reported before; from now on it was. */
static bool is_known (struct agent *a, const struct process_report *t)
{
    for (size_t i = 0; i < a->reports.n; i++) {
        const struct process_report *known = &a->reports.all[i];

        if (known->from == t->from && known->rank == t->rank &&
            known->size == t->size)
            return true;
    }
    return vec_push (&a->reports.all, &a->reports.n, t, sizeof (*t)) < 0;
}

static void log_mpi (struct agent *a, const struct process_report *t)
{
    struct logline l;

    if (is_known (a, t))
        return;
    l = log_line (LOG_LEVEL_INFO, "mpi-rank");
    log_int (&l, "rank", t->rank);
    log_int (&l, "size", t->size);
    log_str (&l, "processor", t->host);
    log_end (&l);
}

static void take_size (struct agent *a, const struct process_report *t)
{
    struct logline l = log_line (LOG_LEVEL_INFO, "launcher-found");

    if (t->size <= a->local.world_size)
        return;
    log_int (&l, "rank", t->parent);
    log_int (&l, "size", t->size);
    log_end (&l);
    a->local.world_size = t->size;
    ship_world (a->ship, t->size);
}

static void take_said (void *arg, const struct process_report *t)
{
    struct agent *a = arg;

    if (t->mpi)
        return;
    if (agent_rank_began (a, t))
        take_size (a, t);
    else
        a->reports.read_ns = 0; // its wrapper is not known yet
}

static void take_mpi (void *arg, const struct process_report *t)
{
    struct agent *a = arg;

    if (!t->mpi)
        return;
    log_mpi (a, t);
    if (!agent_rank_by_mpi (a, t))
        a->reports.read_ns = 0;
}

/* MPI's reports are about ranks that were reported before. */
void agent_read_reports (struct agent *a)
{
    a->reports.read_ns = clock_wall_ns ();
    process_reports_read (a->opt->run_dir, take_said, a);
    process_reports_read (a->opt->run_dir, take_mpi, a);
}

/* A file that changes while it is read may keep its date. */
static bool has_changed (const struct agent *a)
{
    char path[PATH_MAX];
    struct stat st;

    return path_of_told (a, path) && stat (path, &st) == 0 &&
           clock_ns (&st.st_mtim) > a->reports.read_ns - LOOK_NS;
}

void agent_look_at_reports (void *arg)
{
    struct agent *a = arg;

    if (has_changed (a))
        agent_read_reports (a);
    (void)loop_add_timer (a->loop, LOOK_NS, agent_look_at_reports, a);
}

void agent_remove_reports (const struct agent *a)
{
    char path[PATH_MAX];

    if (path_of_told (a, path))
        (void)fileio_remove_tree (path, NULL);
}
