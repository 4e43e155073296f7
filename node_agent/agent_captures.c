/* node_agent/agent_captures.c - captures: searched for, settled, sealed
 *
 * The search below the watched directories repeats itself.  What it finds
 * settled goes to the sealer's thread; what comes back from there goes into
 * the spool.
 */
#include "agent_inside.h"

#include "base/clock.h"
#include "base/counter.h"
#include "base/fileio.h"
#include "base/log.h"
#include "control/orphans.h"
#include "model/capture.h"
#include "spool/releases.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SCAN_NS (250 * NS_PER_MS)       // between searches, at least
#define SCAN_MAX_NS (2 * NS_PER_S)      // and at most
#define SCAN_SHARE 50                   // or 50 times what one took (2 %)
#define SEEN_BATCH 256                  // captures in one transaction
#define SEAL_AGAIN_NS (10 * NS_PER_S)   // after a failure, a full disk say
#define FAILURE_NS (60 * NS_PER_S)      // one line about failing in so long
#define QUIET_AFTER_END_NS (500 * NS_PER_MS)    // its writer is gone by then

/* ---- sealed ---- */

/* A capture on a shared file system is seen by the agents of all hosts: each
 * takes those of its own ranks, and those that no rank of the world has.
 */
static bool is_ours (struct agent *a, int64_t rank)
{
    return !a->opt->run_dir || rank < 0 || rank >= a->opt->world_size ||
           agent_has_rank (a, rank);
}

static void note_shared (struct agent *a, const char *path)
{
    char note[MESSAGE_TEXT_MAX], dir[PATH_MAX];
    const char *fs = fileio_remote_fs (path);
    char *slash;

    if (!fs)
        return;
    (void)snprintf (dir, sizeof (dir), "%s", path);
    if ((slash = strrchr (dir, '/')) && slash != dir)
        *slash = '\0';
    (void)snprintf (note, sizeof (note), "captures are written to a shared "
                    "file system (%s, %.600s), which stalls the job: let the "
                    "profiler write to $ROLLCALL_CAPTURE_DIR, or to another "
                    "local directory named by --watch", fs, dir);
    (void)ship_note (a->ship, note);
}

static void note_skipped (struct agent *a, const struct sealed *s)
{
    char note[MESSAGE_TEXT_MAX];

    if (s->skipped == 0)
        return;
    counter_add (COUNTER_RAW_SKIPPED, s->skipped);
    (void)snprintf (note, sizeof (note), "host %s: %llu raw files or "
                    "directories of %.300s are not delivered; the first is "
                    "%.300s", a->host, (unsigned long long)s->skipped,
                    s->what.path, s->skipped_why.text);
    log_text (LOG_LEVEL_WARN, "left-out", "%s", note);
    (void)ship_note (a->ship, note);
}

static void log_sealed (const struct sealed *s)
{
    struct logline l = log_line (LOG_LEVEL_INFO, "sealed");

    log_str (&l, "capture", s->what.path);
    log_int (&l, "rank", s->rank);
    log_str (&l, "state", s->state);
    log_int (&l, "items", (int64_t)s->nitems);
    log_end (&l);
}

/* Without its raw files only rows leave the node: nothing else is left of a
 * capture of which not all of them could be read.
 */
static bool is_safe_to_release (const struct agent *a, const struct sealed *s)
{
    return a->opt->raw ||
           strcmp (s->state, capture_state_name (CAPTURE_COMPLETE)) == 0;
}

/* What the capture was, so that it can be released one day. */
static void note_files (struct agent *a, const struct sealed *s)
{
    struct err err = { "" };

    if (!release_concerns (&a->release, s->what.path))
        return;
    if (!is_safe_to_release (a, s))
        log_text (LOG_LEVEL_INFO, "kept", "%s will not be released: it is %s, "
                  "and its raw files stay here (no --raw)", s->what.path,
                  s->state);
    else if (spool_add_release (a->spool, s->what.path,
                                a->opt->raw ? RELEASE_KEPT : RELEASE_KEPT_ROWS,
                                s->nitems, &s->manifest, clock_wall_ns (),
                                &err) < 0)
        log_text (LOG_LEVEL_WARN, "release", "%s will not be released: %s",
                  s->what.path, err.text);
}

/* ---- not sealed ---- */

struct unsealed {               // a capture that is to be sealed again
    char *path;
    struct err why;
    struct unsealed *next;
};

/* Where the capture is in the list, or its end. */
static struct unsealed **unsealed_at (struct agent *a, const char *path)
{
    struct unsealed **at = &a->unsealed;

