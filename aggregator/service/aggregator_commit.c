/* aggregator/service/aggregator_commit.c - group commits, and what goes with
 * them */
#include "service/aggregator_private.h"

#include "base/clock.h"
#include "base/log.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define COMMIT_NS (2 * NS_PER_MS)       // items that come close share a sync
// while small ones come a commit waits for more: four times as long as the last
// one took, within these
#define GATHER_SHARE 4
#define GATHER_MIN_NS (20 * NS_PER_MS)
#define GATHER_MAX_NS (200 * NS_PER_MS)

/* The kinds of items that go into a result: up to this one. */
enum item_kind aggregator_last_kind (const struct aggregator *a)
{
    return a->opt->raw ? ITEM_RAW : ITEM_ROWS;
}

/* An error is met again when the job is built. */
void aggregator_tell_sender (struct aggregator *a, struct served *s,
                             int64_t rank)
{
    char text[MESSAGE_TEXT_MAX];
    struct ledger_sender now;

    if (ledger_changed_sender (a->ledger, s->job.id, rank, &now, NULL) != 1)
        return;
    ledger_sender_text (&now, text, sizeof (text));
    aggregator_note (s, text);
}

static void on_entered (void *arg, const struct ledger_item *item)
{
    struct ledger_item i = *item;
    struct aggregator *a = arg;
    struct served *s;

    if (*i.dir)                 // its version may have been given to a job
        (void)ledger_choose_job (a->ledger, &i, NULL);
    s = *i.dir ? aggregator_job (a, i.job) : aggregator_find_job (a, i.job);
    if (s && *i.who && i.kind == ITEM_ROWS && strcmp (i.job, i.scope) != 0)
        aggregator_tell_sender (a, s, i.rank);
    if (i.kind > aggregator_last_kind (a))
        return;
    if (s)
        build_schedule_arrived (&s->schedule, clock_mono_ns ());
    else                        // its content came by another job's agent
        (void)aggregator_note_unbuilt (a, i.job);
}

/* If it fails nothing was acknowledged; agents offer everything again. */
int aggregator_commit_now (struct aggregator *a)
{
    struct err err = { "" };
    int64_t began = clock_mono_ns ();
    int rc = transfers_commit (a->transfers, on_entered, a, &err);

    a->commit_took_ns = clock_mono_ns () - began;
    if (rc < 0)
        log_text (LOG_LEVEL_ERROR, "commit-failed", "%s", err.text);
    return rc;
}

static void commit_gathered (void *arg);

void aggregator_commit (struct aggregator *a)
{
    a->commit_armed = false;
    loop_del_timer (a->loop, commit_gathered, a);
    if (!transfers_pending (a->transfers) || !aggregator_has_root (a) ||
        !aggregator_is_sound (a))
        return;
    if (aggregator_commit_now (a) == -ESTALE)
        (void)aggregator_look (a, true);
}

/* The time has come, unless more is about to. */
static void commit_gathered (void *arg)
{
    struct aggregator *a = arg;

    if (transfers_gather (a->transfers) &&
        clock_mono_ns () < a->commit_until_ns)
        (void)loop_add_timer (a->loop, COMMIT_NS, commit_gathered, a);
    else
        aggregator_commit (a);
}

static int64_t gather_ns (const struct aggregator *a)
{
    int64_t ns = GATHER_SHARE * a->commit_took_ns;

    return ns < GATHER_MIN_NS ? GATHER_MIN_NS
           : ns > GATHER_MAX_NS ? GATHER_MAX_NS : ns;
}

void aggregator_commit_soon (struct aggregator *a)
{
    if (a->commit_armed || !transfers_pending (a->transfers))
        return;
    a->commit_armed = true;
    a->commit_until_ns = clock_mono_ns () + gather_ns (a);
    (void)loop_add_timer (a->loop, COMMIT_NS, commit_gathered, a);
}

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
        (void)snprintf (c.host, sizeof (c.host), "%s", agent->host);
        (void)snprintf (c.host_key, sizeof (c.host_key), "%s",
                        agent->host_key);
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
        (void)snprintf (h.host, sizeof (h.host), "%s",
                        s->job.agents[r->agent].host);
        rc = ledger_set_heard (a->ledger, s->job.id, &h, err);
    }
    return rc;
}

/* Whether any of them have said more than where they are. */
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

/* Words that the ledger does not have, to their records and rows. */
static int note_words (struct aggregator *a, const struct served *s,
                       enum transfer_phase phase, struct err *err)
{
    const struct size_claims *w = &s->job.words;
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

/* A word that does not count is told in the next result, too. */
static void words_entered (struct aggregator *a, struct served *s)
{
    bool any = ranks_entered (a, s) || s->noted_size != s->job.world_size;

    for (size_t i = 0; i < s->job.words.n; i++) {
        any = any || !s->job.words.list[i].noted;
        s->job.words.list[i].noted = true;
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
    for (struct served *s = a->jobs; s && a->notes_due && rc == 0; s = s->next)
        rc = commit_notes_of (a, s, phase, err);
    if (phase == TRANSFER_COMMITTED)
        a->notes_due = false;
    return rc;
}
