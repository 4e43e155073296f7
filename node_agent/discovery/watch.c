/* node_agent/discovery/watch.c - watch directories for finished captures */
#include "discovery/tracked.h"

#include "base/clock.h"
#include "base/cmp.h"
#include "base/vec.h"
#include "extract/extract.h"

#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct dir {
    char *path;
    bool large, bounded;
    int64_t since_ns;
    int64_t rank_hint;
    size_t older;               // captures that the last search left out
};

struct watch {
    struct dir *dirs;
    size_t ndirs;
    struct tracked **items;     // in the order in which they were found
    size_t nitems, next_seen;   // those before next_seen were returned
    void *by_path;              // the same, for tsearch(3)
    struct tracked *gone;       // never handed on, and to be reported
    bool look_at_all;
    bool ending;                // no version waits for a later one
    char **problems;
    size_t nproblems, next_problem;
    char *excluded, *included;  // included is below excluded
    watch_owner_fn *owner;
    void *owner_arg;
};

struct watch *watch_create (void)
{
    return calloc (1, sizeof (struct watch));
}

static void watch_forget (struct watch *w, struct tracked *t)
{
    (void)tdelete (t, &w->by_path, cmp_text);
    tracked_free (t);
}

void watch_destroy (struct watch *w)
{
    if (!w)
        return;
    for (size_t i = 0; i < w->ndirs; i++)
        free (w->dirs[i].path);
    for (size_t i = 0; i < w->nitems; i++)
        watch_forget (w, w->items[i]);
    for (struct tracked *t = w->gone, *next; t; t = next) {
        next = t->next;
        tracked_free (t);
    }
    vec_free_texts (w->problems, w->nproblems);
    free (w->excluded);
    free (w->included);
    free (w->dirs);
    free (w->items);
    free (w);
}

int watch_add (struct watch *w, const char *path, bool large,
               int64_t since_ns, int64_t rank_hint, struct err *err)
{
    struct dir d = { .large = large, .since_ns = since_ns,
                     .rank_hint = rank_hint };

    for (size_t i = 0; i < w->ndirs; i++) {
        if (strcmp (w->dirs[i].path, path) == 0)
            return 0;
    }
    d.path = strdup (path);
    if (d.path && vec_push (&w->dirs, &w->ndirs, &d, sizeof (d)) == 0)
        return 0;
    free (d.path);
    return err_set (err, ENOMEM, "no memory to watch %s", path);
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
    for (size_t i = 0; i < w->nproblems; i++) {
        if (strcmp (w->problems[i], text) == 0)
            return 0;
    }
    return vec_add_text (&w->problems, &w->nproblems, text);
}

const char *watch_next_problem (struct watch *w)
{
    return w->next_problem < w->nproblems ? w->problems[w->next_problem++]
                                          : NULL;
}

static struct tracked *watch_find (const struct watch *w, const char *path)
{
    struct tracked **t = tfind (&path, &w->by_path, cmp_text);

    return t ? *t : NULL;
}

static struct tracked *watch_insert (struct watch *w, const char *path)
{
    struct tracked *t = tracked_new (path);

    if (t && tsearch (t, &w->by_path, cmp_text) &&
        vec_push (&w->items, &w->nitems, &t, sizeof (t)) == 0)
        return t;
    if (t)
        watch_forget (w, t);
    return NULL;
}

void watch_ask (struct watch *w, watch_owner_fn *owner, void *arg)
{
    w->owner = owner;
    w->owner_arg = arg;
}

/* Measure a capture, and report why that fails. */
static void look_at (struct watch *w, struct tracked *t, int64_t mono_ns)
{
    int rc = tracked_look (t, mono_ns);
    struct err why;

    if (rc == 0)
        return;
    (void)err_sys (&why, -rc, "captures could not be looked at");
    (void)note_problem (w, why.text);
}

