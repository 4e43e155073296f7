/* aggregator/jobs/jobs_draft.c - a growing job, and evidence against a capture
 * in it
 *
 * Rules 3 to 5 of doc/jobs.md.  To avoid comparing all pairs, maps hold for
 * each draft the captures of a rank, and one capture for each list of members,
 * step of a host, and sample of ops.
 */
#include "jobs/jobs_private.h"

#include "base/cmp.h"
#include "base/units.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NO_BOOT INT64_MIN       // if only the host's name is known
#define STEPS_COMPARED 16u      // of a capture: some are enough

static uint64_t key_text (size_t draft, uint64_t more, const char *text)
{
    return map_key (map_key (draft, more),
                    evidence_hash (0, text, strlen (text)));
}

/* Hash three members only: they distinguish most groups, and a match is
 * compared in full.  Thousands of captures list thousands of members.
 */
static uint64_t key_members (size_t draft, const struct comm_group *g)
{
    const int32_t *m = g->members;
    uint32_t n = g->nmembers;
    uint64_t key = map_key (draft, n);

    if (n == 0)
        return key;
    key = map_key (key, (uint64_t)m[0]);
    key = map_key (key, (uint64_t)m[n / 2]);
    return map_key (key, (uint64_t)m[n - 1]);
}

void drafts_init (struct drafts *d, struct facts *f)
{
    *d = (struct drafts){ .facts = f, .ranks = INDEXED, .worlds = INDEXED,
                          .highest = INDEXED, .lists = INDEXED,
                          .defaults = INDEXED, .hosts = INDEXED,
                          .steps = INDEXED, .samples = INDEXED,
                          .firsts = INDEXED };
}

void drafts_fini (struct drafts *d)
{
    struct map *const maps[] = { &d->ranks, &d->worlds, &d->highest, &d->lists,
                                 &d->defaults, &d->hosts, &d->steps,
                                 &d->samples, &d->firsts };

    for (size_t i = 0; i < sizeof (maps) / sizeof (maps[0]); i++)
        map_fini (maps[i]);
}

/* ---- joining ---- */

/* The first capture under a key stands for all. */
static int note (struct map *m, uint64_t key, size_t i)
{
    size_t *at = index_at (m, key);

    if (!at)
        return -ENOMEM;
    if (*at == JOBS_NONE)
        *at = i;
    return 0;
}

static bool is_world (const struct comm_group *g)
{
    return strcmp (g->pg_name, "default_group") == 0;
}

static int note_groups (struct drafts *d, size_t draft, size_t i)
{
    const struct fact *f = &d->facts->list[i];
    int rc = 0;

    for (uint32_t k = 0; k < f->in->groups->n && rc == 0 && f->sure; k++) {
        const struct comm_group *g = f->in->groups->list[k];

        rc = note (&d->lists, key_text (draft, (uint64_t)f->rank, g->name), i);
        if (rc == 0)
            rc = note (&d->lists, key_text (draft, UINT64_MAX, g->name), i);
        if (rc == 0 && is_world (g))
            rc = note (&d->defaults, key_members (draft, g), i);
    }
    return rc;
}

static int64_t boot_bucket (const struct fact *f)
{
    return f->e->boot_ns / JOBS_BOOT_NS;
}

/* 'name' is the host's; "" if it has none, and for the first of all hosts. */
static uint64_t key_host (size_t draft, int64_t bucket, const char *name,
                          const char *step)
{
    return key_text (draft, evidence_hash ((uint64_t)bucket, name,
                                           strlen (name)), step);
}

/* Groups may share a name, so the key includes the members. */
static uint64_t key_sample (size_t draft, const struct fact *f,
                            const struct evidence_sample *s)
{
    const struct comm_group *g = fact_group (f, s->group);

    return map_key (g ? key_members (draft, g) : draft, s->key);
}

static uint64_t key_step (size_t draft, size_t clock, const char *step)
{
    return key_text (draft, clock == JOBS_NONE ? 0 : clock + 1, step);
}

