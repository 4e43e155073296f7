/* aggregator/archive/divide.c - assign the captures of a scope to jobs */
#include "archive/divide.h"

#include "base/clock.h"
#include "base/vec.h"
#include "builder/groups.h"
#include "jobs/jobs.h"
#include "store/store_commit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct version {                // a version of a capture: a shipment
    struct ledger_item item;
    struct capture capture;     // its metadata
    struct group_list groups;   // that it lists
    bool given;                 // 'was' is its present assignment
    struct ledger_assignment was;
    size_t chain;               // index
};

/* Versions of one capture: of one place, rank and name, and of one window. */
struct chain {
    const struct version *shown;        // the newest one with evidence
    const struct version *fixed;        // its assignment decides; or NULL
    size_t job;                 // index of the name; JOBS_NONE: undecided
    bool assumed;
    char why[LEDGER_WHY_MAX];   // why its job is a new one
};

struct dividing {
    struct ledger *ledger;
    struct store *store;
    const char *scope;
    struct version *versions;
    size_t n;
    struct version **order;     // sorted: chains are together
    struct chain *chains;
    size_t nchains;
    char (*names)[MESSAGE_NAME_MAX];    // of jobs with captures
    size_t nnames;
    struct groups *groups;      // without duplicates
    struct divide *ret;
    struct err *err;
};

static int no_memory (struct err *err)
{
    return err_set (err, ENOMEM, "no memory to tell jobs apart");
}

/* ---- collecting versions ---- */

static int add_version (void *arg, const struct ledger_item *item)
{
    struct dividing *d = arg;
    struct version *p = vec_add (&d->versions, &d->n, sizeof (*p));

    if (!p)
        return no_memory (d->err);
    p->item = *item;
    capture_init (&p->capture);
    return 0;
}

static void of_version (const struct ledger_item *item,
                        struct ledger_assignment *a)
{
    memset (a, 0, sizeof (*a));
    memcpy (a->scope, item->scope, sizeof (a->scope));
    memcpy (a->dir, item->dir, sizeof (a->dir));
    memcpy (a->capture, item->capture, sizeof (a->capture));
    a->rank = item->rank;
    a->newest_ns = item->newest_ns;
}

/* An unreadable version shows nothing; the build reports the reason.  One that
 * an object store does not give now may show something later.
 */
static int look_at (struct dividing *d, struct version *v)
{
    const struct ledger_item *i = &v->item;
    struct err why = { "" };
    int rc = i->lost ? -ENOENT : store_read_meta (d->store, d->ledger,
                                                  &i->content, &i->place,
                                                  &v->capture, &why);

    if (rc == -ENOMEM)
        return no_memory (d->err);
    if (rc == -EREMOTEIO)
        return err_set (d->err, EREMOTEIO, "%s", why.text);
    if (rc < 0) {
        capture_fini (&v->capture);
        capture_init (&v->capture);
        v->capture.state = CAPTURE_FAILED;
    }
    if ((rc = groups_share (d->groups, &v->capture, &v->groups, d->err)) < 0)
        return rc;
    of_version (i, &v->was);
    rc = ledger_find_assignment (d->ledger, &v->was, d->err);
    v->given = rc == 1;
    return rc < 0 ? rc : 0;
}

/* ---- versions of one capture ---- */

static int compare_captures (const struct ledger_item *a,
                             const struct ledger_item *b)
{
    int order = strcmp (a->dir, b->dir);

    if (order == 0)
        order = strcmp (a->capture, b->capture);
    return order != 0 ? order : a->rank < b->rank ? -1 : a->rank > b->rank;
}

static int compare_versions (const void *pa, const void *pb)
{
    const struct version *a = *(struct version *const *)pa;
    const struct version *b = *(struct version *const *)pb;
    int order = compare_captures (&a->item, &b->item);

    if (order != 0)
        return order;
    if (a->item.newest_ns != b->item.newest_ns)
        return a->item.newest_ns < b->item.newest_ns ? -1 : 1;
    return a < b ? -1 : a > b;          // in the order of arrival
}

static bool shows (const struct version *v)
{
    return capture_has_rows (&v->capture);
}

/* Whether two versions are of one capture.  The next run of a script may use
 * the name again if its profiler makes no unique names.  A version without
 * times is taken for the same capture: it was not analysed yet, or not written
 * completely.
 */