/* Ask who owns it. */
static void watch_decide (struct watch *w, struct tracked *t, int64_t mono_ns)
{
    enum watch_owner owner = w->owner (w->owner_arg, t->path);
    bool waited = t->state.now == STAGE_UNDECIDED;

    (void)tracked_change (t, owner == WATCH_FOREIGN     ? STAGE_IS_FOREIGN
                             : owner == WATCH_UNDECIDED ? STAGE_IS_UNDECIDED
                                                        : STAGE_IS_OURS);
    if (owner != WATCH_OURS)
        return;
    look_at (w, t, mono_ns);
    if (waited)                 // a scan had skipped it
        watch_report_again (w);
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
        rc = 0;                 // it does not exist yet
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
        if (!(t = watch_find (w, path)) && !(t = watch_insert (w, path)))
            return err_set (err, ENOMEM, "no memory to watch %s", path);
        t->id = list->items[i].id;
        if (t->rank_hint < 0)
            t->rank_hint = d->rank_hint;
        if (t->fingerprint[0] || t->state.now != STAGE_SEEN)
            continue;
        if (d->large && d->since_ns > 0 && w->owner)
            watch_decide (w, t, mono_ns);
        else
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

static const struct dir *large_dir (const struct watch *w, size_t i)
{
    for (size_t k = 0; k < w->ndirs; k++) {
        if (w->dirs[k].large && i-- == 0)
            return &w->dirs[k];
    }
    return NULL;
}

const char *watch_large (const struct watch *w, size_t i)
{
    const struct dir *d = large_dir (w, i);

    return d ? d->path : NULL;
}

void watch_bound (struct watch *w, const char *dir)
{
    for (size_t i = 0; i < w->ndirs; i++) {
        if (strcmp (w->dirs[i].path, dir) == 0)
            w->dirs[i].bounded = true;
    }
}

bool watch_is_bounded (const struct watch *w, size_t i, int64_t *since_ns)
{
    const struct dir *d = large_dir (w, i);

    *since_ns = d ? d->since_ns : 0;
    return d && d->bounded;
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
    w->look_at_all = w->ending = true;
}

/* ---- gone ---- */

static void miss (struct watch *w, struct tracked *t, int64_t mono_ns)
{
    (void)tracked_change (t, STAGE_NOT_THERE);
    t->gone_mono_ns = mono_ns;
    t->next = w->gone;
    w->gone = t;
}

/* A capture is not there any more. */
static void lose (struct watch *w, struct tracked *t, int64_t mono_ns)
{
    if (!tracked_waits (t) || !t->seen_done) {
        watch_forget (w, t);
        return;
    }
    (void)tdelete (t, &w->by_path, cmp_text);
    miss (w, t, mono_ns);
}

void watch_miss (struct watch *w, const char *path, const struct find_id *id,
                 int64_t mono_ns)
{
    struct tracked *t = w->gone;

    while (t && strcmp (t->path, path) != 0)
        t = t->next;
    if (t || watch_find (w, path) || !(t = tracked_new (path)))
        return;                 // without memory the next agent will miss it
    if (id)
        t->id = *id;
    miss (w, t, mono_ns);
}

int64_t watch_missing_ns (const struct watch *w)
{
    int64_t latest = 0;

    for (const struct tracked *t = w->gone; t; t = t->next) {
        if (t->gone_mono_ns > latest)
            latest = t->gone_mono_ns;
    }
    return latest;
}

/* Find a capture that is the same as a missing one; or NULL. */
static const struct tracked *found_again (const struct watch *w,
                                          const struct tracked *gone)
{
    for (size_t i = 0; i < w->nitems; i++) {
        if (tracked_are_one (w->items[i], gone))
            return w->items[i];
    }
    return NULL;
}

bool watch_next_gone (struct watch *w, int64_t searched_ns,
                      struct watch_gone *ret)
{
    struct tracked **at = &w->gone, *t;

    while ((t = *at)) {
        const struct tracked *now = found_again (w, t);

        if (!now && t->gone_mono_ns > searched_ns) {
            at = &t->next;      // it may still be found elsewhere
            continue;
        }
        *at = t->next;
        if (!now || strcmp (now->path, t->path) != 0) {
            (void)tracked_change (t, now ? STAGE_ELSEWHERE : STAGE_GONE);
            *ret = (struct watch_gone){ (char *)t->path, now != NULL };
            free (t);
            return true;
        }
        (void)tracked_change (t, STAGE_IS_BACK);
        tracked_free (t);
    }
    return false;
}

/* ---- searches ---- */

/* Measure the known captures again, and forget those that are gone. */
static void look_again (struct watch *w, int64_t mono_ns)
{
    size_t kept = 0, told = 0;          // of those that remain

    for (size_t i = 0; i < w->nitems; i++) {
        struct tracked *t = w->items[i];
        struct stat st;

        if (lstat (t->path, &st) < 0 && errno == ENOENT) {
            lose (w, t, mono_ns);
            continue;
        }
        // it was away between two searches
        (void)tracked_change (t, STAGE_IS_BACK);
        if (t->state.now == STAGE_UNDECIDED)
            watch_decide (w, t, mono_ns);
        else if (t->state.now != STAGE_FOREIGN &&
                 (w->look_at_all || tracked_is_due (t, mono_ns)))
            look_at (w, t, mono_ns);
        told += i < w->next_seen;
        w->items[kept++] = t;
    }
    w->nitems = kept;
    w->next_seen = told;
    w->look_at_all = false;
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

/* A capture that has to wait does not stop the others. */
static int pass_over (int rc, bool *waits)
{
    if (rc != -EINPROGRESS)
        return rc;
    *waits = true;
    return 0;
}

int watch_hand_on (struct watch *w, int64_t quiet_ns, int64_t mono_ns,
                   int64_t wall_ns, watch_fn *fn, void *arg, struct err *err)
{
    bool waits = false;
    int rc = 0;

    for (size_t i = 0; i < w->nitems && rc == 0; i++) {
        struct tracked *t = w->items[i];

        if (tracked_is_ready (t) &&
            tracked_has_settled (t, quiet_ns, mono_ns, wall_ns) &&
            (w->ending || !tracked_pauses (t, quiet_ns, mono_ns)))
            rc = tracked_hand_on (t, true, quiet_ns, mono_ns, fn, arg, err);
        rc = pass_over (rc, &waits);
    }
    return rc == 0 && waits ? -EAGAIN : rc;
}

int watch_flush (struct watch *w, int64_t quiet_ns, int64_t mono_ns,
                 int64_t wall_ns, watch_fn *fn, void *arg, struct err *err)
{
    bool waits = false;
    int rc = 0;

    for (size_t i = 0; i < w->nitems && rc == 0; i++) {
        struct tracked *t = w->items[i];

        if (tracked_is_ready (t))
            rc = tracked_hand_on (t, tracked_has_settled (t, quiet_ns, mono_ns,
                                                          wall_ns),
                                  quiet_ns, mono_ns, fn, arg, err);
        rc = pass_over (rc, &waits);
    }
    return rc == 0 && waits ? -EAGAIN : rc;
}

size_t watch_unsettled (const struct watch *w)
{
    size_t n = 0;

    for (size_t i = 0; i < w->nitems; i++)
        n += tracked_waits (w->items[i]);
    for (const struct tracked *t = w->gone; t; t = t->next)
        n++;
    return n;
}

bool watch_is_waiting (const struct watch *w, int64_t since_ns)
{
    for (size_t i = 0; i < w->nitems; i++) {
        if (tracked_waits (w->items[i]) &&
            w->items[i]->waits_mono_ns > since_ns)
            return true;
    }
    return false;
}

const char *watch_unsettled_path (const struct watch *w, size_t i)
{
    for (size_t n = 0; n < w->nitems; n++) {
        if (tracked_waits (w->items[n]) && i-- == 0)
            return w->items[n]->path;
    }
    return NULL;
}

bool watch_is_collecting (const struct watch *w, int64_t since_ns)
{
    for (size_t i = 0; i < w->nitems; i++) {
        const struct tracked *t = w->items[i];

        if (tracked_waits (t) && !t->done_marker &&
            t->changed_mono_ns >= since_ns)
            return true;
    }
    return false;
}

const char *watch_next_busy (struct watch *w, int64_t quiet_ns,
                             int64_t mono_ns, char newest[256])
{
    for (size_t i = 0; i < w->nitems; i++) {
        struct tracked *t = w->items[i];
        struct extract_look look;

        if (t->busy_told || !tracked_is_busy (t, quiet_ns, mono_ns))
            continue;
        t->busy_told = true;
        (void)extract_measure (t->path, &look);
        memcpy (newest, look.newest_file, sizeof (look.newest_file));
        return t->path;
    }
    return NULL;
}

size_t watch_count_below (const struct watch *w, const char *dir)
{
    size_t n = 0;

    for (size_t i = 0; i < w->nitems; i++)
        n += is_below (w->items[i]->path, dir);
    return n;
}

void watch_hand_on_again (struct watch *w, const char *path)
{
    for (size_t i = 0; i < w->nitems; i++) {
        if (!path || strcmp (w->items[i]->path, path) == 0)
            (void)tracked_change (w->items[i], STAGE_WANTED_AGAIN);
    }
}

void watch_hand_on_if_back (struct watch *w, const char *path)
{
    struct tracked *t = watch_find (w, path);

    if (t)
        (void)tracked_change (t, STAGE_MAY_BE_BACK);
}

void watch_report_again (struct watch *w)
{
    w->next_seen = 0;
}

const char *watch_next_seen (struct watch *w)
{
    while (w->next_seen < w->nitems) {
        const struct tracked *t = w->items[w->next_seen++];

        if (t->state.now != STAGE_FOREIGN && t->state.now != STAGE_UNDECIDED)
            return t->path;
    }
    return NULL;
}
