/* aggregator/service/aggregator_notes.c - reports of agents besides items,
 * which are committed with items
 */
#include "service/aggregator_private.h"

static int enter_clocks (struct aggregator *a, const struct served *s,
                         struct err *err)
{
    int rc = 0;

    for (size_t i = 0; i < s->job.nagents && rc == 0; i++) {
        const struct job_agent *agent = &s->job.agents[i];
        struct ledger_clock c = { .offset_ns = agent->clock_offset_ns,
                                  .error_ns = agent->clock_error_ns };

        if (!agent->clock_known || agent->clock_noted)
            continue;
        PRINT (c.host, "%s", agent->host);
        PRINT (c.host_key, "%s", agent->host_key);
        rc = ledger_set_clock (a->ledger, s->job.id, &c, err);
    }
    return rc;
}

bool aggregator_rank_is_due (const struct aggregator *a,
                             const struct job_rank *r)
{
    return !r->noted && (r->mpi_size > 0 || r->command.ns > 0 ||
                         a->opt->run_dir);
}

static int enter_ranks (struct aggregator *a, const struct served *s,
                        struct err *err)
{
    int rc = 0;

    for (size_t i = 0; i < s->job.nranks && rc == 0; i++) {
        const struct job_rank *r = &s->job.ranks[i];
        struct ledger_heard h = { r->rank, r->mpi_rank, r->mpi_size, "",
                                  r->command };

        if (!aggregator_rank_is_due (a, r))
            continue;
        PRINT (h.host, "%s", s->job.agents[r->agent].host);
        rc = ledger_set_heard (a->ledger, s->job.id, &h, err);
    }
    return rc;
}

/* Mark ranks as recorded; whether any of them reported more than its host. */
static bool ranks_entered (const struct aggregator *a, struct served *s)
{
    bool any = false;

    for (size_t i = 0; i < s->job.nranks; i++) {
        struct job_rank *r = &s->job.ranks[i];

        if (!aggregator_rank_is_due (a, r))
            continue;
        any = any || r->mpi_size > 0 || r->command.ns > 0;
        r->noted = true;
    }
    return any;
}

/* Write claims that the ledger lacks: records, then rows. */
static int note_words (struct aggregator *a, const struct served *s,
                       enum transfer_phase phase, struct err *err)
{
    const struct size_claims *w = &s->job.claims;
    int rc = 0;

    for (size_t i = 0; i < w->n && rc == 0; i++) {
        if (w->list[i].noted)
            continue;
        rc = phase == TRANSFER_APPEND
                 ? store_note_claim (a->store, s->job.id, &w->list[i], err)
                 : ledger_set_claim (a->ledger, s->job.id, &w->list[i], err);
    }
    return rc;
}

/* Even a claim that does not count is shown in the next result. */
static void words_entered (struct aggregator *a, struct served *s)
{
    bool any = ranks_entered (a, s) || s->noted_size != s->job.world_size;

    for (size_t i = 0; i < s->job.claims.n; i++) {
        any = any || !s->job.claims.list[i].noted;
        s->job.claims.list[i].noted = true;
    }
    s->noted_size = s->job.world_size;
    if (any &&
        ledger_newest (a->ledger, s->job.id, aggregator_last_kind (a)) > 0)
        build_schedule_arrived (&s->schedule, clock_mono_ns ());
}

static int commit_notes_of (struct aggregator *a, struct served *s,
                            enum transfer_phase phase, struct err *err)
{
    int rc;

    switch (phase) {
    case TRANSFER_APPEND:
        return note_words (a, s, phase, err);
    case TRANSFER_ENTER:
        rc = note_words (a, s, phase, err);
        if (rc == 0)
            rc = enter_ranks (a, s, err);
        return rc < 0 ? rc : enter_clocks (a, s, err);
    case TRANSFER_COMMITTED:
        words_entered (a, s);
        for (size_t i = 0; i < s->job.nagents; i++)
            s->job.agents[i].clock_noted = s->job.agents[i].clock_known;
        break;
    }
    return 0;
}

int aggregator_commit_notes (void *arg, enum transfer_phase phase,
                             struct err *err)
{
    struct aggregator *a = arg;
    int rc = aggregator_commit_divided (a, phase, err);

    if (rc == 0)
        rc = aggregator_commit_bound (a, phase, err);
    if (rc == 0)
        rc = aggregator_commit_said (a, phase, err);
    for (struct served *s = a->jobs; s && a->notes_due && rc == 0; s = s->next)
        rc = commit_notes_of (a, s, phase, err);
    if (phase == TRANSFER_COMMITTED)
        a->notes_due = false;
    return rc;
}
