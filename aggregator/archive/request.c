/* aggregator/archive/request.c - execute a user's corrections of a root */
#include "archive/request.h"

#include "archive/audit.h"
#include "archive/divide.h"
#include "archive/intake.h"
#include "archive/job_facts.h"
#include "archive/remove.h"
#include "base/clock.h"
#include "base/units.h"
#include "jobs/jobs.h"
#include "options/shell.h"
#include "model/capture.h"
#include "store/store_commit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct request {
    struct ledger *ledger;
    struct store *store;
    const struct json *asked;
    const char *job;
    struct json *answer;
};

/* Whether the ledger knows a job: it has items or claims. */
static int root_has_job (struct ledger *l, const char *root, const char *job,
                         struct err *err)
{
    struct ledger_summary s;
    struct size_claims claims;
    int rc = ledger_summary (l, job, &s, err);

    if (rc < 0 || s.items > 0)
        return rc;
    rc = ledger_size_claims (l, job, &claims, err);
    if (rc == 0 && claims.n == 0)
        rc = err_set (err, ENOENT, "there is no job %s in %s: rollcall jobs "
                      "lists its jobs", job, root);
    size_claims_fini (&claims);
    return rc;
}

static int has_job (const struct request *r, struct err *err)
{
    return root_has_job (r->ledger, store_root (r->store), r->job, err);
}

struct expected {               // a claim about a job
    const char *job;
    struct size_claim claim;
};

static int note_expected (void *arg, struct store *store, struct err *err)
{
    const struct expected *e = arg;

    return store_note_claim (store, e->job, &e->claim, err);
}

static int enter_expected (void *arg, struct ledger *ledger, struct err *err)
{
    const struct expected *e = arg;

    return ledger_set_claim (ledger, e->job, &e->claim, err);
}

static int do_expect (const struct request *r, struct err *err)
{
    struct expected e = { .job = r->job, .claim.by = CLAIM_EXPECT };
    const struct store_change change = { note_expected, enter_expected, &e };
    int rc;

    if (!json_int (json_get (r->asked, "world_size"), &e.claim.world_size) ||
        e.claim.world_size < 0 || e.claim.world_size > capture_world_max)
        return err_set (err, EINVAL, "how many ranks are expected is not "
                        "between 0 and %lld", (long long)capture_world_max);
    if ((rc = has_job (r, err)) < 0 ||
        (rc = store_commit (r->store, r->ledger, &change, err)) < 0)
        return rc;
    json_add_int (r->answer, "world_size",
                  ledger_world_size (r->ledger, r->job));
    return 0;
}

/* ---- assigning captures ---- */

static int request_give (const struct request *r, struct divide *d,
                         struct err *err)
{
    int rc = divide_commit (d, r->ledger, r->store, err);
    struct json *jobs;

    if (rc == 0) {
        json_add_text (r->answer, "job", d->assignments[0].job);
        json_add_int (r->answer, "captures", (int64_t)d->n);
        jobs = json_add_array (r->answer, "jobs");
        for (size_t i = 0; i < d->njobs; i++)
            json_push_text (jobs, d->jobs[i]);
    }
    divide_fini (d);
    return rc;
}

static int do_merge (const struct request *r, struct err *err)
{
    struct divide d;
    int rc = divide_merge (r->ledger, json_text (json_get (r->asked, "from"),
                                                 ""), r->job, &d, err);

    return rc < 0 ? rc : request_give (r, &d, err);
}

static int do_split (const struct request *r, struct err *err)
{
    const struct json *list = json_get (r->asked, "captures");
    size_t n = json_count (list);
    const struct json *at = json_first (list);
    const char **captures = calloc (n + 1, sizeof (*captures));
    struct divide d;
    int rc = captures ? 0 : err_set (err, ENOMEM, "no memory to split a job");

    for (size_t i = 0; i < n && rc == 0; i++, at = json_next (at))
        captures[i] = json_text (at, "");
    if (rc == 0 && n == 0)
        rc = err_set (err, EINVAL, "no captures were named");
    if (rc == 0 &&
        (rc = divide_split (r->ledger, r->store, r->job, captures, n, &d,
                            err)) == 0)
        rc = request_give (r, &d, err);
    free (captures);
    return rc;
}

/* ---- tags and pins ---- */

struct marks {                  // what a job has
    struct json *tags;
    size_t n;
    bool pinned;
};

