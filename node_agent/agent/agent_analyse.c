/* node_agent/agent/agent_analyse.c - captures that were never analysed
 *
 * A raw capture is delivered as such, and queued.  When its analysis has ended
 * it is read again: now it has results, or a reason for being raw.  A file for
 * each such capture tells the next agent what is to be done, or what the result
 * was.
 */
#include "agent/agent_private.h"

#include "agent/agent_captures.h"
#include "offline_analysis/process.h"
#include "base/clock.h"
#include "base/cmp.h"
#include "base/fault.h"
#include "base/log.h"
#include "base/units.h"
#include "control/orphans.h"
#include "extract/extract.h"
#include "json/json.h"
#include "model/capture.h"
#include "store/fileio.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RECORD_MAX 65536                // bytes of a file
#define FORGET_NS (2 * NS_PER_S)        // between checks for gone ones
// of a path, with a suffix
#define FINGERPRINT_KEPT (FINGERPRINT_BARE + 4)

enum analysis_stage {
    ANALYSIS_WAITING,           // the analyser has it
    ANALYSIS_ENDED,             // it has to be read again
    ANALYSIS_KNOWN,             // analysed, and still raw
};

struct analysis {
    char *path;
    enum own_analysis own;
    enum analysis_stage stage;
    bool failed;
    bool held;                  // ANALYSIS_ENDED, but cannot be sealed now
    char fingerprint[FINGERPRINT_MAX];    // of ANALYSIS_KNOWN
    char sealed_as[FINGERPRINT_MAX];
    char why[ANALYSER_WHY_MAX];
    int64_t ended_ns;           // monotonic
    struct analysis *next;
};

/* ---- what is recorded ---- */

static struct analysis *agent_analyse_find (const struct agent *a,
                                            const char *path)
{
    struct analysis **n = tfind (&path, &a->analyses.by_path, cmp_text);

    return n ? *n : NULL;
}

/* The file beside its log: "....log" is "....json". */
static void record_path (const struct agent *a, const char *path,
                         char out[PATH_MAX])
{
    char *dot;

    analyser_log (a->analyses.analyser, path, out, PATH_MAX - 1);
    if ((dot = strrchr (out, '.')))
        (void)snprintf (dot, 6, ".json");
}

static void agent_analyse_keep (const struct agent *a, const struct analysis *n)
{
    struct json *j = json_object ();
    struct err err = { "" };
    char path[PATH_MAX], *text;
    int rc;

    json_add_text (j, "path", n->path);
    if (n->own != OWN_NONE)
        json_add_text (j, "profiler", own_analysis_module (n->own));
    json_add_int (j, "stage", n->stage);
    json_add_bool (j, "failed", n->failed);
    json_add_text (j, "fingerprint", n->fingerprint);
    json_add_text (j, "sealed_as", n->sealed_as);
    json_add_text (j, "why", n->why);
    text = json_print (j, true);
    json_free (j);
    record_path (a, n->path, path);
    if ((rc = FAULT ("agent.analysis.keep")) < 0)
        (void)err_sys (&err, -rc, "cannot write %s", path);
    else
        rc = fileio_mkdirs (a->analyses.dir, FILEIO_DIR_MODE, &err);
    if (rc == 0 && text)
        rc = fileio_replace (path, text, strlen (text), FILEIO_FILE_MODE,
                             &err);
    if (rc < 0 || !text)
        log_warn ("analyse", "the analysis of %s cannot be recorded, so the "
                  "next start will not know of it: %s", n->path, err.text);
    free (text);
}

static void agent_analyse_drop (struct agent *a, struct analysis *n)
{
    struct analysis **at = &a->analyses.first;
    char path[PATH_MAX];

    while (*at != n)
        at = &(*at)->next;
    *at = n->next;
    record_path (a, n->path, path);
    (void)unlink (path);
    (void)tdelete (n, &a->analyses.by_path, cmp_text);
    free (n->path);
    free (n);
}

static struct analysis *agent_analyse_add (struct agent *a, const char *path,
                                           enum own_analysis own)
{
    struct analysis *n = calloc (1, sizeof (*n));

