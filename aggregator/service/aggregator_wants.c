/* aggregator/service/aggregator_wants.c - raw files that are wanted
 *
 * A user fetches them, or a finding names their rank.  Agents are asked with
 * each answer to their HELLO until they have said what became of each want.
 */
#include "service/aggregator_private.h"

#include "base/log.h"
#include "base/units.h"
#include "model/capture.h"

#include <errno.h>
#include <string.h>

#define CONNECTED_NS (10 * NS_PER_S)    // agents say HELLO every 2 s
#define RANKS_MAX 64            // of a request
#define TOLD_MAX 60             // captures in an answer, at some 1,000 bytes at
                                // most: CONTROL_LINE_MAX

bool aggregator_parse_policy (const char *text, enum want_policy *ret)
{
    static const char *const names[] = {
        [WANT_ALL] = "all", [WANT_NONE] = "none", [WANT_SUSPECTS] = "suspects",
    };

    for (unsigned i = 0; i < sizeof (names) / sizeof (names[0]); i++) {
        if (strcmp (names[i], text) != 0)
            continue;
        *ret = (enum want_policy)i;
        return true;
    }
    return false;
}

/* ---- the list ---- */

void aggregator_open_wants (struct aggregator *a)
{
    struct err err = { "" };

    if (wants_load (&a->wants, a->opt->root, &err) < 0)
        log_error ("wants-failed", "raw files that were wanted are forgotten; "
                   "fetch them again: %s", err.text);
}

/* If it fails, agents are asked nevertheless, but not after a restart. */
static int save (struct aggregator *a, struct err *err)
{
    struct err why = { "" };
    int rc = wants_save (&a->wants, a->opt->root, &why);

    if (rc < 0) {
        log_error ("wants-failed", "%s", why.text);
        return err_set (err, EIO, "%s", why.text);
    }
    return 0;
}

void aggregator_reopen_wants (struct aggregator *a, const struct served *s,
                              const struct job_agent *agent)
{
    if (wants_reopen (&a->wants, s->job.id, agent->host))
        (void)save (a, NULL);
}

void aggregator_forget_wants (struct aggregator *a, const char *job)
{
    if (wants_forget_job (&a->wants, job))
        (void)save (a, NULL);
}

/* ---- agents ---- */

static bool is_connected (const struct job_agent *agent)
{
    return !agent->lost && clock_mono_ns () - agent->heard_ns < CONNECTED_NS;
}

static size_t count_agents (const struct served *s, const char *host)
{
    size_t n = 0;

    for (size_t i = 0; s && i < s->job.nagents; i++)
        n += strcmp (s->job.agents[i].host, host) == 0 &&
             is_connected (&s->job.agents[i]);
    return n;
}

static bool is_there (void *arg, const struct want *w)
{
    return count_agents (aggregator_find_job (arg, w->scope), w->host) > 0;
}

/* Whether something of a job waits to be built. */
static bool is_pending (const struct aggregator *a, const struct served *s)
{
    bool pending = a->building == s ||
                   build_schedule_due_ns (&s->schedule) != INT64_MAX;

    for (size_t i = 0; i < a->nunbuilt && !pending; i++)
        pending = strcmp (a->unbuilt[i], s->job.id) == 0;
    return pending;
}

/* Whether a finding may name a rank that no build has seen with all others. */
static bool is_undecided (struct aggregator *a, const struct served *s)
{
    if (is_pending (a, s) || s->lacks_ranks)
        return true;
    if (!ledger_has_scope (a->ledger, s->job.id))
        return false;
    // its captures are in any of the other jobs
    for (const struct served *j = a->jobs; j; j = j->next) {
        if (is_pending (a, j))
            return true;
    }
    return a->nunbuilt > 0;
}

enum raw_wanted aggregator_raw_of (struct aggregator *a,
                                   const struct served *s,
                                   const struct job_agent *agent)
{
    if (a->opt->wants == WANT_ALL)
        return RAW_ALL;
    if (wants_next_open (&a->wants, NULL, s->job.id, agent->host))
        return RAW_UNDECIDED;
    return a->opt->wants == WANT_SUSPECTS && is_undecided (a, s)
               ? RAW_UNDECIDED : RAW_ON_DEMAND;
}

void aggregator_say_wants (struct aggregator *a, const struct served *s,
                           const struct job_agent *agent)
{
    const struct want *w = NULL;
    struct message m;

    for (unsigned i = 0; i < WANTS_AT_ONCE; i++) {
        if (!(w = wants_next_open (&a->wants, w, s->job.id, agent->host)))
            return;
        wants_message (w, &m);
        (void)net_send (a->net, &agent->peer, &m);
    }
}