static bool is_same (const struct version *a, const struct version *b)
{
    const struct evidence *x = &a->capture.evidence, *y = &b->capture.evidence;
    const struct capture *p = &a->capture, *q = &b->capture;

    if (a->item.newest_ns == b->item.newest_ns)
        return true;
    if (x->mono_start_ns > 0 && y->mono_start_ns > 0)
        return x->mono_start_ns == y->mono_start_ns;
    if (p->started_ns == 0 || q->started_ns == 0 || p->ended_ns == 0 ||
        q->ended_ns == 0)
        return true;
    return p->started_ns <= q->ended_ns && q->started_ns <= p->ended_ns;
}

/* A chain stays with the job to which a version with evidence was assigned;
 * without such a version, with the job of the earlier ones.
 */
static void join_chain (struct chain *c, const struct version *v)
{
    if (!c->shown || shows (v) || !shows (c->shown))
        c->shown = v;
    if (v->given && (!c->fixed || (shows (v) && !shows (c->fixed))))
        c->fixed = v;
}

static int make_chains (struct dividing *d)
{
    d->order = calloc (d->n + 1, sizeof (struct version *));
    d->chains = calloc (d->n + 1, sizeof (*d->chains));
    if (!d->order || !d->chains)
        return no_memory (d->err);
    for (size_t i = 0; i < d->n; i++)
        d->order[i] = &d->versions[i];
    qsort (d->order, d->n, sizeof (struct version *), compare_versions);
    for (size_t i = 0; i < d->n; i++) {
        struct version *v = d->order[i], *before = i > 0 ? d->order[i - 1]
                                                         : NULL;

        if (!before || compare_captures (&before->item, &v->item) != 0 ||
            !is_same (d->chains[before->chain].shown, v))
            d->nchains++;
        v->chain = d->nchains - 1;
        join_chain (&d->chains[v->chain], v);
    }
    for (size_t i = 0; i < d->nchains; i++) {
        struct chain *c = &d->chains[i];

        if (c->fixed && shows (c->shown) && !shows (c->fixed))
            c->fixed = NULL;    // it was assigned without evidence
    }
    return 0;
}

/* ---- names ---- */

/* The index of a job that has captures assigned. */
static size_t name_index (struct dividing *d, const char *job)
{
    size_t i = 0;

    while (i < d->nnames && strcmp (d->names[i], job) != 0)
        i++;
    if (i == d->nnames)         // there is room for one of each chain
        (void)snprintf (d->names[d->nnames++], MESSAGE_NAME_MAX, "%s", job);
    return i;
}

static bool is_taken (struct dividing *d, const char *name)
{
    for (size_t i = 0; i < d->nnames; i++) {
        if (strcmp (d->names[i], name) == 0)
            return true;
    }
    return strcmp (name, d->scope) == 0 || ledger_has_job (d->ledger, name);
}

/* Make a job's name.  An id from a shipment becomes part of a path.  A made-up
 * name must not be in use; the scope's own name is for captures without a job.
 */
static const char *make_name (struct dividing *d, const char *wanted,
                              bool given)
{
    char *name = d->names[d->nnames];
    int n = snprintf (name, MESSAGE_NAME_MAX - 8, "%s", wanted);

    for (char *c = name; *c; c++)
        *c = *c == '/' ? '_' : *c;
    if (!message_valid_name (name))
        n = snprintf (name, MESSAGE_NAME_MAX - 8, "job");
    if (n >= MESSAGE_NAME_MAX - 8)
        n = MESSAGE_NAME_MAX - 9;
    for (unsigned k = 2; given ? strcmp (name, d->scope) == 0
                               : is_taken (d, name); k++)
        (void)snprintf (name + n, 8, "-%u", k);
    d->nnames++;
    return name;
}

/* ---- deciding ---- */

static int divide_put (struct divide *ret, const struct ledger_assignment *a,
                       struct err *err)
{
    return vec_push (&ret->assignments, &ret->n, a, sizeof (*a)) < 0
               ? no_memory (err) : 0;
}

/* A version that shows a job of its own stays in the job to which it was
 * assigned.
 */
static int divide_give (struct dividing *d, const struct version *v)
{
    const struct chain *c = &d->chains[v->chain];
    struct ledger_assignment a;

    if (v->given && (strcmp (v->was.job, d->names[c->job]) == 0 || shows (v)))
        return 0;
    of_version (&v->item, &a);
    memcpy (a.job, d->names[c->job], sizeof (a.job));
    memcpy (a.why, c->why, sizeof (a.why));
    a.assumed = c->assumed;
    a.at_ns = clock_wall_ns ();
    return divide_put (d->ret, &a, d->err);
}

