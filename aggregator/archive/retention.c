/* aggregator/archive/retention.c - which jobs are no longer kept */
#include "archive/retention.h"

#include "base/clock.h"
#include "base/units.h"
#include "base/vec.h"
#include "ledger/ledger_gc.h"
#include "store/gc.h"
#include "store/row_sum.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define DAY_NS (24 * 3600 * NS_PER_S)
#define DAYS_MAX 36500

/* ---- rules ---- */

static struct retention_rule *rule_of (struct retention_rules *r,
                                       const char *tag, size_t size)
{
    for (size_t i = 0; i < r->n; i++) {
        if (strlen (r->rules[i].tag) == size &&
            strncmp (r->rules[i].tag, tag, size) == 0)
            return &r->rules[i];
    }
    if (r->n == RETENTION_RULES_MAX)
        return NULL;
    r->rules[r->n] = (struct retention_rule){ .keep_days = -1,
                                              .keep_last = -1,
                                              .max_bytes = -1 };
    memcpy (r->rules[r->n].tag, tag, size);
    return &r->rules[r->n++];
}

static int parse (enum retention_limit which, const char *text, int64_t *ret)
{
    return which == RETENTION_SIZE
               ? units_bytes (text, ret)
               : units_int (text, 0, which == RETENTION_DAYS ? DAYS_MAX
                                                             : INT32_MAX, ret);
}

/* What would remove all jobs is not what somebody means. */
static int check_least (enum retention_limit which, const char *text,
                        int64_t value, struct err *err)
{
    if (which == RETENTION_SIZE && value < RETENTION_SIZE_MIN)
        return err_set (err, EINVAL, "\"%.80s\" is %lld byte%s, and would "
                        "keep no job: the least is 1M; 500G is 500 GB", text,
                        (long long)value, units_s ((uint64_t)value));
    if (which != RETENTION_SIZE && value == 0)
        return err_set (err, EINVAL, "\"%.80s\" would keep no job: rollcall "
                        "archive rm removes jobs by name", text);
    return 0;
}

int retention_add (struct retention_rules *r, enum retention_limit which,
                   const char *text, struct err *err)
{
    const char *equals = strrchr (text, '=');   // a tag may have one, too
    size_t size = equals ? (size_t)(equals - text) : 0;
    char tag[FACT_TAG_MAX + 1] = "";
    struct retention_rule *rule;
    int64_t value;

    if (size <= FACT_TAG_MAX)
        memcpy (tag, text, size);
    if (equals && !ledger_valid_tag (tag))
        return err_set (err, EINVAL, "\"%.80s\" does not begin with a tag: "
                        FACT_TAG_RULE, text);
    if (parse (which, equals ? equals + 1 : text, &value) < 0)
        return err_set (err, EINVAL, "\"%.80s\" is not %s", text,
                        which == RETENTION_SIZE ? "a size, as 500GB"
                                                : "a number");
    if (check_least (which, text, value, err) < 0)
        return -EINVAL;
    if (!(rule = rule_of (r, tag, strlen (tag))))
        return err_set (err, E2BIG, "there are more than %d tags",
                        RETENTION_RULES_MAX);
    *(which == RETENTION_DAYS   ? &rule->keep_days
      : which == RETENTION_LAST ? &rule->keep_last
                                : &rule->max_bytes) = value;
    return 0;
}

/* ---- jobs ---- */

struct planning {
    struct ledger *ledger;
    const struct store *store;
    const struct retention_rules *rules;
    int64_t now_ns;
    struct retention_plan *plan;
    uint64_t *rules_of;         // for each job, a bit for each rule
    size_t *order;              // of the jobs, for the rules
    struct err *err;
};

static int add_job (void *arg, const struct ledger_job *job)
{
    struct retention_plan *p = arg;
    struct retention_job j = { .newest = job->newest, .goes_ns = INT64_MAX,
                               .why = "" };

    PRINT (j.job, "%s", job->id);
    return vec_push (&p->jobs, &p->n, &j, sizeof (j));
}

static int look_at_job (struct planning *x, struct retention_job *j)
{
    struct ledger_summary s;
    int rc = ledger_summary (x->ledger, j->job, &s, x->err);

    j->first_ns = s.first_ns;
    j->last_ns = s.last_ns;
    j->captures = s.captures;
    j->files = s.items;
    j->bytes = s.bytes;
    return rc;
}

static int newest_first (const void *pa, const void *pb)
{
    const struct retention_job *a = pa, *b = pb;

    if (a->last_ns != b->last_ns)
        return a->last_ns > b->last_ns ? -1 : 1;
    return strcmp (a->job, b->job);
}

