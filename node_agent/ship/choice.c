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

bool choice_refused (struct choice *c, unsigned copy, int64_t now_ns)
{
    bool others = false;

    c->of[c->copy[copy].at].refused_ns = now_ns;
    c->of[c->copy[copy].at].away = true;
    for (size_t i = 0; i < c->n; i++)
        others = others || c->of[i].refused_ns == 0;
    return others;
}

static bool has_copy (const struct choice *c, size_t endpoint)
{
    for (unsigned i = 0; i < c->copies; i++) {
        if (c->copy[i].at == endpoint)
            return true;
    }
    return false;
}

size_t choice_next_probe (const struct choice *c, size_t last)
{
    for (size_t i = 1; i <= c->n; i++) {
        size_t endpoint = (last + i) % c->n;

        if (c->of[endpoint].away && !has_copy (c, endpoint))
            return endpoint;
    }
    return ENDPOINTS_MAX;
}

/* Whether a copy has nobody to talk to. */
static bool is_in_need (const struct choice *c)
{
    for (unsigned i = 0; i < c->copies; i++) {
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

/* Whether it is one of the first that are not away. */
static bool is_chosen (const struct choice *c, size_t endpoint)
{
    unsigned before = 0;

    for (size_t i = 0; i < endpoint; i++)
        before += !c->of[i].away;
    return !c->of[endpoint].away && before < c->copies;
}

static size_t find_free (const struct choice *c)
{
    for (size_t i = 0; i < c->n; i++) {
        if (is_chosen (c, i) && !has_copy (c, i))
            return i;
    }
    return ENDPOINTS_MAX;
}

bool choice_next_move (struct choice *c, unsigned *copy, int64_t now_ns)
{
    size_t to = find_free (c);

    if (to == ENDPOINTS_MAX)
        return false;
    for (unsigned i = 0; i < c->copies; i++) {
        if (is_chosen (c, c->copy[i].at))
            continue;
        c->copy[i] = (struct choice_copy){ to, now_ns };
        *copy = i;
        return true;
    }
    return false;
}

bool choice_is_first (const struct choice *c)
{
    for (unsigned i = 0; i < c->copies; i++) {
        if (c->copy[i].at >= c->copies)
            return false;
    }
    return true;
}
