/* aggregator/jobs/jobs_result.c - the jobs that captures were divided into: their
 * names and their order
 */
#include "jobs/jobs_private.h"

#include "base/units.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LIST_MAX 384            // bytes of names in a message

/* ---- each job ---- */

/* Name a job by its first start and the evidence of its first capture. */
static void make_name (struct jobs_job *j, const struct fact *first)
{
    time_t s = (time_t)(first->start_ns / 1000000000);
    struct tm tm;
    char date[32], text[CAPTURE_NAME_MAX + 160];
    uint64_t h;

    PRINT (text,
           "%" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %s",
           first->rank, first->start_ns, first->end_ns, first->e->pid,
           first->e->mono_start_ns, first->c->name);
    h = evidence_hash (0, text, strlen (text));
    (void)gmtime_r (&s, &tm);
    if (strftime (date, sizeof (date), "%Y%m%dT%H%M%SZ", &tm) == 0)
        date[0] = '\0';
    PRINT (j->name, "%s-%08x", date, (unsigned)(h >> 32));
}

static bool is_earlier (const struct fact *a, const struct fact *b)
{
    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns;
    if (a->rank != b->rank)
        return a->rank < b->rank;
    return strcmp (a->c->name, b->c->name) < 0;
}

static int count_ranks (struct jobs *ret, const struct facts *f)
{
    struct map seen = INDEXED;
    int rc = 0;

    for (size_t i = 0; i < f->n && rc == 0; i++) {
        int64_t rank = f->list[i].rank;
        size_t *at;

        if (rank == CAPTURE_NO_RANK)
            continue;
        at = index_at (&seen, ret->of[i] * CAPTURE_WORLD_LIMIT + (uint64_t)rank);
        if (!at)
            rc = -ENOMEM;
        else if (*at == JOBS_NONE)
            ret->jobs[ret->of[i]].nranks += ++*at == 0;
    }
    map_fini (&seen);
    return rc;
}

static int fill_jobs (const struct facts *f, const struct draft_told *drafts,
                      struct jobs *ret)
{
    const struct fact **first = calloc (ret->n + 1, sizeof (*first));

    if (!first)
        return -ENOMEM;
    for (size_t i = 0; i < f->n; i++) {
        const struct fact *x = &f->list[i];
        struct jobs_job *j = &ret->jobs[x->draft];

        ret->of[i] = x->draft;
        ret->assumed[i] = x->knot != drafts[x->draft].first_knot;
        if (!first[x->draft] || is_earlier (x, first[x->draft]))
            first[x->draft] = x;
        if (x->start_ns > 0 && (j->first_ns == 0 || x->start_ns < j->first_ns))
            j->first_ns = x->start_ns;
        j->last_ns = x->end_ns > j->last_ns ? x->end_ns : j->last_ns;
        j->ncaptures++;
        if (x->in->fixed != JOBS_NONE)
            j->fixed = x->in->fixed;
        if (x->e->job[0] && !j->given) {
            j->given = true;
            PRINT (j->name, "%s", x->e->job);
        }
    }
    for (size_t i = 0; i < ret->n; i++) {
        ret->jobs[i].assumed = drafts[i].nknots > 1;
        PRINT (ret->jobs[i].why, "%s", drafts[i].why);
        if (!ret->jobs[i].given)
            make_name (&ret->jobs[i], first[i]);
    }
    free (first);
    return count_ranks (ret, f);
}

/* ---- their order ---- */

/* When a job ran, by compared clocks. */
struct place {
    int64_t first_ns, last_ns;
    size_t from;
};

static int compare_places (const void *pa, const void *pb)
{
    const struct place *a = pa, *b = pb;

    if (a->last_ns != b->last_ns)
        return a->last_ns > b->last_ns ? -1 : 1;
    return a->from < b->from ? -1 : 1;
}

static void find_places (const struct facts *f, struct place *places, size_t n)
{
    for (size_t i = 0; i < n; i++)
        places[i] = (struct place){ INT64_MAX, 0, i };
    for (size_t i = 0; i < f->n; i++) {
        const struct fact *x = &f->list[i];
        struct place *p = &places[x->draft];
        int64_t start = fact_minus (x->start_ns, x->ahead_ns);
        int64_t end = fact_minus (x->end_ns, x->ahead_ns);

        if (x->start_ns > 0 && start < p->first_ns)
            p->first_ns = start;
        if (end > p->last_ns)
            p->last_ns = end;
    }
}

static bool overlap (const struct place *a, const struct place *b)
{
    return a->first_ns <= b->last_ns && b->first_ns <= a->last_ns;
}

/* Jobs that ran at the same time are equally new.  The one with more ranks
 * comes first, so that one capture that names another world does not win.
 */
static void prefer_larger (const struct jobs *ret, struct place *places)
{
    for (size_t pass = 1; pass < ret->n; pass++) {
        for (size_t i = 0; i + pass < ret->n; i++) {
            struct place *a = &places[i], *b = &places[i + 1], swap = *a;

            if (!overlap (a, b) ||
                ret->jobs[b->from].nranks <= ret->jobs[a->from].nranks)
                continue;
            *a = *b;
            *b = swap;
        }
    }
}

