/* cli/several/job_copies.c - what several aggregators have of each job */
#include "several/job_copies.h"

#include "shared/view.h"

#include "base/units.h"
#include "base/utf8.h"
#include "base/vec.h"
#include "ledger/ledger_facts.h"
#include "net/message.h"
#include "select/capture_select.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TOLD_MAX 20             // jobs with different copies

/* ---- one object ---- */

static int64_t number (const struct json *o, const char *key, int64_t none)
{
    int64_t n = none;

    (void)json_int (json_get (o, key), &n);
    return n;
}

static const char *text (const struct json *o, const char *key)
{
    return json_text (json_get (o, key), "");
}

static void read_roll (const struct json *roll, struct job_copy *c)
{
    static const char *const lacking[] = { "missing", "failed", "partial",
                                           "raw" };

    c->in_roll = c->present = number (roll, "present", -1);
    for (size_t i = 0; i < sizeof (lacking) / sizeof (lacking[0]); i++) {
        int64_t n = number (roll, lacking[i], 0);

        if (n > 0 && c->in_roll >= 0 && c->in_roll < INT64_MAX / 2)
            c->in_roll += n < INT64_MAX / 8 ? n : 0;
    }
    c->whole = c->counted && c->present > 0 && c->present == c->in_roll;
}

/* By the source of their number (select/capture_select.h), of a result. */
static bool is_counted (const char *known_by)
{
    return strcmp (known_by, SELECT_BY_GUESS) != 0 &&
           strcmp (known_by, SELECT_BY_OPS) != 0;
}

/* False: it is no job. */
static bool read_copy (const struct json *o, const struct cli_place *place,
                       struct job_copy *c)
{
    *c = (struct job_copy){
        .o = o, .place = place, .job = text (o, "job"),
        .built = text (o, "built_at"), .user = text (o, "user"),
        .ranks = number (o, "ranks", -1),
        .captures = number (o, "captures", -1),
        .bytes = number (o, "bytes", -1),
        .world_size = number (o, "world_size", 0),
        .result_bytes = number (o, "result_bytes", -1),
        .home = text (o, FACT_HOME), .raw_at = text (o, FACT_RAW_AT),
        .counted = is_counted (text (o, "known_by")),
    };
    read_roll (json_get (o, "roll"), c);
    // a home that stands in for another one hears of that, too
    c->raw_only = *c->home && !*c->raw_at && c->present < 0;
    return json_is_object (o) && message_valid_name (c->job);
}

/* ---- all of them ---- */

static int by_worth (const struct job_copy *x, const struct job_copy *y)
{
    int rc = x->raw_only - y->raw_only;

    if (rc == 0)
        rc = y->whole - x->whole;
    if (rc == 0)
        rc = (y->present >= 0) - (x->present >= 0);
    if (rc == 0 && (!x->counted || !y->counted))
        rc = (y->present > x->present) - (y->present < x->present);
    if (rc == 0)
        rc = strcmp (y->built, x->built);
    if (rc == 0)
        rc = (y->captures > x->captures) - (y->captures < x->captures);
    return rc;
}

static int by_name (const void *a, const void *b)
{
    const struct job_copy *x = a, *y = b;
    int rc = strcmp (x->job, y->job);

    if (rc == 0)
        rc = by_worth (x, y);
    return rc ? rc : (x->place > y->place) - (x->place < y->place);
}

size_t job_copies_next (const struct job_copies *j, size_t i)
{
    size_t k = i + 1;

    while (k < j->n && strcmp (j->list[k].job, j->list[i].job) == 0)
        k++;
    return k;
}

static int by_job (const void *key, const void *copy)
{
    return strcmp (key, ((const struct job_copy *)copy)->job);
}

const struct job_copy *job_copies_best (const struct job_copies *j,
                                        const char *job)
{
    const struct job_copy *c = j->n > 0 ? bsearch (job, j->list, j->n,
                                                   sizeof (*j->list), by_job)
                                        : NULL;

    while (c && c > j->list && strcmp (c[-1].job, job) == 0)
        c--;
    return c;
}