    if (!n || !(n->path = strdup (path)) ||
        !tsearch (n, &a->analyses.by_path, cmp_text)) {
        if (n)
            free (n->path);
        free (n);
        return NULL;
    }
    n->own = own;
    n->next = a->analyses.first;
    a->analyses.first = n;
    return n;
}

static enum own_analysis own_of (const struct json *profiler)
{
    enum own_analysis own = 0;

    while (own != OWN_NONE && strcmp (json_text (profiler, ""),
                                      own_analysis_module (own)) != 0)
        own++;
    return own;
}

/* Read what an earlier agent recorded.  An invalid file is removed, and its
 * capture counts as never analysed.
 */
static void agent_analyse_load (struct agent *a, int dir, const char *name)
{
    struct json *j = NULL;
    struct analysis *n = NULL;
    const char *path;
    struct buf text;
    int64_t stage;

    buf_init (&text, RECORD_MAX);
    if (fileio_read_at (dir, name, &text, NULL) == 0)
        j = json_parse (buf_text (&text), text.size, NULL);
    buf_fini (&text);
    path = json_text (json_get (j, "path"), "");
    if (*path == '/' && json_int (json_get (j, "stage"), &stage) &&
        stage >= ANALYSIS_WAITING && stage <= ANALYSIS_KNOWN &&
        !agent_analyse_find (a, path))
        n = agent_analyse_add (a, path, own_of (json_get (j, "profiler")));
    if (n) {
        n->stage = (enum analysis_stage)stage;
        n->failed = json_is_true (json_get (j, "failed"));
        PRINT (n->fingerprint, "%s",
               json_text (json_get (j, "fingerprint"), ""));
        PRINT (n->sealed_as, "%s", json_text (json_get (j, "sealed_as"), ""));
        PRINT (n->why, "%s", json_text (json_get (j, "why"), ""));
        err_plain (n->why);
    } else {
        (void)unlinkat (dir, name, 0);
    }
    json_free (j);
}