static int add_mark (void *arg, const struct ledger_fact *f)
{
    struct marks *m = arg;

    if (f->gone)
        return 0;
    if (strcmp (f->key, FACT_TAG) == 0) {
        json_push_text (m->tags, f->value);
        m->n++;
    }
    m->pinned = m->pinned || strcmp (f->key, FACT_PIN) == 0;
    return 0;
}

static int tell_marks (const struct request *r, struct err *err)
{
    struct marks m = { .tags = json_add_array (r->answer, "tags") };
    int rc = ledger_each_fact (r->ledger, r->job, 0, add_mark, &m, err);

    json_add_bool (r->answer, "pinned", m.pinned);
    (void)json_add_array (r->answer, "jobs");
    return rc;
}

static struct ledger_fact fact_of (const struct request *r, const char *key,
                                   const char *value, bool gone)
{
    struct ledger_fact f = { .at_ns = clock_wall_ns (), .gone = gone };

    PRINT (f.job, "%s", r->job);
    PRINT (f.key, "%s", key);
    PRINT (f.value, "%s", value);
    PRINT (f.by, "%s", json_text (json_get (r->asked, "by"), ""));
    return f;
}

/* Check a tag, and append what has to be written, if anything. */
static int add_tag (const struct request *r, const char *tag, bool gone,
                    struct job_facts *facts, struct err *err)
{
    struct ledger_fact f = fact_of (r, FACT_TAG, tag, gone);
    int rc;

    if (!ledger_valid_tag (tag))
        return err_set (err, EINVAL, "\"%.80s\" is not a tag: " FACT_TAG_RULE,
                        tag);
    rc = job_facts_add (facts, r->ledger, &f, err);
    if (rc == 0 && gone)
        return err_set (err, ENOENT, "job %s has no tag %s", r->job, tag);
    return rc < 0 ? rc : 0;
}

/* A list of thousands would be of a program that went wrong. */
static int check_count (const struct request *r, size_t more, struct err *err)
{
    struct marks m = { .tags = NULL };
    int rc = ledger_each_fact (r->ledger, r->job, 0, add_mark, &m, err);

    if (rc == 0 && m.n + more > FACT_TAGS_MAX)
        return err_set (err, EINVAL, "job %s has %zu tags, and at most %d are "
                        "allowed", r->job, m.n, FACT_TAGS_MAX);
    return rc;
}

static int change_tags (const struct request *r, bool gone, struct err *err)
{
    const struct json *list = json_get (r->asked, "tags");
    struct job_facts facts = { .n = 0 };
    int rc = gone ? 0 : has_job (r, err);       // tags outlive their job

    if (rc == 0 && json_count (list) == 0)
        rc = err_set (err, EINVAL, "no tags were named");
    for (const struct json *j = json_first (list); j && rc == 0;
         j = json_next (j))
        rc = add_tag (r, json_text (j, ""), gone, &facts, err);
    if (rc == 0 && !gone)
        rc = check_count (r, facts.n, err);
    if (rc == 0)
        rc = job_facts_commit (&facts, r->ledger, r->store, err);
    job_facts_fini (&facts);
    return rc < 0 ? rc : tell_marks (r, err);
}

static int do_tag (const struct request *r, struct err *err)
{
    return change_tags (r, false, err);
}

static int do_untag (const struct request *r, struct err *err)
{
    return change_tags (r, true, err);
}

static int64_t uid_of (const struct request *r)
{
    int64_t uid = -1;

    (void)json_int (json_get (r->asked, "uid"), &uid);
    return uid;
}

static int change_pin (const struct request *r, bool gone, struct err *err)
{
    struct ledger_fact f = fact_of (r, FACT_PIN, "1", gone);
    const struct job_facts facts = { &f, 1 };
    struct audit line = { .verb = gone ? "archive unpin" : "archive pin",
                          .user = f.by, .uid = uid_of (r), .job = r->job,
                          .at_ns = f.at_ns };
    int rc = has_job (r, err);

    if (rc == 0 && (rc = ledger_has_fact (r->ledger, &f, err)) == 0 &&
        (rc = audit_write (store_root (r->store), &line, err)) == 0)
        rc = job_facts_commit (&facts, r->ledger, r->store, err);
    return rc < 0 ? rc : tell_marks (r, err);
}

static int do_pin (const struct request *r, struct err *err)
{
    return change_pin (r, false, err);
}