/* Name the jobs that jobs_divide found for the chains in 'list'. */
static int take_jobs (struct dividing *d, const struct jobs *jobs,
                      struct chain *const *list, size_t n)
{
    size_t *names = calloc (jobs->n + 1, sizeof (*names));

    if (!names)
        return no_memory (d->err);
    for (size_t i = 0; i < jobs->n; i++) {
        const struct jobs_job *j = &jobs->jobs[i];

        names[i] = j->fixed != JOBS_NONE
                       ? j->fixed
                       : name_index (d, make_name (d, j->name, j->given));
    }
    for (size_t i = 0; i < n; i++) {
        const struct jobs_job *j = &jobs->jobs[jobs->of[i]];

        if (list[i]->job != JOBS_NONE)
            continue;
        list[i]->job = names[jobs->of[i]];
        list[i]->assumed = jobs->assumed[i];
        if (j->fixed == JOBS_NONE)
            PRINT (list[i]->why, "%s", j->why);
    }
    free (names);
    return 0;
}

/* Decide about the chains in 'list', some of which are already decided. */
static int decide_some (struct dividing *d, struct chain *const *list,
                        size_t n, int64_t gap_ns)
{
    struct jobs_capture *captures = calloc (n + 1, sizeof (*captures));
    struct jobs jobs = { NULL, 0, NULL, NULL };
    int rc = captures ? 0 : no_memory (d->err);

    for (size_t i = 0; i < n && rc == 0; i++) {
        captures[i].capture = &list[i]->shown->capture;
        captures[i].groups = &list[i]->shown->groups;
        captures[i].rank = list[i]->shown->item.rank;
        captures[i].fixed = list[i]->job;
    }
    if (rc == 0) {
        rc = jobs_divide (captures, n, gap_ns, &jobs, d->err);
        if (rc == 0)
            rc = take_jobs (d, &jobs, list, n);
        jobs_fini (&jobs);
    }
    free (captures);
    return rc;
}

/* Sort decided chains first, then by start; chains without a start come last.
 */
static int compare_chains (const void *pa, const void *pb)
{
    const struct chain *a = *(struct chain *const *)pa;
    const struct chain *b = *(struct chain *const *)pb;
    int64_t s = a->shown->capture.started_ns;
    int64_t t = b->shown->capture.started_ns;

    if ((a->job == JOBS_NONE) != (b->job == JOBS_NONE))
        return a->job == JOBS_NONE ? 1 : -1;
    if ((s == 0) != (t == 0))
        return s == 0 ? 1 : -1;
    return s != t ? (s < t ? -1 : 1) : a < b ? -1 : a > b;
}

/* The end of the open chains from 'first' on that no silence longer than the
 * gap separates.
 */
static size_t end_of_burst (struct chain *const *list, size_t first, size_t n,
                            int64_t gap_ns)
{
    int64_t last_ns = list[first]->shown->capture.ended_ns;
    size_t end = first + 1;

    for (; end < n; end++) {
        const struct capture *c = &list[end]->shown->capture;

        if (gap_ns > 0 && last_ns > 0 && c->started_ns - last_ns > gap_ns)
            break;
        last_ns = c->ended_ns > last_ns ? c->ended_ns : last_ns;
    }
    return end;
}

/* Decide in the order of time.  Otherwise, if old and new captures arrive
 * together, those without evidence would all join the newest job.
 */
static int divide_decide (struct dividing *d, int64_t gap_ns)
{
    struct chain **list = calloc (d->nchains + 1, sizeof (*list));
    size_t first = 0;
    int rc = list ? 0 : no_memory (d->err);

    // names of existing jobs, and of possible new ones
    d->names = calloc (2 * d->nchains + 1, sizeof (*d->names));
    if (!d->names)
        rc = no_memory (d->err);
    for (size_t i = 0; i < d->nchains && rc == 0; i++) {
        struct chain *c = &d->chains[i];

        c->job = c->fixed ? name_index (d, c->fixed->was.job) : JOBS_NONE;
        first += c->fixed != NULL;
        list[i] = c;
    }
    if (rc == 0)
        qsort (list, d->nchains, sizeof (*list), compare_chains);
    while (rc == 0 && first < d->nchains) {
        first = end_of_burst (list, first, d->nchains, gap_ns);
        rc = decide_some (d, list, first, gap_ns);
    }
    for (size_t i = 0; i < d->n && rc == 0; i++)
        rc = d->chains[d->order[i]->chain].job == JOBS_NONE
                 ? 0 : divide_give (d, d->order[i]);
    free (list);
    return rc;
}

