/* aggregator/service/aggregator_control.c - requests of verbs to this
 * aggregator
 */
#include "service/aggregator_private.h"

#include "archive/request.h"
#include "base/log.h"

#include <errno.h>
#include <string.h>

void aggregator_take_up (struct aggregator *a, const char *id)
{
    struct served *s = aggregator_find_job (a, id);

    pusher_changed (a->pusher, id);
    if (s)
        aggregator_recall_claims (a, s);
    if (ledger_newest (a->ledger, id, aggregator_last_kind (a)) == 0) {
        aggregator_drop_result (a, id);
        aggregator_forget_wants (a, id);
        return;
    }
    if (s)
        build_schedule_arrived (&s->schedule, clock_mono_ns ());
    else
        (void)aggregator_note_unbuilt (a, id);
}

/* Commit earlier data first: a request needs the store to itself. */
static int change (struct aggregator *a, const struct control_peer *peer,
                   const struct json *request, struct json *answer,
                   struct err *err)
{
    const char *what = json_text (json_get (request, "do"), "");
    const char *job = json_text (json_get (request, "job"), "");
    const struct json *jobs;
    struct logline l;
    int rc;

    if (!aggregator_is_quiet (a))
        return err_set (err, EIO, "received data cannot be committed: see the "
                        "aggregator's log");
    if ((rc = request_execute (a->ledger, a->store, request, answer, err)) < 0)
        return rc;
    l = log_line (LOG_LEVEL_INFO, "control-request");
    log_str (&l, "request", what);
    log_str (&l, "job", job);
    log_int (&l, "uid", peer->uid);
    log_end (&l);
    a->usage_stale = true;
    if (*job)
        pusher_changed (a->pusher, job);        // a mark builds nothing
    jobs = json_get (answer, "jobs");
    for (const struct json *j = json_first (jobs); j; j = json_next (j))
        aggregator_take_up (a, json_text (j, ""));
    if (!jobs)
        aggregator_take_up (a, job);
    return 0;
}

int aggregator_on_request (void *arg, const struct control_peer *peer,
                           const struct json *request, struct json *answer,
                           struct err *err)
{
    const char *what = json_text (json_get (request, "do"), ""), *visible_to;
    struct aggregator *a = arg;
    int rc;

    if (!aggregator_has_root (a))
        return err_set (err, EIO, "%s no longer exists", a->opt->root);
    if (!aggregator_is_meant (a, peer, request))
        return err_set (err, ENOENT, "the aggregator that answers here has "
                        "another root than that");
    if ((rc = aggregator_may_ask (a, peer, request, &visible_to, err)) < 0)
        return rc;
    if (strcmp (what, "view") == 0)
        return aggregator_view (a, peer, request, visible_to, err);
    if (strcmp (what, "fetch") == 0)
        return aggregator_fetch (a, request, answer, err);
    if (strcmp (what, "gc") == 0)
        return aggregator_gc_request (a, request, answer, err);
    return change (a, peer, request, answer, err);
}
