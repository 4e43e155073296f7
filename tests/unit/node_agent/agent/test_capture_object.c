/* tests/unit/node_agent/agent/test_capture_object.c - captures on their way
 *
 * Every edge of the table, and that nothing else changes anything; and that the
 * graph in doc/states.md (STATES_DOCUMENT) is of this table.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent/capture_object.h"

#include <stdio.h>
#include <string.h>

#define PATH "/d/a_ascend_pt"

static const struct find_id some_id = { .dev = 1, .ino = 2 };

static struct capture_object *the_object (const struct capture_objects *all)
{
    return capture_object_find (all, PATH);
}

/* By which events one comes there from the start. */
static void be_in (struct capture_objects *all, enum object_state state)
{
    static const enum object_event by[] = {
        [OBJECT_WAITING] = OBJECT_NO_ROOM,
        [OBJECT_QUEUED] = OBJECT_HANDED_ON,
        [OBJECT_FAILED] = OBJECT_SEAL_FAILED,
    };

    memset (all, 0, sizeof (*all));
    if (state != OBJECT_FOUND)
        assert_true (capture_object_take (all, PATH, by[state], NULL));
}

static const struct object_edge *edge_of (enum object_state from,
                                          enum object_event event)
{
    size_t n;
    const struct object_edge *edges = object_edges (&n), *found = NULL;

    for (size_t i = 0; i < n; i++) {
        if (edges[i].from != from || edges[i].event != event)
            continue;
        assert_null (found);    // a second one is never followed
        found = &edges[i];
    }
    return found;
}

/* An open state has an object, and no other has: it would never go. */
static void test_table (void **state)
{
    (void)state;
    for (enum object_state s = 0; s <= OBJECT_LAST_OPEN; s++) {
        for (enum object_event e = 0; e < OBJECT_EVENTS; e++) {
            const struct object_edge *edge = edge_of (s, e);
            struct capture_objects all;
            const struct capture_object *c;

            be_in (&all, s);
            assert_int_equal (edge != NULL,
                              capture_object_take (&all, PATH, e, NULL));
            c = the_object (&all);
            if (!edge)
                assert_true (c ? c->state == s
                               : s == OBJECT_FOUND);
            else if (edge->to > OBJECT_LAST_OPEN)
                assert_null (c);
            else
                assert_int_equal (c->state, edge->to);
            capture_object_forget_all (&all);
            assert_null (all.first);
            assert_null (all.last);
            assert_null (all.by_path);
        }
    }
    for (enum object_state s = OBJECT_LAST_OPEN + 1; s < OBJECT_STATES; s++) {
        for (enum object_event e = 0; e < OBJECT_EVENTS; e++)
            assert_null (edge_of (s, e));
    }
}

/* It counts as one that failed until it is sealed, also while it is tried
 * again: else an end in that moment would call all of it delivered.
 */
static void test_failed (void **state)
{
    struct capture_objects all = { .level = LOG_LEVEL_DEBUG };
    struct err why = { "no space" }, other = { "no memory" };
    struct capture_object *c;
    bool first = false;

    (void)state;
    assert_true (capture_object_take (&all, PATH, OBJECT_HANDED_ON, NULL));
    assert_false (capture_object_has_failed (&all, PATH));
    c = capture_object_fail (&all, PATH, &some_id, &why, &first);
    assert_non_null (c);
    assert_true (first);
    assert_int_equal (c->id.ino, 2);
    assert_true (capture_object_take (&all, PATH, OBJECT_HANDED_ON, NULL));
    assert_true (capture_object_has_failed (&all, PATH));
    assert_int_equal (all.failed, 1);
    c = capture_object_fail (&all, PATH, &some_id, &other, &first);
    assert_false (first);       // it is told of once
    assert_string_equal (c->why.text, "no memory");
    assert_int_equal (all.failed, 1);
    assert_true (capture_object_take (&all, PATH, OBJECT_HANDED_ON, NULL));
    assert_true (capture_object_take (&all, PATH, OBJECT_IS_SEALED, NULL));
    assert_int_equal (all.failed, 0);
    assert_false (capture_object_has_failed (&all, PATH));
}

/* In the order in which they came; those that did not fail are passed over. */
static void test_order (void **state)
{
    static const char *const paths[] = { "/c", "/b", "/a", "/d" };
    struct capture_objects all = { .level = LOG_LEVEL_DEBUG };
    struct err why = { "no space" };
    const struct capture_object *c;
    bool first;

    (void)state;
    for (int i = 0; i < 4; i++)
        assert_true (capture_object_take (&all, paths[i], OBJECT_HANDED_ON,
                                          NULL));
    for (int i = 3; i >= 0; i--) {
        if (i != 1)
            assert_non_null (capture_object_fail (&all, paths[i], &some_id,
                                                  &why, &first));
    }
    c = capture_object_next_failed (&all, NULL);
    assert_string_equal (c->path, "/c");
    c = capture_object_next_failed (&all, c);
    assert_string_equal (c->path, "/a");
    assert_true (capture_object_take (&all, "/d", OBJECT_GONE, NULL));
    assert_null (capture_object_next_failed (&all, c));
    assert_true (capture_object_take (&all, "/c", OBJECT_GONE, NULL));
    c = capture_object_next_failed (&all, NULL);
    assert_string_equal (c->path, "/a");
    assert_int_equal (all.failed, 1);
    capture_object_forget_all (&all);
    assert_int_equal (all.failed, 0);
}

/* What the sealer gives back after it was forgotten is no new object, unless
 * it failed: that has to be tried again.
 */
static void test_forgotten (void **state)
{
    struct capture_objects all = { .level = LOG_LEVEL_DEBUG };
    struct err why = { "" };
    bool first;

    (void)state;
    assert_false (capture_object_take (&all, PATH, OBJECT_IS_SEALED, NULL));
    assert_null (the_object (&all));
    assert_non_null (capture_object_fail (&all, PATH, &some_id, &why, &first));
    // a reason that is not told is one, too
    assert_true (capture_object_has_failed (&all, PATH));
    capture_object_forget_all (&all);
}

/* Each line of the graph is an edge, and each edge a line, in one order. */
static void test_document (void **state)
{
    FILE *f = fopen (STATES_DOCUMENT, "re");
    const struct object_edge *edges;
    char line[256], edge[256];
    bool inside = false;
    size_t n, i = 0;

    (void)state;
    assert_non_null (f);
    edges = object_edges (&n);
    while (fgets (line, sizeof (line), f)) {
        if (strncmp (line, "## ", 3) == 0)
            inside = strcmp (line, "## A capture, from found to sealed\n") == 0;
        if (!inside || !strstr (line, " --> ") || strstr (line, "[*]"))
            continue;
        assert_true (i < n);
        (void)snprintf (edge, sizeof (edge), "    %s --> %s: %s\n",
                        object_state_name (edges[i].from),
                        object_state_name (edges[i].to),
                        object_event_name (edges[i].event));
        assert_string_equal (line, edge);
        i++;
    }
    (void)fclose (f);
    assert_int_equal (i, n);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_table),
        cmocka_unit_test (test_failed),
        cmocka_unit_test (test_order),
        cmocka_unit_test (test_forgotten),
        cmocka_unit_test (test_document),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
