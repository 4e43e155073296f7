/* common/base/states.c - state machines with a table of edges */
#include "base/states.h"

#include "base/clock.h"

void state_begin (struct state *s, unsigned first)
{
    *s = (struct state){ first, clock_mono_ns () };
}

static const struct states_edge *find_edge (const struct states *table,
                                            const struct states_owner *o,
                                            unsigned from, unsigned event)
{
    for (size_t i = 0; i < table->nedges; i++) {
        const struct states_edge *e = &table->edges[i];

        if (e->from == from && e->event == event &&
            (!o || e->guard == 0 || o->holds (o->arg, e->guard)))
            return e;
    }
    return NULL;
}

bool states_have (const struct states *table, unsigned from, unsigned event)
{
    return find_edge (table, NULL, from, event);
}

static void log_change (const struct states_owner *o, const struct state *s,
                        const struct states_edge *e, int64_t now,
                        const char *why, const char *key, const char *name)
{
    const struct states *t = o->table;
    struct logline line = log_line (o->level, t->what);

    if (key)
        log_str (&line, key, name);
    log_str (&line, "from", t->states[e->from]);
    log_str (&line, "to", t->states[e->to]);
    log_str (&line, "reason", why ? why : t->events[e->event]);
    if (s->since_ns > 0)
        log_real (&line, "after_s",
                  (double)(now - s->since_ns) / (double)NS_PER_S);
    log_end (&line);
}

bool state_take (struct state *s, const struct states_owner *o,
                 unsigned event, const char *why, const char *key,
                 const char *name)
{
    const struct states_edge *e = find_edge (o->table, o, s->now, event);

    if (!e)
        return false;
    if (e->to != s->now) {
        int64_t now = clock_mono_ns ();

        if (log_is_wanted (o->level))
            log_change (o, s, e, now, why, key, name);
        *s = (struct state){ e->to, now };
    }
    if (e->action != 0)
        o->act (o->arg, e->action);
    return true;
}
