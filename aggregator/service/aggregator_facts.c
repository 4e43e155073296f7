/* aggregator/service/aggregator_facts.c - who started a job, and how
 *
 * Results are a cache, and captured metadata may be forgotten: so what the
 * captures of a built job say is kept in the ledger, too.
 */
#include "service/aggregator_private.h"

#include "base/vec.h"

#include <stdlib.h>
#include <string.h>

static void add_fact (struct aggregator *a, const char *key, const char *value,
                      bool gone)
{
    struct ledger_fact f = { .at_ns = clock_wall_ns (), .gone = gone };

    if (!*value)
        return;
    PRINT (f.job, "%s", a->building->job.id);
    PRINT (f.key, "%s", key);
    PRINT (f.value, "%s", value);
    // without memory, or if it cannot be read: at the next build
    if (ledger_has_fact (a->ledger, &f, NULL) == 0)
        (void)vec_push (&a->facts, &a->nfacts, &f, sizeof (f));
}

/* Of several users: whoever is the last to add a capture must not become the one
 * who may see all of them.
 */
static int take_user_back (void *arg, const struct ledger_fact *f)
{
    if (strcmp (f->key, FACT_USER) == 0 && !f->gone)
        add_fact (arg, FACT_USER, f->value, true);
    return 0;
}

void aggregator_note_origin (struct aggregator *a)
{
    struct job_origin about;

    if (a->opt->run_dir || a->build_rc < 0)
        return;                 // its root does not last
    if (ledger_newest (a->ledger, a->building->job.id, ITEM_RAW) == 0)
        return;                 // it was removed meanwhile, with its command
    about = job_build_about (a->build);
    if (job_build_is_of (a->build, about.user))
        add_fact (a, FACT_USER, about.user, false);
    else
        (void)ledger_each_fact (a->ledger, a->building->job.id, 0,
                                take_user_back, a, NULL);
    add_fact (a, FACT_SCHEDULER_ID, about.scheduler_id, false);
    add_fact (a, FACT_COMMAND, about.command, false);
    if (a->nfacts == 0)
        return;
    transfers_due (a->transfers);
    aggregator_commit_soon (a);
}

int aggregator_commit_facts (struct aggregator *a, enum transfer_phase phase,
                             struct err *err)
{
    int rc = 0;

    for (size_t i = 0; i < a->nfacts && rc >= 0; i++) {
        if (phase == TRANSFER_APPEND)
            rc = store_note_fact (a->store, &a->facts[i], err);
        else if (phase == TRANSFER_ENTER)
            rc = ledger_set_fact (a->ledger, &a->facts[i], err);
        else if (strcmp (a->facts[i].key, FACT_USER) == 0)
            usage_set_user (&a->usage, a->facts[i].job,
                            a->facts[i].gone ? "" : a->facts[i].value);
    }
    if (phase == TRANSFER_COMMITTED)
        aggregator_forget_facts (a);
    return rc < 0 ? rc : 0;
}

void aggregator_forget_facts (struct aggregator *a)
{
    free (a->facts);
    a->facts = NULL;
    a->nfacts = 0;
}
