/* aggregator/service/usage.c - how much a root holds, and how fast it grows */
#include "service/usage.h"

#include "archive/stored_bytes.h"
#include "base/clock.h"
#include "base/vec.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define HOUR_NS (3600 * NS_PER_S)

/* ---- growth ---- */

/* Forget what is older than a week. */
static void turn_to (struct usage *u, int64_t hour)
{
    if (u->hour == 0 || hour - u->hour >= USAGE_HOURS)
        memset (u->hours, 0, sizeof (u->hours));
    else
        for (int64_t h = u->hour + 1; h <= hour; h++)
            u->hours[h % USAGE_HOURS] = 0;
    if (hour > u->hour)
        u->hour = hour;
}

static void grow (struct usage *u, uint64_t bytes, int64_t at_ns,
                  int64_t now_ns)
{
    int64_t hour = at_ns / HOUR_NS;

    turn_to (u, now_ns / HOUR_NS);
    if (u->since_ns == 0 || at_ns < u->since_ns)
        u->since_ns = at_ns;
    if (hour >= 0 && hour <= u->hour && u->hour - hour < USAGE_HOURS)
        u->hours[hour % USAGE_HOURS] += bytes;
}

double usage_rate (const struct usage *u, int64_t hours, int64_t now_ns)
{
    int64_t known_ns = u->since_ns > 0 ? now_ns - u->since_ns : 0;
    int64_t hour = now_ns / HOUR_NS, ns;
    double bytes = 0;

    if (known_ns < USAGE_LEAST_NS)
        return (double)NAN;
    for (int64_t h = hour - hours + 1; h <= u->hour; h++) {
        if (h > u->hour - USAGE_HOURS && h >= 0)
            bytes += (double)u->hours[h % USAGE_HOURS];
    }
    // the last hour is not over
    ns = (hours - 1) * HOUR_NS + now_ns % HOUR_NS;
    if (known_ns < ns)
        ns = known_ns;
    return ns > 0 ? bytes * 24 * (double)HOUR_NS / (double)ns : (double)NAN;
}

/* ---- jobs and users ---- */

static uint32_t number_of (struct texts *t, const char *text)
{
    return texts_intern (t, text, strlen (text));
}

/* NULL: no memory. */
static struct usage_job *job_at (struct usage *u, const char *job)
{
    uint32_t n = u->jobs.map.n, i = number_of (&u->jobs, job);
    struct usage_job *p;

    if (i == TEXTS_NONE)
        return NULL;
    if (i == n) {
        if (!(p = vec_next (&u->job, n, sizeof (*p))))
            return NULL;
        *p = (struct usage_job){ .user = TEXTS_NONE };
    }
    return &u->job[i];
}

static uint64_t *user_at (struct usage *u, const char *user, uint32_t *number)
{
    uint32_t n = u->users.map.n, i = number_of (&u->users, user);
    uint64_t *p;

    *number = i;
    if (i == TEXTS_NONE)
        return NULL;
    if (i == n) {
        if (!(p = vec_next (&u->user, n, sizeof (*p))))
            return NULL;
        *p = 0;
    }
    return &u->user[i];
}

static void put (struct usage *u, const char *job, uint64_t bytes)
{
    struct usage_job *j = job_at (u, job);

    u->total += bytes;
    if (!j)
        return;
    j->bytes += bytes;
    if (j->user != TEXTS_NONE)
        u->user[j->user] += bytes;
}

void usage_add (struct usage *u, const char *job, uint64_t bytes,
                int64_t now_ns)
{
    put (u, job, bytes);
    grow (u, bytes, now_ns, now_ns);
}

void usage_merge (struct usage *u, const struct usage *since, int64_t now_ns)
{
    for (uint32_t i = 0; i < since->jobs.map.n; i++)
        usage_add (u, texts_at (&since->jobs, i), since->job[i].bytes, now_ns);
}

int64_t usage_promise (struct usage *u, const char *job, uint64_t bytes)
{
    struct usage_job *j = job_at (u, job);

    if (!j)
        return 0;
    put (u, job, bytes);
    return 1 + (j - u->job);
}

/* Sums are modulo 2^64. */
void usage_change (struct usage *u, int64_t number, int64_t bytes)
{
    struct usage_job *j = &u->job[number - 1];

    u->total += (uint64_t)bytes;
    j->bytes += (uint64_t)bytes;
    if (j->user != TEXTS_NONE)
        u->user[j->user] += (uint64_t)bytes;
}

void usage_set_user (struct usage *u, const char *job, const char *user)
{
    struct usage_job *j = job_at (u, job);
    uint32_t number = TEXTS_NONE;
    uint64_t *bytes = j && *user ? user_at (u, user, &number) : NULL;

    if (!j)
        return;
    if (j->user != TEXTS_NONE)
        u->user[j->user] -= j->bytes;
    j->user = bytes ? number : TEXTS_NONE;
    if (bytes)
        *bytes += j->bytes;
}

void usage_set_pin (struct usage *u, const char *job, bool pinned)
{
    struct usage_job *j = job_at (u, job);

    if (j)
        j->pinned = pinned;
}

const struct usage_job *usage_of_job (const struct usage *u, const char *job)
{
    uint32_t i = texts_find (&u->jobs, job, strlen (job));

    return i == TEXTS_NONE ? NULL : &u->job[i];
}

uint64_t usage_of_user (const struct usage *u, const char *user)
{
    uint32_t i = texts_find (&u->users, user, strlen (user));

    return i == TEXTS_NONE ? 0 : u->user[i];
}

void usage_fini (struct usage *u)
{
    texts_fini (&u->jobs);
    texts_fini (&u->users);
    free (u->job);
    free (u->user);
    *u = (struct usage){ .total = 0 };
}

/* ---- from the ledger ---- */

struct counting {
    struct usage *u;
    int64_t now_ns;
};

static int count_bytes (void *arg, const struct ledger_item *item,
                        uint64_t bytes)
{
    struct counting *c = arg;

    put (c->u, item->job, bytes);
    grow (c->u, bytes, item->received_ns, c->now_ns);
    return 0;
}

static int take_fact (void *arg, const struct ledger_fact *f)
{
    struct counting *c = arg;

    if (strcmp (f->key, FACT_USER) == 0 && !f->gone)
        usage_set_user (c->u, f->job, f->value);
    else if (strcmp (f->key, FACT_PIN) == 0)
        usage_set_pin (c->u, f->job, !f->gone);
    return 0;
}

int usage_count (struct usage *u, struct ledger *ledger, struct store *store,
                 int64_t now_ns, struct err *err)
{
    struct usage fresh = { .total = 0 };
    struct counting c = { .u = &fresh, .now_ns = now_ns };
    int rc = stored_bytes_each (ledger, store, count_bytes, &c, err);

    if (rc == 0)
        rc = ledger_each_fact (ledger, NULL, 0, take_fact, &c, err);
    if (rc < 0) {
        usage_fini (&fresh);
        return rc;
    }
    usage_fini (u);
    *u = fresh;
    return 0;
}
