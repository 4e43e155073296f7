/* tests/unit/node_agent/agent/test_agent_life.c - the table of an agent's life
 *
 * Every edge, and that nothing else changes anything; and that the graph in
 * doc/states.md (STATES_DOCUMENT) is of this table.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent/agent_life.h"

#include <stdio.h>
#include <string.h>

/* What is true, and what was done in which state. */
struct owner {
    struct life life;
    unsigned true_guards;       // bits
    unsigned asked;
    enum life_action did;
    enum life_state did_in;
    int actions;
};

static bool holds (void *arg, enum life_guard guard)
{
    struct owner *o = arg;

    o->asked++;
    return o->true_guards & 1u << guard;
}

static void act (void *arg, enum life_action action)
{
    struct owner *o = arg;

    o->did = action;
    o->did_in = o->life.state;
    o->actions++;
}

static const struct life_ops ops = { holds, act };

static void be_in (struct owner *o, enum life_state state)
{
    memset (o, 0, sizeof (*o));
    o->life = (struct life){ .state = state, .since_ns = 1, .began_ns = 1,
                             .ops = &ops, .arg = o };
}

static void name_edge (const struct life_edge *e, char text[256])
{
    const char *guard = life_guard_name (e->guard);
    const char *action = life_action_name (e->action);

    (void)snprintf (text, 256, "%s --> %s: %s%s%s%s%s%s",
                    life_state_name (e->from), life_state_name (e->to),
                    life_event_name (e->event), *guard ? " [" : "", guard,
                    *guard ? "]" : "", *action ? " / " : "", action);
}

static void nothing_happens (struct owner *o, enum life_event event)
{
    struct life before = o->life;

    if (life_take (&o->life, event, NULL) || o->actions > 0 ||
        o->life.state != before.state || o->life.since_ns != before.since_ns)
        fail_msg ("%s does something to one that is %s",
                  life_event_name (event), life_state_name (before.state));
}

/* If its guard alone holds it is followed, and its action done once, in the
 * new state: an action that brings the next event would go astray in the old.
 */
static void test_edges (void **state)
{
    size_t n;
    const struct life_edge *edges = life_edges (&n);

    (void)state;
    for (size_t i = 0; i < n; i++) {
        const struct life_edge *e = &edges[i];
        char text[256];
        struct owner o;

        name_edge (e, text);
        be_in (&o, e->from);
        o.true_guards = 1u << e->guard;
        if (!life_take (&o.life, e->event, NULL) || o.life.state != e->to)
            fail_msg ("leads to %s: %s", life_state_name (o.life.state), text);
        if (o.actions != (e->action != LIFE_NO_ACTION) ||
            (o.actions && (o.did != e->action || o.did_in != e->to)))
            fail_msg ("another action: %s", text);
        // how long it was in a state is since it came, not since it spoke
        assert_int_equal (e->from == e->to, o.life.since_ns == 1);
    }
}

/* How many edges there are for it, and whether one has no guard. */
static size_t count_edges (enum life_state from, enum life_event event,
                           bool *always)
{
    size_t n, found = 0;
    const struct life_edge *edges = life_edges (&n);

    *always = false;
    for (size_t i = 0; i < n; i++) {
        if (edges[i].from != from || edges[i].event != event)
            continue;
        assert_false (*always); // what stands behind it is never reached
        *always = edges[i].guard == LIFE_ALWAYS;
        found++;
    }
    return found;
}

static void test_no_edge (void **state)
{
    (void)state;
    for (enum life_state s = 0; s < LIFE_STATES; s++) {
        for (enum life_event e = 0; e < LIFE_EVENTS; e++) {
            bool always;
            size_t n = count_edges (s, e, &always);
            struct owner o;

            be_in (&o, s);
            if (n == 0) {
                o.true_guards = ~0u;
                nothing_happens (&o, e);
                assert_int_equal (o.asked, 0);
            } else if (!always) {
                nothing_happens (&o, e);
                assert_int_equal (o.asked, n);
            }
        }
    }
}

