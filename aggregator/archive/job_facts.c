/* aggregator/archive/job_facts.c - facts about jobs, to be written with their
 * records
 */
#include "archive/job_facts.h"

#include "base/clock.h"
#include "base/vec.h"
#include "store/store_commit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool has (const struct job_facts *f, const struct ledger_fact *fact)
{
    for (size_t i = 0; i < f->n; i++) {
        const struct ledger_fact *x = &f->list[i];

        if (strcmp (x->job, fact->job) == 0 &&
            strcmp (x->key, fact->key) == 0 &&
            strcmp (x->value, fact->value) == 0)
            return true;
    }
    return false;
}

int job_facts_add (struct job_facts *f, struct ledger *ledger,
                   const struct ledger_fact *fact, struct err *err)
{
    int rc;

    if (has (f, fact))
        return 1;
    if ((rc = ledger_has_fact (ledger, fact, err)) != 0)
        return rc < 0 ? rc : 0;
    return vec_push (&f->list, &f->n, fact, sizeof (*fact)) < 0
               ? err_set (err, ENOMEM, "no memory for facts") : 1;
}

void job_facts_fini (struct job_facts *f)
{
    free (f->list);
    *f = (struct job_facts){ .n = 0 };
}

/* ---- of another job ---- */

struct heir {
    struct job_facts *facts;
    struct ledger *ledger;
    const char *job;
    struct err *err;
};

static int inherit (void *arg, const struct ledger_fact *fact)
{
    const struct heir *h = arg;
    struct ledger_fact f = *fact;
    int rc = 0;

    PRINT (f.job, "%s", h->job);
    f.at_ns = clock_wall_ns ();
    if (!f.gone && (strcmp (f.key, FACT_PIN) == 0 ||
                    strcmp (f.key, FACT_TAG) == 0 ||
                    strcmp (f.key, FACT_FORGOTTEN) == 0))
        rc = job_facts_add (h->facts, h->ledger, &f, h->err);
    return rc < 0 ? rc : 0;
}

int job_facts_inherit (struct job_facts *f, struct ledger *ledger,
                       const char *from, const char *to, struct err *err)
{
    struct heir h = { f, ledger, to, err };

    return ledger_each_fact (ledger, from, 0, inherit, &h, err);
}

/* ---- writing ---- */

int job_facts_append (const struct job_facts *f, struct store *store,
                      struct err *err)
{
    int rc = 0;

    for (size_t i = 0; i < f->n && rc == 0; i++)
        rc = store_note_fact (store, &f->list[i], err);
    return rc;
}

int job_facts_enter (const struct job_facts *f, struct ledger *ledger,
                     struct err *err)
{
    int rc = 0;

    for (size_t i = 0; i < f->n && rc >= 0; i++)
        rc = ledger_set_fact (ledger, &f->list[i], err);
    return rc < 0 ? rc : 0;
}

static int append (void *arg, struct store *store, struct err *err)
{
    return job_facts_append (arg, store, err);
}

static int enter (void *arg, struct ledger *ledger, struct err *err)
{
    return job_facts_enter (arg, ledger, err);
}

int job_facts_commit (const struct job_facts *f, struct ledger *ledger,
                      struct store *store, struct err *err)
{
    struct job_facts facts = *f;
    const struct store_change change = { append, enter, &facts };

    return f->n == 0 ? 0 : store_commit (store, ledger, &change, err);
}

/* ---- of a build ---- */

static int add_value (struct heir *h, const char *key, const char *value,
                      bool gone)
{
    struct ledger_fact f = { .at_ns = clock_wall_ns (), .gone = gone };

    if (!*value)
        return 0;
    PRINT (f.job, "%s", h->job);
    PRINT (f.key, "%s", key);
    PRINT (f.value, "%s", value);
    return job_facts_add (h->facts, h->ledger, &f, h->err);
}

static int take_user_back (void *arg, const struct ledger_fact *f)
{
    int rc = strcmp (f->key, FACT_USER) == 0 && !f->gone
                 ? add_value (arg, FACT_USER, f->value, true) : 0;

    return rc < 0 ? rc : 0;
}

int job_facts_note_build (struct ledger *ledger, struct store *store,
                          const char *job, const struct job_origin *about,
                          bool one_user, struct err *err)
{
    struct job_facts facts = { .n = 0 };
    struct heir h = { &facts, ledger, job, err };
    int rc = one_user ? add_value (&h, FACT_USER, about->user, false)
                      : ledger_each_fact (ledger, job, 0, take_user_back, &h,
                                          err);

    if (rc >= 0)
        rc = add_value (&h, FACT_SCHEDULER_ID, about->scheduler_id, false);
    if (rc >= 0)
        rc = add_value (&h, FACT_COMMAND, about->command, false);
    if (rc >= 0)
        rc = job_facts_commit (&facts, ledger, store, err);
    job_facts_fini (&facts);
    return rc;
}
