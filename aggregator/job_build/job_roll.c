/* aggregator/job_build/job_roll.c - which ranks a job should have, and what is known
 * of those whose captures do not tell it
 */
#include "job_build/job_build_private.h"

#include "base/cmp.h"
#include "base/units.h"
#include "base/vec.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MPI_NAMED 8                     // ranks named in one note
#define ROLL_NOTE_MAX 1024              // bytes: some hosts and their keys

/* ---- what the ledger says ---- */

static int add_sender (void *arg, const struct ledger_sender *s)
{
    struct job_build *b = arg;
    char text[ROLL_NOTE_MAX];

    ledger_sender_text (s, text, sizeof (text));
    if (b->nsenders < SENDERS_NAMED &&
        !(b->senders[b->nsenders] = strdup (text)))
        return -ENOMEM;
    b->nsenders++;
    return 0;
}

static int add_mpi (struct job_build *b, const struct ledger_heard *h)
{
    struct select_mpi m = { h->rank, h->mpi_rank, h->mpi_size };

    return vec_push (&b->mpi, &b->nmpi, &m, sizeof (m));
}

static int add_fate (struct job_build *b, const struct ledger_heard *h)
{
    struct rank_fate *p = vec_add (&b->fates, &b->nfates, sizeof (*p));

    if (!p)
        return -ENOMEM;
    *p = (struct rank_fate){ h->rank, NULL, h->command };
    return *h->host && !(p->host = strdup (h->host)) ? -ENOMEM : 0;
}

static int add_heard (void *arg, const struct ledger_heard *h)
{
    int rc = h->mpi_size > 0 ? add_mpi (arg, h) : 0;

    return rc == 0 && (*h->host || h->command.ns > 0) ? add_fate (arg, h) : rc;
}

static int add_gone (void *arg, const struct ledger_deletion *d)
{
    struct job_build *b = arg;
    struct rank_gone *last = b->ngone > 0 ? &b->gone[b->ngone - 1] : NULL;

    if (d->gone || d->rank < 0)
        return 0;
    // most often they come one rank after the other
    if ((!last || last->rank != d->rank) &&
        !(last = vec_add (&b->gone, &b->ngone, sizeof (*last))))
        return -ENOMEM;
    last->rank = d->rank;
    last->at_ns = d->at_ns;
    ledger_deletion_text (d, last->text);
    return 0;
}

static int compare_gone (const void *pa, const void *pb)
{
    const struct rank_gone *a = pa, *b = pb;

    return a->rank != b->rank ? a->rank < b->rank ? -1 : 1
           : a->at_ns != b->at_ns ? a->at_ns < b->at_ns ? -1 : 1 : 0;
}

static struct rank_gone *find_gone (struct job_build *b, int64_t rank)
{
    return b->ngone == 0 ? NULL : bsearch (&rank, b->gone, b->ngone,
                                           sizeof (*b->gone), cmp_int64);
}

/* Keep the last of each rank of which nothing is left. */
static void settle_gone (struct job_build *b)
{
    struct rank_gone *g;
    size_t n = 0;

    if (b->ngone > 0)
        qsort (b->gone, b->ngone, sizeof (*b->gone), compare_gone);
    for (size_t i = 0; i < b->ngone; i++) {
        if (i + 1 == b->ngone || b->gone[i + 1].rank != b->gone[i].rank)
            b->gone[n++] = b->gone[i];
    }
    b->ngone = n;
    for (size_t i = 0; i < b->n && n > 0; i++) {
        if ((g = find_gone (b, b->sources[i].rank)))
            g->at_ns = 0;
        b->last = b->sources[i].rank > b->last ? b->sources[i].rank : b->last;
    }
}

int job_roll_read (struct job_build *b, struct ledger *ledger, struct err *err)
{
    int rc = ledger_each_sender (ledger, b->job, add_sender, b, err);

    if (rc == 0)
        rc = ledger_each_heard (ledger, b->job, add_heard, b, err);
    if (rc == 0)
        rc = ledger_each_deletion (ledger, b->job, add_gone, b, err);
    settle_gone (b);
    return rc;
}

void job_roll_free (struct job_build *b)
{
    for (size_t i = 0; i < b->nsenders && i < SENDERS_NAMED; i++)
        free (b->senders[i]);
    for (size_t i = 0; i < b->nfates; i++)
        free (b->fates[i].host);
    free (b->fates);
    free (b->gone);
    free (b->mpi);
}

/* ---- how many ranks there should be ---- */

