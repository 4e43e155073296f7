/* aggregator/archive/divide_by_hand.c - captures that a person assigns to jobs
 */
#include "archive/divide.h"

#include "base/clock.h"
#include "base/units.h"
#include "base/vec.h"
#include "jobs/jobs.h"
#include "options/shell.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct by_hand {
    struct ledger_assignment *all;      // of a job
    size_t n;
};

static int divide_by_hand_add (void *arg, const struct ledger_assignment *a)
{
    struct by_hand *h = arg;

    return vec_push (&h->all, &h->n, a, sizeof (*a));
}

/* List the captures that were assigned to a job; there must be at least one. */
static int divide_by_hand_list (struct ledger *l, const char *job,
                                struct by_hand *h,
                                struct err *err)
{
    int rc = ledger_each_assignment (l, job, divide_by_hand_add, h, err);

    if (rc == -ENOMEM)
        return err_set (err, ENOMEM, "no memory for the captures of %s", job);
    if (rc < 0 || h->n > 0)
        return rc;
    return ledger_has_job (l, job) && ledger_newest (l, job, ITEM_RAW) > 0
               ? err_set (err, EINVAL, "job %s got its id from rollcall run or "
                          "--job: it cannot be split or merged",
                          job)
               : err_set (err, ENOENT, "there is no job %s in this root: "
                          "rollcall jobs lists its jobs", job);
}

static int divide_by_hand_take (struct divide *ret, struct by_hand *h,
                                const char *job,
                                struct ledger *l, struct err *err)
{
    int rc;

    ret->assignments = h->all;
    ret->n = h->n;
    for (size_t i = 0; i < h->n; i++) {
        struct ledger_assignment *a = &h->all[i];

        PRINT (a->job, "%s", job);
        PRINT (a->why, LEDGER_BY_HAND);
        a->assumed = false;
        a->at_ns = clock_wall_ns ();
    }
    if ((rc = divide_list_jobs (ret, l, err)) < 0)
        divide_fini (ret);
    return rc;
}

int divide_merge (struct ledger *ledger, const char *job, const char *into,
                  struct divide *ret, struct err *err)
{
    struct by_hand h = { NULL, 0 }, other = { NULL, 0 };
    int rc;

    memset (ret, 0, sizeof (*ret));
    if (strcmp (job, into) == 0)
        return err_set (err, EINVAL, "%s is one job already", job);
    rc = divide_by_hand_list (ledger, into, &other, err);
    free (other.all);
    if (rc == 0)
        rc = divide_by_hand_list (ledger, job, &h, err);
    if (rc < 0) {
        free (h.all);
        return rc;
    }
    return divide_by_hand_take (ret, &h, into, ledger, err);
}

/* Whether a capture of a job matches this name or rank. */
static bool divide_is_called (int64_t rank, const char *capture,
                              const char *what)
{
    int64_t n;

    return strcmp (capture, what) == 0 ||
           (units_rank (what, &n) == 0 && n == rank);
}

/* ---- splitting ---- */

struct naming {                 // a name for the captures' new job
    struct store *store;
    struct ledger *ledger;
    const struct by_hand *h;
    struct capture *captures;
    struct jobs_capture *list;
    size_t n;
};

/* Read the evidence of one of the captures. */
static int show (void *arg, const struct ledger_item *i)
{
    static const struct group_list none = { NULL, 0 };
    struct naming *g = arg;
    bool ours = false;
    struct capture c;

    for (size_t k = 0; k < g->h->n && !ours; k++) {
        const struct ledger_assignment *a = &g->h->all[k];

        ours = strcmp (a->dir, i->dir) == 0 && a->rank == i->rank &&
               a->newest_ns == i->newest_ns &&
               strcmp (a->capture, i->capture) == 0;
    }
    if (!ours || i->lost || g->n == g->h->n)
        return 0;
    capture_init (&c);
    if (store_read_meta (g->store, g->ledger, &i->content, &i->place, &c, NULL) == 0) {
        g->captures[g->n] = c;
        g->list[g->n] = (struct jobs_capture){ &g->captures[g->n], &none,
                                               i->rank, 0 };
        g->n++;
    } else {
        capture_fini (&c);
    }
    return 0;
}

/* Name the new job as if the captures had been a job before. */
static int make_name (struct ledger *l, struct store *s,
                      const struct by_hand *h, const char *job,
                      char out[MESSAGE_NAME_MAX], struct err *err)
{
    struct naming g = { s, l, h, calloc (h->n + 1, sizeof (struct capture)),
                        calloc (h->n + 1, sizeof (struct jobs_capture)), 0 };
    struct jobs jobs = { NULL, 0, NULL, NULL };
    int rc = g.captures && g.list
                 ? ledger_each (l, job, ITEM_ROWS, show, &g, err)
                 : err_set (err, ENOMEM, "no memory to split a job"), n;

    if (rc == 0)
        rc = jobs_divide (g.list, g.n, 0, &jobs, err);
    n = snprintf (out, MESSAGE_NAME_MAX - 8, "%.200s",
                  rc == 0 && jobs.n > 0 ? jobs.jobs[0].name : job);
    for (unsigned k = 2; rc == 0 && ledger_has_job (l, out); k++)
        (void)snprintf (out + n, 8, "-%u", k);
    for (size_t i = 0; i < g.n; i++)
        capture_fini (&g.captures[i]);
    jobs_fini (&jobs);
    free (g.captures);
    free (g.list);
    return rc;
}

/* Keep the captures with these names or ranks. */
static int divide_by_hand_choose (struct by_hand *h, const char *job,
                                  const char *const *captures, size_t n,
                                  struct err *err)
{
    size_t kept = 0, had = h->n;

    for (size_t k = 0; k < n; k++) {
        char word[SHELL_WORD (MESSAGE_NAME_MAX)];
        bool found = false;

        for (size_t i = 0; i < had && !found; i++)
            found = divide_is_called (h->all[i].rank, h->all[i].capture,
                                      captures[k]);
        if (!found)
            return err_set (err, ENOENT, "job %s has no capture %s: rollcall "
                            "archive ls %s lists them", job,
                            captures[k], shell_word (job, word));
    }
    for (size_t i = 0; i < had; i++) {
        bool wanted = false;

        for (size_t k = 0; k < n && !wanted; k++)
            wanted = divide_is_called (h->all[i].rank, h->all[i].capture,
                                       captures[k]);
        if (wanted)
            h->all[kept++] = h->all[i];
    }
    h->n = kept;
    return kept < had ? 0 : err_set (err, EINVAL, "no capture would remain in "
                                     "job %s", job);
}

int divide_split (struct ledger *ledger, struct store *store, const char *job,
                  const char *const *captures, size_t n, struct divide *ret,
                  struct err *err)
{
    struct by_hand h = { NULL, 0 };
    char name[MESSAGE_NAME_MAX] = "";
    int rc = divide_by_hand_list (ledger, job, &h, err);

    memset (ret, 0, sizeof (*ret));
    if (rc == 0)
        rc = divide_by_hand_choose (&h, job, captures, n, err);
    if (rc == 0)
        rc = make_name (ledger, store, &h, job, name, err);
    if (rc < 0) {
        free (h.all);
        return rc;
    }
    return divide_by_hand_take (ret, &h, name, ledger, err);
}
