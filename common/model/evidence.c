/* common/model/evidence.c - what a capture shows of its job, rank and host */
#include "model/evidence.h"

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
}

void evidence_fini (struct evidence *e)
{
    for (uint32_t i = 0; i < e->nspans; i++)
        free (e->spans[i].step);
    for (uint32_t i = 0; i < e->nops; i++)
        free (e->ops[i].step);
    free (e->groups);
    free (e->spans);
    free (e->ops);
    evidence_init (e);
}

/* Room for one more of n; lists grow at powers of two. */
static void *room (void *list, uint32_t n, size_t size)
{
    return (n & (n - 1)) != 0 ? list : realloc (list, (n ? 2 * n : 1) * size);
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
        !(p = room (e->groups, e->ngroups, sizeof (*p))))
        return NULL;
    e->groups = p;
    memmove (p + low + 1, p + low, (e->ngroups++ - low) * sizeof (*p));
    p[low] = (struct evidence_group){ .own = EVIDENCE_UNKNOWN,
                                      .highest = EVIDENCE_UNKNOWN };
    memcpy (p[low].name, name, n);
    return &p[low];
}

struct evidence_span *evidence_span_at (struct evidence *e, const char *step,
                                        size_t n)
{
    struct evidence_span *p;
    char *copy;

    if (n >= EVIDENCE_STEP_MAX)
        return NULL;
    for (uint32_t i = e->nspans; i-- > 0;) {
        if (strncmp (e->spans[i].step, step, n) == 0 &&
            e->spans[i].step[n] == '\0')
            return &e->spans[i];
    }
    if (e->nspans == EVIDENCE_SPANS_MAX ||
        !(p = room (e->spans, e->nspans, sizeof (*p))))
        return NULL;
    e->spans = p;
    if (!(copy = strndup (step, n)))
        return NULL;
    p[e->nspans] = (struct evidence_span){ .step = copy, .start_ns = INT64_MAX,
                                           .end_ns = INT64_MIN };
    return &p[e->nspans++];
}

void evidence_widen (struct evidence_span *s, int64_t start_ns, int64_t end_ns)
{
    if (start_ns < s->start_ns)
        s->start_ns = start_ns;
    if (end_ns > s->end_ns)
        s->end_ns = end_ns;
}