    while (*at && strcmp ((*at)->path, path) != 0)
        at = &(*at)->next;
    return at;
}

static void forget_unsealed (struct unsealed **at)
{
    struct unsealed *u = *at;

    if (!u)
        return;
    *at = u->next;
    free (u->path);
    free (u);
}

/* A disk that was full may have room now. */
static void seal_again (void *arg)
{
    struct agent *a = arg;

    for (const struct unsealed *u = a->unsealed; u; u = u->next)
        watch_again (a->watch, u->path);
}

/* What a summary was told cannot be taken back.  A run has an end at which it
 * is told what is still so then; elsewhere it is what will have been so.
 */
static void keep_unsealed (struct agent *a, const struct sealed *s)
{
    struct unsealed **at = unsealed_at (a, s->what.path), *u = *at;
    char note[MESSAGE_TEXT_MAX];

    log_text (LOG_LEVEL_ERROR, "seal-failed", "%s: %s", s->what.path,
              s->err.text);
    if (s->rc == -ENOSPC)
        agent_ran_out (a, &s->err);
    if (u) {
        u->why = s->err;
    } else if ((u = calloc (1, sizeof (*u))) &&
               (u->path = strdup (s->what.path))) {
        u->why = s->err;
        *at = u;
        (void)snprintf (note, sizeof (note), "host %s: %.300s could not be "
                        "put into the spool at first: %.300s", a->host,
                        u->path, u->why.text);
        if (!a->opt->run_dir)
            (void)ship_note (a->ship, note);
    } else {
        free (u);
        watch_again (a->watch, s->what.path);
        return;
    }
    (void)loop_add_timer (a->loop, SEAL_AGAIN_NS, seal_again, a);
}

const char *agent_why_unsealed (const struct agent *a, const char *dir)
{
    size_t n = strlen (dir);

    for (const struct unsealed *u = a->unsealed; u; u = u->next) {
        if (strncmp (u->path, dir, n) == 0 && u->path[n] == '/')
            return u->why.text;
    }
    return NULL;
}

size_t agent_count_unsealed (const struct agent *a)
{
    size_t n = 0;

    for (const struct unsealed *u = a->unsealed; u; u = u->next)
        n++;
    return n;
}

void agent_explain_captures (struct agent *a)
{
    for (const struct unsealed *u = a->unsealed; u; u = u->next) {
        char note[MESSAGE_TEXT_MAX];

        (void)snprintf (note, sizeof (note), "host %s: %.300s was not "
                        "delivered: %.300s", a->host, u->path, u->why.text);
        (void)ship_note (a->ship, note);
    }
}

/* A profiler's names have host, process and time in them, others have not. */
static void note_twin (struct agent *a, const struct sealed *s)
{
    char note[MESSAGE_TEXT_MAX], other[PATH_MAX];

    if (spool_find_twin (a->spool, s->id, other, NULL) <= 0)
        return;
    (void)snprintf (note, sizeof (note), "host %s: %.260s and %.260s have one "
                    "name, %.64s, and rank: in a result only one of them "
                    "counts; give each a name of its own", a->host, other,
                    s->what.path, s->name);
    log_text (LOG_LEVEL_WARN, "twins", "%s", note);
    (void)ship_note (a->ship, note);
}

static void take_sealed (struct agent *a, struct sealed *s)
{
    log_sealed (s);
    forget_unsealed (unsealed_at (a, s->what.path));
    note_skipped (a, s);
    note_twin (a, s);
    note_shared (a, s->what.path);
    if (!agent_take_analysis (a, s) && s->manifest.size > 0)
        note_files (a, s);
    ship_kick (a->ship);
}

static void on_sealed (void *arg, struct sealed *s)
{
    struct agent *a = arg;

    if (s->rc == 0 && !is_ours (a, s->rank) &&
        fileio_remote_fs (s->what.path)) {
        spool_unsettle (a->spool, s->id);
        forget_unsealed (unsealed_at (a, s->what.path));
    } else {
        if (s->rc == 0)
            s->rc = spool_seal (a->spool, s->id, s->name, s->rank, s->items,
                                s->nitems,
                                (struct spool_left_out){ s->skipped,
                                                         s->skipped_why.text },
                                &s->err);
        if (s->rc < 0) {
            spool_unsettle (a->spool, s->id);
            keep_unsealed (a, s);
        } else {
            take_sealed (a, s);
        }
    }
    if (a->waiting)
        agent_hand_on (a);
    agent_check_done (a);
}

/* ---- searched for, and settled ---- */