static int note_steps (struct drafts *d, size_t draft, size_t i)
{
    const struct fact *f = &d->facts->list[i];
    int rc = 0;

    for (uint32_t k = 0; k < f->e->nspans && rc == 0; k++) {
        const struct evidence_span *s = &f->e->spans[k];

        if (!fact_is_step (s))
            continue;
        rc = note (&d->steps, key_step (draft, JOBS_NONE, s->step), i);
        if (rc == 0 && f->clock != JOBS_NONE)
            rc = note (&d->steps, key_step (draft, f->clock, s->step), i);
        if (rc == 0 && f->e->boot_ns > 0)
            rc = note (&d->hosts, key_host (draft, boot_bucket (f), "",
                                            s->step), i);
        if (rc == 0 && *fact_host (f))
            rc = note (&d->hosts, key_host (draft, NO_BOOT, fact_host (f),
                                            s->step), i);
        if (rc == 0 && f->e->boot_ns > 0 && *fact_host (f))
            rc = note (&d->hosts, key_host (draft, boot_bucket (f),
                                            fact_host (f), s->step), i);
    }
    for (uint32_t k = 0; k < f->e->nsamples && rc == 0; k++)
        rc = note (&d->samples, key_sample (draft, f, &f->e->samples[k]), i);
    return rc;
}

static int note_highest (struct drafts *d, size_t draft, size_t i)
{
    size_t *at = index_at (&d->highest, draft);

    if (!at)
        return -ENOMEM;
    if (*at == JOBS_NONE ||
        d->facts->list[i].highest > d->facts->list[*at].highest)
        *at = i;
    return 0;
}

static int note_capture (struct drafts *d, size_t draft, size_t i)
{
    struct fact *f = &d->facts->list[i];
    size_t *at = index_at (&d->ranks, map_key (draft, (uint64_t)f->rank));
    int rc = at ? 0 : -ENOMEM;

    if (rc == 0) {
        f->next_of_rank = *at;
        *at = i;
        f->draft = draft;
        rc = note (&d->firsts, draft, i);
    }
    if (rc == 0 && f->c->world_size > 0)
        rc = note (&d->worlds, draft, i);
    if (rc == 0)
        rc = note_highest (d, draft, i);
    if (rc == 0)
        rc = note_groups (d, draft, i);
    return rc < 0 ? rc : note_steps (d, draft, i);
}

int drafts_join (struct drafts *d, size_t draft, size_t knot)
{
    int rc = 0;

    if (draft >= d->n)
        d->n = draft + 1;
    for (size_t i = knot; i != JOBS_NONE && rc == 0;
         i = d->facts->list[i].next)
        rc = note_capture (d, draft, i);
    return rc;
}

/* ---- what contradicts ---- */

struct question {
    const struct drafts *d;
    size_t draft;
    const struct fact *f;
    char *why;
};

__attribute__ ((format (printf, 2, 3)))
static bool draft_say (const struct question *q, const char *fmt, ...)
{
    va_list ap;

    va_start (ap, fmt);
    (void)vsnprintf (q->why, JOBS_WHY_MAX, fmt, ap);
    va_end (ap);
    return true;
}

static const struct fact *get (const struct question *q, const struct map *m,
                               uint64_t key)
{
    size_t i = index_get (m, key);

    return i == JOBS_NONE ? NULL : &q->d->facts->list[i];
}

/* Rule 3 for one rank: a step has one window, and a rank has one process. */
static bool clash_of_rank (const struct question *q, const struct fact *o)
{
    const struct fact *f = q->f;
    enum same same = fact_same_window (f, o);
    const char *step = fact_common_step (f, o, !fact_equal_pids (f, o));

    if (same == SAME_YES)
        return false;
    if (step && same == SAME_NO)
        return draft_say (
            q, "rank %" PRId64 " has step %.40s twice, in two windows", f->rank,
            *step ? step : "(nameless)");
    if (fact_overlap (f, o))
        return draft_say (q,
                          "rank %" PRId64 " has two captures that overlap in "
                          "time", f->rank);
    if (fact_other_process (f, o))
        return draft_say (q,
                          "rank %" PRId64 " is another process there, and no "
                          "id links the two",
                          f->rank);
    return false;
}