struct marks {
    const struct retention_rules *rules;
    uint64_t bits;
    bool pinned, forgotten;
};

static int add_mark (void *arg, const struct ledger_fact *f)
{
    struct marks *m = arg;

    if (f->gone)
        return 0;
    m->pinned = m->pinned || strcmp (f->key, FACT_PIN) == 0;
    m->forgotten = m->forgotten || strcmp (f->key, FACT_FORGOTTEN) == 0;
    for (size_t i = 0; i < m->rules->n && strcmp (f->key, FACT_TAG) == 0; i++) {
        if (strcmp (m->rules->rules[i].tag, f->value) == 0)
            m->bits |= UINT64_C (1) << i;
    }
    return 0;
}

/* Which rules are for a job. */
static int find_rules (struct planning *x, size_t i)
{
    struct marks m = { .rules = x->rules };
    int rc = ledger_each_fact (x->ledger, x->plan->jobs[i].job, 0, add_mark,
                               &m, x->err);

    for (size_t k = 0; k < x->rules->n && m.bits == 0; k++) {
        if (!*x->rules->rules[k].tag && !x->rules->only_tag)
            m.bits = UINT64_C (1) << k;
    }
    x->rules_of[i] = m.bits;
    x->plan->jobs[i].pinned = m.pinned;
    x->plan->jobs[i].forgets = x->rules->forget_days > 0 && !m.forgotten &&
        !x->rules->timeless &&
        x->now_ns - x->plan->jobs[i].last_ns >= x->rules->forget_days * DAY_NS;
    return rc;
}

/* By date they are sorted. */
static void order_by_date (struct planning *x)
{
    for (size_t i = 0; i < x->plan->n; i++)
        x->order[i] = i;
}

static int last_first (const void *pa, const void *pb, void *arg)
{
    const struct retention_job *jobs = arg;
    int64_t a = jobs[*(const size_t *)pa].newest;
    int64_t b = jobs[*(const size_t *)pb].newest;

    return (a < b) - (a > b);
}

static void order_by_arrival (struct planning *x)
{
    qsort_r (x->order, x->plan->n, sizeof (*x->order), last_first,
             x->plan->jobs);
}

static int list_jobs (struct planning *x)
{
    struct retention_plan *p = x->plan;
    int rc = ledger_each_job (x->ledger, ITEM_RAW, add_job, p, x->err);

    for (size_t i = 0; i < p->n && rc == 0; i++)
        rc = look_at_job (x, &p->jobs[i]);
    if (p->n > 0)
        qsort (p->jobs, p->n, sizeof (*p->jobs), newest_first);
    if (rc == 0 &&
        (!(x->rules_of = calloc (p->n + 1, sizeof (*x->rules_of))) ||
         !(x->order = calloc (p->n + 1, sizeof (*x->order)))))
        rc = -ENOMEM;
    for (size_t i = 0; i < p->n && rc == 0; i++)
        rc = find_rules (x, i);
    return rc;
}

/* ---- deciding ---- */

/* When a rule lets a job go that is the k-th newest of its jobs. */
static int64_t end_of (const struct retention_rule *r,
                       const struct retention_job *j, int64_t k, bool timeless,
                       const char **why)
{
    if (r->keep_days < 0 ? r->keep_last < 0 : timeless)
        return INT64_MAX;
    if (r->keep_last >= 0 && k < r->keep_last)
        return INT64_MAX;
    *why = r->keep_days < 0 ? "not one of the last, which are kept"
                            : "no new data in the days that are kept";
    return r->keep_days < 0 ? 0 : j->last_ns + r->keep_days * DAY_NS;
}

/* The jobs of one rule, from the newest on: each gets the bytes that no newer
 * one has, and the sum of these is limited.
 */
static int apply (struct planning *x, size_t n, int64_t *ends)
{
    const struct retention_rule *r = &x->rules->rules[n];
    uint64_t sum = 0, bytes;
    int64_t k = 0;
    int rc = r->max_bytes < 0 ? 0 : ledger_marks_begin (x->ledger, x->err);

    for (size_t nth = 0; nth < x->plan->n && rc == 0; nth++) {
        size_t i = x->order[nth];
        struct retention_job *j = &x->plan->jobs[i];
        const char *why = j->why;
        int64_t end;

        if (!(x->rules_of[i] >> n & 1))
            continue;
        end = end_of (r, j, k++, x->rules->timeless, &why);
        bytes = 0;
        if (r->max_bytes >= 0 && (end > x->now_ns || j->pinned) &&
            (rc = gc_count_job (x->ledger, x->store, j->job, &bytes,
                                x->err)) == 0) {
            j->bytes = bytes;
            sum += bytes;
        }
        if (r->max_bytes >= 0 && sum > (uint64_t)r->max_bytes) {
            end = 0;
            why = "newer jobs take all the room";
        }
        if (end > ends[i]) {
            ends[i] = end;
            j->why = end == INT64_MAX ? "" : why;
        } else if (ends[i] == 0 && end == 0) {
            j->why = why;
        }
    }
    ledger_marks_end (x->ledger);
    return rc;
}