/* Whatever it is, a signal ends it; what is over stays so. */
static void test_stop (void **state)
{
    struct owner o;

    (void)state;
    for (enum life_state s = 0; s < LIFE_OVER; s++) {
        be_in (&o, s);
        assert_true (life_take (&o.life, LIFE_STOP, "signal"));
        assert_int_equal (o.life.state, LIFE_OVER);
        assert_int_equal (o.did, LIFE_STOP_LOOP);
    }
    be_in (&o, LIFE_OVER);
    o.true_guards = ~0u;
    for (enum life_event e = 0; e < LIFE_EVENTS; e++)
        nothing_happens (&o, e);
}

/* One takes the next state in its turn, for tests of whole lives. */
static void goes (struct owner *o, enum life_event event, unsigned guards,
                  enum life_action action, enum life_state to)
{
    o->true_guards = guards;
    o->did = LIFE_NO_ACTION;
    assert_true (life_take (&o->life, event, NULL));
    assert_int_equal (o->life.state, to);
    assert_int_equal (o->did, action);
}

#define ONCE (1u << LIFE_IF_ONCE)
#define SEARCHED (1u << LIFE_IF_SEARCHED)
#define SAID (1u << LIFE_IF_SAID)
#define NEW_WORD (1u << LIFE_IF_NEW_WORD)
#define ALL_JOINED (1u << LIFE_IF_ALL_JOINED)

/* DONE is said once, taken back when there is more, and said again; a ROLL ends
 * it.
 */
static void test_run (void **state)
{
    struct owner o;

    (void)state;
    be_in (&o, LIFE_STARTING);
    goes (&o, LIFE_OPENED, 0, LIFE_NO_ACTION, LIFE_COLLECTING);
    nothing_happens (&o, LIFE_NOTHING_LEFT);    // COMMANDs run
    goes (&o, LIFE_COMMANDS_ENDED, 0, LIFE_SEARCH_ALL, LIFE_DRAINING);
    o.actions = 0;
    nothing_happens (&o, LIFE_NOTHING_LEFT);    // not searched to the end
    goes (&o, LIFE_NOTHING_LEFT, SEARCHED, LIFE_SAY_DONE, LIFE_DONE_SAID);
    o.actions = 0;
    o.true_guards = SEARCHED | SAID;
    nothing_happens (&o, LIFE_NOTHING_LEFT);    // it has been said
    goes (&o, LIFE_NOTHING_LEFT, NEW_WORD, LIFE_SAY_DONE, LIFE_DONE_SAID);
    goes (&o, LIFE_FOUND_MORE, SAID, LIFE_TAKE_BACK, LIFE_TAKEN_BACK);
    o.actions = 0;
    nothing_happens (&o, LIFE_FOUND_MORE);      // taken back once
    goes (&o, LIFE_NOTHING_LEFT, SEARCHED, LIFE_SAY_DONE, LIFE_DONE_SAID);
    goes (&o, LIFE_COMMAND_RUNS, 0, LIFE_REOPEN, LIFE_COLLECTING);
    goes (&o, LIFE_COMMANDS_ENDED, 0, LIFE_SEARCH_ALL, LIFE_DRAINING);
    goes (&o, LIFE_ROLL, 0, LIFE_TAKE_ROLL, LIFE_ROLLED);
    o.actions = 0;
    nothing_happens (&o, LIFE_ROLL);            // said again and again
    goes (&o, LIFE_RELEASED, 0, LIFE_STOP_LOOP, LIFE_OVER);
}

/* With a service the agent ends by itself: not while wrappers may come, not if
 * the service has lost anything, and at the deadline in any case.
 */
