/* tests/unit/aggregator/select/test_select_steps.c - has each rank all its
 * steps */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "select/select_steps.h"

#include "builder/tables.h"
#include "store/db.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SEC INT64_C (1000000000)
#define T0 (1000000 * SEC)      // when step 0 was, of 1 s each
#define ITEMS 8

struct job {
    struct select_item items[ITEMS];
    size_t n;
};

/* A capture of a window, from the start of step 'first' to the end of 'last',
 * and half a second.
 */
static struct select_item *add (struct job *j, int64_t rank, int first,
                                int last)
{
    struct select_item *item = &j->items[j->n++];
    struct capture *c = &item->capture;

    *item = (struct select_item){ .rank = rank };
    capture_init (c);
    c->state = CAPTURE_COMPLETE;
    c->rank = rank;
    c->started_ns = T0 + first * SEC - SEC / 2;
    c->ended_ns = T0 + (last + 1) * SEC + SEC / 2;
    c->evidence.schedule = (struct evidence_schedule){ 0, 0, 1, 4, 1 };
    return item;
}

static void add_steps (struct select_item *item, const int *steps, bool times)
{
    for (; *steps >= 0; steps++) {
        char id[24];
        int n = snprintf (id, sizeof (id), "%d", *steps);
        struct evidence_span *s;

        assert_int_equal (capture_note_step (&item->capture, id, (size_t)n),
                          0);
        s = evidence_span_at (&item->capture.evidence, id, (size_t)n);
        s->device = true;
        if (times)
            evidence_widen (s, T0 + *steps * SEC, T0 + (*steps + 1) * SEC);
    }
}

#define STEPS(...) (const int[]){ __VA_ARGS__, -1 }

/* Four steps from 10 on, of as many ranks. */
static void add_whole (struct job *j, int ranks)
{
    for (int i = 0; i < ranks; i++)
        add_steps (add (j, i, 10, 13), STEPS (10, 11, 12, 13), true);
}

static void check (struct job *j)
{
    assert_int_equal (select_check_steps (j->items, j->n), 0);
}

static void fini (struct job *j)
{
    select_free (j->items, j->n);
    *j = (struct job){ .n = 0 };
}

static bool says (const struct select_item *item, const char *text)
{
    return strstr (item->capture.reason, text) != NULL;
}

/* None of these is partial, and nothing is said. */
static void check_whole (struct job *j)
{
    check (j);
    for (size_t i = 0; i < j->n; i++) {
        assert_int_equal (j->items[i].capture.state, CAPTURE_COMPLETE);
        assert_string_equal (j->items[i].capture.reason, "");
    }
    fini (j);
}

static void test_hole (void **state)
{
    struct job j = { .n = 0 };

    (void)state;
    add_whole (&j, 2);
    add_steps (add (&j, 2, 10, 13), STEPS (10, 11, 13), false);
    check (&j);
    assert_int_equal (j.items[0].capture.state, CAPTURE_COMPLETE);
    assert_int_equal (j.items[2].capture.state, CAPTURE_PARTIAL);
    assert_true (says (&j.items[2], "step 12 is not in it, though other ranks "
                                    "have it"));
    fini (&j);
    add_whole (&j, 2);
    add_steps (add (&j, 2, 10, 13), STEPS (10, 13), false);
    check (&j);
    assert_true (says (&j.items[2], "steps 11, 12 are not in it"));
    fini (&j);
}

static void test_no_hole (void **state)
{
    struct job j = { .n = 0 };
    struct evidence_span *s;

    (void)state;
    // all have it
    for (int i = 0; i < 3; i++)
        add_steps (add (&j, i, 10, 13), STEPS (10, 11, 13), true);
    check_whole (&j);
    // the host was at it, and the device did nothing
    add_whole (&j, 2);
    add_steps (add (&j, 2, 10, 13), STEPS (10, 11, 13), true);
    s = evidence_span_at (&j.items[2].capture.evidence, "12", 2);
    s->host = true;
    check_whole (&j);
    // another capture of the rank has it
    add_whole (&j, 2);
    add_steps (add (&j, 2, 10, 13), STEPS (10, 11, 13), true);
    add_steps (add (&j, 2, 12, 12), STEPS (12), true);
    check_whole (&j);
    // every third step only, and two of many
    add_whole (&j, 2);
    add_steps (&j.items[0], STEPS (14, 15, 16, 17, 18, 19), false);
    add_steps (&j.items[1], STEPS (14, 15, 16, 17, 18, 19), false);
    add_steps (add (&j, 2, 10, 10), STEPS (10, 13, 16, 19), false);
    add_steps (add (&j, 3, 10, 10), STEPS (10, 19), false);
    check_whole (&j);
    // alone
    add_steps (add (&j, 0, 10, 13), STEPS (10, 11, 13), true);
    check_whole (&j);
}

