/* node_agent/agent/agent_search.c - captures are searched for, again and again
 *
 * The loop scans small directories and known captures; a thread searches large
 * directories.
 */
#include "agent/agent_private.h"

#include "agent/agent_captures.h"
#include "agent/agent_delivery.h"
#include "agent/agent_local.h"
#include "base/clock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SCAN_NS (250 * NS_PER_MS)       // between scans while there is much to do
#define SCAN_MAX_NS (2 * NS_PER_S)      // and while there is nothing to do
#define SCAN_SHARE 50                   // or 50 times what one took (2 %)
#define SLOW_NS (10 * NS_PER_S)         // and not longer, if scans are slow
#define SLOW_SEARCH_SHARE 5             // if searches are, then five times what
#define SLOW_SEARCH_NS (30 * NS_PER_S)  // one took, at least this, and at most
#define SLOWEST_NS (300 * NS_PER_S)     // this: a file server is not asked all
                                        // the time
#define SEEN_BATCH 256                  // captures in one transaction
#define FAILURE_NS (60 * NS_PER_S)      // one line about failures in this time

/* Record which captures exist, so that one that disappears before it is read is
 * named.
 */
static int note_seen (struct agent *a, struct err *err)
{
    const char *paths[SEEN_BATCH];
    size_t n;
    int rc = 0;

    do {
        for (n = 0; n < SEEN_BATCH; n++) {
            if (!(paths[n] = watch_next_seen (a->watch)))
                break;
        }
        if ((rc = spool_seen (a->spool, paths, n, err)) < 0)
            watch_report_again (a->watch);
    } while (rc == 0 && n == SEEN_BATCH);
    return rc;
}

/* Report directories that could not be searched: the log has each, but those of
 * a home directory share one line in the summary.
 */
static void report_problems (struct agent *a)
{
    const char *text, *first = NULL;
    size_t n = 0;

    while ((text = watch_next_problem (a->watch))) {
        if (!find_is_unsearched (text)) {
            agent_note (a, LOG_LEVEL_WARN, "watch", "%.700s", text);
            continue;
        }
        first = first ? first : text;
        if (n++ > 0)
            log_warn ("watch", "%s", text);
    }
    if (n == 1)
        agent_note (a, LOG_LEVEL_WARN, "watch", "%.700s", first);
    else if (n > 1)
        agent_note (a, LOG_LEVEL_WARN, "watch", "%zu directories were not "
                    "searched for captures, as %.500s (the agent's log lists "
                    "them)", n, first);
}

/* Somebody would look for these captures in the result. */
static void report_busy (struct agent *a)
{
    const char *path;
    char newest[256];

    while ((path = watch_next_busy (a->watch, agent_quiet_ns (a),
                                    clock_mono_ns (), newest))) {
        if (!agent_is_analysing (a, path))
            agent_note (a, LOG_LEVEL_WARN, "still-written", "%.400s is still "
                        "being written (the latest file: %.255s), so that its "
                        "present state is not read yet", path,
                        *newest ? newest : "itself");
    }
}

/* A problem that occurs in every search is logged once a minute. */
static void log_failure (struct agent *a, const char *event,
                         const struct err *err)
{
    int64_t now = clock_mono_ns ();

    if (a->search.failure_ns > 0 && now - a->search.failure_ns < FAILURE_NS)
        return;
    a->search.failure_ns = now;
    log_error (event, "%s", err->text);
}

void agent_hand_on (struct agent *a)
{
    struct err err = { "" };
    int rc;

    a->search.waiting = false;
    rc = watch_hand_on (a->watch, agent_quiet_ns (a), clock_mono_ns (),
                        clock_wall_ns (), agent_on_settled, a, &err);
    if (rc < 0 && rc != -EAGAIN)
        log_failure (a, "watch-failed", &err);
}

static void take_gone (struct agent *a, const struct watch_gone *gone)
{
    struct err err = { "" };
    int rc = gone->moved ? spool_moved (a->spool, gone->path, &err)
                         : spool_vanished (a->spool, gone->path, &err);

    if (rc > 0)
        agent_note (a, LOG_LEVEL_WARN, "capture-vanished", "%.600s vanished "
                    "before it was read", gone->path);
    else if (rc < 0)            // the next agent will find it
        log_error ("ledger", "%s", err.text);
    (void)capture_object_take (&a->captures, gone->path, STAGE_GONE, NULL);
}

/* Captures disappeared before they were read: search for them; those that are
 * nowhere have vanished.  At half of the deadline there is no time left for
 * this.
 */
static void lose_gone (struct agent *a)
{
    int64_t searched_ns = a->search.flushed ? INT64_MAX
                                            : a->search.searched_ns;
    int64_t missing_ns;
    struct watch_gone gone;

    while (watch_next_gone (a->watch, searched_ns, &gone)) {
        take_gone (a, &gone);
        free (gone.path);
    }
    if ((missing_ns = watch_missing_ns (a->watch)) > a->search.moved_ns)
        agent_search_again (a, missing_ns);
}

