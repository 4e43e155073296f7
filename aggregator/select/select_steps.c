/* aggregator/select/select_steps.c - check that each rank has all its steps */
#include "select/select_steps.h"

#include "base/cmp.h"
#include "base/stats.h"
#include "base/units.h"
#include "base/vec.h"
#include "store/db_rows.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAMED 8                 // steps in one reason; more are "..."
#define REGULAR 3               // so many equal distances are intended
#define COMMON 16               // steps by which two clocks are compared
#define ASKED 64                // ranks compared for one step: if these do not
                                // show it, others will not either

// limits for a step at the end of a window, compared with the others
#define EDGE_OTHERS 3
#define EDGE_MADS 3.0
#define EDGE_PART 0.1           // of the median: less does not matter

struct step {
    int64_t number;             // first member: sort key
    const struct evidence_span *span;   // when it was, or NULL
};

struct window {
    struct select_item *item;
    struct step *v;             // by number, each once
    size_t n;
};

/* A step, and whether one rank (which) or several have it.  The windows that
 * have it follow each other in steps.having.
 */
struct shared {
    int64_t number, rank;
    bool several;
    uint32_t first, n;          // in steps.having: ASKED at most
};

struct steps {
    struct window *windows;     // of captures with numbered steps, by rank
    size_t n;
    struct shared *all;         // by number
    size_t nall;
    uint32_t *having;           // indexes of windows, ascending for each step
};

/* ---- reading them ---- */

/* A step of a window; windows are sorted by rank. */
struct had {
    int64_t number;             // first member: sort key
    uint32_t window;
};

static int by_step_and_window (const void *pa, const void *pb)
{
    const struct had *a = pa, *b = pb;

    if (a->number != b->number)
        return a->number < b->number ? -1 : 1;
    return (a->window > b->window) - (a->window < b->window);
}

static const struct evidence_span *span_of (const struct capture *c,
                                            const char *step)
{
    for (uint32_t i = 0; i < c->evidence.nspans; i++) {
        if (strcmp (c->evidence.spans[i].step, step) == 0)
            return &c->evidence.spans[i];
    }
    return NULL;
}

static void add_step (struct window *w, const char *id,
                      const struct evidence_span *span)
{
    int64_t number;

    if (units_int (id, 0, INT64_MAX, &number) == 0)
        w->v[w->n++] = (struct step){ number, span };
}

/* Read the steps with rows, and those that only the host saw. */
static int read_window (struct window *w, struct select_item *item)
{
    const struct capture *c = &item->capture;
    size_t used = 0;

    w->item = item;
    w->v = calloc (c->nsteps + c->evidence.nspans + 1, sizeof (*w->v));
    if (!w->v)
        return -ENOMEM;
    for (uint32_t i = 0; i < c->evidence.nspans; i++)
        add_step (w, c->evidence.spans[i].step, &c->evidence.spans[i]);
    for (uint32_t i = 0; i < c->nsteps; i++) {
        // they are mostly in order
        bool same = i < c->evidence.nspans &&
                    strcmp (c->evidence.spans[i].step, c->steps[i]) == 0;

        if (!same && !span_of (c, c->steps[i]))
            add_step (w, c->steps[i], NULL);
    }
    if (w->n > 0)
        qsort (w->v, w->n, sizeof (*w->v), cmp_int64);
    for (size_t i = 0; i < w->n; i++) {
        if (used == 0 || w->v[used - 1].number != w->v[i].number)
            w->v[used++] = w->v[i];
    }
    w->n = used;
    return 0;
}

static bool select_steps_counts (const struct select_item *item)
{
    return item->rank != CAPTURE_NO_RANK && !item->skip && !item->drop &&
           !item->doubt && capture_has_rows (&item->capture);
}

/* All steps of all windows, sorted; the caller frees it. */
static struct had *list_steps (const struct steps *s, size_t *ret)
{
    size_t n = 0;
    struct had *v;

    for (size_t i = 0; i < s->n; i++)
        n += s->windows[i].n;
    if (!(v = calloc (n + 1, sizeof (*v))))
        return NULL;
    *ret = 0;
    for (size_t i = 0; i < s->n; i++) {
        for (size_t k = 0; k < s->windows[i].n; k++)
            v[(*ret)++] = (struct had){ s->windows[i].v[k].number,
                                        (uint32_t)i };
    }
    if (n > 0)
        qsort (v, n, sizeof (*v), by_step_and_window);
    return v;
}