static void test_served_run (void **state)
{
    struct owner o;

    (void)state;
    be_in (&o, LIFE_DONE_SAID);
    nothing_happens (&o, LIFE_WORD_HEARD);
    goes (&o, LIFE_WORD_HEARD, ALL_JOINED, LIFE_RELEASE, LIFE_ENDING);
    goes (&o, LIFE_LOST, 0, LIFE_FORGET_DONE, LIFE_TAKEN_BACK);
    o.actions = 0;
    o.true_guards = ALL_JOINED;
    nothing_happens (&o, LIFE_WORD_HEARD);      // of what is not true any more
    goes (&o, LIFE_NOTHING_LEFT, SEARCHED, LIFE_SAY_DONE, LIFE_DONE_SAID);
    goes (&o, LIFE_WORD_HEARD, ALL_JOINED, LIFE_RELEASE, LIFE_ENDING);
    goes (&o, LIFE_NOT_YET, SAID, LIFE_NO_ACTION, LIFE_DONE_SAID);
    goes (&o, LIFE_DEADLINE, 0, LIFE_RELEASE, LIFE_LATE);
    goes (&o, LIFE_FOUND_MORE, SAID, LIFE_TAKE_BACK, LIFE_LATE);
    o.actions = 0;
    nothing_happens (&o, LIFE_NOT_YET);         // there is no way back
    goes (&o, LIFE_RELEASED, 0, LIFE_STOP_LOOP, LIFE_OVER);
}

/* --once says no DONE before it ends, and so takes none back. */
static void test_once (void **state)
{
    struct owner o;

    (void)state;
    be_in (&o, LIFE_STARTING);
    goes (&o, LIFE_OPENED, ONCE, LIFE_NO_ACTION, LIFE_DRAINING);
    goes (&o, LIFE_NOTHING_LEFT, ONCE, LIFE_RELEASE, LIFE_ENDING);
    o.actions = 0;
    o.true_guards = ONCE;
    nothing_happens (&o, LIFE_NOTHING_LEFT);
    nothing_happens (&o, LIFE_FOUND_MORE);
    goes (&o, LIFE_NOT_YET, ONCE, LIFE_NO_ACTION, LIFE_DRAINING);
    goes (&o, LIFE_NOTHING_LEFT, ONCE, LIFE_RELEASE, LIFE_ENDING);
    goes (&o, LIFE_LOST, ONCE, LIFE_FORGET_DONE, LIFE_TAKEN_BACK);
    goes (&o, LIFE_NOTHING_LEFT, ONCE, LIFE_RELEASE, LIFE_ENDING);
    goes (&o, LIFE_RELEASED, ONCE, LIFE_STOP_LOOP, LIFE_OVER);
}

/* From the start each state is reached, or it is none. */
static void test_reached (void **state)
{
    size_t n;
    const struct life_edge *edges = life_edges (&n);
    bool reached[LIFE_STATES] = { [LIFE_STARTING] = true };

    (void)state;
    for (int pass = 0; pass < LIFE_STATES; pass++) {
        for (size_t i = 0; i < n; i++)
            reached[edges[i].to] |= reached[edges[i].from];
    }
    for (enum life_state s = 0; s < LIFE_STATES; s++)
        assert_true (reached[s]);
}

/* ---- the document ---- */

/* "done-said" for "done_said": a hyphen is no letter of a name in the graph. */
static void read_edge (const char *line, char text[256])
{
    (void)snprintf (text, 256, "%s", line + strspn (line, " "));
    text[strcspn (text, "\n")] = '\0';
    for (char *c = text; *c && *c != ':'; c++) {
        if (*c == '_')
            *c = '-';
    }
}

/* Each line of the graph is an edge, and each edge a line, in one order. */
static void test_document (void **state)
{
    FILE *f = fopen (STATES_DOCUMENT, "re");
    char line[256], drawn[256], edge[256];
    const struct life_edge *edges;
    size_t n, i = 0;
    bool inside = false;

    (void)state;
    assert_non_null (f);
    edges = life_edges (&n);
    while (fgets (line, sizeof (line), f)) {
        if (strncmp (line, "## ", 3) == 0)
            inside = strcmp (line, "## The life of an agent\n") == 0;
        if (!inside || !strstr (line, " --> ") || strstr (line, "[*]"))
            continue;
        assert_true (i < n);
        read_edge (line, drawn);
        name_edge (&edges[i++], edge);
        assert_string_equal (drawn, edge);
    }
    (void)fclose (f);
    assert_int_equal (i, n);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_edges),
        cmocka_unit_test (test_no_edge),
        cmocka_unit_test (test_stop),
        cmocka_unit_test (test_run),
        cmocka_unit_test (test_served_run),
        cmocka_unit_test (test_once),
        cmocka_unit_test (test_reached),
        cmocka_unit_test (test_document),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