static bool clash_of_ranks (const struct question *q)
{
    size_t i = q->f->rank == CAPTURE_NO_RANK
                   ? JOBS_NONE
                   : index_get (&q->d->ranks,
                              map_key (q->draft, (uint64_t)q->f->rank));

    for (; i != JOBS_NONE; i = q->d->facts->list[i].next_of_rank) {
        if (clash_of_rank (q, &q->d->facts->list[i]))
            return true;
    }
    return false;
}

/* Rule 4: the world sizes differ. */
static bool clash_of_worlds (const struct question *q)
{
    const struct fact *w = get (q, &q->d->worlds, q->draft);
    const struct fact *h = get (q, &q->d->highest, q->draft);
    int64_t world = q->f->c->world_size, other = w ? w->c->world_size : 0;

    if (world > 0 && other > 0 && world != other)
        return draft_say (q,
                          "its captures say that there %s %" PRId64
                          " rank%s, not "
                          "%" PRId64,
                          units_are ((uint64_t)world), world,
                          units_s ((uint64_t)world), other);
    if (world > 0 && h && h->highest >= world)
        return draft_say (q,
                          "its world has %" PRId64
                          " rank%s; ops of the other show "
                          "position %" PRId64 " in a group",
                          world, units_s ((uint64_t)world), h->highest);
    if (other > 0 && q->f->highest >= other)
        return draft_say (q,
                          "its ops show position %" PRId64 " in a group; the "
                          "other's world has %" PRId64 " rank%s", q->f->highest,
                          other, units_s ((uint64_t)other));
    return false;
}

/* Rule 4: a member of the group has another list of that name. */
static bool clash_of_list (const struct question *q,
                           const struct comm_group *g)
{
    const struct fact *any = get (q, &q->d->lists,
                                  key_text (q->draft, UINT64_MAX, g->name));
    const struct comm_group *other = any ? fact_group (any, g->name) : NULL;

    if (!other)
        return false;
    if (!fact_equal_members (g, other) && fact_is_member (other, q->f->rank))
        return draft_say (q,
                          "group %.60s of rank %" PRId64 " has other members",
                          g->id, q->f->rank);
    if (fact_equal_members (g, other))
        return false;
    for (uint32_t i = 0; i < g->nmembers; i++) {
        const struct fact *o =
            get (q, &q->d->lists,
                 key_text (q->draft, (uint64_t)g->members[i], g->name));

        other = o ? fact_group (o, g->name) : NULL;
        if (other && !fact_equal_members (g, other))
            return draft_say (
                q, "group %.60s of rank %" PRId32 " has other members", g->id,
                g->members[i]);
    }
    return false;
}

static bool clash_of_lists (const struct question *q)
{
    const struct group_list *list = q->f->in->groups;

    for (uint32_t i = 0; i < list->n && q->f->sure; i++) {
        const struct comm_group *g = list->list[i], *theirs = NULL;
        const struct fact *o = NULL;

        if (clash_of_list (q, g))
            return true;
        if (is_world (g) && q->f->named_groups)
            o = get (q, &q->d->defaults, key_members (q->draft, g));
        for (uint32_t k = 0; o && k < o->in->groups->n; k++) {
            if (is_world (o->in->groups->list[k]))
                theirs = o->in->groups->list[k];
        }
        if (theirs && o->named_groups && strcmp (theirs->id, g->id) != 0 &&
            fact_equal_members (theirs, g))
            return draft_say (q, "its world's group differs: %.60s",
                              g->id);
    }
    return false;
}

static int64_t gap_between (int64_t start, int64_t end, int64_t other_start,
                            int64_t other_end)
{
    return start > other_end   ? fact_distance (start, other_end)
           : other_start > end ? fact_distance (other_start, end)
                               : 0;
}