/* New ones are said at once. */
static void say_all (struct aggregator *a)
{
    for (const struct served *s = a->jobs; s; s = s->next) {
        for (size_t i = 0; i < s->job.nagents; i++)
            aggregator_say_wants (a, s, &s->job.agents[i]);
    }
}

static void log_over (const struct want *w)
{
    struct logline l = log_line (w->state == WANT_CAME ? LOG_LEVEL_INFO
                                                       : LOG_LEVEL_WARN,
                                 w->state == WANT_CAME ? "raw-came"
                                                       : "raw-gone");

    log_str (&l, "job", w->job);
    log_int (&l, "rank", w->rank);
    log_str (&l, "capture", w->capture);
    log_int (&l, "came", (int64_t)w->came);
    log_int (&l, "gone", (int64_t)w->gone);
    log_str (&l, "why", *w->why ? w->why : NULL);
    log_end (&l);
}

void aggregator_on_have (struct aggregator *a, const struct served *s,
                         const struct job_agent *agent,
                         const struct message *m)
{
    bool alone = count_agents (s, agent->host) <= 1;

    // what came may be lost, and the agent does not know it yet
    if (agent->asked_again ||
        !wants_hear (&a->wants, s->job.id, agent->host, m, alone))
        return;
    for (size_t i = 0; i < a->wants.n; i++) {
        if (a->wants.list[i].id == m->item)
            log_over (&a->wants.list[i]);
    }
    (void)save (a, NULL);
    aggregator_say_wants (a, s, agent);         // the next ones
}

/* ---- what users are told of them ---- */

struct told {
    struct aggregator *a;
    struct json *list;
    size_t n, coming, no_agent, gone;
    char raw_at[FACT_VALUE_MAX];        // of the job
};

static const char *count_state (struct told *t, const struct want *w)
{
    if (w->state == WANT_CAME)
        return "came";
    if (w->state == WANT_GONE) {
        t->gone++;
        return "gone";
    }
    if (is_there (t->a, w)) {
        t->coming++;
        return "coming";
    }
    t->no_agent++;
    return "no-agent";
}

static void tell_want (struct told *t, const struct want *w)
{
    const char *state = count_state (t, w);
    struct json *j = t->n < TOLD_MAX ? json_push_object (t->list) : NULL;

    t->n++;
    json_add_int (j, "rank", w->rank);
    json_add_text (j, "capture", w->capture);
    json_add_text (j, "host", w->host);
    json_add_text (j, "state", state);
    json_add_int (j, "files", (int64_t)w->files);
    json_add_int (j, "came", (int64_t)w->came);
    json_add_int (j, "gone", (int64_t)w->gone);
    if (strcmp (state, "no-agent") == 0)
        json_add_nonempty (j, "raw_at", t->raw_at);
    json_add_nonempty (j, "why", w->why);
}

/* ---- captures of ranks ---- */

struct ranks {
    struct aggregator *a;
    const int64_t *ranks;
    size_t n;
    const char *path;           // a pattern
    bool again;                 // those that are gone, too
    bool any;                   // something is open that was not
    struct told *told;          // what a user is told of them, or NULL
    struct err *err;
};

/* An agent that is gone must not keep others from being asked. */
static int add_want (struct aggregator *a, const struct want *like, bool again,
                     struct want **ret, struct err *err)
{
    int rc = wants_add (&a->wants, like, again, ret, err);
    struct want gone;

    if (rc != -ENOSPC || !wants_has_room (&a->wants, like->job) ||
        !wants_give_way (&a->wants, is_there, a, &gone))
        return rc;
    gone.state = WANT_GONE;
    PRINT (gone.why, "its agent is not connected, and others are wanted");
    log_over (&gone);
    return wants_add (&a->wants, like, again, ret, err);
}

static int want_of (void *arg, const struct ledger_item *item)
{
    struct want like = { .rank = item->rank, .newest_ns = item->newest_ns };
    struct want *one;
    struct ranks *r = arg;
    int rc;

    PRINT (like.job, "%s", item->job);
    PRINT (like.scope, "%s", *item->scope ? item->scope : item->job);
    PRINT (like.host, "%s", item->host);
    PRINT (like.capture, "%s", item->capture);
    PRINT (like.place, "%s", item->dir);
    PRINT (like.path, "%s", r->path);
    if ((rc = add_want (r->a, &like, r->again, &one, r->err)) < 0)
        return rc;
    r->any = r->any || rc > 0;
    if (r->told)
        tell_want (r->told, one);
    return 0;
}