static int share (struct steps *s)
{
    size_t n = 0;
    struct had *v = list_steps (s, &n);
    struct shared *last = NULL;
    uint32_t used = 0;

    s->all = calloc (n + 1, sizeof (*s->all));
    s->having = calloc (n + 1, sizeof (*s->having));
    for (size_t i = 0; i < n && v && s->all && s->having; i++) {
        int64_t rank = s->windows[v[i].window].item->rank;

        if (!last || last->number != v[i].number) {
            last = &s->all[s->nall++];
            *last = (struct shared){ .number = v[i].number, .rank = rank,
                                     .first = used };
        }
        last->several = last->several || last->rank != rank;
        if (last->n < ASKED) {
            s->having[used++] = v[i].window;
            last->n++;
        }
    }
    free (v);
    return v && s->all && s->having ? 0 : -ENOMEM;
}

static int read_steps (struct steps *s, struct select_item *items, size_t n)
{
    int rc = 0;

    if (!(s->windows = calloc (n + 1, sizeof (*s->windows))))
        return -ENOMEM;
    for (size_t i = 0; i < n && rc == 0; i++) {
        if (!select_steps_counts (&items[i]))
            continue;
        rc = read_window (&s->windows[s->n], &items[i]);
        s->n++;
    }
    return rc < 0 ? rc : share (s);
}

static void select_steps_fini (struct steps *s)
{
    for (size_t i = 0; s->windows && i < s->n; i++)
        free (s->windows[i].v);
    free (s->windows);
    free (s->all);
    free (s->having);
}

/* ---- one window ---- */

static const struct step *find_step (const struct window *w, int64_t number)
{
    return w->n ? bsearch (&number, w->v, w->n, sizeof (*w->v), cmp_int64)
                : NULL;
}

/* Whether any capture of its rank has the step. */
static bool rank_has (const struct steps *s, const struct window *w,
                      int64_t number)
{
    for (const struct window *x = w;
         x >= s->windows && x->item->rank == w->item->rank; x--) {
        if (find_step (x, number))
            return true;
    }
    for (const struct window *x = w + 1;
         x < s->windows + s->n && x->item->rank == w->item->rank; x++) {
        if (find_step (x, number))
            return true;
    }
    return false;
}

/* Whether the steps have a regular distance, such as every tenth: that is
 * intended.
 */
static bool is_regular (const struct window *w)
{
    int64_t step = w->n >= REGULAR ? w->v[1].number - w->v[0].number : 1;

    for (size_t i = 2; i < w->n && step > 1; i++) {
        if (w->v[i].number - w->v[i - 1].number != step)
            return false;
    }
    return step > 1;
}

static bool same_schedule (const struct evidence_schedule *a,
                           const struct evidence_schedule *b)
{
    return a->active >= 0 && memcmp (a, b, sizeof (*a)) == 0;
}

static bool is_timed (const struct step *x)
{
    return x && x->span && x->span->start_ns <= x->span->end_ns &&
           x->span->start_ns > 0;
}

/* How far the clock of 'a' is ahead of that of 'b', by the ends of common
 * steps.
 */
static bool clock_offset (const struct window *a, const struct window *b,
                          int64_t *ret)
{
    int64_t v[COMMON];
    size_t n = 0;

    for (size_t i = 0; i < a->n && n < COMMON; i++) {
        const struct step *x = &a->v[i], *y = find_step (b, x->number);

        if (is_timed (x) && is_timed (y) && x->span->host == y->span->host)
            v[n++] = x->span->end_ns - y->span->end_ns;
    }
    if (n == 0)
        return false;
    qsort (v, n, sizeof (*v), cmp_int64);
    *ret = v[n / 2];
    return true;
}

/* Whether the capture was still running while another rank with its schedule
 * did the step.
 */
static bool was_there (const struct window *w, const struct window *other,
                       const struct step *x)
{
    const struct capture *c = &w->item->capture;
    int64_t offset;

    return is_timed (x) && c->started_ns > 0 &&
           same_schedule (&c->evidence.schedule,
                          &other->item->capture.evidence.schedule) &&
           clock_offset (w, other, &offset) &&
           c->started_ns <= x->span->start_ns + offset &&
           c->ended_ns > x->span->end_ns + offset;
}

/* 'shared' is a step that no capture of the window's rank has. */
static bool is_absent_at_end (const struct steps *s, const struct window *w,
                              const struct shared *shared)
{
    for (uint32_t i = 0; i < shared->n; i++) {
        const struct window *other = &s->windows[s->having[shared->first + i]];

        if (was_there (w, other, find_step (other, shared->number)))
            return true;
    }
    return false;
}