static int do_unpin (const struct request *r, struct err *err)
{
    return change_pin (r, true, err);
}

/* ---- removing ---- */

/* Where the rest of a divided job is, which stays. */
static void tell_rest (const struct request *r)
{
    static const char *const keys[] = { FACT_RAW_AT, FACT_HOME };
    char value[FACT_VALUE_MAX];

    for (size_t i = 0; i < 2; i++) {
        (void)ledger_get_fact (r->ledger, r->job, keys[i], value, NULL);
        json_add_nonempty (r->answer, keys[i], value);
    }
}

static int do_rm (const struct request *r, struct err *err)
{
    const char *verb = json_text (json_get (r->asked, "verb"), "");
    struct remove_what what = {
        .job = r->job, .uid = uid_of (r), .now_ns = clock_wall_ns (),
        .what = json_text (json_get (r->asked, "what"), ""),
        .verb = strcmp (verb, "archive prune") == 0 ? "archive prune"
                                                    : "archive rm",
        .by = json_text (json_get (r->asked, "by"), ""),
    };
    struct err why = { "" };
    struct removal done;
    int rc;

    (void)json_int (json_get (r->asked, "newest"), &what.newest);
    rc = remove_apply (r->ledger, r->store, &what, &done, &why);
    if (what.newest > 0 && remove_is_late (rc)) {
        json_add_text (r->answer, "stays", why.text);
        return 0;
    }
    if (rc < 0)
        return err_set (err, -rc, "%s", why.text);
    json_add_int (r->answer, "captures", done.captures);
    json_add_int (r->answer, "files", done.files);
    json_add_int (r->answer, "bytes", (int64_t)done.bytes);
    tell_rest (r);
    return 0;
}

static int do_forget (const struct request *r, struct err *err)
{
    const struct remove_what what = {
        .job = r->job, .uid = uid_of (r), .now_ns = clock_wall_ns (),
        .what = "", .by = json_text (json_get (r->asked, "by"), ""),
        .verb = "archive prune",
    };
    int rc = has_job (r, err);

    if (rc == 0)
        rc = remove_metadata (r->ledger, r->store, &what, err);
    return rc < 0 ? rc : 0;
}

void request_gc_options (const struct json *asked, struct gc_options *ret)
{
    *ret = (struct gc_options)GC_DEFAULTS;
    ret->now_ns = clock_wall_ns ();
    (void)json_int (json_get (asked, "grace_s"), &ret->grace_s);
    (void)json_int (json_get (asked, "percent"), &ret->least_percent);
}

void request_gc_answer (const struct gc_report *r, struct json *answer)
{
    json_add_int (answer, "unused", (int64_t)r->unused);
    json_add_int (answer, "freed", (int64_t)r->freed);
    json_add_int (answer, "copied", (int64_t)r->copied);
    json_add_int (answer, "segments", (int64_t)r->removed);
    json_add_int (answer, "damaged", (int64_t)r->damaged);
    json_add_int (answer, "away", (int64_t)r->away);
    json_add_text (answer, "held", r->held);
}

int request_audit_gc (const char *root, const struct json *asked,
                      struct err *err)
{
    struct request r = { .asked = asked };
    struct audit line = {
        .verb = "archive gc",
        .user = json_text (json_get (asked, "by"), ""),
        .uid = uid_of (&r), .at_ns = clock_wall_ns (),
    };

    return audit_write (root, &line, err);
}

/* A lease is no failure: the answer says who has it. */
static int do_gc (const struct request *r, struct err *err)
{
    struct gc_options opt;
    struct gc_report report;
    int rc = request_audit_gc (store_root (r->store), r->asked, err);

    request_gc_options (r->asked, &opt);
    if (rc == 0)
        rc = gc_run (r->ledger, r->store, &opt, &report, err);
    if (rc < 0 && rc != -EAGAIN)
        return rc;
    json_add_bool (r->answer, "running", false);
    request_gc_answer (&report, r->answer);
    return 0;
}

/* ---- what a verb puts into the root ---- */

static int do_take (const struct request *r, struct err *err)
{
    return intake_take (r->ledger, r->store, r->asked, r->answer, err);
}

