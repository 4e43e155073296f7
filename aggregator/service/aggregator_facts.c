/* aggregator/service/aggregator_facts.c - who started a job, and how; and where
 * the rest of it is
 *
 * Results are a cache, and captured metadata may be forgotten: so what the
 * captures of a built job say is kept in the ledger, too.
 */
#include "service/aggregator_private.h"

#include "archive/job_facts.h"
#include "base/log.h"
#include "base/units.h"

#include <string.h>

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

/* ---- where the rest of a divided job is ---- */

/* Whether a list has an endpoint. */
static bool has_endpoint (const char *list, const char *endpoint, size_t n)
{
    for (const char *p = list; (p = strstr (p, endpoint)); p += n) {
        if ((p == list || p[-1] == ' ') && (p[n] == ',' || !p[n]))
            return true;
    }
    return false;
}

/* Add the endpoints that a list lacks; 0: none, or there is no room. */
static size_t add_endpoints (char list[FACT_VALUE_MAX], const char *text)
{
    size_t added = 0, room = FACT_VALUE_MAX;
    char word[FACT_VALUE_MAX];

    for (const char *p = text; *p; p += strspn (p, FACT_BETWEEN)) {
        size_t n = strcspn (p, FACT_BETWEEN), used = strlen (list);

        (void)snprintf (word, sizeof (word), "%.*s", (int)n, p);
        p += n;
        if (!units_is_endpoint (word, strlen (word)) ||
            has_endpoint (list, word, strlen (word)) ||
            used + strlen (FACT_BETWEEN) + n >= room)
            continue;
        (void)snprintf (list + used, room - used, "%s%s",
                        used ? FACT_BETWEEN : "", word);
        added++;
    }
    return added;
}

/* One that stands in is another home for a while, too. */
static void tell_homes (const struct job_agent *agent, const char *job,
                        const char *home, const char *all)
{
    struct logline l = log_line (LOG_LEVEL_WARN, "homes-differ");

    log_str (&l, "job", job);
    log_str (&l, "host", agent->host);
    log_str (&l, "home", home);
    log_str (&l, "homes", all);
    log_str (&l, "text", "agents have named several aggregators as the one that "
             "has the rows of this job: one stands in for another, or their "
             "lists of aggregators differ");
    log_end (&l);
}

bool aggregator_on_divided (struct aggregator *a, struct served *s,
                            const struct job_agent *agent,
                            const struct message *m)
{
    char *said = m->home ? s->raw_at : s->home;
    struct ledger_fact f = { .at_ns = clock_wall_ns () };
    struct err err = { "" };
    int rc;

    PRINT (f.job, "%s", s->job.id);
    PRINT (f.key, "%s", m->home ? FACT_RAW_AT : FACT_HOME);
    PRINT (f.value, "%s", said);
    if (a->opt->run_dir || add_endpoints (f.value, m->text) == 0)
        return false;           // as mostly: it is repeated
    // earlier aggregators may have heard more
    rc = ledger_get_fact (a->ledger, f.job, f.key, f.value, &err);
    (void)add_endpoints (f.value, said);
    (void)add_endpoints (f.value, m->text);
    if (rc == 0)
        rc = job_facts_add (&a->said, a->ledger, &f, &err);
    if (rc < 0) {
        log_error ("ledger-failed", "job %s: %s", f.job, err.text);
        return false;
    }
    memcpy (said, f.value, FACT_VALUE_MAX);
    // one agent names those of all copies
    if (rc > 0 && !m->home && strcmp (f.value, m->text) != 0)
        tell_homes (agent, f.job, m->text, f.value);
    return rc > 0;
}

int aggregator_commit_said (struct aggregator *a, enum transfer_phase phase,
                            struct err *err)
{
    switch (phase) {
    case TRANSFER_APPEND:
        return job_facts_append (&a->said, a->store, err);
    case TRANSFER_ENTER:
        return job_facts_enter (&a->said, a->ledger, err);
    case TRANSFER_COMMITTED:
        job_facts_fini (&a->said);
        break;
    }
    return 0;
}