struct absent {
    char list[NAMED * 24];
    size_t n;
};

static void add_absent (struct absent *a, int64_t number)
{
    size_t used = strlen (a->list);

    if (a->n < NAMED)
        (void)snprintf (a->list + used, sizeof (a->list) - used, "%s%lld",
                        a->n ? ", " : "", (long long)number);
    else if (a->n == NAMED)
        (void)snprintf (a->list + used, sizeof (a->list) - used, ", ...");
    a->n++;
}

/* Steps of others between its own are holes.  Of those before or after, only
 * the nearest may be its own too: at most as many as others have more.
 */
static void find_absent (const struct steps *s, const struct window *w,
                         struct absent *a)
{
    int64_t first = w->v[0].number, last = w->v[w->n - 1].number;
    struct absent holes = { .n = 0 };
    bool regular = is_regular (w);

    for (size_t i = 0; i < s->nall; i++) {
        const struct shared *x = &s->all[i];
        bool within = x->number > first && x->number < last;

        if (find_step (w, x->number) || rank_has (s, w, x->number))
            continue;
        if (within ? !regular : is_absent_at_end (s, w, x))
            add_absent (within ? &holes : a, x->number);
    }
    // more holes than steps: intended
    if (holes.n == 0 || holes.n > w->n)
        return;
    if (a->n > 0) {
        struct absent ends = *a;

        *a = holes;
        (void)snprintf (a->list + strlen (a->list),
                        sizeof (a->list) - strlen (a->list), ", %s",
                        ends.list);
        a->n += ends.n;
    } else {
        *a = holes;
    }
}

static bool is_apart (const struct steps *s, const struct window *w)
{
    for (size_t k = 0; k < w->n; k++) {
        size_t at = cmp_place (&w->v[k].number, s->all, s->nall,
                               sizeof (*s->all), cmp_int64);

        if (at < s->nall && s->all[at].several)
            return false;
    }
    return true;
}

static void select_steps_tell (struct window *w, const struct absent *a,
                               bool apart)
{
    struct capture *c = &w->item->capture;

    if (a->n > 0) {
        capture_reason (c, "step%s %s %s not in it, though other ranks have "
                        "%s", a->n > 1 ? "s" : "", a->list,
                        a->n > 1 ? "are" : "is", a->n > 1 ? "them" : "it");
        c->state = CAPTURE_PARTIAL;
    } else if (apart) {
        capture_reason (c, "its steps (%lld to %lld) are not those of the "
                        "other ranks", (long long)w->v[0].number,
                        (long long)w->v[w->n - 1].number);
    }
}

int select_check_steps (struct select_item *items, size_t n)
{
    struct steps s = { .windows = NULL };
    int rc = read_steps (&s, items, n);
    bool ranks = false, shared = false;

    for (size_t i = 1; i < s.n; i++)
        ranks = ranks || s.windows[i].item->rank != s.windows[0].item->rank;
    for (size_t i = 0; i < s.nall; i++)
        shared = shared || s.all[i].several;
    for (size_t i = 0; i < s.n && rc == 0 && ranks; i++) {
        struct absent a = { .n = 0 };

        if (s.windows[i].n == 0)
            continue;
        find_absent (&s, &s.windows[i], &a);
        select_steps_tell (&s.windows[i], &a, shared &&
                           is_apart (&s, &s.windows[i]));
    }
    select_steps_fini (&s);
    return rc;
}

/* ---- steps that profiling made longer ---- */

struct lasting {
    int64_t number;             // first member: sort key
    char id[64];
    double us;
};

/* Whether v[at], one of the two ends, is longer than the others.  The other end
 * may be as long, so it is left out if enough others remain.
 */
static bool is_edge (const struct lasting *v, size_t n, size_t at,
                     double *room)
{
    bool both = n >= EDGE_OTHERS + 2;
    double mid, mad;
    size_t used = 0;

    for (size_t i = 0; i < n; i++) {
        if (i != at && !(both && (i == 0 || i == n - 1)))
            room[used++] = v[i].us;
    }
    if (used < EDGE_OTHERS)
        return false;
    mid = stats_median (room, used);
    for (size_t i = 0; i < used; i++)
        room[i] = fabs (room[i] - mid);
    mad = stats_median (room, used);
    return v[at].us - mid > EDGE_MADS * mad &&
           v[at].us - mid > EDGE_PART * mid;
}