/* There is no telling what of it was delivered, and what came later. */
static void note_left (struct agent *a, const char *path)
{
    char note[MESSAGE_TEXT_MAX];

    counter_add (COUNTER_RAW_SKIPPED, 1);
    a->late++;
    (void)snprintf (note, sizeof (note), "host %s: %.600s was delivered and "
                    "removed, but for what came later, which is not "
                    "delivered: move it, or remove it", a->host, path);
    log_text (LOG_LEVEL_WARN, "left-out", "%s", note);
    (void)ship_note (a->ship, note);
}

static int settle (struct agent *a, const struct watch_settled *settled,
                   struct err *err)
{
    struct watch_settled version = *settled, *s = &version;
    struct sealer_analysis analysis = { NULL, false };
    char file[PATH_MAX];
    uint64_t id;
    int rc;

    if (agent_is_analysing (a, s->path))
        return 0;
    if (a->opt->raw)            // more than what was sealed without it
        (void)snprintf (s->fingerprint, sizeof (s->fingerprint), "%.80s/raw",
                        settled->fingerprint);
    if ((rc = agent_recall_analysis (a, s, &analysis)) < 0)
        return rc;
    if (spool_knows (a->spool, s->path, s->fingerprint))
        return 0;               // sealed in a former life of this agent
    if (release_claims (a->spool, s->path)) {
        note_left (a, s->path);
        return 0;
    }
    if ((rc = agent_has_room (a, s->path)) <= 0) {
        a->waiting = rc == 0;
        return rc == 0 ? -EAGAIN : 0;
    }
    if ((rc = spool_settle (a->spool, s->path, s->fingerprint, &id, err)) < 0)
        return rc;
    if ((rc = spool_file (a->spool, id, 0, file, err)) == 0 &&
        sealer_add (a->sealer, s, id, file, &analysis) < 0)
        rc = err_set (err, ENOMEM, "no memory for %s", s->path);
    if (rc < 0)
        spool_unsettle (a->spool, id);
    return rc;
}

/* As settle, but a capture that finds no room waits for it. */
static int on_settled (void *arg, const struct watch_settled *s,
                       struct err *err)
{
    struct agent *a = arg;
    int rc = settle (a, s, err);

    if (rc != -ENOSPC)
        return rc;
    agent_ran_out (a, err);
    a->waiting = true;
    return -EAGAIN;
}

/* Write down which captures are there, so that one that goes before it could
 * be read is named.
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
        rc = spool_seen (a->spool, paths, n, err);
    } while (rc == 0 && n == SEEN_BATCH);
    return rc;
}

/* ---- what the spool finds ---- */

static void on_again (void *arg, const char *path, const char *why)
{
    struct agent *a = arg;
    char note[MESSAGE_TEXT_MAX];

    log_text (LOG_LEVEL_WARN, "quarantined", "%s", why);
    if (*path && access (path, F_OK) < 0) {
        (void)snprintf (note, sizeof (note), "host %s: %.600s was not read "
                        "again, and what was kept of it is damaged", a->host,
                        path);
        log_text (LOG_LEVEL_ERROR, "lost", "%s", note);
        (void)ship_note (a->ship, note);
    }
    watch_again (a->watch, *path ? path : NULL);
}

static void on_vanished (void *arg, const char *path)
{
    struct agent *a = arg;
    char note[MESSAGE_TEXT_MAX];

    (void)snprintf (note, sizeof (note), "host %s: %.600s vanished before it "
                    "was read", a->host, path);
    log_text (LOG_LEVEL_WARN, "vanished", "%s", note);
    (void)ship_note (a->ship, note);
}

int agent_recall_captures (struct agent *a, struct err *err)
{
    const char *why = spool_set_aside (a->spool);

    if (why) {
        log_text (LOG_LEVEL_ERROR, "ledger-damaged", "%s", why);
        (void)ship_note (a->ship, why);
    }
    spool_on_again (a->spool, on_again, a);
    agent_recall_losses (a);
    return spool_find_vanished (a->spool, on_vanished, a, err);
}

static int64_t quiet_ns (const struct agent *a)
{
    if (a->opt->once)
        return 0;
    if (a->ended_ns > 0 && a->opt->quiet_ns > QUIET_AFTER_END_NS)
        return QUIET_AFTER_END_NS;
    return a->opt->quiet_ns;
}

/* Report directories that could not be searched. */
static void report_problems (struct agent *a)
{
    const char *text;

    while ((text = watch_next_problem (a->watch))) {
        char note[MESSAGE_TEXT_MAX];

        (void)snprintf (note, sizeof (note), "host %s: %.700s", a->host, text);
        log_text (LOG_LEVEL_WARN, "watch", "%s", text);
        (void)ship_note (a->ship, note);
    }
}