int64_t job_roll_agreed (const struct job_build *b)
{
    int64_t agreed = 0, highest = -1;

    for (size_t i = 0; i < b->n; i++) {
        const struct capture *c = &b->items[i].capture;

        if (!job_sources_has_rows (&b->items[i]))
            continue;
        if (c->rank > highest)
            highest = c->rank;
        if (c->world_size > 0 && agreed > 0 && c->world_size != agreed)
            return 0;
        if (c->world_size > 0)
            agreed = c->world_size;
    }
    return highest < agreed ? agreed : 0;       // not all ranks are in it
}

int job_build_expect (const struct job_build *b,
                      const struct size_claims *claims,
                      bool run, struct roster *roster)
{
    char note[ROLL_NOTE_MAX];
    const char *known_by;
    int64_t size = size_claims_judge (claims, run, b->agreed, &known_by, note,
                                      sizeof (note));

    if (*note)
        roster_add_note (roster, note);
    return size > 0 ? roster_expect_world (roster, size, known_by) : 0;
}

/* ---- what the roster is told ---- */

/* Say of these ranks that somebody removed their captures.  Those that captures
 * will show to be expected may not be in the roster yet.
 */
int job_build_say_gone (const struct job_build *b, struct roster *roster)
{
    char text[DELETION_TEXT_MAX + 32];

    for (size_t i = 0; i < b->ngone; i++) {
        const struct rank_gone *g = &b->gone[i];
        struct roster_entry *e;

        if (g->at_ns == 0 || (g->rank >= roster->world_size &&
                              g->rank >= b->agreed && g->rank > b->last))
            continue;
        if (!(e = roster_at (roster, g->rank)))
            return -ENOMEM;
        PRINT (text, "its captures were %s", g->text);
        roster_set_text (&e->reason, text);
    }
    return 0;
}

void job_build_say_fates (const struct job_build *b, struct roster *roster)
{
    for (size_t i = 0, k = 0; i < roster->n; i++) {     // both by rank
        struct roster_entry *e = &roster->entries[i];

        while (k < b->nfates && b->fates[k].rank < e->rank)
            k++;
        if (k == b->nfates || b->fates[k].rank != e->rank)
            continue;
        e->command = b->fates[k].command;
        if (b->fates[k].host)
            roster_set_text (&e->host, b->fates[k].host);
    }
}

/* Give items MPI's report on the rank that they are filed under.  A world
 * smaller than the job is a program's own, and is ignored.
 */
static void give_mpi (struct job_build *b, int64_t world_size)
{
    size_t n = 0;

    for (size_t i = 0; i < b->nmpi; i++) {
        if (b->mpi[i].mpi_size >= world_size)
            b->mpi[n++] = b->mpi[i];
    }
    b->nmpi = n;
    for (size_t i = 0; i < b->n && b->nmpi > 0; i++)
        b->items[i].mpi = bsearch (&b->items[i].rank, b->mpi, b->nmpi,
                                   sizeof (*b->mpi), cmp_int64);
}

static void note_senders (const struct job_build *b, struct roster *roster)
{
    char note[ROLL_NOTE_MAX];

    for (size_t i = 0; i < b->nsenders && i < SENDERS_NAMED; i++)
        roster_add_note (roster, b->senders[i]);
    if (b->nsenders <= SENDERS_NAMED)
        return;
    PRINT (note, "the rows of %zu more rank%s arrived with other keys than "
           "before", b->nsenders - SENDERS_NAMED,
           units_s (b->nsenders - SENDERS_NAMED));
    roster_add_note (roster, note);
}

/* Note MPI's ranks, also for ranks without a capture. */
static void note_mpi (const struct job_build *b, struct roster *roster)
{
    char note[ROLL_NOTE_MAX];
    size_t found = 0;

    for (size_t i = 0; i < b->nmpi; i++) {
        const struct select_mpi *m = &b->mpi[i];

        if (m->rank == m->mpi_rank || ++found > MPI_NAMED)
            continue;
        PRINT (note, "the launcher's rank %lld is rank %lld of %lld in MPI: "
               "captures that do not record their rank may be filed under the "
               "wrong one", (long long)m->rank, (long long)m->mpi_rank,
               (long long)m->mpi_size);
        roster_add_note (roster, note);
    }
    if (found <= MPI_NAMED)
        return;
    PRINT (note, "MPI and the launcher also differ on the ranks of %zu more "
           "processes", found - MPI_NAMED);
    roster_add_note (roster, note);
}

void job_roll_note (struct job_build *b, struct roster *roster)
{
    note_senders (b, roster);
    give_mpi (b, roster->world_size);
    note_mpi (b, roster);
}