/* What one aggregator names twice counts once. */
static void drop_repeated (struct job_copies *j)
{
    size_t kept = 0;

    for (size_t i = 0; i < j->n; i++) {
        size_t k = kept;

        while (k > 0 && strcmp (j->list[k - 1].job, j->list[i].job) == 0 &&
               j->list[k - 1].place != j->list[i].place)
            k--;
        if (k > 0 && strcmp (j->list[k - 1].job, j->list[i].job) == 0)
            j->strange++;
        else
            j->list[kept++] = j->list[i];
    }
    j->n = kept;
}

static int add_jobs (struct job_copies *j, const struct json *doc,
                     const struct cli_place *place)
{
    const struct json *jobs = json_get (doc, "jobs");
    struct job_copy one;

    for (const struct json *o = json_first (jobs); o; o = json_next (o)) {
        if (!read_copy (o, place, &one))
            j->strange++;
        else if (vec_push (&j->list, &j->n, &one, sizeof (one)) < 0)
            return -1;
    }
    return 0;
}

/* ---- who is away ---- */

static void tell_away (const struct command_spec *c, struct job_copies *j,
                       struct place_answer *a, const char *what)
{
    char shown[UTF8_ESCAPED (ERR_TEXT_MAX)];
    const char *why = place_answer_why (a);

    j->away++;
    if (c)
        (void)cli_fail (c, 0, "%s %s: %s", a->place->name, what,
                        utf8_escape (why, UTF8_LINES, shown));
}

void job_copies_lost (const struct command_spec *c, struct job_copies *j,
                      const struct cli_place *place, const char *why)
{
    size_t i = 0;

    while (i < j->nplaces && j->answers[i].place != place)
        i++;
    if (i == j->nplaces || j->answers[i].status != 0)
        return;                 // it has been named
    j->answers[i].status = err_set (&j->answers[i].why, EIO, "%s", why);
    tell_away (c, j, &j->answers[i], "has not answered in full");
}

/* Whether a place has answered; its list is in docs[i] then. */
static bool has_answered (const struct command_spec *c, struct job_copies *j,
                          size_t i)
{
    struct place_answer *a = &j->answers[i];

    if (a->status == 0) {
        j->docs[i] = json_parse ((const char *)a->out.data, a->out.size, NULL);
        if (json_is_array (json_get (j->docs[i], "jobs")))
            return true;
        json_free (j->docs[i]);
        j->docs[i] = NULL;
        a->status = err_set (&a->why, EBADMSG, "its answer is damaged, or "
                             "none");
    }
    tell_away (c, j, a, place_silence (place_answer_status (a)));
    return false;
}

static int no_memory (const struct command_spec *c)
{
    return c ? cli_fail (c, EX_OSERR, "no memory to ask several aggregators")
             : EX_OSERR;
}

int job_copies_ask (const struct command_spec *c, const struct cli_places *p,
                    const struct json *request, struct job_copies *ret)
{
    *ret = (struct job_copies){ .answers = places_ask (p, request),
                                .docs = calloc (p->n, sizeof (*ret->docs)),
                                .nplaces = p->n };
    if (!ret->answers || !ret->docs)
        return no_memory (c);
    for (size_t i = 0; i < p->n; i++) {
        if (has_answered (c, ret, i) &&
            add_jobs (ret, ret->docs[i], &p->list[i]) < 0)
            return no_memory (c);
    }
    if (ret->away == p->n)
        return place_answer_status (&ret->answers[0]);
    if (ret->n > 1)
        qsort (ret->list, ret->n, sizeof (*ret->list), by_name);
    drop_repeated (ret);
    if (ret->strange > 0 && c)
        (void)cli_fail (c, 0, "%zu job%s left out: one aggregator listed it "
                        "twice, or its name cannot be one", ret->strange,
                        ret->strange == 1 ? " is" : "s are");
    return 0;
}

