/* node_agent/watch/watch.c - captures on their way to being finished */
#include "watch/watch.h"

#include "base/clock.h"
#include "base/fileio.h"
#include "extract/extract.h"

#include <errno.h>
#include <inttypes.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

// how often to look at what was handed on: after a 16th of the time for which it
// has not changed, but that
#define AGE_SHARE 16
#define AGAIN_MAX_NS (30 * NS_PER_S)

struct dir {
    char *path;
    bool large;
    int64_t since_ns;
    int64_t rank_hint;
    size_t older;               // captures of the last search, left out
};

struct tracked {
    const char *path;           // malloced
    int64_t rank_hint;
    char fingerprint[WATCH_FINGERPRINT_MAX];
    int64_t changed_mono_ns;    // when the fingerprint was first seen
    int64_t looked_mono_ns;     // when it was looked at last
    int64_t newest_ns;          // latest mtime in it
    bool done_marker;
    bool unmeasured;            // it could not be looked at the last time
    bool handed;                // this fingerprint has been handed on
    bool foreign;               // another job's: never handed on
    bool ripe;                  // its profiler was done with it, or it settled
    struct tracked *next;       // of those that are gone
};

struct watch {
    struct dir *dirs;
    size_t ndirs;
    struct tracked **items;     // in the order in which they were found
    size_t nitems, next_seen;   // those before it have been told
    void *by_path;              // the same, for tsearch(3)
    struct tracked *gone;       // were not handed on, to be told
    bool look_at_all;
    char **problems;
    size_t nproblems, next_problem;
    char *excluded, *included;  // included is below excluded
    bool (*foreign) (void *arg, const char *path);
    void *foreign_arg;
};

struct watch *watch_create (void)
{
    return calloc (1, sizeof (struct watch));
}

static int by_path (const void *a, const void *b)
{
    const struct tracked *x = a, *y = b;

    return strcmp (x->path, y->path);
}

static void free_tracked (struct tracked *t)
{
    free ((char *)t->path);
    free (t);
}

static void forget (struct watch *w, struct tracked *t)
{
    (void)tdelete (t, &w->by_path, by_path);
    free_tracked (t);
}

char *watch_next_gone (struct watch *w)
{
    struct tracked *t = w->gone;
    char *path;

    if (!t)
        return NULL;
    path = (char *)t->path;
    w->gone = t->next;
    free (t);
    return path;
}

void watch_destroy (struct watch *w)
{
    if (!w)
        return;
    for (size_t i = 0; i < w->ndirs; i++)
        free (w->dirs[i].path);
    for (size_t i = 0; i < w->nitems; i++)
        forget (w, w->items[i]);
    while (w->gone)
        free (watch_next_gone (w));
    for (size_t i = 0; i < w->nproblems; i++)
        free (w->problems[i]);
    free (w->excluded);
    free (w->included);
    free (w->dirs);
    free (w->items);
    free (w->problems);
    free (w);
}

int watch_add (struct watch *w, const char *path, bool large,
               int64_t since_ns, int64_t rank_hint, struct err *err)
{
    struct dir *d;

    for (size_t i = 0; i < w->ndirs; i++) {
        if (strcmp (w->dirs[i].path, path) == 0)
            return 0;
    }
    if (!(d = realloc (w->dirs, (w->ndirs + 1) * sizeof (*d))))
        return err_set (err, ENOMEM, "no memory to watch %s", path);
    w->dirs = d;
    d += w->ndirs;
    if (!(d->path = strdup (path)))
        return err_set (err, ENOMEM, "no memory to watch %s", path);
    d->large = large;
    d->since_ns = since_ns;
    d->rank_hint = rank_hint;
    d->older = 0;
    w->ndirs++;
    return 0;
}

int watch_exclude (struct watch *w, const char *dir, const char *but,
                   struct err *err)
{
    free (w->excluded);
    free (w->included);
    w->excluded = strdup (dir);
    w->included = strdup (but);
    return w->excluded && w->included
               ? 0 : err_set (err, ENOMEM, "no memory to watch");
}