/* Half of the deadline was too short to walk a directory once. */
static void note_unsearched (struct agent *a)
{
    const char *dir;

    for (size_t i = 0; (dir = watch_large (a->watch, i)); i++) {
        agent_note (a, LOG_LEVEL_WARN, "directory-unread", "%.400s is so large "
                    "that it was not searched to its end: captures in it may "
                    "be missing; let the profiler write to "
                    "$ROLLCALL_CAPTURE_DIR", dir);
    }
}

/* Scan again; this scan took so long. */
static void scan_later (struct agent *a, int64_t took_ns)
{
    (void)loop_add_timer (a->loop,
                          pace_pause (&a->search.scans, took_ns, SCAN_SHARE,
                                      a->search.interval_ns, SLOW_NS),
                          agent_scan, a);
}

static void search_later (struct agent *a, int64_t took_ns)
{
    int64_t most_ns = took_ns > SLOWEST_NS / SLOW_SEARCH_SHARE
                          ? SLOWEST_NS : took_ns * SLOW_SEARCH_SHARE;

    if (most_ns < SLOW_SEARCH_NS)
        most_ns = SLOW_SEARCH_NS;
    (void)loop_add_timer (a->loop,
                          pace_pause (&a->search.searches, took_ns, SCAN_SHARE,
                                      a->search.interval_ns, most_ns),
                          agent_search, a);
}

/* Half of the time is left to deliver captures that do not settle. */
static int agent_search_flush (struct agent *a, int64_t now, struct err *err)
{
    int rc = watch_flush (a->watch, agent_quiet_ns (a), now, clock_wall_ns (),
                          agent_on_settled, a, err);

    a->search.flushed = rc == 0;
    if (rc != 0)
        return rc;
    if (!a->search.complete)
        note_unsearched (a);
    agent_note_analyses (a);
    return 0;
}

/* Scan less and less often while nothing happens. */
static void choose_interval (struct agent *a)
{
    int64_t *interval_ns = &a->search.interval_ns;

    if (agent_is_draining (a) || watch_unsettled (a->watch) > 0 ||
        agent_has_rivals (a))
        *interval_ns = SCAN_NS;
    else
        *interval_ns = *interval_ns < SCAN_MAX_NS / 2
                           ? 2 * *interval_ns + SCAN_NS : SCAN_MAX_NS;
}

void agent_scan (void *arg)
{
    struct agent *a = arg;
    struct err err = { "" };
    int64_t began = clock_mono_ns (), took;
    int rc;

    agent_look_whether_deaf (a);
    a->search.waiting = false;
    a->search.scan_began_ns = began;
    agent_check_analyses (a);
    if (agent_is_draining (a))
        watch_look_at_all (a->watch);
    rc = watch_scan (a->watch, agent_quiet_ns (a), began, clock_wall_ns (),
                     agent_on_settled, a, &err);
    if (rc == 0 && !a->search.flushed && agent_is_past_deadline (a, 2))
        rc = agent_search_flush (a, began, &err);
    if (rc < 0 && rc != -EAGAIN)
        log_failure (a, "watch-failed", &err);
    agent_tell_kept (a);
    if (note_seen (a, &err) < 0)
        log_failure (a, "ledger", &err);
    lose_gone (a);
    agent_give_way (a);
    report_problems (a);
    report_busy (a);
    a->end.scanned (a);
    if (a->end.commands_ns > 0)
        a->search.scans_after_end++;
    took = clock_mono_ns () - began;
    choose_interval (a);
    scan_later (a, took);
    a->end.check (a);
}

/* ---- large directories ---- */

/* The last search of a working directory did not reach all of it: note it once.
 */
static void note_left (struct agent *a, const struct finder_result *r)
{
    const struct find_limit *l = &r->limit;

    if (l->nleft == 0 || a->search.left_noted)
        return;
    a->search.left_noted = true;
    agent_note (a, LOG_LEVEL_WARN, "directory-unread", "%.300s is so large "
                "that %zu director%s in it %s not searched for captures, as "
                "%.300s: those that changed since COMMAND began were searched "
                "first; --watch DIR searches all of DIR", r->dir, l->nleft,
                l->nleft == 1 ? "y" : "ies", l->nleft == 1 ? "was" : "were",
                l->left ? l->left : "?");
}

/* With --once no later search would try the directory again. */
static int take_search (struct agent *a, const struct finder_result *r,
                        int64_t now, struct err *err)
{
    if (a->opt->once && r->list.unread)
        a->search.unread = true;   // logged as other problems are
    if (a->opt->once && r->rc < 0) {
        log_error ("directory-unread", "%s", r->err.text);
        a->search.unread = true;
        return watch_found (a->watch, r->dir, &r->list, 0, &r->err, now, err);
    }
    return watch_found (a->watch, r->dir, &r->list, r->rc, &r->err, now, err);
}

