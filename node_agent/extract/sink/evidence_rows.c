/* node_agent/extract/sink/evidence_rows.c - collect evidence from rows */
#include "extract/sink/evidence_rows.h"

#include "base/units.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <strings.h>

#define US_MAX 4.6e15           // the sum of two fits 63 bits, in ns

struct text {
    const char *s;
    size_t n;
};

static struct text text_at (const struct batch *b, int column, uint32_t row)
{
    struct text t = { NULL, 0 };

    t.s = batch_text_at (b, b->text[column][row], &t.n);
    if (!t.s)
        t.s = "";
    return t;
}

static bool to_ns (double us, int64_t *ret)
{
    if (!(us > -US_MAX && us < US_MAX))         // false for NaN
        return false;
    *ret = llround (us * 1000);
    return true;
}

/* Whether all members of its group end together, when the last one has arrived.
 */
static bool is_symmetric (struct text op)
{
    static const char *const names[] = {
        "allreduce", "all_reduce", "allgather", "all_gather", "reducescatter",
        "reduce_scatter", "alltoall", "all_to_all", "barrier",
    };

    for (const char *s = op.s; *s; s++) {
        if ((*s | 32) != 'a' && (*s | 32) != 'r' && (*s | 32) != 'b')
            continue;           // as most are
        for (size_t i = 0; i < sizeof (names) / sizeof (names[0]); i++) {
            if ((s[1] | 32) == names[i][1] &&
                strncasecmp (s, names[i], strlen (names[i])) == 0)
                return true;
        }
    }
    return false;
}

static struct evidence_span *span_of (struct source *src, struct text step)
{
    struct text id;

    id.s = steps_id (step.s, step.n, &id.n);
    return evidence_span_at (&src->capture->evidence, id.s, id.n);
}

static int note_op (struct evidence *e, const struct batch *b, uint32_t row,
                    int64_t end_ns, int64_t elapse_ns)
{
    struct text step = text_at (b, TIME_STEP, row);
    struct text group = text_at (b, TIME_GROUP, row);
    struct text op = text_at (b, TIME_OP, row), id;

    id.s = steps_id (step.s, step.n, &id.n);
    if (group.n == 0 || group.n >= EVIDENCE_HASH_MAX || !is_symmetric (op))
        return 0;
    return evidence_note_op (e, id.s, id.n, group.s, op.s, op.n, end_ns,
                             elapse_ns);
}

static int take_times (struct source *src, const struct batch *b)
{
    struct evidence *e = &src->capture->evidence;
    struct evidence_span *span = NULL;
    int rc = 0;

    for (uint32_t i = 0; i < b->nrows && rc == 0; i++) {
        struct text group = text_at (b, TIME_GROUP, i);
        int64_t start, elapse;

        if (group.n > 0 && (i == 0 || b->text[TIME_GROUP][i] !=
                                          b->text[TIME_GROUP][i - 1]))
            (void)evidence_group_at (e, group.s, group.n);
        if (i == 0 || b->text[TIME_STEP][i] != b->text[TIME_STEP][i - 1])
            span = span_of (src, text_at (b, TIME_STEP, i));
        if (!to_ns (b->real[TIME_START][i], &start) ||
            !to_ns (b->real[TIME_ELAPSE][i] * 1000, &elapse))
            continue;
        if (span)
            span->device = true;
        if (src->own_clock)
            continue;
        if (span && !span->host)
            evidence_widen (span, start, start + elapse);
        rc = note_op (e, b, i, start + elapse, elapse);
    }
    return rc;
}

#define POSITIONS 64u           // that are remembered

/* A position in a group, as its links have it. */
struct position {
    uint32_t ref;               // of its text in the batch
    int32_t at;                 // -1: it is none
};

static int32_t position (const struct batch *b, int column, uint32_t row,
                         struct position known[POSITIONS])
{
    uint32_t ref = b->text[column][row];
    struct position *p = &known[ref % POSITIONS];
    int64_t v;

    if (p->ref == ref)
        return p->at;
    p->ref = ref;
    p->at = units_int (text_at (b, column, row).s, 0, capture_world_max - 1,
                       &v) == 0
                ? (int32_t)v : -1;
    return p->at;
}

static int take_links (struct source *src, const struct batch *b)
{
    struct evidence *e = &src->capture->evidence;
    struct evidence_group *g = NULL;
    struct position known[POSITIONS];

    for (unsigned i = 0; i < POSITIONS; i++)
        known[i] = (struct position){ BATCH_NULL_TEXT, -1 };
    for (uint32_t i = 0; i < b->nrows; i++) {
        struct text name = text_at (b, MATRIX_GROUP, i);
        int32_t from = position (b, MATRIX_SRC, i, known);
        int32_t to = position (b, MATRIX_DST, i, known);

        if (i == 0 || b->text[MATRIX_GROUP][i] != b->text[MATRIX_GROUP][i - 1])
            g = name.n > 0 ? evidence_group_at (e, name.s, name.n) : NULL;
        if (!g || from < 0)
            continue;
        g->own = g->own == EVIDENCE_UNKNOWN || g->own == from
                     ? from : EVIDENCE_SEVERAL;
        g->highest = from > g->highest ? from : g->highest;
        g->highest = to > g->highest ? to : g->highest;
        if (g->highest + 1 > e->world_at_least)
            e->world_at_least = g->highest + 1;
    }
    return 0;
}

static int take_steps (struct source *src, const struct batch *b)
{
    for (uint32_t i = 0; i < b->nrows; i++) {
        struct evidence_span *s = span_of (src, text_at (b, STEP_STEP, i));

        if (s)
            s->device = true;
    }
    return 0;
}

/* Take the span of the host rather than that of the ops. */
static int take_extras (struct source *src, const struct batch *b)
{
    for (uint32_t i = 0; i < b->nrows && !src->own_clock; i++) {
        int64_t start, end;
        struct evidence_span *s;

        if (!to_ns (b->real[EXTRA_HOST_START][i], &start) ||
            !to_ns (b->real[EXTRA_HOST_END][i], &end) ||
            !(s = span_of (src, text_at (b, EXTRA_STEP, i))))
            continue;
        if (!s->host) {
            s->start_ns = start;
            s->end_ns = end;
        }
        s->host = true;
        evidence_widen (s, start, end);
    }
    return 0;
}

bool evidence_rows (struct source *src, const struct batch *b, struct err *err)
{
    int rc = b->table == TABLE_TIME         ? take_times (src, b)
             : b->table == TABLE_MATRIX     ? take_links (src, b)
             : b->table == TABLE_STEP       ? take_steps (src, b)
             : b->table == TABLE_STEP_EXTRA ? take_extras (src, b)
                                            : 0;

    if (rc < 0)
        src->stopped = err_set (err, ENOMEM, "no memory for evidence");
    return rc == 0;
}

static void forget_links (struct evidence *e)
{
    for (uint32_t i = 0; i < e->ngroups; i++)
        e->groups[i].own = e->groups[i].highest = EVIDENCE_UNKNOWN;
    e->world_at_least = 0;
}

void evidence_forget (struct source *src, enum table_id table)
{
    struct evidence *e = &src->capture->evidence;

    if (table == TABLE_MATRIX)
        forget_links (e);
    if (table != TABLE_TIME)
        return;
    evidence_forget_ops (e);
    for (uint32_t i = 0; i < e->nspans; i++) {
        if (e->spans[i].host)
            continue;
        e->spans[i].start_ns = INT64_MAX;
        e->spans[i].end_ns = INT64_MIN;
    }
}