static void divide_end (struct dividing *d)
{
    for (size_t i = 0; i < d->n; i++) {
        capture_fini (&d->versions[i].capture);
        free (d->versions[i].groups.list);
    }
    groups_destroy (d->groups);
    free (d->versions);
    free (d->order);
    free (d->chains);
    free (d->names);
}

int divide_scope (struct ledger *ledger, struct store *store,
                  const char *scope, int64_t gap_ns, struct divide *ret,
                  struct err *err)
{
    struct dividing d = { .ledger = ledger, .store = store, .scope = scope,
                          .ret = ret, .err = err };
    int rc = 0;

    memset (ret, 0, sizeof (*ret));
    if (ledger_count_open (ledger, scope) == 0)
        return 0;
    if (!(d.groups = groups_create ()))
        rc = no_memory (err);
    if (rc == 0)
        rc = ledger_each_of_scope (ledger, scope, add_version, &d, err);
    for (size_t i = 0; i < d.n && rc == 0; i++)
        rc = look_at (&d, &d.versions[i]);
    if (rc == 0 && d.n > 0 && (rc = make_chains (&d)) == 0)
        rc = divide_decide (&d, gap_ns);
    if (rc == 0)
        rc = divide_list_jobs (ret, ledger, err);
    divide_end (&d);
    if (rc < 0)
        divide_fini (ret);
    return rc;
}

/* ---- writing ---- */

void divide_fini (struct divide *d)
{
    free (d->assignments);
    free (d->jobs);
    job_facts_fini (&d->marks);
    memset (d, 0, sizeof (*d));
}

static int add_job (struct divide *d, const char *job, struct err *err)
{
    char (*p)[MESSAGE_NAME_MAX];

    for (size_t i = 0; i < d->njobs; i++) {
        if (strcmp (d->jobs[i], job) == 0)
            return 0;
    }
    if (!(p = vec_add (&d->jobs, &d->njobs, sizeof (*p))))
        return no_memory (err);
    PRINT (*p, "%s", job);
    return 0;
}

/* A capture moves from a job: what was said of that one is true of it. */
static int leave_job (struct divide *d, struct ledger *ledger, const char *from,
                      const char *to, struct err *err)
{
    int rc = add_job (d, from, err);

    return rc < 0 || strcmp (from, to) == 0
               ? rc : job_facts_inherit (&d->marks, ledger, from, to, err);
}

int divide_list_jobs (struct divide *d, struct ledger *ledger,
                      struct err *err)
{
    int rc = 0;

    for (size_t i = 0; i < d->n && rc == 0; i++) {
        const char *to = d->assignments[i].job;
        struct ledger_assignment was = d->assignments[i];

        if ((rc = ledger_find_assignment (ledger, &was, err)) == 1)
            rc = leave_job (d, ledger, was.job, to, err);
        if (rc == 0)
            rc = add_job (d, to, err);
    }
    return rc;
}

int divide_append (const struct divide *d, struct store *store,
                   struct err *err)
{
    int rc = 0;

    for (size_t i = 0; i < d->n && rc == 0; i++)
        rc = store_note_assignment (store, &d->assignments[i], err);
    return rc < 0 ? rc : job_facts_append (&d->marks, store, err);
}

int divide_enter (const struct divide *d, struct ledger *ledger,
                  struct err *err)
{
    int rc = 0;

    for (size_t i = 0; i < d->n && rc >= 0; i++)
        rc = ledger_assign (ledger, &d->assignments[i], err);
    return rc < 0 ? rc : job_facts_enter (&d->marks, ledger, err);
}

static int append (void *arg, struct store *store, struct err *err)
{
    const struct divide *const *d = arg;

    return divide_append (*d, store, err);
}

static int enter (void *arg, struct ledger *ledger, struct err *err)
{
    const struct divide *const *d = arg;

    return divide_enter (*d, ledger, err);
}

int divide_commit (const struct divide *d, struct ledger *ledger,
                   struct store *store, struct err *err)
{
    const struct store_change change = { append, enter, &d };

    return store_commit (store, ledger, &change, err);
}