static bool is_below (const char *path, const char *dir)
{
    size_t n = strlen (dir);

    return strncmp (path, dir, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

static bool is_excluded (const struct watch *w, const char *path)
{
    return w->excluded && is_below (path, w->excluded) &&
           !is_below (path, w->included);
}

static int note_problem (struct watch *w, const char *text)
{
    char **p;

    for (size_t i = 0; i < w->nproblems; i++) {
        if (strcmp (w->problems[i], text) == 0)
            return 0;
    }
    if (!(p = realloc (w->problems, (w->nproblems + 1) * sizeof (*p))))
        return -ENOMEM;
    w->problems = p;
    if (!(p[w->nproblems] = strdup (text)))
        return -ENOMEM;
    w->nproblems++;
    return 0;
}

const char *watch_next_problem (struct watch *w)
{
    return w->next_problem < w->nproblems ? w->problems[w->next_problem++]
                                          : NULL;
}

static struct tracked *find (const struct watch *w, const char *path)
{
    struct tracked key = { .path = path };
    struct tracked **t = tfind (&key, &w->by_path, by_path);

    return t ? *t : NULL;
}

static struct tracked *add (struct watch *w, const char *path)
{
    struct tracked **items = realloc (w->items, (w->nitems + 1) *
                                                    sizeof (struct tracked *));
    struct tracked *t = calloc (1, sizeof (*t));

    if (items)
        w->items = items;
    if (!items || !t || !(t->path = strdup (path)) ||
        !tsearch (t, &w->by_path, by_path)) {
        if (t)
            free ((char *)t->path);
        free (t);
        return NULL;
    }
    t->rank_hint = -1;
    w->items[w->nitems++] = t;
    return t;
}

void watch_ask (struct watch *w, bool (*foreign) (void *arg, const char *path),
                void *arg)
{
    w->foreign = foreign;
    w->foreign_arg = arg;
}

/* Whether it is ours, and still to be handed on. */
static bool waits (const struct tracked *t)
{
    return !t->handed && !t->foreign;
}

/* What cannot be looked at would be handed on as another version. */
static bool is_ready (const struct tracked *t)
{
    return waits (t) && !t->unmeasured;
}

/* Look at a capture; its clock starts again if it has changed. */
static void observe (struct watch *w, struct tracked *t, int64_t mono_ns)
{
    char fingerprint[WATCH_FINGERPRINT_MAX];
    struct extract_look look;
    struct err why;
    int rc = extract_measure (t->path, &look);

    t->looked_mono_ns = mono_ns;
    t->unmeasured = fileio_trouble (rc) == FILEIO_SHORTAGE;
    if (t->unmeasured) {
        (void)err_sys (&why, -rc, "captures could not be looked at");
        (void)note_problem (w, why.text);
        return;
    }
    (void)snprintf (fingerprint, sizeof (fingerprint),
                    "%" PRIu64 "/%" PRIu64 "/%" PRId64 "/%d",
                    look.tree_files, look.tree_bytes, look.newest_ns,
                    look.done_marker);
    if (strcmp (t->fingerprint, fingerprint) == 0)
        return;
    memcpy (t->fingerprint, fingerprint, sizeof (fingerprint));
    t->changed_mono_ns = mono_ns;
    t->newest_ns = look.newest_ns;
    t->done_marker = look.done_marker;
    t->handed = false;
}

/* Whether its profiler was done with it: one that is stopped before removes
 * what it has written.
 */
static bool is_collected (const char *path)
{
    struct extract_look look;
    struct capture c;
    bool collected;

    capture_init (&c);
    collected = extract_glance (path, &c, &look, NULL) == 0 &&
                c.state != CAPTURE_COLLECTING && c.state != CAPTURE_FAILED;
    capture_fini (&c);
    return collected;
}

/* Look at one that may be new; those that were handed on are known well. */
static void look_at (struct watch *w, struct tracked *t, int64_t mono_ns)
{
    observe (w, t, mono_ns);
    if (!t->ripe && t->changed_mono_ns == mono_ns)
        t->ripe = is_collected (t->path);
}

int64_t watch_newest_ns (const char *fingerprint)
{
    const char *plus = strchr (fingerprint, '+');
    int64_t ns = 0;
    int later = 0;

    if (sscanf (fingerprint, "%*[0-9]/%*[0-9]/%" SCNd64, &ns) != 1 || ns <= 0)
        return 0;
    if (plus && (sscanf (plus, "+%4d", &later) != 1 || later < 0))
        later = 0;
    return ns < INT64_MAX - later ? ns + later : ns;
}

static bool touched_since (const char *path, int64_t since_ns)
{
    struct stat st;

    if (since_ns == 0)
        return true;
    if (lstat (path, &st) < 0)
        return false;
    return st.st_ctim.tv_sec * NS_PER_S + st.st_ctim.tv_nsec >= since_ns;
}

static int take_found (struct watch *w, struct dir *d,
                       const struct found_list *list, int rc,
                       const struct err *why, int64_t mono_ns, struct err *err)
{
    if (rc == -ENOENT)
        rc = 0;                 // not made yet
    else if (rc < 0 && rc != -ENOMEM)
        rc = note_problem (w, why->text);
    for (size_t i = 0; i < list->nproblems && rc == 0; i++)
        rc = note_problem (w, list->problems[i]);
    d->older = 0;
    for (size_t i = 0; i < list->n && rc == 0; i++) {
        const char *path = list->items[i].path;
        struct tracked *t;

        if (is_excluded (w, path))
            continue;
        if (!touched_since (path, d->since_ns)) {
            d->older++;
            continue;
        }
        if (!(t = find (w, path)) && !(t = add (w, path)))
            return err_set (err, ENOMEM, "no memory to watch %s", path);
        if (t->rank_hint < 0)
            t->rank_hint = d->rank_hint;
        if (t->fingerprint[0] || t->foreign)
            continue;
        t->foreign = d->large && d->since_ns > 0 && w->foreign &&
                     w->foreign (w->foreign_arg, path);
        if (!t->foreign)
            look_at (w, t, mono_ns);
    }
    return rc;
}

size_t watch_count_older (const struct watch *w)
{
    size_t n = 0;

    for (size_t i = 0; i < w->ndirs; i++)
        n += w->dirs[i].older;
    return n;
}

static int scan_dir (struct watch *w, struct dir *d, int64_t mono_ns,
                     struct err *err)
{
    struct found_list list = { .n = 0 };
    struct err why = { "" };
    int rc = find_captures (d->path, &list, &why);

    rc = take_found (w, d, &list, rc, &why, mono_ns, err);
    find_free (&list);
    return rc;
}

const char *watch_large (const struct watch *w, size_t i)
{
    for (size_t k = 0; k < w->ndirs; k++) {
        if (w->dirs[k].large && i-- == 0)
            return w->dirs[k].path;
    }
    return NULL;
}

int watch_found (struct watch *w, const char *dir,
                 const struct found_list *list, int rc, const struct err *why,
                 int64_t mono_ns, struct err *err)
{
    for (size_t i = 0; i < w->ndirs; i++) {
        if (strcmp (w->dirs[i].path, dir) == 0)
            return take_found (w, &w->dirs[i], list, rc, why, mono_ns, err);
    }
    return 0;
}

void watch_look_at_all (struct watch *w)
{
    w->look_at_all = true;
}

/* A tree is walked to look at it, and there may be thousands of old ones. */
static bool is_due (const struct tracked *t, int64_t mono_ns)
{
    int64_t again_ns = (mono_ns - t->changed_mono_ns) / AGE_SHARE;

    if (again_ns > AGAIN_MAX_NS)
        again_ns = AGAIN_MAX_NS;
    return waits (t) || mono_ns - t->looked_mono_ns >= again_ns;
}

/* It is not there any more. */
static void lose (struct watch *w, struct tracked *t)
{
    bool loss = waits (t) && t->ripe;

    if (!loss) {
        forget (w, t);
        return;
    }
    (void)tdelete (t, &w->by_path, by_path);
    t->next = w->gone;
    w->gone = t;
}

/* Look again at what is known; forget what is not there any more. */
static void look_again (struct watch *w, int64_t mono_ns)
{
    size_t kept = 0, told = 0;          // of those that stay

    for (size_t i = 0; i < w->nitems; i++) {
        struct tracked *t = w->items[i];
        struct stat st;

        if (lstat (t->path, &st) < 0 && errno == ENOENT) {
            lose (w, t);
            continue;
        }
        if (!t->foreign && (w->look_at_all || is_due (t, mono_ns)))
            look_at (w, t, mono_ns);
        told += i < w->next_seen;
        w->items[kept++] = t;
    }
    w->nitems = kept;
    w->next_seen = told;
    w->look_at_all = false;
}

static int hand_on (struct tracked *t, bool finished, watch_fn *fn, void *arg,
                    struct err *err)
{
    struct watch_settled s = { .path = t->path, .rank_hint = t->rank_hint,
                               .finished = finished };
    int rc;

    memcpy (s.fingerprint, t->fingerprint, sizeof (s.fingerprint));
    t->ripe = true;
    if ((rc = fn (arg, &s, err)) == 0)
        t->handed = true;
    return rc;
}

int watch_scan (struct watch *w, int64_t quiet_ns, int64_t mono_ns,
                int64_t wall_ns, watch_fn *fn, void *arg, struct err *err)
{
    int rc = 0;

    look_again (w, mono_ns);
    for (size_t i = 0; i < w->ndirs && rc == 0; i++) {
        if (!w->dirs[i].large)
            rc = scan_dir (w, &w->dirs[i], mono_ns, err);
    }
    return rc < 0 ? rc : watch_hand_on (w, quiet_ns, mono_ns, wall_ns, fn,
                                        arg, err);
}

int watch_hand_on (struct watch *w, int64_t quiet_ns, int64_t mono_ns,
                   int64_t wall_ns, watch_fn *fn, void *arg, struct err *err)
{
    int rc = 0;

    for (size_t i = 0; i < w->nitems && rc == 0; i++) {
        struct tracked *t = w->items[i];
        // quiet by our own watching, or by its dates when first seen so
        bool quiet = mono_ns - t->changed_mono_ns >= quiet_ns ||
                     wall_ns - t->newest_ns >= quiet_ns;

        if (is_ready (t) && (quiet || t->done_marker))
            rc = hand_on (t, true, fn, arg, err);
    }
    return rc;
}

int watch_flush (struct watch *w, watch_fn *fn, void *arg, struct err *err)
{
    int rc = 0;

    for (size_t i = 0; i < w->nitems && rc == 0; i++) {
        if (is_ready (w->items[i]))
            rc = hand_on (w->items[i], false, fn, arg, err);
    }
    return rc;
}

size_t watch_unsettled (const struct watch *w)
{
    size_t n = 0;

    for (size_t i = 0; i < w->nitems; i++)
        n += waits (w->items[i]);
    return n;
}

bool watch_is_collecting (const struct watch *w, int64_t since_ns)
{
    for (size_t i = 0; i < w->nitems; i++) {
        const struct tracked *t = w->items[i];

        if (waits (t) && !t->done_marker && t->changed_mono_ns >= since_ns)
            return true;
    }
    return false;
}

size_t watch_count_below (const struct watch *w, const char *dir)
{
    size_t n = 0;

    for (size_t i = 0; i < w->nitems; i++)
        n += is_below (w->items[i]->path, dir);
    return n;
}

void watch_again (struct watch *w, const char *path)
{
    for (size_t i = 0; i < w->nitems; i++) {
        if (!path || strcmp (w->items[i]->path, path) == 0)
            w->items[i]->handed = false;
    }
}

void watch_see_again (struct watch *w)
{
    w->next_seen = 0;
}

const char *watch_next_seen (struct watch *w)
{
    while (w->next_seen < w->nitems) {
        const struct tracked *t = w->items[w->next_seen++];

        if (!t->foreign)
            return t->path;
    }
    return NULL;
}
