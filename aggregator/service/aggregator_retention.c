/* aggregator/service/aggregator_retention.c - remove jobs that are no longer kept
 *
 * Once an hour what goes is decided; then one job is removed after the other, in
 * a quarter of the time, and then what nothing refers to is collected.
 */
#include "service/aggregator_private.h"

#include "archive/remove.h"
#include "base/log.h"
#include "base/units.h"
#include "ledger/ledger_gc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FIRST_NS (5 * NS_PER_S)         // after the start
#define EVERY_NS (3600 * NS_PER_S)
#define SHARE 3                 // pauses are so much longer than removals
#define DAY_NS (24 * 3600 * NS_PER_S)
#define CLOCK_DAYS 400          // no data for so long: the clock may be wrong

/* Whether the clock is not to be believed: the newest data is too far away. */
static int check_clock (const struct aggregator *a, struct err *err)
{
    const struct retention_plan *p = &a->keep.plan;
    int64_t days = p->n == 0 ? 0
                             : (a->keep.now_ns - p->jobs[0].last_ns) / DAY_NS;

    return llabs (days) <= CLOCK_DAYS ? 0
               : err_set (err, EDOM, "nothing is removed: the newest data came "
                          "%lld days %s now by this host's clock",
                          (long long)llabs (days),
                          days > 0 ? "before" : "after");
}

/* Data that came so long before the next may have been received with a wrong
 * clock: a host that starts in 1970 until a time server answers.
 */
static void keep_doubtful (struct retention_plan *p)
{
    size_t first = 1, n = 0;

    while (first < p->n && p->jobs[first - 1].last_ns -
                                   p->jobs[first].last_ns <=
                               CLOCK_DAYS * DAY_NS)
        first++;
    for (size_t i = first; i < p->n; i++) {
        n += p->jobs[i].goes || p->jobs[i].forgets;
        p->jobs[i].goes = p->jobs[i].forgets = false;
        p->jobs[i].goes_ns = INT64_MAX;
    }
    if (n > 0)
        log_warn ("old-jobs-stay", "%zu job%s stay%s, first %s: their data came "
                  "more than %d days before that of %s, perhaps by a wrong "
                  "clock; rollcall archive prune removes them", n, units_s (n),
                  n == 1 ? "s" : "", p->jobs[first].job, CLOCK_DAYS,
                  p->jobs[first - 1].job);
}

static int make_plan (void *arg, struct ledger *ledger, struct store *store,
                      struct err *err)
{
    struct aggregator *a = arg;
    struct retention_rules rules = a->opt->keep;

    rules.timeless = a->keep.timeless;
    return retention_plan (ledger, store, &rules, a->keep.now_ns,
                           &a->keep.plan, err);
}

static bool has_limit (const struct retention_rules *r)
{
    for (size_t i = 0; i < r->n; i++) {
        if (r->rules[i].keep_last >= 0 || r->rules[i].max_bytes >= 0)
            return true;
    }
    return false;
}

/* All lists of chunks may have to be read: beside the loop.  A disk that is full
 * cannot wait for the clock.
 */
static int begin_plan (struct aggregator *a, int64_t mono_ns, struct err *err)
{
    int rc;

    a->keep.now_ns = clock_wall_ns ();
    rc = steady_clock_look (&a->keep.clock, a->opt->root, a->keep.now_ns,
                            mono_ns, err);
    a->keep.timeless = rc == -EAGAIN;
    a->keep.doubt.text[0] = '\0';
    if (a->keep.timeless)
        a->keep.doubt = *err;
    if (a->keep.timeless && has_limit (&a->opt->keep)) {
        log_warn ("retention-waits", "%s", err->text);
        rc = 0;
    }
    return rc < 0 ? rc
                  : root_reader_begin (a->opt->root, make_plan, a,
                                       &a->keep.reader, err);
}

/* The plan is there.  What changed since it was begun is found when a job is to
 * be removed.
 */
static int decide (struct aggregator *a, struct err *err)
{
    int rc = root_reader_end (a->keep.reader, err);

    a->keep.reader = NULL;
    if (rc == 0 && (rc = check_clock (a, err)) < 0)
        retention_free (&a->keep.plan);
    if (rc == 0)
        keep_doubtful (&a->keep.plan);
    a->keep.at = rc < 0 ? 0 : a->keep.plan.n;
    a->keep.removed = a->keep.skipped = a->keep.forgotten = 0;
    a->keep.bytes = 0;
    a->keep.rc = 0;
    a->keep.under_way = rc == 0;
    return rc;
}

struct delivered {
    struct aggregator *a;
    const char *job;
};

static bool is_of_job (void *arg, const struct ledger_item *item)
{
    const struct delivered *d = arg;
    struct ledger_item i = *item;

    return strcmp (aggregator_job_of (d->a, &i), d->job) == 0;
}

/* Whether agents still deliver to it.  Those of a divided job say the scope,
 * and may never be done: only what they offer counts.
 */
static bool is_busy (struct aggregator *a, const char *job)
{
    const struct served *s = aggregator_find_job (a, job);
    struct delivered d = { a, job };

    for (size_t i = 0; s && i < s->job.nagents; i++) {
        if (!s->job.agents[i].done && !s->job.agents[i].lost)
            return true;
    }
    return transfers_any (a->transfers, is_of_job, &d);
}

