/* node_agent/ship/choice.c - to which of several aggregators each copy goes */
#include "ship/choice.h"

#include <string.h>

void choice_begin (struct choice *c, size_t n, unsigned copies,
                   int64_t away_ns, int64_t now_ns)
{
    memset (c, 0, sizeof (*c));
    c->n = n;
    c->copies = copies;
    c->away_ns = away_ns;
    for (unsigned i = 0; i < copies; i++)
        c->copy[i] = (struct choice_copy){ i, now_ns };
}

void choice_divide (struct choice *c, const size_t order[])
{
    c->divided = true;
    memcpy (c->raw_order, order, c->n * sizeof (*order));
    for (unsigned i = 0; i < c->copies; i++)
        c->copy[SPOOL_RAW_COPY + i] = (struct choice_copy){
            order[i], c->copy[0].since_ns };
}

bool choice_is_copy (const struct choice *c, unsigned copy)
{
    return copy < SPOOL_RAW_COPY ? copy < c->copies
                                 : c->divided && copy < SPOOL_COPIES_ALL &&
                                       copy < SPOOL_RAW_COPY + c->copies;
}

bool choice_is_shared (const struct choice *c, unsigned copy)
{
    for (unsigned i = 0; i < c->copies && copy >= SPOOL_RAW_COPY; i++) {
        if (c->copy[i].at == c->copy[copy].at)
            return choice_is_copy (c, copy);
    }
    return false;
}

bool choice_has_raw (const struct choice *c, unsigned copy)
{
    for (unsigned i = SPOOL_RAW_COPY; choice_is_copy (c, i); i++) {
        if (c->copy[i].at == c->copy[copy].at)
            return true;
    }
    return false;
}

unsigned choice_next_copy (const struct choice *c, unsigned from)
{
    while (from < SPOOL_COPIES_ALL &&
           (!choice_is_copy (c, from) || choice_is_shared (c, from)))
        from++;
    return from;
}

void choice_heard (struct choice *c, unsigned copy, int64_t heard_ns,
                   int64_t now_ns)
{
    const struct choice_copy *k = &c->copy[copy];
    int64_t last_ns = heard_ns > k->since_ns ? heard_ns : k->since_ns;

    if (heard_ns > c->of[k->at].refused_ns)
        c->of[k->at].refused_ns = 0;
    c->of[k->at].away = c->of[k->at].refused_ns > 0 ||
                        now_ns - last_ns > c->away_ns;
    c->of[k->at].back_ns = 0;
}

void choice_was_deaf (struct choice *c, int64_t ns)
{
    for EACH_CHOSEN (i, c)
        c->copy[i].since_ns += ns;
    for (size_t i = 0; i < c->n; i++)
        c->of[i].back_ns += c->of[i].back_ns > 0 ? ns : 0;
}

bool choice_refused (struct choice *c, unsigned copy, int64_t now_ns)
{
    bool others = false;

    c->of[c->copy[copy].at].refused_ns = now_ns;
    c->of[c->copy[copy].at].away = true;
    for (size_t i = 0; i < c->n; i++)
        others = others || c->of[i].refused_ns == 0;
    return others;
}

/* Whether it has a copy of this kind: the first one is 'from'. */
static bool has_copy (const struct choice *c, unsigned from, size_t endpoint)
{
    for (unsigned i = from; i < from + c->copies; i++) {
        if (choice_is_copy (c, i) && c->copy[i].at == endpoint)
            return true;
    }
    return false;
}

size_t choice_next_probe (const struct choice *c, size_t last)
{
    for (size_t i = 1; i <= c->n; i++) {
        size_t endpoint = (last + i) % c->n;

        if (c->of[endpoint].away && !has_copy (c, 0, endpoint) &&
            !has_copy (c, SPOOL_RAW_COPY, endpoint))
            return endpoint;
    }
    return ENDPOINTS_MAX;
}

/* Whether a copy has nobody to talk to. */
static bool is_in_need (const struct choice *c)
{
    for EACH_CHOSEN (i, c) {
        if (c->of[c->copy[i].at].away)
            return true;
    }
    return false;
}

void choice_probed (struct choice *c, size_t endpoint, bool answers,
                    int64_t now_ns)
{
    if (!answers) {
        c->of[endpoint].back_ns = 0;
        return;
    }
    c->of[endpoint].refused_ns = 0;
    if (c->of[endpoint].back_ns == 0)
        c->of[endpoint].back_ns = now_ns;
    if (is_in_need (c) || now_ns - c->of[endpoint].back_ns >= c->away_ns)
        c->of[endpoint].away = false;
}

/* The endpoint at this place of the order of a kind. */
static size_t endpoint_at (const struct choice *c, unsigned from, size_t place)
{
    return from == SPOOL_RAW_COPY ? c->raw_order[place] : place;
}

/* Whether it is one of the first that are not away. */
static bool is_chosen (const struct choice *c, unsigned from, size_t endpoint)
{
    unsigned before = 0;

    for (size_t i = 0; endpoint_at (c, from, i) != endpoint; i++)
        before += !c->of[endpoint_at (c, from, i)].away;
    return !c->of[endpoint].away && before < c->copies;
}

static size_t find_free (const struct choice *c, unsigned from)
{
    for (size_t i = 0; i < c->n; i++) {
        if (is_chosen (c, from, i) && !has_copy (c, from, i))
            return i;
    }
    return ENDPOINTS_MAX;
}

/* The same for the copies of a kind. */
static bool next_move_of (struct choice *c, unsigned from, unsigned *copy,
                          int64_t now_ns)
{
    size_t to = find_free (c, from);

    if (to == ENDPOINTS_MAX)
        return false;
    for (unsigned i = from; i < from + c->copies; i++) {
        if (is_chosen (c, from, c->copy[i].at))
            continue;
        c->copy[i] = (struct choice_copy){ to, now_ns };
        *copy = i;
        return true;
    }
    return false;
}

bool choice_next_move (struct choice *c, unsigned *copy, int64_t now_ns)
{
    return next_move_of (c, 0, copy, now_ns) ||
           (c->divided && next_move_of (c, SPOOL_RAW_COPY, copy, now_ns));
}

static bool is_first (const struct choice *c, unsigned from)
{
    bool first = true;

    for (unsigned i = 0; i < c->copies; i++) {
        if (c->copies > 1 && c->of[c->copy[from + i].at].away)
            return true;
        first = first && has_copy (c, from, endpoint_at (c, from, i));
    }
    return first;
}

bool choice_is_first (const struct choice *c)
{
    return is_first (c, 0) && (!c->divided || is_first (c, SPOOL_RAW_COPY));
}