static void load_all (struct agent *a)
{
    int fd = open (a->analyses.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc;
    DIR *dir = fd < 0 ? NULL : fdopendir (fd);
    bool waiting = false;
    struct dirent *e;

    while (dir && (e = fileio_next_entry (dir, &rc))) {
        size_t n = strlen (e->d_name);

        if (n > 5 && strcmp (e->d_name + n - 5, ".json") == 0)
            agent_analyse_load (a, fd, e->d_name);
        else if (strstr (e->d_name, ".json.tmp."))
            (void)unlinkat (fd, e->d_name, 0);  // it was being written
    }
    fileio_close_dir (dir);
    for (const struct analysis *n = a->analyses.first; n; n = n->next)
        waiting = waiting || n->stage == ANALYSIS_WAITING;
    if (waiting)                // what that agent started may still run
        (void)orphans_kill (PROCESS_ANALYSER, a->analyses.dir);
    for (const struct analysis *n = a->analyses.first; n; n = n->next) {
        if (n->stage == ANALYSIS_WAITING)
            (void)analyser_add (a->analyses.analyser, n->path, n->own);
    }
}

/* ---- analysed ---- */

static void on_put_off (void *arg, const char *path, const char *why)
{
    (void)arg;
    log_warn ("analyse", "%s waits: %s", path, why);
}

static void on_found (void *arg, enum own_analysis own, bool there)
{
    const char *module = own_analysis_module (own);
    struct agent *a = arg;

    a->analyses.unavailable[own] = !there;
    if (there)
        log_info ("analyse", "python3 has %s: captures of it that were never "
                  "analysed are analysed with it", module);
    else
        log_info ("analyse", "python3 has no %s: captures of it that were "
                  "never analysed stay so, unless --analyse-with names a "
                  "program for them", module);
}

static void on_analysed (void *arg, const char *path, enum analysed how,
                         const char *why)
{
    struct agent *a = arg;
    struct analysis *n = agent_analyse_find (a, path);

    if (!n)
        return;
    if (how == ANALYSED_LATER)
        agent_note (a, LOG_LEVEL_WARN, "analyse", "%.300s stays raw until the "
                    "next start: %.300s", path, why);
    if (how == ANALYSED_LATER ||
        (how == ANALYSED_NOT && !release_concerns (&a->release.policy, path))) {
        agent_analyse_drop (a, n);
        a->end.check (a);
        return;
    }
    // seal again; also for its release, which waited
    n->stage = ANALYSIS_ENDED;
    n->failed = how == ANALYSED_BADLY;
    n->ended_ns = clock_mono_ns ();
    PRINT (n->why, "%s", why);
    if (how != ANALYSED_NOT)
        log_text (n->failed ? LOG_LEVEL_WARN : LOG_LEVEL_INFO, "analysed",
                  "%s: %s", path, why);
    agent_analyse_keep (a, n);
    watch_hand_on_again (a->watch, path);
}

/* ---- from captures on their way ---- */

bool agent_is_analysing (const struct agent *a, const char *path)
{
    return analyser_is_running (a->analyses.analyser, path);
}

int agent_recall_analysis (struct agent *a, struct watch_settled *s,
                           struct sealer_analysis *ret)
{
    struct analysis *n = agent_analyse_find (a, s->path);

    if (n && n->stage == ANALYSIS_KNOWN &&
        strcmp (n->fingerprint, s->fingerprint) != 0) {
        agent_analyse_drop (a, n);      // it changed: may be tried again
        n = NULL;
    }
    if (!n || n->stage == ANALYSIS_WAITING)
        return 0;
    if (n->stage == ANALYSIS_ENDED) {
        n->held = false;
        if (n->ended_ns > 0 && n->ended_ns >= a->search.scan_began_ns)
            return -EAGAIN;     // its fingerprint was taken before the end
        memcpy (n->fingerprint, s->fingerprint, sizeof (n->fingerprint));
        // the same files, but more is known about them
        PRINT (n->sealed_as, "%.*s%s", FINGERPRINT_KEPT, s->fingerprint,
               spool_knows (a->spool, s->path, s->fingerprint) ? "/a" : "");
    }
    memcpy (s->fingerprint, n->sealed_as, sizeof (s->fingerprint));
    *ret = (struct sealer_analysis){ n->why, n->failed };
    return 0;
}

/* A profiler's own analysis handles only that profiler's captures. */
static bool can_analyse (const struct agent *a, enum own_analysis own)
{
    const char *command = a->opt->analyse.command;

    if (command)
        return strcmp (command, ANALYSER_NONE) != 0;
    return own != OWN_NONE && !a->analyses.unavailable[own];
}

/* Record that the capture is to be analysed; NULL: it is not. */
static struct analysis *plan (struct agent *a, const char *path,
                              enum own_analysis own)
{
    struct analysis *n;

    if (!can_analyse (a, own) || !(n = agent_analyse_add (a, path, own)))
        return NULL;
    agent_analyse_keep (a, n);
    return n;
}

static bool agent_analyse_begin (struct agent *a, struct analysis *n)
{
    if (analyser_add (a->analyses.analyser, n->path, n->own) == 0)
        return true;
    agent_analyse_drop (a, n);
    return false;
}

static bool is_unread (const struct sealed *s)
{
    return strcmp (s->state, capture_state_name (CAPTURE_RAW)) == 0;
}

bool agent_plan_analysis (struct agent *a, const struct sealed *s)
{
    return is_unread (s) && !agent_analyse_find (a, s->what.path) &&
           plan (a, s->what.path, s->own);
}

void agent_forget_analysis (struct agent *a, const char *path)
{
    struct analysis *n = agent_analyse_find (a, path);

    if (n)
        agent_analyse_drop (a, n);
}

/* It was sealed: nothing remains to be done unless it changes. */
static void close_analysis (struct agent *a, struct analysis *n, bool tell)
{
    if (n->why[0] && tell) {
        n->stage = ANALYSIS_KNOWN;
        agent_analyse_keep (a, n);
    } else {
        agent_analyse_drop (a, n);
    }
}

bool agent_awaits_analysis (struct agent *a, const struct sealed *s)
{
    const struct analysis *n = agent_analyse_find (a, s->what.path);

    return n && n->stage == ANALYSIS_WAITING && is_unread (s);
}

void agent_take_analysis (struct agent *a, const struct sealed *s)
{
    struct analysis *n = agent_analyse_find (a, s->what.path);

    if (!n)
        return;
    if (n->stage != ANALYSIS_WAITING) {
        close_analysis (a, n, is_unread (s) || n->failed);
    } else if (is_unread (s)) {
        if (!agent_analyse_begin (a, n))
            log_warn ("analyse", "%s stays raw until the next start: no memory",
                      s->what.path);
    } else {                    // somebody else has analysed it
        analyser_drop (a->analyses.analyser, n->path);
        if (!analyser_is_running (a->analyses.analyser, n->path))
            agent_analyse_drop (a, n);
    }
}

/* Whether the capture exists without results, and whose it is. */
static bool is_raw (const char *path, enum own_analysis *own)
{
    struct extract_look look;
    struct capture c;
    bool raw;

    capture_init (&c);
    raw = extract_glance (path, &c, &look, NULL) == 0 &&
          c.state == CAPTURE_RAW;
    *own = own_analysis_of (c.framework);
    capture_fini (&c);
    return raw;
}

bool agent_resume_analysis (struct agent *a, const char *path)
{
    struct analysis *n = agent_analyse_find (a, path);
    enum own_analysis own;

    if (!n) {
        n = is_raw (path, &own) ? plan (a, path, own) : NULL;
        return n && agent_analyse_begin (a, n);
    }
    if (n->stage == ANALYSIS_WAITING)
        return true;
    if (n->stage == ANALYSIS_ENDED)
        close_analysis (a, n, true);
    return false;
}

void agent_hold_analysis (struct agent *a, const char *path)
{
    struct analysis *n = agent_analyse_find (a, path);

    if (n && n->stage == ANALYSIS_ENDED)
        n->held = true;
}

size_t agent_open_count (const struct agent *a)
{
    size_t open = 0;

    for (const struct analysis *n = a->analyses.first; n; n = n->next)
        open += n->stage != ANALYSIS_KNOWN && !n->held;
    return open;
}

void agent_note_analyses (struct agent *a)
{
    size_t n = agent_open_count (a);

    if (n > 0)
        agent_note (a, LOG_LEVEL_WARN, "analyse", "at half of the deadline, "
                    "%zu capture%s had still to be analysed; those not ready "
                    "at its end stay raw: give a longer --deadline", n,
                    units_s (n));
}

/* Forget captures that are gone. */
static void forget_gone (struct agent *a)
{
    struct analysis *n, *next;
    int64_t now = clock_mono_ns ();

    if (now < a->analyses.forget_gone_ns)
        return;
    a->analyses.forget_gone_ns = now + FORGET_NS;
    for (n = a->analyses.first; n; n = next) {
        next = n->next;
        if (access (n->path, F_OK) == 0 || errno != ENOENT ||
            analyser_is_running (a->analyses.analyser, n->path))
            continue;
        analyser_drop (a->analyses.analyser, n->path);
        agent_analyse_drop (a, n);
    }
}

void agent_check_analyses (struct agent *a)
{
    forget_gone (a);
    analyser_set_idle (a->analyses.analyser, !agent_is_draining (a));
    if (analyser_is_short (a->analyses.analyser) && !a->analyses.memory_noted)
        log_warn ("analyse", "until more memory is free, %zu capture%s cannot "
                  "be analysed", analyser_pending (a->analyses.analyser),
                  units_s (analyser_pending (a->analyses.analyser)));
    a->analyses.memory_noted = analyser_is_short (a->analyses.analyser);
}

/* ---- life ---- */

int agent_open_analyses (struct agent *a, struct err *err)
{
    const struct agent_options *opt = a->opt;
    struct analyser_options o = {
        .set = opt->analyse, .idle = !opt->once, .log_dir = a->analyses.dir,
        .found = on_found, .put_off = on_put_off, .once = opt->once,
    };
    int rc = agent_name_dir (a, "analyses", a->analyses.dir, err);

    if (rc < 0)
        return rc;
    if (!(a->analyses.analyser = analyser_create (a->loop, &o, on_analysed, a)))
        return err_set (err, ENOMEM, "no memory to analyse");
    load_all (a);
    return 0;
}

void agent_close_analyses (struct agent *a)
{
    analyser_destroy (a->analyses.analyser);
    a->analyses.analyser = NULL;
    while (a->analyses.first) {
        struct analysis *n = a->analyses.first;

        a->analyses.first = n->next;
        (void)tdelete (n, &a->analyses.by_path, cmp_text);
        free (n->path);
        free (n);
    }
}