static void remove_one (struct aggregator *a, const struct retention_job *j)
{
    const struct remove_what what = {
        .job = j->job, .what = "", .verb = "retention", .by = "service",
        .uid = (int64_t)geteuid (), .now_ns = clock_wall_ns (),
        .newest = j->newest,
    };
    struct removal done = { .files = 0 };
    struct err err = { "" };

    // what was said of it meanwhile may keep it: the next plan knows
    if (is_busy (a, j->job) || retention_changed (a->ledger, j, NULL) != 0) {
        a->keep.skipped++;
        return;
    }
    a->keep.rc = j->goes
                     ? remove_apply (a->ledger, a->store, &what, &done, &err)
                     : remove_metadata (a->ledger, a->store, &what, &err);
    if (remove_is_late (a->keep.rc)) {
        a->keep.skipped++;
        a->keep.rc = 0;
        log_info ("job-stays", "%s", err.text);
        return;
    }
    if (a->keep.rc < 0) {
        log_error ("retention-failed", "job %s: %s", j->job, err.text);
        return;
    }
    a->keep.removed += j->goes;
    a->keep.gc_due = a->keep.gc_due || j->goes;
    a->keep.forgotten += !j->goes;
    a->keep.bytes += j->goes ? j->bytes : 0;
    a->usage_stale = true;
    aggregator_take_up (a, j->job);
}

static void add_time (struct logline *l, const char *name, int64_t ns)
{
    char text[CLOCK_TEXT_MAX];

    clock_text (ns, text);
    log_str (l, name, text);
}

/* One line for each run, and the bytes: with the next collection. */
static void end_run (struct aggregator *a)
{
    struct gc_options gc = GC_DEFAULTS;
    struct retention_job next;
    struct logline l = log_line (LOG_LEVEL_INFO, "retention");
    struct err err = { "" };

    a->keep.under_way = false;
    log_int (&l, "jobs", (int64_t)a->keep.plan.n);
    log_int (&l, "removed", (int64_t)a->keep.removed);
    log_int (&l, "bytes", (int64_t)a->keep.bytes);
    log_int (&l, "forgotten", (int64_t)a->keep.forgotten);
    log_int (&l, "skipped", (int64_t)a->keep.skipped);
    for (size_t i = 0; i < a->keep.plan.n; i++)
        a->keep.plan.jobs[i].goes_ns =
            a->keep.plan.jobs[i].goes ? INT64_MAX
                                      : a->keep.plan.jobs[i].goes_ns;
    a->keep.has_next = retention_forecast (&a->keep.plan, &next);
    if (a->keep.has_next) {
        a->keep.next = next;
        log_str (&l, "next", next.job);
        add_time (&l, "next_at", next.goes_ns);
    }
    log_end (&l);
    retention_free (&a->keep.plan);
    if (a->keep.gc_due && aggregator_start_gc (a, &gc, &err) < 0)
        log_error ("collect-failed", "%s", err.text);
}

static void go_on (struct aggregator *a, int64_t now)
{
    const struct retention_plan *p = &a->keep.plan;
    int64_t began = clock_mono_ns ();

    while (a->keep.at > 0 && !p->jobs[a->keep.at - 1].goes &&
           !p->jobs[a->keep.at - 1].forgets)
        a->keep.at--;
    if (a->keep.at == 0 || a->keep.rc < 0)
        end_run (a);
    else
        remove_one (a, &p->jobs[--a->keep.at]);
    a->keep.go_on_ns = now + (1 + SHARE) * (clock_mono_ns () - began);
}

static bool is_due (const struct aggregator *a, int64_t now)
{
    if (a->keep.under_way)
        return now >= a->keep.go_on_ns;
    return a->keep.reader ? root_reader_ended (a->keep.reader)
                          : now >= a->keep.next_ns;
}

void aggregator_check_retention (struct aggregator *a, int64_t now)
{
    struct err err = { "" };
    int rc;

    if ((a->opt->keep.n == 0 && a->opt->keep.forget_days == 0) ||
        !is_due (a, now) || aggregator_upkeep_waits (a, now) ||
        a->unrepaired || a->gc || a->ending_ns > 0 || !aggregator_has_root (a))
        return;
    if (a->keep.next_ns == 0) {
        a->keep.next_ns = now + FIRST_NS;
        a->keep.gc_due = ledger_has_unused (a->ledger);
        return;
    }
    if (!aggregator_is_quiet (a))
        return;
    if (a->keep.under_way) {
        go_on (a, now);
        return;
    }
    a->keep.next_ns = now + EVERY_NS;
    rc = a->keep.reader ? decide (a, &err) : begin_plan (a, now, &err);
    if (rc < 0) {
        a->keep.doubt = err;
        a->keep.has_next = false;
    }
    if (rc == -EAGAIN)
        log_warn ("retention-waits", "%s", err.text);
    else if (rc < 0)
        log_error ("retention-failed", "%s", err.text);
}

void aggregator_add_retention (const struct aggregator *a, struct json *status)
{
    char text[CLOCK_TEXT_MAX];
    struct json *o;

    if (!a->keep.has_next && !*a->keep.doubt.text)
        return;
    o = json_add_object (status, "retention");
    if (*a->keep.doubt.text)
        json_add_text (o, "waits", a->keep.doubt.text);
    if (!a->keep.has_next)
        return;
    clock_text (a->keep.next.goes_ns, text);
    json_add_text (o, "next", a->keep.next.job);
    json_add_text (o, "next_at", text);
    json_add_int (o, "next_ns", a->keep.next.goes_ns);
    json_add_int (o, "bytes", (int64_t)a->keep.next.bytes);
    json_add_text (o, "why", a->keep.next.why);
}

void aggregator_end_retention (struct aggregator *a)
{
    root_reader_cancel (a->keep.reader);
    (void)root_reader_end (a->keep.reader, NULL);
    a->keep.reader = NULL;
    retention_free (&a->keep.plan);
}
