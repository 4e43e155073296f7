/* aggregator/service/aggregator_enter.c - commit what arrived, and schedule its
 * build
 */
#include "service/aggregator_private.h"

#include "base/log.h"

#include <string.h>

/* Errors are ignored here: the build of the job meets them again. */
void aggregator_tell_sender (struct aggregator *a, struct served *s,
                             int64_t rank)
{
    char text[MESSAGE_TEXT_MAX];
    struct ledger_sender now;

    if (ledger_changed_sender (a->ledger, s->job.id, rank, &now, NULL) != 1)
        return;
    ledger_sender_text (&now, text, sizeof (text));
    aggregator_note (s, NULL, text);
}

static void on_entered (void *arg, const struct ledger_item *item)
{
    struct ledger_item i = *item;
    struct aggregator *a = arg;
    struct served *s;

    if (*i.dir)                 // its version may be assigned to a job
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

/* On failure nothing was acknowledged, and agents offer everything again. */
int aggregator_commit_now (struct aggregator *a)
{
    struct err err = { "" };
    int64_t began = clock_mono_ns ();
    int rc = transfers_commit (a->transfers, on_entered, a, &err);

    a->commit_took_ns = clock_mono_ns () - began;
    if (rc < 0) {
        a->usage_stale = true;  // what came is not here
        log_error ("commit-failed", "%s", err.text);
    }
    return rc;
}
