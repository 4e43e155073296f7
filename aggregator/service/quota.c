/* aggregator/service/quota.c - how much a root may hold of one job or user, and
 * in all
 */
#include "service/quota.h"

#include "base/units.h"

#include <errno.h>
#include <string.h>

/* ---- options ---- */

static int read_user (struct quotas *q, const char *text)
{
    const char *equals = strrchr (text, '=');
    struct quota_of_user *u = &q->users[q->nusers];

    if (!equals)
        return units_bytes (text, &q->user);
    *u = (struct quota_of_user){ text, (size_t)(equals - text), 0 };
    q->nusers += u->size > 0;
    return u->size > 0 ? units_bytes (equals + 1, &u->bytes) : -EINVAL;
}

int quotas_read (struct quotas *q, const struct option_list *users,
                 struct err *err)
{
    for (size_t i = 0; i < users->n; i++) {
        if (read_user (q, users->items[i]) < 0)
            return err_set (err, EINVAL, "--quota-user \"%s\": use SIZE or "
                            "USER=SIZE, as in 500GB or alice=2TB",
                            users->items[i]);
    }
    return 0;
}

bool quotas_any (const struct quotas *q)
{
    return q->root > 0 || q->job > 0 || q->user > 0 || q->nusers > 0;
}

static int64_t of_user (const struct quotas *q, const char *name)
{
    for (size_t i = 0; i < q->nusers; i++) {
        if (strlen (name) == q->users[i].size &&
            memcmp (name, q->users[i].name, q->users[i].size) == 0)
            return q->users[i].bytes;
    }
    return q->user;
}

/* ---- what would free room ---- */

/* The largest and the oldest job of a user, or of all (TEXTS_NONE), that is not
 * pinned; TEXTS_NONE: there is none.
 */
static void find_jobs (const struct usage *u, uint32_t user,
                       uint32_t *largest, uint32_t *oldest)
{
    *largest = *oldest = TEXTS_NONE;
    for (uint32_t i = 0; i < u->jobs.map.n; i++) {
        const struct usage_job *j = &u->job[i];

        if (j->pinned || j->bytes == 0 ||
            (user != TEXTS_NONE && j->user != user))
            continue;
        if (*oldest == TEXTS_NONE)
            *oldest = i;
        if (*largest == TEXTS_NONE || j->bytes > u->job[*largest].bytes)
            *largest = i;
    }
}

static void say_hint (const struct usage *u, uint32_t user, struct err *hint)
{
    uint32_t largest, oldest;
    char large[16], old[16];

    find_jobs (u, user, &largest, &oldest);
    if (largest == TEXTS_NONE) {
        (void)err_set (hint, EDQUOT, "all jobs that count are pinned");
        return;
    }
    units_bytes_text (u->job[largest].bytes, large);
    units_bytes_text (u->job[oldest].bytes, old);
    (void)err_set (hint, EDQUOT, "the largest job that is not pinned is "
                   "%.120s (%s), the oldest %.120s (%s): rollcall archive rm "
                   "frees that", texts_at (&u->jobs, largest), large,
                   texts_at (&u->jobs, oldest), old);
}

/* ---- the check ---- */

static bool fits (uint64_t used, uint64_t more, int64_t limit)
{
    return limit <= 0 || (used <= (uint64_t)limit &&
                          more <= (uint64_t)limit - used);
}

static void say_full (struct err *why, const char *what, const char *name,
                      uint64_t used, uint64_t more, int64_t limit)
{
    char has[16], most[16], next[16];

    units_bytes_text (used, has);
    units_bytes_text ((uint64_t)limit, most);
    units_bytes_text (more, next);
    (void)err_set (why, EDQUOT, "quota of %s%.200s is full: %s of %s are used, "
                   "and %s more do not fit", what, name, has, most, next);
}

static uint64_t of_job (const struct usage *u, const char *job)
{
    const struct usage_job *j = usage_of_job (u, job);

    return j ? j->bytes : 0;
}

bool quotas_allow (const struct quotas *q, const struct usage *u,
                   const struct usage *promised, const char *job,
                   uint64_t bytes, struct err *why, struct err *hint)
{
    const struct usage_job *j = usage_of_job (u, job);
    uint32_t user = j ? j->user : TEXTS_NONE;
    const char *name = user == TEXTS_NONE ? "" : texts_at (&u->users, user);
    uint64_t has = of_job (u, job) + of_job (promised, job), of_all;
    int64_t limit = *name ? of_user (q, name) : 0;
    char large[16];

    if (!fits (has, bytes, q->job)) {
        say_full (why, "job ", job, has, bytes, q->job);
        units_bytes_text (has, large);
        (void)err_set (hint, EDQUOT, "the job itself has %s", large);
        return false;
    }
    of_all = usage_of_user (u, name) + usage_of_user (promised, name);
    if (*name && !fits (of_all, bytes, limit)) {
        say_full (why, "user ", name, of_all, bytes, limit);
        say_hint (u, user, hint);
        return false;
    }
    of_all = u->total + promised->total;
    if (!fits (of_all, bytes, q->root)) {
        say_full (why, "this root", "", of_all, bytes, q->root);
        say_hint (u, TEXTS_NONE, hint);
        return false;
    }
    return true;
}