/* Compare the times at which captures of a host did the step. */
static bool clash_of_step (const struct question *q, const char *name,
                           int64_t bucket, const struct evidence_span *s)
{
    const struct fact *o = get (q, &q->d->hosts,
                                key_host (q->draft, bucket, name, s->step));
    const struct evidence_span *x = o ? evidence_find_span (o->e, s->step)
                                      : NULL;
    int64_t gap;

    if (!x)
        return false;
    gap = gap_between (s->start_ns, s->end_ns, x->start_ns, x->end_ns);
    return gap > fact_apart (q->f, o) &&
           draft_say (q, "step %.40s was %" PRId64 " s apart on one host",
                      s->step,
                      gap / 1000000000);
}

/* Look the host up by boot time, by name, and by both. */
static bool clash_of_boot (const struct question *q,
                           const struct evidence_span *s)
{
    const char *name = fact_host (q->f);

    if (*name && clash_of_step (q, name, NO_BOOT, s))
        return true;
    for (int64_t near = -1; near <= 1 && q->f->e->boot_ns > 0; near++) {
        int64_t bucket = boot_bucket (q->f) + near;

        if (clash_of_step (q, "", bucket, s) ||
            (*name && clash_of_step (q, name, bucket, s)))
            return true;
    }
    return false;
}

/* Rule 5a: ranks of one host do a step at the same time. */
static bool clash_on_host (const struct question *q)
{
    const struct fact *f = q->f;

    for (uint32_t i = 0; i < f->e->nspans && i < STEPS_COMPARED; i++) {
        const struct evidence_span *s = &f->e->spans[i];

        if (fact_is_step (s) && clash_of_boot (q, s))
            return true;
    }
    return false;
}

/* ---- rule 5b: collectives end together ---- */

static int64_t draft_median (int64_t *list, size_t n)
{
    qsort (list, n, sizeof (*list), cmp_int64);
    return list[n / 2];
}

/* How far the ends of equal ops are apart after one offset is removed; -1: they
 * cannot be compared.  'allowed' is the tolerance.
 */
static int64_t residue (const struct evidence_sample *a,
                        const struct evidence_sample *b, int64_t *allowed)
{
    int64_t apart[EVIDENCE_OPS_MAX], elapse[EVIDENCE_OPS_MAX], offset;
    size_t n = 0;

    if (a->names != b->names || a->count != b->count || a->n != b->n ||
        a->count < JOBS_OPS_MIN || a->n < JOBS_OPS_MIN)
        return -1;
    for (uint32_t i = 0; i < a->n; i++) {
        if (a->ops[i].key != b->ops[i].key)
            return -1;
        if (__builtin_sub_overflow (b->ops[i].end_ns, a->ops[i].end_ns,
                                    &apart[n]))
            return -1;
        elapse[n++] = a->ops[i].elapse_ns > b->ops[i].elapse_ns
                          ? a->ops[i].elapse_ns : b->ops[i].elapse_ns;
    }
    offset = draft_median (apart, n);
    for (size_t i = 0; i < n; i++)
        apart[i] = fact_distance (apart[i], offset);
    *allowed = draft_median (elapse, n) / 100 * JOBS_RESIDUE_PERCENT;
    if (*allowed < JOBS_RESIDUE_NS)
        *allowed = JOBS_RESIDUE_NS;
    return draft_median (apart, n);
}

/* Whether both are members of one group of that name, as far as is known: by
 * their lists, or because it is the world's group.
 */
static bool one_group (const struct fact *a, const struct fact *b,
                       const char *name)
{
    const struct comm_group *x = fact_group (a, name);
    const struct comm_group *y = fact_group (b, name);
    char world[CAPTURE_HASH_MAX], first[CAPTURE_HASH_MAX];

    if (x && y)
        return fact_equal_members (x, y) && fact_is_member (x, a->rank) &&
               fact_is_member (x, b->rank);
    capture_group_hash ("hccl_world_group", world);
    capture_group_hash ("group_name_0", first);
    return !x && !y && (strcmp (name, world) == 0 || strcmp (name, first) == 0);
}

static bool is_nameless (const struct evidence_sample *s)
{
    return s->key == evidence_hash (evidence_hash (0, "", 0), s->group,
                                    strlen (s->group));
}

