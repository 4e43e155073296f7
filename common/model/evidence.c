/* common/model/evidence.c - what a capture shows of its job, rank and host */
#include "model/evidence.h"

#include "base/vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void evidence_init (struct evidence *e)
{
    memset (e, 0, sizeof (*e));
    e->ranks = (struct evidence_ranks){
        EVIDENCE_UNKNOWN, EVIDENCE_UNKNOWN, EVIDENCE_UNKNOWN, EVIDENCE_UNKNOWN,
        EVIDENCE_UNKNOWN, EVIDENCE_UNKNOWN, EVIDENCE_UNKNOWN };
    e->schedule = (struct evidence_schedule){
        EVIDENCE_UNKNOWN, EVIDENCE_UNKNOWN, EVIDENCE_UNKNOWN, EVIDENCE_UNKNOWN,
        EVIDENCE_UNKNOWN };
    e->by_step = (struct map)MAP (uint64_t, 1);
}

void evidence_forget_ops (struct evidence *e)
{
    for (uint32_t i = 0; i < e->nsamples; i++)
        free (e->samples[i].ops);
    e->nsamples = 0;
}

void evidence_fini (struct evidence *e)
{
    for (uint32_t i = 0; i < e->nspans; i++)
        free (e->spans[i].step);
    evidence_forget_ops (e);
    free (e->groups);
    free (e->spans);
    free (e->samples);
    free (e->about);
    map_fini (&e->by_step);
    evidence_init (e);
}

struct job_origin *evidence_about (struct evidence *e)
{
    if (!e->about)
        e->about = calloc (1, sizeof (*e->about));
    return e->about;
}

struct evidence_group *evidence_group_at (struct evidence *e,
                                          const char *name, size_t n)
{
    uint32_t low = 0, high = e->ngroups;
    struct evidence_group *p;

    if (n >= EVIDENCE_HASH_MAX)
        return NULL;
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        int order = strncmp (e->groups[mid].name, name, n);

        if (order == 0 && e->groups[mid].name[n] == '\0')
            return &e->groups[mid];
        if (order < 0)
            low = mid + 1;
        else
            high = mid;
    }
    if (e->ngroups == EVIDENCE_GROUPS_MAX ||
        !(p = vec_insert (&e->groups, &(size_t){ e->ngroups }, low,
                          sizeof (*p))))
        return NULL;
    e->ngroups++;
    p->own = p->highest = EVIDENCE_UNKNOWN;
    memcpy (p->name, name, n);
    return p;
}

/* The span of the step with this record; NULL if it belongs to another step. */
static struct evidence_span *span_of (const struct evidence *e,
                                      const uint64_t *known, const char *step,
                                      size_t n)
{
    struct evidence_span *s =
        e->spans + (known - (const uint64_t *)e->by_step.records);

    return strncmp (s->step, step, n) == 0 && s->step[n] == '\0' ? s : NULL;
}

struct evidence_span *evidence_span_at (struct evidence *e, const char *step,
                                        size_t n)
{
    uint64_t key = evidence_hash (0, step, n);
    const uint64_t *known = map_get (&e->by_step, &key);
    struct evidence_span *p;
    bool is_new;
    char *copy;

    if (known)                  // another step of the same hash gets no span
        return span_of (e, known, step, n);
    if (n >= EVIDENCE_STEP_MAX || e->nspans == EVIDENCE_SPANS_MAX ||
        !(p = vec_next (&e->spans, e->nspans, sizeof (*p))))
        return NULL;
    if (!(copy = strndup (step, n)))
        return NULL;
    if (!map_put (&e->by_step, &key, &is_new)) {
        free (copy);
        return NULL;
    }
    *p = (struct evidence_span){ .step = copy, .start_ns = INT64_MAX,
                                 .end_ns = INT64_MIN };
    e->nspans++;
    return p;
}

const struct evidence_span *evidence_find_span (const struct evidence *e,
                                                const char *step)
{
    size_t n = strlen (step);
    uint64_t key = evidence_hash (0, step, n);
    const uint64_t *known = map_get (&e->by_step, &key);

    return known ? span_of (e, known, step, n) : NULL;
}

void evidence_widen (struct evidence_span *s, int64_t start_ns, int64_t end_ns)
{
    if (start_ns < s->start_ns)
        s->start_ns = start_ns;
    if (end_ns > s->end_ns)
        s->end_ns = end_ns;
}

/* FNV-1a, and a mixer, since its low bits alone order what is kept. */
uint64_t evidence_hash (uint64_t seed, const char *text, size_t n)
{
    uint64_t h = UINT64_C (0xcbf29ce484222325) ^ seed;

    for (size_t i = 0; i < n; i++)
        h = (h ^ (uint8_t)text[i]) * UINT64_C (0x100000001b3);
    h ^= h >> 33;
    h *= UINT64_C (0xff51afd7ed558ccd);
    return h ^ h >> 33;
}

/* The sample of a key: the existing one, or a new one; if there is no room, it
 * replaces one with a higher key.  NULL if the key is not kept, or without
 * memory (*rc).
 */
static struct evidence_sample *sample_at (struct evidence *e, uint64_t key,
                                          int *rc)
{
    uint32_t i = 0;

    while (i < e->nsamples && e->samples[i].key < key)
        i++;
    if (i < e->nsamples && e->samples[i].key == key)
        return &e->samples[i];
    if (i == EVIDENCE_SAMPLES_MAX)
        return NULL;
    if (e->nsamples < EVIDENCE_SAMPLES_MAX) {
        if (!vec_next (&e->samples, e->nsamples, sizeof (*e->samples))) {
            *rc = -ENOMEM;
            return NULL;
        }
        e->nsamples++;
    } else {
        free (e->samples[e->nsamples - 1].ops);
    }
    memmove (&e->samples[i + 1], &e->samples[i],
             (e->nsamples - 1 - i) * sizeof (e->samples[0]));
    e->samples[i] = (struct evidence_sample){ .key = key };
    return &e->samples[i];
}

static int keep_op (struct evidence_sample *s, struct evidence_op op)
{
    uint32_t i = s->n;

    if (i < EVIDENCE_OPS_MAX) {
        if (!vec_next (&s->ops, s->n, sizeof (*s->ops)))
            return -ENOMEM;
        s->n++;
    } else if (s->ops[--i].key <= op.key) {
        return 0;
    }
    for (; i > 0 && s->ops[i - 1].key > op.key; i--)
        s->ops[i] = s->ops[i - 1];
    s->ops[i] = op;
    return 0;
}

int evidence_note_op (struct evidence *e, const char *step, size_t nstep,
                      const char *group, const char *name, size_t nname,
                      int64_t end_ns, int64_t elapse_ns)
{
    uint64_t key = evidence_hash (evidence_hash (0, step, nstep), group,
                                  strlen (group));
    struct evidence_op op = { evidence_hash (0, name, nname), end_ns,
                              elapse_ns };
    int rc = 0;
    struct evidence_sample *s = sample_at (e, key, &rc);

    if (!s)
        return rc;
    (void)strncpy (s->group, group, sizeof (s->group) - 1);
    s->names += op.key;
    s->count++;
    return keep_op (s, op);
}