struct marker {
    sqlite3 *db;
    const struct select_item *items;
    size_t nitems;
    sqlite3_stmt *mark, *add, *leave;   // 'leave' NULL: they stay in means
    struct lasting *v;
    size_t n;
    const struct select_item *item;     // whose steps 'v' has; NULL: none
};

static int mark (struct marker *m, const char *step, struct err *err)
{
    int64_t id = m->item->id, rank = m->item->rank;
    int64_t first = m->item->first_row;
    int64_t last = first + (int64_t)m->item->rows_max - 1;
    int rc = db_put (m->mark, err, step, first, last);

    if (rc == 0 && sqlite3_changes (m->db) == 0)
        rc = db_put (m->add, err, step, first, last, id, rank);
    if (rc == 0 && m->leave)
        rc = db_put (m->leave, err, id, rank, step);
    return rc;
}

static int end_capture (struct marker *m, struct err *err)
{
    size_t n = m->n;
    double *room;
    int rc = 0;

    m->n = 0;
    if (n < EDGE_OTHERS + 1)
        return 0;
    if (!(room = malloc (n * sizeof (*room))))
        return err_set (err, ENOMEM, "no memory for steps");
    qsort (m->v, n, sizeof (*m->v), cmp_int64);
    if (is_edge (m->v, n, 0, room))
        rc = mark (m, m->v[0].id, err);
    if (rc == 0 && is_edge (m->v, n, n - 1, room))
        rc = mark (m, m->v[n - 1].id, err);
    free (room);
    return rc;
}

static int take_step (struct marker *m, int64_t capture, const char *step,
                      double us, struct err *err)
{
    size_t i = select_place (m->items, m->nitems, capture);
    const struct select_item *item = i < m->nitems ? &m->items[i] : NULL;
    struct lasting *p;
    int64_t number;
    int rc = 0;

    if (item != m->item) {
        rc = end_capture (m, err);
        m->item = item;
    }
    if (rc < 0 || !item || !step || strlen (step) >= sizeof (m->v->id) ||
        !select_steps_counts (item) ||
        item->capture.evidence.schedule.warmup != 0 ||
        units_int (step, 0, INT64_MAX, &number) < 0)
        return rc;
    if (!(p = vec_add (&m->v, &m->n, sizeof (*p))))
        return err_set (err, ENOMEM, "no memory for steps");
    *p = (struct lasting){ .number = number, .us = us };
    memcpy (p->id, step, strlen (step) + 1);
    return 0;
}

static int each_step (struct marker *m, struct err *err)
{
    struct db_rows r = db_rows (m->db, err,
        "SELECT capture, step, max(computing+communication_not_overlapped+"
        "free) FROM StepTraceTime WHERE step IS NOT NULL GROUP BY rank, "
        "capture, step ORDER BY rank, capture");
    const char *step;
    int64_t capture;
    double us;
    int rc;

    while (db_row (&r, capture, step, us))
        r.rc = take_step (m, capture, step, us, err);
    rc = db_end (&r);
    return rc < 0 ? rc : end_capture (m, err);
}

int select_mark_edges (sqlite3 *db, const struct select_item *items, size_t n,
                       bool leave_out, struct err *err)
{
    struct marker m = { .db = db, .items = items, .nitems = n };
    bool any = false;
    int rc = db_exec (db, "ALTER TABLE StepExtra ADD COLUMN profiler_edge "
                          "INTEGER", err);

    for (size_t i = 0; i < n; i++)
        any = any || items[i].capture.evidence.schedule.warmup == 0;
    if (rc < 0 || !any)
        return rc;
    rc = db_prepare (db, "UPDATE StepExtra SET profiler_edge=1 WHERE "
                         "rowid BETWEEN ?2 AND ?3 AND step=?1", &m.mark, err);
    if (rc == 0)
        rc = db_prepare (db, "INSERT INTO StepExtra (rowid, step, capture, "
                             "rank, profiler_edge) SELECT ifnull(max(rowid)+1,"
                             " ?2), ?1, ?4, ?5, 1 FROM StepExtra WHERE rowid "
                             "BETWEEN ?2 AND ?3", &m.add, err);
    if (rc == 0 && leave_out)
        rc = db_prepare (db, "INSERT INTO LeftOut (capture, rank, step, "
                             "reason) VALUES (?1, ?2, ?3, 'profiler edge')",
                         &m.leave, err);
    if (rc == 0)
        rc = each_step (&m, err);
    (void)sqlite3_finalize (m.mark);
    (void)sqlite3_finalize (m.add);
    (void)sqlite3_finalize (m.leave);
    free (m.v);
    return rc;
}