/* Whether their nameless steps may be one step: on one host, at one time. */
static bool is_at_once (const struct fact *a, const struct fact *b)
{
    return !fact_other_host (a, b) && a->start_ns > 0 && b->start_ns > 0 &&
           a->start_ns < b->end_ns && b->start_ns < a->end_ns;
}

static bool clash_of_ends (const struct question *q)
{
    const struct fact *f = q->f;

    for (uint32_t i = 0; i < f->e->nsamples; i++) {
        const struct evidence_sample *s = &f->e->samples[i];
        const struct fact *o = get (q, &q->d->samples,
                                    key_sample (q->draft, f, s));
        int64_t apart = -1, allowed = 0;

        if (o && is_nameless (s) && !is_at_once (f, o))
            continue;
        for (uint32_t k = 0; o && k < o->e->nsamples; k++) {
            if (o->e->samples[k].key == s->key && o->rank != f->rank &&
                strcmp (o->e->samples[k].group, s->group) == 0 &&
                one_group (f, o, s->group))
                apart = residue (s, &o->e->samples[k], &allowed);
        }
        if (apart > allowed)
            return draft_say (q, "collectives of one step end %.3f ms apart, "
                              "with all clocks aligned",
                              (double)apart / 1e6);
    }
    return false;
}

bool drafts_contradict (const struct drafts *d, size_t draft, size_t knot,
                        char why[JOBS_WHY_MAX])
{
    for (size_t i = knot; i != JOBS_NONE; i = d->facts->list[i].next) {
        struct question q = { d, draft, &d->facts->list[i], why };

        if (clash_of_worlds (&q) || clash_of_ranks (&q) ||
            clash_of_lists (&q) || clash_on_host (&q) || clash_of_ends (&q))
            return true;
    }
    return false;
}

/* ---- how far apart ---- */

/* Translate a time from one clock to the other. */
static int64_t translate (const struct fact *from, const struct fact *to,
                          int64_t at)
{
    return fact_minus (at, fact_minus (from->ahead_ns, to->ahead_ns));
}

/* How far a step is from the same step of the draft; INT64_MAX: it has none. */
static int64_t offset_of_step (const struct question *q,
                               const struct evidence_span *s)
{
    const struct fact *f = q->f, *o = NULL;
    const struct evidence_span *x;
    int64_t apart, more = 0;

    if (!fact_is_step (s))
        return INT64_MAX;
    if (f->clock != JOBS_NONE)
        o = get (q, &q->d->steps, key_step (q->draft, f->clock, s->step));
    if (!o) {
        o = get (q, &q->d->steps, key_step (q->draft, JOBS_NONE, s->step));
        more = JOBS_CLOCKS_NS;
    }
    if (!o || !(x = evidence_find_span (o->e, s->step)))
        return INT64_MAX;
    apart = fact_distance (translate (f, o, s->start_ns), x->start_ns);
    return apart < INT64_MAX - more ? apart + more : apart;
}

static int64_t offset_of (const struct question *q)
{
    const struct fact *f = q->f, *first = get (q, &q->d->firsts, q->draft);
    int64_t list[STEPS_COMPARED], o;
    size_t n = 0;

    for (uint32_t i = 0; i < f->e->nspans && i < STEPS_COMPARED; i++) {
        if ((o = offset_of_step (q, &f->e->spans[i])) < INT64_MAX)
            list[n++] = o;
    }
    if (n > 0)
        return draft_median (list, n);
    if (!first || f->start_ns <= 0 || first->start_ns <= 0)
        return INT64_MAX;
    o = gap_between (translate (f, first, f->start_ns),
                     translate (f, first, f->end_ns), first->start_ns,
                     first->end_ns);
    // a common step is better evidence
    return o < INT64_MAX - JOBS_APART_NS ? o + JOBS_APART_NS : o;
}

int64_t drafts_offset (const struct drafts *d, size_t draft, size_t knot)
{
    int64_t least = INT64_MAX;

    for (size_t i = knot; i != JOBS_NONE; i = d->facts->list[i].next) {
        struct question q = { d, draft, &d->facts->list[i], NULL };
        int64_t o = offset_of (&q);

        least = o < least ? o : least;
    }
    return least;
}
