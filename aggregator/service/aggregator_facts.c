/* aggregator/service/aggregator_facts.c - who started a job, and how
 *
 * Results are a cache, and captured metadata may be forgotten: so what the
 * captures of a built job say is kept in the ledger, too.
 */
#include "service/aggregator_private.h"

#include "archive/job_facts.h"
#include "base/log.h"

bool aggregator_note_origin (struct aggregator *a)
{
    const char *job = a->building->job.id;
    struct err err = { "received data cannot be committed" };
    struct job_origin about;
    bool one_user;

    if (a->opt->run_dir)
        return true;            // its root does not last
    if (ledger_newest (a->ledger, job, ITEM_RAW) == 0)
        return true;            // it was removed meanwhile, with its command
    about = job_build_about (a->build);
    one_user = job_build_is_of (a->build, about.user);
    if (!aggregator_is_quiet (a) ||
        job_facts_note_build (a->ledger, a->store, job, &about, one_user,
                              &err) < 0) {
        log_error ("ledger-failed", "job %s: %s", job, err.text);
        return false;
    }
    usage_set_user (&a->usage, job, one_user ? about.user : "");
    a->usage_stale = a->usage_stale || a->counting != NULL;     // it may not see him
    return true;
}
