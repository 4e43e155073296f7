/* aggregator/uploads/stuck.c - segments that cannot go to the store */
#include "uploads/stuck.h"

#include "base/clock.h"
#include "base/vec.h"
#include "uploads/uploads.h"

#include <stdlib.h>
#include <string.h>

static void look_after (struct stuck *s, int64_t now_ns, int64_t pause_ns)
{
    s->pause_ns = pause_ns < UPLOADS_AGAIN_MAX_NS ? pause_ns
                                                  : UPLOADS_AGAIN_MAX_NS;
    s->look_ns = now_ns + s->pause_ns;
}

int stuck_add (struct stuck *s, const struct stuck_one *one, int64_t now_ns)
{
    int rc = vec_push (&s->all, &s->n, one, sizeof (*one));

    if (rc == 0)
        look_after (s, now_ns, UPLOADS_AGAIN_FIRST_NS);
    return rc;
}

void stuck_fini (struct stuck *s)
{
    free (s->all);
}

int64_t stuck_first (const struct stuck *s)
{
    int64_t first = 0;

    for (size_t i = 0; i < s->n; i++) {
        if (first == 0 || s->all[i].segment.segment < first)
            first = s->all[i].segment.segment;
    }
    return first;
}

bool stuck_has (const struct stuck *s, int64_t segment)
{
    for (size_t i = 0; i < s->n; i++) {
        if (s->all[i].segment.segment == segment)
            return true;
    }
    return false;
}

bool stuck_due (struct stuck *s, int64_t now_ns, struct stuck_one *ret)
{
    if (s->n == 0 || now_ns < s->look_ns)
        return false;
    look_after (s, now_ns, 2 * s->pause_ns);
    for (size_t i = 0; i < s->n; i++) {
        const struct stuck_one *one = &s->all[s->turn++ % s->n];

        if (*one->etag) {
            *ret = *one;
            return true;
        }
    }
    return false;
}

void stuck_drop (struct stuck *s, int64_t segment)
{
    size_t kept = 0;

    for (size_t i = 0; i < s->n; i++) {
        if (s->all[i].segment.segment != segment)
            s->all[kept++] = s->all[i];
    }
    s->n = kept;
    s->look_ns = 0;
    s->pause_ns = UPLOADS_AGAIN_FIRST_NS;
}