static void on_searched (void *arg, struct finder_result *results, size_t n)
{
    struct agent *a = arg;
    struct err err = { "" };
    int64_t now = clock_mono_ns ();
    bool draining = agent_is_draining (a);
    bool last = draining && a->search.began_ns >= a->end.commands_ns &&
                a->search.began_ns >= a->search.moved_ns;
    int rc = 0;

    for (size_t i = 0; i < n && rc == 0; i++)
        rc = take_search (a, &results[i], now, &err);
    for (size_t i = 0; i < n && last; i++)
        note_left (a, &results[i]);
    if (rc < 0)
        log_failure (a, "watch-failed", &err);
    a->search.complete = a->search.complete || last;
    a->search.searched_ns = a->search.began_ns;
    a->search.looked = true;
    agent_scan (a);
    if (draining && !a->search.complete)
        (void)loop_add_timer (a->loop, 0, agent_search, a);     // the last
    else
        search_later (a, clock_mono_ns () - a->search.began_ns);
}

void agent_search_again (struct agent *a, int64_t moved_ns)
{
    a->search.moved_ns = moved_ns;
    a->search.complete = false;
    (void)loop_add_timer (a->loop, 0, agent_search, a);
}

void agent_search (void *arg)
{
    struct agent *a = arg;
    struct finder_dir *dirs;
    size_t n = 0;
    int rc;

    if (finder_is_busy (a->finder))
        return;                 // the next one begins when it ends
    while (watch_large (a->watch, n))
        n++;
    if (!(dirs = calloc (n + 1, sizeof (*dirs)))) {
        rc = -ENOMEM;
    } else {
        for (size_t i = 0; i < n; i++) {
            dirs[i].path = watch_large (a->watch, i);
            dirs[i].bounded = watch_is_bounded (a->watch, i,
                                                &dirs[i].since_ns);
        }
        a->search.began_ns = clock_mono_ns ();
        rc = finder_start (a->finder, dirs, n);
    }
    free (dirs);
    if (rc < 0) {
        log_error ("watch-failed", "cannot search: %s", strerror (-rc));
        (void)loop_add_timer (a->loop, SCAN_NS, agent_search, a);
    }
}

/* ---- what is watched ---- */

/* Directories of other runs, STATE/JOB/HOST, may be below a watched one. */
static int exclude_other_runs (struct agent *a, struct err *err)
{
    char own[PATH_MAX], state[PATH_MAX];
    char *slash;

    if (!realpath (a->opt->run_dir, own))
        return err_sys (err, errno, "cannot resolve %s", a->opt->run_dir);
    PRINT (state, "%s", own);
    for (int i = 0; i < 2; i++) {
        if (!(slash = strrchr (state, '/')) || slash == state)
            return 0;           // not where rollcall run puts them
        *slash = '\0';
    }
    return watch_exclude (a->watch, state, own, err);
}

/* A run's result may lie below a directory that its COMMANDs watch.  It is
 * built when this host has said that nothing is left, or when the deadline has
 * passed.
 */
static bool is_of_result (const struct agent *a, const char *path)
{
    return a->opt->raw && !a->opt->no_roll &&
           (a->end.was_done || agent_is_past_deadline (a, 1)) &&
           agent_is_below (path, a->local.out);
}

/* Captures in a shared directory, for watch_ask. */
static enum watch_owner owner_of (void *arg, const char *path)
{
    struct agent *a = arg;

    return is_of_result (a, path) ? WATCH_FOREIGN : agent_owner (a, path);
}

static int watch_options (struct agent *a, struct err *err)
{
    int rc = 0;

    for (size_t i = 0; i < a->opt->watch.n && rc == 0; i++) {
        const char *dir = a->opt->watch.items[i];

        if (!a->opt->once && access (dir, F_OK) < 0 && errno == ENOENT)
            log_warn ("watch", "%s does not exist yet; the agent keeps looking "
                      "for it", dir);
        rc = watch_add (a->watch, dir, true, 0, -1, err);
    }
    return rc;
}

int agent_open_search (struct agent *a, struct err *err)
{
    int rc;

    if (!(a->watch = watch_create ()))
        return err_set (err, ENOMEM, "no memory to watch");
    rc = watch_options (a, err);
    watch_ask (a->watch, owner_of, a);
    if (rc == 0 && a->opt->run_dir)
        rc = exclude_other_runs (a, err);
    if (rc == 0 && a->opt->run_dir)
        rc = agent_open_owners (a, err);
    if (rc == 0)
        rc = finder_create (a->loop, on_searched, a, &a->finder, err);
    return rc;
}

void agent_close_search (struct agent *a)
{
    finder_destroy (a->finder);
    agent_close_owners (a);
    watch_destroy (a->watch);
}
