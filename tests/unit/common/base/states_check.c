/* tests/unit/common/base/states_check.c - for tests of tables of states */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/states_check.h"

#include <stdio.h>
#include <string.h>

static bool holds (void *arg, unsigned guard)
{
    struct states_probe *p = arg;

    p->asked++;
    return p->true_guards & 1u << guard;
}

static void act (void *arg, unsigned action)
{
    struct states_probe *p = arg;

    p->did = action;
    p->did_in = p->state.now;
    p->actions++;
}

void states_be_in (struct states_probe *p, const struct states *table,
                   unsigned state)
{
    memset (p, 0, sizeof (*p));
    p->owner = (struct states_owner){ table, holds, act, p, LOG_LEVEL_INFO };
    p->state = (struct state){ state, 1 };
}

static bool take (struct states_probe *p, unsigned event)
{
    return state_take (&p->state, &p->owner, event, NULL, "path", "/d");
}

void states_stay (struct states_probe *p, unsigned event)
{
    const struct states *t = p->owner.table;
    struct state before = p->state;

    p->actions = 0;
    if (take (p, event) || p->actions > 0 || p->state.now != before.now ||
        p->state.since_ns != before.since_ns)
        fail_msg ("%s does something to one that is %s", t->events[event],
                  t->states[before.now]);
}

void states_go (struct states_probe *p, unsigned event, unsigned guards,
                unsigned action, unsigned to)
{
    p->true_guards = guards;
    p->did = 0;
    assert_true (take (p, event));
    assert_int_equal (p->state.now, to);
    assert_int_equal (p->did, action);
}

static void name_edge (const struct states *t, const struct states_edge *e,
                       char text[256])
{
    const char *guard = e->guard ? t->guards[e->guard] : "";
    const char *action = e->action ? t->actions[e->action] : "";

    (void)snprintf (text, 256, "%s --> %s: %s%s%s%s%s%s",
                    t->states[e->from], t->states[e->to],
                    t->events[e->event], *guard ? " [" : "", guard,
                    *guard ? "]" : "", *action ? " / " : "", action);
}

/* If its guard alone holds it is followed, and its action done once, in the
 * new state: an action that brings the next event would go astray in the old.
 */
static void check_edges (const struct states *t)
{
    for (size_t i = 0; i < t->nedges; i++) {
        const struct states_edge *e = &t->edges[i];
        struct states_probe p;
        char text[256];

        name_edge (t, e, text);
        states_be_in (&p, t, e->from);
        p.true_guards = 1u << e->guard;
        if (!take (&p, e->event) || p.state.now != e->to)
            fail_msg ("leads to %s: %s", t->states[p.state.now], text);
        if (p.actions != (e->action != 0) ||
            (p.actions && (p.did != e->action || p.did_in != e->to)))
            fail_msg ("another action: %s", text);
        // how long it was in a state is since it came, not since it spoke
        assert_int_equal (e->from == e->to, p.state.since_ns == 1);
    }
}

/* How many edges there are for it, and whether one has no guard. */
static size_t count_edges (const struct states *t, unsigned from,
                           unsigned event, bool *always)
{
    size_t found = 0;

    *always = false;
    for (size_t i = 0; i < t->nedges; i++) {
        if (t->edges[i].from != from || t->edges[i].event != event)
            continue;
        assert_false (*always); // what stands behind it is never reached
        *always = t->edges[i].guard == 0;
        found++;
    }
    assert_int_equal (found > 0, states_have (t, from, event));
    return found;
}

static void check_no_edges (const struct states *t)
{
    for (unsigned s = 0; s < t->nstates; s++) {
        for (unsigned e = 0; e < t->nevents; e++) {
            bool always;
            size_t n = count_edges (t, s, e, &always);
            struct states_probe p;

            states_be_in (&p, t, s);
            if (n == 0)
                p.true_guards = ~0u;
            if (!always)
                states_stay (&p, e);
            assert_int_equal (p.asked, always ? 0 : n);
        }
    }
}

/* Which states lie on a way, from or to those that are set. */
static void spread (const struct states *t, bool *set, bool back)
{
    for (unsigned pass = 0; pass < t->nstates; pass++) {
        for (size_t i = 0; i < t->nedges; i++) {
            const struct states_edge *e = &t->edges[i];

            if (set[back ? e->to : e->from])
                set[back ? e->from : e->to] = true;
        }
    }
}

/* Numbers between those of the states have no name. */
static void check_reached (const struct states *t, unsigned first)
{
    bool reached[256] = { false };

    reached[first] = true;
    spread (t, reached, false);
    for (unsigned s = 0; s < t->nstates; s++) {
        if (t->states[s] && !reached[s])
            fail_msg ("no way leads to %s", t->states[s]);
    }
}

static void check_ends (const struct states *t)
{
    bool ends[256] = { false };

    for (unsigned s = 0; s < t->nstates; s++) {
        ends[s] = true;
        for (unsigned e = 0; e < t->nevents; e++)
            ends[s] &= !states_have (t, s, e);
    }
    spread (t, ends, true);
    for (unsigned s = 0; s < t->nstates; s++) {
        if (!ends[s])
            fail_msg ("no way leads out of %s", t->states[s]);
    }
}

void states_check_rows (const struct states *t, unsigned first)
{
    check_edges (t);
    check_no_edges (t);
    check_reached (t, first);
}

void states_check_table (const struct states *t, unsigned first)
{
    states_check_rows (t, first);
    check_ends (t);
}

/* "done-said" for "done_said": a hyphen is no letter of a name in a graph. */
static void read_edge (const char *line, char text[256])
{
    (void)snprintf (text, 256, "%s", line + strspn (line, " "));
    text[strcspn (text, "\n")] = '\0';
    for (char *c = text; *c && *c != ':'; c++) {
        if (*c == '_')
            *c = '-';
    }
}

void states_check_document (const struct states *t, const char *heading)
{
    FILE *f = fopen (STATES_DOCUMENT, "re");
    char line[256], drawn[256], edge[256];
    size_t n = strlen (heading), i = 0;
    bool inside = false;

    assert_non_null (f);
    while (fgets (line, sizeof (line), f)) {
        if (strncmp (line, "## ", 3) == 0)
            inside = strncmp (line, heading, n) == 0 && line[n] == '\n';
        if (!inside || !strstr (line, " --> ") || strstr (line, "[*]"))
            continue;
        assert_true (i < t->nedges);
        read_edge (line, drawn);
        name_edge (t, &t->edges[i++], edge);
        assert_string_equal (drawn, edge);
    }
    (void)fclose (f);
    assert_int_equal (i, t->nedges);
}