void job_copies_silent (const struct job_copies *j, struct json_out *out)
{
    json_out_open_of (out, "not_answered", '[');
    for (size_t i = 0; i < j->nplaces; i++) {
        if (j->answers[i].status == 0)
            continue;
        json_out_open (out, '{');
        json_out_text_of (out, "at", j->answers[i].place->name);
        json_out_text_of (out, "reason", j->answers[i].why.text);
        json_out_close (out, '}');
    }
    json_out_close (out, ']');
}

void job_copies_fini (struct job_copies *j)
{
    for (size_t i = 0; j->docs && i < j->nplaces; i++)
        json_free (j->docs[i]);
    free (j->docs);
    free (j->list);
    place_answers_free (j->answers, j->nplaces);
    *j = (struct job_copies){ .n = 0 };
}

/* ---- what differs ---- */

enum copies_differ job_copies_compare (const struct job_copy *a,
                                       const struct job_copy *b)
{
    if (*a->user && *b->user && strcmp (a->user, b->user) != 0)
        return COPIES_CONTRADICT;
    if (a->raw_only || b->raw_only)
        return COPIES_DIVIDED;
    if (a->whole && b->whole && a->present != b->present)
        return COPIES_CONTRADICT;
    return a->captures == b->captures && a->ranks == b->ranks &&
                   a->whole == b->whole && a->present == b->present
               ? COPIES_SAME : COPIES_LACK;
}

static void describe (const struct job_copy *c, bool user, char out[512])
{
    char of[64];

    PRINT (of, "%s%.40s", user && *c->user ? " of user " : "",
           user ? c->user : "");
    (void)snprintf (out, 512, "%.300s has %lld capture%s of %lld rank%s%s%s",
                    c->place->name, (long long)c->captures,
                    units_s ((uint64_t)c->captures), (long long)c->ranks,
                    units_s ((uint64_t)c->ranks), of,
                    c->present < 0 ? ", and no result"
                    : !c->counted  ? ", and how many there should be is not known"
                    : c->whole     ? ", and all in its result"
                                   : ", and not all in its result");
}

/* Only raw files of a job were found. */
static enum copies_differ tell_home (const struct command_spec *c,
                                     const struct job_copy *copy, bool silent)
{
    char job[UTF8_ESCAPED (MESSAGE_NAME_MAX)];
    char home[UTF8_ESCAPED (FACT_VALUE_MAX)], text[FACT_VALUE_MAX];

    PRINT (text, "%s", copy->home);
    if (!silent)
        (void)cli_fail (c, 0, "job %s: %s has only raw files of it; its rows "
                        "are at %s, which was not asked, or has not answered",
                        utf8_escape (copy->job, UTF8_COLUMN, job),
                        copy->place->name,
                        utf8_escape (text, UTF8_COLUMN, home));
    return COPIES_LACK;
}

static enum copies_differ tell_one (const struct command_spec *c,
                                    const struct job_copies *j, size_t i,
                                    size_t end, bool silent)
{
    enum copies_differ worst = COPIES_SAME;
    char job[UTF8_ESCAPED (MESSAGE_NAME_MAX)], best[512], other[512];
    char shown[2][UTF8_ESCAPED (512)];
    size_t at = i;
    bool user;

    if (j->list[i].raw_only)
        return tell_home (c, &j->list[i], silent);
    for (size_t k = i + 1; k < end; k++) {
        enum copies_differ d = job_copies_compare (&j->list[i], &j->list[k]);

        if (d > worst) {
            worst = d;
            at = k;
        }
    }
    if (worst <= COPIES_DIVIDED || silent)
        return worst;
    user = *j->list[i].user && *j->list[at].user &&
           strcmp (j->list[i].user, j->list[at].user) != 0;
    describe (&j->list[i], user, best);
    describe (&j->list[at], user, other);
    (void)cli_fail (c, 0, "job %s: %s; %s%s",
                    utf8_escape (j->list[i].job, UTF8_COLUMN, job),
                    utf8_escape (best, UTF8_COLUMN, shown[0]),
                    utf8_escape (other, UTF8_COLUMN, shown[1]),
                    worst == COPIES_CONTRADICT
                        ? ": they contradict each other, and the first is shown"
                        : ": it counts once, and the first is shown");
    return worst;
}