/* What goes wrong with every search is said once a minute. */
static void log_failure (struct agent *a, const char *event,
                         const struct err *err)
{
    int64_t now = clock_mono_ns ();

    if (a->failure_ns > 0 && now - a->failure_ns < FAILURE_NS)
        return;
    a->failure_ns = now;
    log_text (LOG_LEVEL_ERROR, event, "%s", err->text);
}

void agent_hand_on (struct agent *a)
{
    struct err err = { "" };
    int rc;

    a->waiting = false;
    rc = watch_hand_on (a->watch, quiet_ns (a), clock_mono_ns (),
                        clock_wall_ns (), on_settled, a, &err);
    if (rc < 0 && rc != -EAGAIN)
        log_failure (a, "watch-failed", &err);
}

/* Half of the deadline was not enough to walk a directory once. */
static void note_unsearched (struct agent *a)
{
    const char *dir;

    for (size_t i = 0; (dir = watch_large (a->watch, i)); i++) {
        char note[MESSAGE_TEXT_MAX];

        (void)snprintf (note, sizeof (note), "host %s: %.400s is so large that "
                        "it was not searched to its end: captures in it may "
                        "be missing; let the profiler write to "
                        "$ROLLCALL_CAPTURE_DIR", a->host, dir);
        log_text (LOG_LEVEL_WARN, "unsearched", "%s", note);
        (void)ship_note (a->ship, note);
    }
}

void agent_scan (void *arg)
{
    struct agent *a = arg;
    struct err err = { "" };
    int64_t began = clock_mono_ns (), took;
    int rc;

    a->waiting = false;
    a->scan_began_ns = began;
    agent_check_analyses (a);
    rc = watch_scan (a->watch, quiet_ns (a), began, clock_wall_ns (),
                     on_settled, a, &err);
    if (rc == 0 && a->ended_ns > 0 && !a->flushed &&
        began - a->ended_ns > a->opt->deadline_ns / 2) {
        // half of the time is left to deliver what will not settle
        rc = watch_flush (a->watch, on_settled, a, &err);
        a->flushed = rc == 0;
        if (a->flushed && !a->searched)
            note_unsearched (a);
        if (a->flushed)
            agent_note_analyses (a);
    }
    if (rc < 0 && rc != -EAGAIN)
        log_failure (a, "watch-failed", &err);
    if (note_seen (a, &err) < 0)
        log_failure (a, "ledger", &err);
    agent_give_way (a);
    report_problems (a);
    if (a->opt->run_dir && !a->opt->no_roll)
        ship_left (a->ship, sealer_pending (a->sealer) +
                                watch_unsettled (a->watch));
    if (a->ended_ns > 0)
        a->scans_after_end++;
    took = clock_mono_ns () - began;
    // while nothing happens, less and less often
    if (a->ended_ns > 0 || a->opt->once || watch_unsettled (a->watch) > 0)
        a->scan_ns = SCAN_NS;
    else
        a->scan_ns = a->scan_ns < SCAN_MAX_NS / 2 ? 2 * a->scan_ns + SCAN_NS
                                                  : SCAN_MAX_NS;
    (void)loop_add_timer (a->loop, took * SCAN_SHARE > a->scan_ns
                                       ? took * SCAN_SHARE : a->scan_ns,
                          agent_scan, a);
    agent_check_done (a);
}

/* ---- large directories ---- */

/* With --once nobody comes back to look into a directory again. */
static int take_search (struct agent *a, const struct finder_result *r,
                        int64_t now, struct err *err)
{
    if (a->opt->once && r->rc < 0) {
        log_text (LOG_LEVEL_ERROR, "unsearched", "%s", r->err.text);
        a->unsearched = true;
        return watch_found (a->watch, r->dir, &r->list, 0, &r->err, now, err);
    }
    return watch_found (a->watch, r->dir, &r->list, r->rc, &r->err, now, err);
}

static void on_searched (void *arg, struct finder_result *results, size_t n)
{
    struct agent *a = arg;
    struct err err = { "" };
    int64_t now = clock_mono_ns (), took = now - a->search_began_ns;
    bool last = a->opt->once ||
                (a->ended_ns > 0 && a->search_began_ns >= a->ended_ns);
    int rc = 0;

    for (size_t i = 0; i < n && rc == 0; i++)
        rc = take_search (a, &results[i], now, &err);
    if (rc < 0)
        log_failure (a, "watch-failed", &err);
    a->searched = a->searched || last;
    a->looked = true;
    if (a->ended_ns > 0 && !a->searched)
        took = 0;               // begin the last one now
    (void)loop_add_timer (a->loop, took * SCAN_SHARE > SCAN_NS
                                       ? took * SCAN_SHARE : SCAN_NS,
                          agent_search, a);
    agent_scan (a);
}