/* Sort the jobs, the newest first. */
static int sort_jobs (const struct facts *f, struct jobs *ret)
{
    struct place *places = calloc (ret->n + 1, sizeof (*places));
    struct jobs_job *jobs = calloc (ret->n + 1, sizeof (*jobs));
    size_t *to = calloc (ret->n + 1, sizeof (*to));
    int rc = places && jobs && to ? 0 : -ENOMEM;

    if (rc == 0) {
        find_places (f, places, ret->n);
        qsort (places, ret->n, sizeof (*places), compare_places);
        prefer_larger (ret, places);
    }
    for (size_t i = 0; i < ret->n && rc == 0; i++) {
        jobs[i] = ret->jobs[places[i].from];
        to[places[i].from] = i;
    }
    for (size_t i = 0; i < f->n && rc == 0; i++)
        ret->of[i] = to[ret->of[i]];
    if (rc == 0) {
        free (ret->jobs);
        ret->jobs = jobs;
        jobs = NULL;
    }
    free (jobs);
    free (places);
    free (to);
    return rc;
}

static bool is_named (const struct jobs *ret, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp (ret->jobs[i].name, name) == 0)
            return true;
    }
    return false;
}

/* Make equal names distinct: older jobs get numbers. */
static void part_names (struct jobs *ret)
{
    for (size_t i = 1; i < ret->n; i++) {
        struct jobs_job *j = &ret->jobs[i];
        size_t n = strlen (j->name);

        for (size_t k = 2; !j->given && is_named (ret, i, j->name); k++)
            (void)snprintf (j->name + n, sizeof (j->name) - n, "-%zu", k);
    }
}

int jobs_tell (const struct facts *f, const struct draft_told *drafts, size_t n,
               struct jobs *ret)
{
    int rc;

    ret->n = n;
    ret->jobs = calloc (ret->n + 1, sizeof (*ret->jobs));
    ret->of = calloc (f->n + 1, sizeof (*ret->of));
    ret->assumed = calloc (f->n + 1, sizeof (*ret->assumed));
    if (!ret->jobs || !ret->of || !ret->assumed)
        return -ENOMEM;
    for (size_t i = 0; i < ret->n; i++)
        ret->jobs[i].fixed = JOBS_NONE;
    if ((rc = fill_jobs (f, drafts, ret)) == 0 &&
        (rc = sort_jobs (f, ret)) == 0)
        part_names (ret);
    return rc;
}

void jobs_fini (struct jobs *j)
{
    free (j->jobs);
    free (j->of);
    free (j->assumed);
    memset (j, 0, sizeof (*j));
}

/* ---- the one that a user names ---- */

/* "1: NAME, 2: NAME and 3 more": the jobs whose names begin with 'begin'. */
static void list_names (const struct jobs *j, const char *begin,
                        char out[LIST_MAX])
{
    size_t n = strlen (begin), used = 0, left = 0;

    out[0] = '\0';
    for (size_t i = 0; i < j->n; i++) {
        const char *name = j->jobs[i].name;

        if (strncmp (name, begin, n) != 0)
            continue;
        if (left > 0 || used + strlen (name) + 64 > LIST_MAX)
            left++;
        else
            used += (size_t)snprintf (out + used, LIST_MAX - used,
                                      "%s%zu: %s", used ? ", " : "", i + 1,
                                      name);
    }
    if (left > 0)
        (void)snprintf (out + used, LIST_MAX - used,
                        "%s%zu more (--list-jobs lists all)",
                        used ? " and " : "", left);
}

int jobs_find (const struct jobs *j, const char *what, size_t *ret,
               struct err *err)
{
    size_t n = strlen (what), found = JOBS_NONE, named = JOBS_NONE, many = 0;
    char list[LIST_MAX];
    int64_t index = 0;

    for (size_t i = 0; i < j->n; i++) {
        if (n == 0 || strncmp (j->jobs[i].name, what, n) != 0)
            continue;
        found = i;
        many++;
        if (j->jobs[i].name[n] == '\0')
            named = i;
    }
    if (units_int (what, 1, (int64_t)j->n, &index) == 0) {
        *ret = (size_t)index - 1;
        if (named != JOBS_NONE && named != *ret)
            return err_set (err, EINVAL, "%s is the name of job %zu, and the "
                            "index of another", what, named + 1);
        return 0;
    }
    if (named != JOBS_NONE) {
        *ret = named;
        return 0;
    }
    list_names (j, many > 1 ? what : "", list);
    if (many > 1)
        return err_set (err, EINVAL, "%zu jobs begin with \"%.60s\": %s", many,
                        what, list);
    if (many == 0)
        return err_set (err, ENOENT, "no job is \"%.60s\"; there %s %s", what,
                        units_are (j->n), list);
    *ret = found;
    return 0;
}