static int want_rank (struct ranks *r, const char *job, int64_t rank)
{
    const struct want none = { .rank = rank, .state = WANT_GONE,
                               .why = "no capture of this rank has arrived" };
    size_t before = r->told ? r->told->n : 0;
    int rc = ledger_each_of_rank (r->a->ledger, job, rank, want_of, r, r->err);

    if (rc == 0 && r->told && r->told->n == before)
        tell_want (r->told, &none);
    return rc;
}

/* Want files of all captures of these ranks of a job; durable on return. */
static int want_ranks (struct ranks *r, const char *job)
{
    int rc = 0;

    for (size_t i = 0; i < r->n && rc == 0; i++)
        rc = want_rank (r, job, r->ranks[i]);
    if (!r->any)
        return rc;
    rc = rc < 0 ? rc : save (r->a, r->err);
    say_all (r->a);
    return rc;
}

/* ---- suspects ---- */

void aggregator_find_suspects (struct aggregator *a)
{
    struct err err = { "" };

    if (a->opt->wants == WANT_SUSPECTS && !a->opt->job &&
        suspects_find (a->built.path, a->suspects, &a->nsuspects, &err) < 0)
        log_error ("suspects-failed", "%s: %s", a->built.path, err.text);
}

static void log_suspects (const struct aggregator *a, const char *job)
{
    struct logline l = log_line (LOG_LEVEL_INFO, "suspects");
    char ranks[24 * (SUSPECTS_MAX + 1)] = "";

    for (size_t i = 0; i < a->nsuspects; i++) {
        size_t at = strlen (ranks);

        (void)snprintf (ranks + at, sizeof (ranks) - at, "%s%lld",
                        i > 0 ? "," : "", (long long)a->suspects[i]);
    }
    log_str (&l, "job", job);
    log_str (&l, "ranks", ranks);
    log_end (&l);
}

void aggregator_want_suspects (struct aggregator *a)
{
    struct err err = { "" };
    struct ranks r = { .a = a, .ranks = a->suspects, .n = a->nsuspects,
                       .path = "", .err = &err };
    struct served *s = a->building;

    if (a->opt->wants != WANT_SUSPECTS || a->build_rc < 0)
        return;
    s->lacks_ranks = roster_count (&a->roster, ROSTER_MISSING) > 0;
    if (a->nsuspects == 0)
        return;
    if (want_ranks (&r, s->job.id) < 0)
        log_error ("wants-failed", "job %s: %s", s->job.id, err.text);
    if (r.any)
        log_suspects (a, s->job.id);
}

/* ---- rollcall fetch ---- */

static int take_ranks (const struct json *request, int64_t out[RANKS_MAX],
                       size_t *n, struct err *err)
{
    const struct json *list = json_get (request, "ranks");

    *n = 0;
    for (const struct json *j = json_first (list); j; j = json_next (j)) {
        if (*n == RANKS_MAX)
            return err_set (err, EINVAL, "more than %d ranks", RANKS_MAX);
        if (!json_int (j, &out[*n]) || out[*n] < 0 ||
            out[*n] >= capture_world_max)
            return err_set (err, EINVAL, "a rank is not between 0 and %lld",
                            (long long)capture_world_max - 1);
        ++*n;
    }
    return *n > 0 ? 0 : err_set (err, EINVAL, "no rank was named");
}

int aggregator_fetch (struct aggregator *a, const struct json *request,
                      struct json *answer, struct err *err)
{
    const char *job = json_text (json_get (request, "job"), "");
    const char *path = json_text (json_get (request, "file"), "");
    struct told t = { .a = a };
    int64_t ranks[RANKS_MAX], number = 0;
    struct ranks r = { .a = a, .ranks = ranks, .path = path, .told = &t,
                       .err = err };
    int rc = take_ranks (request, ranks, &r.n, err);

    if (rc < 0)
        return rc;
    if (*path && !message_valid_item (ITEM_RAW, 0, "x", path))
        return err_set (err, EINVAL, "\"%.200s\" is not a path within a "
                        "capture, nor a pattern of one", path);
    if (!ledger_has_job (a->ledger, job))
        return err_set (err, ENOENT, "there is no job %.200s here: rollcall "
                        "jobs lists its jobs", job);
    (void)json_int (json_get (request, "request"), &number);
    r.again = number <= 0;
    t.list = json_add_array (answer, "ranks");
    (void)ledger_get_fact (a->ledger, job, FACT_RAW_AT, t.raw_at, NULL);
    rc = want_ranks (&r, job);
    json_add_int (answer, "request", 1);
    json_add_int (answer, "captures", (int64_t)t.n);
    json_add_int (answer, "coming", (int64_t)t.coming);
    json_add_int (answer, "no_agent", (int64_t)t.no_agent);
    json_add_int (answer, "gone", (int64_t)t.gone);
    return rc;
}