/* Only if the capture was made while others of its schedule were at it. */
static void test_ends (void **state)
{
    struct job j = { .n = 0 };

    (void)state;
    for (int last = 0; last < 2; last++) {
        add_whole (&j, 2);
        add_steps (add (&j, 2, 10, 13),
                   last ? STEPS (10, 11, 12) : STEPS (11, 12, 13), true);
        check (&j);
        assert_int_equal (j.items[2].capture.state, CAPTURE_PARTIAL);
        assert_true (says (&j.items[2], last ? "step 13 is" : "step 10 is"));
        fini (&j);
        // it ended before, or began later
        add_whole (&j, 2);
        add_steps (add (&j, 2, last ? 10 : 11, last ? 12 : 13),
                   last ? STEPS (10, 11, 12) : STEPS (11, 12, 13), true);
        check_whole (&j);
    }
    // another schedule, one that is not known, no times
    add_whole (&j, 2);
    add_steps (add (&j, 2, 10, 13), STEPS (10, 11, 12), true);
    j.items[2].capture.evidence.schedule.active = 3;
    check_whole (&j);
    for (int i = 0; i < 3; i++) {
        add_steps (add (&j, i, 10, 13),
                   i ? STEPS (10, 11, 12, 13) : STEPS (10, 11, 12), true);
        j.items[i].capture.evidence.schedule.active = EVIDENCE_UNKNOWN;
    }
    check_whole (&j);
    add_whole (&j, 2);
    add_steps (add (&j, 2, 10, 13), STEPS (10, 11, 12), false);
    check_whole (&j);
}

/* The clock of a host is an hour ahead. */
static void test_clocks (void **state)
{
    struct job j = { .n = 0 };
    struct capture *c;

    (void)state;
    add_whole (&j, 2);
    c = &add (&j, 2, 10, 12)->capture;
    add_steps (&j.items[2], STEPS (10, 11, 12), true);
    c->started_ns += 3600 * SEC;
    c->ended_ns += 3600 * SEC;
    for (uint32_t i = 0; i < c->evidence.nspans; i++) {
        c->evidence.spans[i].start_ns += 3600 * SEC;
        c->evidence.spans[i].end_ns += 3600 * SEC;
    }
    check_whole (&j);
}

static void test_windows (void **state)
{
    struct job j = { .n = 0 };

    (void)state;
    add_whole (&j, 3);
    add_steps (add (&j, 3, 40, 42), STEPS (40, 41, 42), true);
    check (&j);
    assert_int_equal (j.items[3].capture.state, CAPTURE_COMPLETE);
    assert_true (says (&j.items[3], "its steps (40 to 42) are not"));
    assert_string_equal (j.items[0].capture.reason, "");
    fini (&j);
}

/* Rows of a rank's steps from 10 on, and what is marked of them. */
static void check_edges (int64_t warmup, const int *ms, bool leave_out,
                         const char *marked)
{
    struct select_item item = { .rank = 3 };
    struct err err = { "" };
    sqlite3 *db;
    char text[64] = "";
    sqlite3_stmt *st;

    capture_init (&item.capture);
    item.capture.state = CAPTURE_COMPLETE;
    item.capture.evidence.schedule.warmup = warmup;
    assert_int_equal (sqlite3_open (":memory:", &db), SQLITE_OK);
    assert_int_equal (db_exec (db, "CREATE TABLE StepTraceTime (step TEXT,"
                                   " computing, communication_not_overlapped,"
                                   " free, rank, capture);"
                                   "CREATE TABLE StepExtra (step TEXT, rank,"
                                   " capture);"
                                   "INSERT INTO StepExtra (rowid, step, rank,"
                                   " capture) VALUES (4<<32, '10', 3, 4);"
                                   "CREATE TABLE LeftOut (capture, rank, step,"
                                   " reason)", &err), 0);
    for (int i = 0; ms[i] >= 0; i++)
        assert_int_equal (db_execf (db, &err, "INSERT INTO StepTraceTime "
                                    "VALUES ('%d', %d, 0, 5, 3, 4)", 10 + i,
                                    1000 * ms[i]), 0);
    select_sort (&item, 1);
    assert_int_equal (select_mark_edges (db, &item, 1, leave_out, &err), 0);
    assert_int_equal (db_prepare (db, "SELECT group_concat(step) FROM (SELECT "
                                      "step FROM StepExtra WHERE "
                                      "profiler_edge=1 ORDER BY step)", &st,
                                  &err), 0);
    assert_int_equal (sqlite3_step (st), SQLITE_ROW);
    if (sqlite3_column_text (st, 0))
        (void)snprintf (text, sizeof (text), "%s",
                        (const char *)sqlite3_column_text (st, 0));
    (void)sqlite3_finalize (st);
    assert_string_equal (text, marked);
    assert_int_equal (db_int (db, "SELECT count(*) FROM LeftOut", -1) > 0,
                      leave_out && *marked);
    (void)sqlite3_close (db);
    capture_fini (&item.capture);
}

static void test_edges (void **state)
{
    (void)state;
    check_edges (0, STEPS (300, 100, 101, 99, 100), true, "10");
    check_edges (0, STEPS (300, 100, 101, 99, 100), false, "10");
    check_edges (0, STEPS (100, 101, 99, 100, 300), true, "14");
    check_edges (0, STEPS (300, 101, 99, 100, 300), true, "10,14");
    check_edges (0, STEPS (300, 100, 101, 99), true, "10");
    check_edges (0, STEPS (300, 100, 101), true, "");       // too few others
    check_edges (0, STEPS (100, 300, 101, 99, 100), true, "");
    check_edges (0, STEPS (300, 100, 200, 150, 250), true, "");
    check_edges (0, STEPS (105, 100, 100, 100, 100), true, "");
    check_edges (1, STEPS (300, 100, 101, 99, 100), true, "");
    check_edges (EVIDENCE_UNKNOWN, STEPS (300, 100, 101, 99, 100), true, "");
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_hole),    cmocka_unit_test (test_no_hole),
        cmocka_unit_test (test_ends),    cmocka_unit_test (test_clocks),
        cmocka_unit_test (test_windows), cmocka_unit_test (test_edges),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
