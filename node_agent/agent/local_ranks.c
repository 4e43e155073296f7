/* node_agent/agent/local_ranks.c - the ranks of this host
 *
 * Some have a wrapper, which reports them (local_wrappers.c); others were
 * started by a COMMAND that is a launcher.
 */
#include "agent/agent_local.h"

#include "control/orphans.h"
#include "model/job_mark.h"
#include "world/process_reports.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct local_rank *local_rank_find (struct agent *a, int64_t rank)
{
    struct local_rank *r = a->local.ranks;

    while (r && r->rank != rank)
        r = r->next;
    return r;
}

bool agent_has_rank (struct agent *a, int64_t rank)
{
    const struct local_rank *r = local_rank_find (a, rank);

    return r && !r->launches;
}

bool agent_all_ended (const struct agent *a)
{
    for (const struct local_rank *r = a->local.ranks; r; r = r->next) {
        if (!r->ended)
            return false;
    }
    return a->local.ranks != NULL;
}

int64_t agent_count_ranks (const struct agent *a)
{
    int64_t n = 0;

    for (const struct local_rank *r = a->local.ranks; r; r = r->next)
        n++;
    return n;
}

struct local_rank *local_rank_add (struct agent *a, int64_t rank)
{
    struct local_rank *r = calloc (1, sizeof (*r));

    if (!r)
        return NULL;
    r->rank = rank;
    r->parent = -1;
    r->next = a->local.ranks;
    a->local.ranks = r;
    return r;
}

void local_rank_run (struct agent *a, const struct local_rank *r)
{
    // others may have ended before it joined
    (void)life_take (&a->life, LIFE_COMMAND_RUNS, NULL);
    if (!r->launches)
        (void)ship_rank (a->ship, r->rank, r->local_rank, RANK_RUNNING, 0, "",
                         NULL);
}

void local_rank_end (struct agent *a, struct local_rank *r, int64_t status,
                     const char *text)
{
    if (r->ended)
        return;
    r->ended = true;
    r->status = status;
    PRINT (r->text, "%s", text);
    if (!r->launches)
        (void)ship_rank (a->ship, r->rank, r->local_rank, RANK_ENDED, status,
                         text, &r->end);
}

void local_rank_kill_orphans (const struct local_rank *r)
{
    size_t n = r->capture_dir ? orphans_kill ("ROLLCALL_CAPTURE_DIR",
                                              r->capture_dir) : 0;

    if (n > 0)
        log_warn ("orphans-killed", "%zu process%s that the COMMAND of rank "
                  "%lld had started and left", n, n == 1 ? "" : "es",
                  (long long)r->rank);
}

/* ---- what COMMANDs report ---- */

/* Its directory is beside that of the wrapper's rank, and is searched as that
 * one is.
 */
static bool take_directories (struct agent *a, struct local_rank *r,
                              const struct local_rank *parent)
{
    const char *slash = parent->capture_dir
                            ? strrchr (parent->capture_dir, '/') : NULL;

    if (!slash || asprintf (&r->capture_dir, "%.*s/rank%lld",
                            (int)(slash - parent->capture_dir),
                            parent->capture_dir, (long long)r->rank) < 0) {
        r->capture_dir = NULL;
        return false;
    }
    if (asprintf (&r->dirs, "%s, %s", r->capture_dir, parent->dirs) < 0)
        r->dirs = NULL;
    (void)watch_add (a->watch, r->capture_dir, false, 0, r->rank, NULL);
    return true;
}

/* Whose captures a directory is for: what the wrapper wrote about a smaller
 * world is no longer true.
 */
static void mark (const struct agent *a, const struct local_rank *r,
                  int64_t world_size)
{
    if (r->capture_dir && world_size >= a->local.world_size)
        (void)job_mark_write (r->capture_dir, a->opt->job, r->rank,
                              world_size, NULL);
}

/* The wrapper's COMMAND has started a process of the wrapper's own rank. */
static void stay_rank (struct agent *a, struct local_rank *r)
{
    r->stays = true;
    if (!r->launches)
        return;
    r->launches = false;
    if (r->ended)
        (void)ship_rank (a->ship, r->rank, r->local_rank, RANK_ENDED,
                         r->status, r->text, &r->end);
    else
        local_rank_run (a, r);
    if (r->mpi_size > 0)
        ship_rank_by_mpi (a->ship, r->rank, r->mpi_rank, r->mpi_size);
}

/* It has started other ranks.  If there are several wrappers, the wrappers'
 * numbers are those of nodes.
 */
static void leave_rank (struct agent *a, struct local_rank *r)
{
    if (r->stays || r->launches || a->opt->world_size <= 1)
        return;
    r->launches = true;
    ship_forget_rank (a->ship, r->rank);
}

bool agent_rank_began (struct agent *a, const struct process_report *t)
{
    struct local_rank *parent = local_rank_find (a, t->parent), *r;

    if (!parent)
        return false;
    mark (a, parent, t->size);
    if (t->rank == parent->rank)
        stay_rank (a, parent);
    else
        leave_rank (a, parent);
    if (local_rank_find (a, t->rank))
        return true;
    if (!(r = local_rank_add (a, t->rank)))
        return false;
    r->parent = t->parent;
    r->local_rank = t->local_rank;
    r->joined = true;
    if (take_directories (a, r, parent))
        mark (a, r, t->size);
    r->end = parent->end;
    if (parent->ended)
        local_rank_end (a, r, parent->status, parent->text);
    else
        local_rank_run (a, r);
    return true;
}

/* If COMMAND ran several programs, one after the other, the largest world
 * counts; of two reports for it, the one that contradicts the rank.
 */
static bool counts_more (const struct local_rank *r,
                         const struct process_report *t)
{
    return t->size != r->mpi_size ? t->size > r->mpi_size
                                  : t->rank != r->rank &&
                                        r->mpi_rank == r->rank;
}

bool agent_rank_by_mpi (struct agent *a, const struct process_report *t)
{
    struct local_rank *r = local_rank_find (a, t->from);

    if (!local_rank_find (a, t->parent))
        return false;
    // its own world, perhaps that of a helper program of one rank
    if (!r || r->launches || t->size < a->local.world_size ||
        (r->rank != t->parent && r->parent != t->parent) ||
        !counts_more (r, t))
        return true;
    r->mpi_rank = t->rank;
    r->mpi_size = t->size;
    if (t->rank != r->rank)
        log_warn ("rank-contradicted", "the launcher's rank %lld is rank %lld "
                  "of %lld in MPI (on %s)", (long long)r->rank,
                  (long long)t->rank, (long long)t->size, t->host);
    ship_rank_by_mpi (a->ship, r->rank, t->rank, t->size);
    return true;
}

static void free_rank (struct local_rank *r)
{
    free (r->ending);
    free (r->dirs);
    free (r->capture_dir);
    free (r);
}

void local_rank_free_all (struct agent *a)
{
    while (a->local.ranks) {
        struct local_rank *next = a->local.ranks->next;

        // until now it could write captures
        if (a->local.ranks->ended)
            local_rank_kill_orphans (a->local.ranks);
        free_rank (a->local.ranks);
        a->local.ranks = next;
    }
}