void agent_search (void *arg)
{
    struct agent *a = arg;
    const char **dirs;
    size_t n = 0;
    int rc;

    if (finder_is_busy (a->finder))
        return;                 // at its end the next one is begun
    while (watch_large (a->watch, n))
        n++;
    if (!(dirs = calloc (n + 1, sizeof (*dirs)))) {
        rc = -ENOMEM;
    } else {
        for (size_t i = 0; i < n; i++)
            dirs[i] = watch_large (a->watch, i);
        a->search_began_ns = clock_mono_ns ();
        rc = finder_start (a->finder, dirs, n);
    }
    free (dirs);
    if (rc < 0) {
        log_text (LOG_LEVEL_ERROR, "watch-failed", "cannot search: %s",
                  strerror (-rc));
        (void)loop_add_timer (a->loop, SCAN_NS, agent_search, a);
    }
}

/* ---- life ---- */

/* The directories of other runs, STATE/JOB/HOST, may be below one that is
 * watched here.
 */
static int exclude_other_runs (struct agent *a, struct err *err)
{
    char own[PATH_MAX], state[PATH_MAX];
    char *slash;

    if (!realpath (a->opt->run_dir, own))
        return err_sys (err, errno, "cannot resolve %s", a->opt->run_dir);
    (void)snprintf (state, sizeof (state), "%s", own);
    for (int i = 0; i < 2; i++) {
        if (!(slash = strrchr (state, '/')) || slash == state)
            return 0;           // not where rollcall run puts it
        *slash = '\0';
    }
    return watch_exclude (a->watch, state, own, err);
}

/* Jobs may share a working directory.  A capture's name has the process that
 * wrote it, and that has its job's variables, as long as it lives; of one that
 * is dead by now nothing is known, and the date decides.
 */
static bool is_of_another_job (void *arg, const char *path)
{
    const struct agent *a = arg;
    const char *slash = strrchr (path, '/');
    struct find_name name = find_parse_name (slash ? slash + 1 : path);

    return name.pid > 0 && orphans_is_foreign ((pid_t)name.pid, "ROLLCALL_JOB",
                                               a->opt->job);
}

static int watch_options (struct agent *a, struct err *err)
{
    int rc = 0;

    for (size_t i = 0; i < a->opt->watch.n && rc == 0; i++) {
        const char *dir = a->opt->watch.items[i];

        if (!a->opt->once && access (dir, F_OK) < 0 && errno == ENOENT)
            log_text (LOG_LEVEL_WARN, "watch", "there is no %s yet; it is "
                      "looked for again and again", dir);
        rc = watch_add (a->watch, dir, true, 0, -1, err);
    }
    return rc;
}

int agent_open_captures (struct agent *a, struct err *err)
{
    struct space_limit budget;
    int rc;

    if (!(a->watch = watch_create ()))
        return err_set (err, ENOMEM, "no memory to watch");
    rc = watch_options (a, err);
    watch_ask (a->watch, is_of_another_job, a);
    if (rc == 0 && a->opt->run_dir)
        rc = exclude_other_runs (a, err);
    if (rc == 0)
        rc = finder_create (a->loop, on_searched, a, &a->finder, err);
    if (rc < 0)
        return rc;
    (void)space_parse_limit (a->opt->cpu_budget, &budget);
    if (!(a->bulk = bulk_create (budget.ppm)))
        return err_set (err, ENOMEM, "no memory to extract");
    rc = sealer_create (a->loop, a->bulk, a->opt->raw,
                        a->release.kind != RELEASE_NEVER, on_sealed, a,
                        &a->sealer, err);
    return rc < 0 ? rc : agent_open_analyses (a, err);
}

void agent_close_captures (struct agent *a)
{
    agent_close_analyses (a);
    if (a->bulk)
        bulk_end (a->bulk);
    finder_destroy (a->finder);
    sealer_destroy (a->sealer);
    bulk_destroy (a->bulk);
    if (a->loop)
        loop_del_timer (a->loop, seal_again, a);
    while (a->unsealed)
        forget_unsealed (&a->unsealed);
    watch_destroy (a->watch);
}