/* What may keep it: not what a build found of who started it. */
static int add_fact (void *arg, const struct ledger_fact *f)
{
    if (strcmp (f->key, FACT_TAG) == 0 || strcmp (f->key, FACT_PIN) == 0)
        *(uint64_t *)arg += (uint64_t)row_sum (f->seq);
    return 0;
}

static int add_assignment (void *arg, const struct ledger_assignment *a)
{
    *(uint64_t *)arg += (uint64_t)row_sum (a->scope, a->dir, a->rank,
                                           a->capture, a->newest_ns, a->at_ns);
    return 0;
}

/* The sum of what was said of a job: another one after each change. */
static int sum_said (struct ledger *l, const char *job, int64_t *ret,
                     struct err *err)
{
    uint64_t sum = 0;
    int rc = ledger_each_fact (l, job, 0, add_fact, &sum, err);

    if (rc == 0)
        rc = ledger_each_assignment (l, job, add_assignment, &sum, err);
    *ret = (int64_t)sum;
    return rc;
}

int retention_changed (struct ledger *ledger, const struct retention_job *j,
                       struct err *err)
{
    int64_t said;
    int rc = sum_said (ledger, j->job, &said, err);

    return rc < 0 ? rc : said != j->said;
}

static int settle (struct planning *x, const int64_t *ends)
{
    struct retention_plan *p = x->plan;
    int rc = 0;

    for (size_t i = 0; i < p->n && rc == 0; i++) {
        struct retention_job *j = &p->jobs[i];
        int64_t end = x->rules_of[i] ? ends[i] : INT64_MAX;
        bool due = end <= x->now_ns;

        j->goes = due && !j->pinned;
        j->goes_ns = j->pinned ? INT64_MAX : due ? x->now_ns : end;
        j->pinned = j->pinned && due;
        j->forgets = j->forgets && !j->goes;
        p->going += j->goes;
        p->bytes += j->goes ? j->bytes : 0;
        if (j->goes || j->forgets)
            rc = sum_said (x->ledger, j->job, &j->said, x->err);
    }
    return rc;
}

int retention_plan (struct ledger *ledger, const struct store *store,
                    const struct retention_rules *rules, int64_t now_ns,
                    struct retention_plan *ret, struct err *err)
{
    struct planning x = { .ledger = ledger, .store = store, .rules = rules,
                          .now_ns = now_ns, .plan = ret, .err = err };
    int64_t *ends = NULL;
    int rc;

    *ret = (struct retention_plan){ .n = 0 };
    rc = list_jobs (&x);
    if (rc == 0 && !(ends = calloc (ret->n + 1, sizeof (*ends))))
        rc = -ENOMEM;
    if (rc == 0)
        order_by_date (&x);
    for (size_t i = 0; i < rules->n && rc == 0; i++)
        rc = apply (&x, i, ends);
    if (rc == 0 && rules->timeless)
        order_by_arrival (&x);
    for (size_t i = 0; i < rules->n && rc == 0 && rules->timeless; i++)
        rc = apply (&x, i, ends);
    if (rc == 0)
        rc = settle (&x, ends);
    free (ends);
    free (x.rules_of);
    free (x.order);
    if (rc == -ENOMEM)
        (void)err_set (err, ENOMEM, "no memory for a list of jobs");
    if (rc < 0)
        retention_free (ret);
    return rc;
}

void retention_free (struct retention_plan *p)
{
    free (p->jobs);
    *p = (struct retention_plan){ .n = 0 };
}

int retention_forecast (const struct retention_plan *p,
                        struct retention_job *ret)
{
    const struct retention_job *next = NULL;

    for (size_t i = 0; i < p->n; i++) {
        const struct retention_job *j = &p->jobs[i];

        if (j->goes_ns < INT64_MAX && (!next || j->goes_ns <= next->goes_ns))
            next = j;           // of equal ones the oldest
    }
    if (next)
        *ret = *next;
    return next != NULL;
}