static int do_divide (const struct request *r, struct err *err)
{
    struct json *jobs = json_add_array (r->answer, "jobs");
    struct divide d;
    int rc = divide_scope (r->ledger, r->store, r->job, JOBS_GAP_NS, &d, err);

    if (rc < 0)
        return rc;
    if (d.n > 0)
        rc = divide_commit (&d, r->ledger, r->store, err);
    for (size_t i = 0; i < d.njobs && rc == 0; i++)
        json_push_text (jobs, d.jobs[i]);
    divide_fini (&d);
    return rc;
}

/* A rank that agents reported themselves keeps what they said. */
static int is_heard (void *arg, const struct ledger_heard *h)
{
    return *(const int64_t *)arg == h->rank ? -EEXIST : 0;
}

static int set_heard (const struct request *r, const struct json *one,
                      struct err *err)
{
    struct ledger_heard h = { .rank = -1 };
    int rc;

    if (!json_int (json_get (one, "rank"), &h.rank) ||
        !json_int (json_get (one, "mpi_rank"), &h.mpi_rank) ||
        !json_int (json_get (one, "mpi_size"), &h.mpi_size) ||
        !json_int (json_get (one, "signal"), &h.command.signal) ||
        !json_int (json_get (one, "status"), &h.command.status) ||
        units_int (json_text (json_get (one, "ended_ns"), ""), 0, INT64_MAX,
                   &h.command.ns) < 0 ||
        h.rank < 0 || h.rank >= LEDGER_WORLD_MAX || h.mpi_rank < 0 ||
        h.mpi_rank >= LEDGER_WORLD_MAX || h.mpi_size < 0 ||
        h.mpi_size > LEDGER_WORLD_MAX)
        return err_set (err, EINVAL, "a report of a rank is not valid");
    PRINT (h.host, "%s", json_text (json_get (one, "host"), ""));
    rc = ledger_each_heard (r->ledger, r->job, is_heard, &h.rank, err);
    if (rc == -EEXIST)
        return 0;
    return rc < 0 ? rc : ledger_set_heard (r->ledger, r->job, &h, err);
}

static int do_report (const struct request *r, struct err *err)
{
    const struct json *list = json_get (r->asked, "ranks");
    int rc = has_job (r, err);

    if (rc < 0 || (rc = ledger_begin (r->ledger, err)) < 0)
        return rc;
    for (const struct json *one = json_first (list); one && rc == 0;
         one = json_next (one))
        rc = set_heard (r, one, err);
    return ledger_finish (r->ledger, rc, err);
}

static const struct {
    const char *name;
    int (*run) (const struct request *r, struct err *err);
} requests[] = {
    { "report", do_report },
    { "take", do_take },
    { "divide", do_divide },
    { "expect", do_expect },
    { "merge", do_merge },
    { "split", do_split },
    { "tag", do_tag },
    { "untag", do_untag },
    { "pin", do_pin },
    { "unpin", do_unpin },
    { "rm", do_rm },
    { "forget", do_forget },
    { "gc", do_gc },
};

int request_execute (struct ledger *ledger, struct store *store,
                     const struct json *request, struct json *answer,
                     struct err *err)
{
    const char *what = json_text (json_get (request, "do"), "");
    struct request r = {
        .ledger = ledger, .store = store, .asked = request, .answer = answer,
        .job = json_text (json_get (request, "job"), ""),
    };

    if (strcmp (what, "gc") != 0 && !message_valid_name (r.job))
        return err_set (err, EINVAL, "\"%.80s\" is not the name of a job",
                        r.job);
    for (size_t i = 0; i < sizeof (requests) / sizeof (requests[0]); i++) {
        if (strcmp (requests[i].name, what) == 0)
            return requests[i].run (&r, err);
    }
    return err_set (err, EINVAL, "this aggregator does not know the request "
                    "\"%.80s\": its version differs", what);
}

bool request_needs_service (const struct json *request)
{
    return strcmp (json_text (json_get (request, "do"), ""), "fetch") == 0;
}

int request_refuse_unserved (struct ledger *l, const char *root,
                             const struct json *request, struct err *err)
{
    const char *job = json_text (json_get (request, "job"), "");
    char word[SHELL_WORD (PATH_MAX)];
    int rc = root_has_job (l, root, job, err);

    return rc < 0 ? rc : err_set (err, EHOSTUNREACH, "no aggregator serves "
                                  "%s, so no agent can be asked: start "
                                  "rollcall-aggregator --root %s", root,
                                  shell_word (root, word));
}