size_t job_copies_tell (const struct command_spec *c,
                        const struct job_copies *j)
{
    size_t told = 0, bad = 0;

    for (size_t i = 0, end; i < j->n; i = end) {
        enum copies_differ d;

        end = job_copies_next (j, i);
        d = tell_one (c, j, i, end, told >= TOLD_MAX);
        told += d > COPIES_DIVIDED;
        bad += d == COPIES_CONTRADICT;
    }
    if (told > TOLD_MAX)
        (void)cli_fail (c, 0, "copies of %zu more jobs differ, or lack rows",
                        told - TOLD_MAX);
    return bad;
}

/* ---- the place of a job ---- */

int job_copies_where (const char *job, const char *where, struct buf *out)
{
    buf_printf (out, "job='");
    for (const char *p = job; *p; p++)
        buf_printf (out, *p == '\'' ? "''" : "%c", *p);
    buf_printf (out, where ? "' AND (%s)" : "'", where);
    return out->failed ? -ENOMEM : 0;
}

struct json *job_copies_request (const char *job)
{
    const char *options[] = { "--json", NULL, NULL, NULL };
    struct json *request;
    struct buf where;

    buf_init (&where, 4 * MESSAGE_NAME_MAX);
    if (job && job_copies_where (job, NULL, &where) == 0) {
        options[1] = "--where";
        options[2] = buf_text (&where);
    }
    request = cli_view_words ("jobs", options, NULL);
    buf_fini (&where);
    return request;
}

/* Those that contradict each other are named. */
static int ambiguous (const struct command_spec *c, const struct job_copies *j)
{
    char job[UTF8_ESCAPED (MESSAGE_NAME_MAX)];

    return cli_fail (c, EXIT_USAGE, "which job %s is meant? Name one of these "
                     "aggregators only, with --root or --aggregators",
                     utf8_escape (j->list[0].job, UTF8_COLUMN, job));
}

/* As job_copies_ask; the copies of one job. */
static int ask_for_one (const struct command_spec *c,
                        const struct cli_places *p, const char *job,
                        struct job_copies *j)
{
    struct json *request = job_copies_request (job);
    int status = job_copies_ask (c, p, request, j);
    size_t kept = 0;

    json_free (request);
    // an aggregator may say more than it was asked for
    for (size_t i = 0; i < j->n; i++) {
        if (strcmp (j->list[i].job, job) == 0)
            j->list[kept++] = j->list[i];
    }
    j->n = kept;
    return status;
}

void job_copies_peek (const struct cli_places *p, const char *job,
                      struct job_copies *ret)
{
    (void)ask_for_one (NULL, p, job, ret);
}

int job_copies_find (const struct command_spec *c, const struct cli_places *p,
                     const char *job, bool with_result, struct job_copies *j,
                     const struct job_copy **ret)
{
    int status = ask_for_one (c, p, job, j);

    if (status)
        return status;
    if (j->n == 0)
        return cli_fail (c, j->away > 0 ? EX_UNAVAILABLE : EX_NOINPUT,
                         "no aggregator that answers has a job %s", job);
    if (job_copies_tell (c, j) > 0)
        return ambiguous (c, j);
    *ret = &j->list[0];
    if (with_result && (*ret)->raw_only)
        return EX_UNAVAILABLE;  // as was said
    return !with_result || (*ret)->present >= 0
               ? 0 : cli_fail (c, EX_NOINPUT, "job %s has no result yet at %s",
                               job, (*ret)->place->name);
}
