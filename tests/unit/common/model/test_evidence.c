/* tests/unit/common/model/test_evidence.c - evidence, and its document */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/evidence.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void fill (struct evidence *e)
{
    struct evidence_group *g;
    struct evidence_span *s;

    evidence_init (e);
    (void)strcpy (e->job, "night run");
    (void)strcpy (e->host_name, "node7");
    e->pid = 4711;
    e->boot_ns = INT64_C (1764246878131995320);
    e->mono_end_ns = INT64_MAX;
    e->world_at_least = 8;
    e->ranks.info = 3;
    e->schedule.warmup = 0;
    g = evidence_group_at (e, "9", 1);
    g->own = EVIDENCE_SEVERAL;
    g = evidence_group_at (e, "18446744073709551615", 20);
    g->own = 3;
    g->highest = 7;
    s = evidence_span_at (e, "10", 2);
    evidence_widen (s, -5, 7);
    s->host = true;
    s = evidence_span_at (e, "", 0);
    s->device = true;
    assert_int_equal (evidence_note_op (e, "10", 2, "9", "a", 1, INT64_MIN,
                                        1), 0);
    assert_int_equal (evidence_note_op (e, "10", 2, "9", "b", 1, INT64_MAX,
                                        -1), 0);
}

static char *print (const struct evidence *e)
{
    struct json *j = json_object ();
    char *text;

    evidence_to_json (e, j);
    text = json_print (j, false);
    json_free (j);
    assert_non_null (text);
    return text;
}

static int parse (struct evidence *e, const char *text, struct err *err)
{
    struct json *j = json_parse (text, strlen (text), NULL);
    int rc;

    assert_non_null (j);
    evidence_init (e);
    rc = evidence_from_json (e, json_get (j, "evidence"), err);
    json_free (j);
    return rc;
}

/* A step goes from its first event to its last one, in whatever order they
 * come: jobs are told apart by whether their steps overlap.
 */
static void test_widen (void **state)
{
    struct evidence e;
    struct evidence_span *s;

    (void)state;
    evidence_init (&e);
    s = evidence_span_at (&e, "10", 2);
    evidence_widen (s, 50, 60);
    assert_true (s->start_ns == 50 && s->end_ns == 60);
    evidence_widen (s, 70, 80);
    assert_true (s->start_ns == 50 && s->end_ns == 80);
    evidence_widen (s, 40, 45);
    assert_true (s->start_ns == 40 && s->end_ns == 80);
    assert_ptr_equal (evidence_span_at (&e, "10", 2), s);
    evidence_fini (&e);
}

/* What the node saw is what the aggregator judges by. */
static void test_round_trip (void **state)
{
    struct evidence e, back;
    char *text, *again;

    (void)state;
    fill (&e);
    text = print (&e);
    assert_int_equal (parse (&back, text, NULL), 0);
    again = print (&back);
    assert_string_equal (again, text);
    assert_string_equal (back.job, "night run");
    assert_true (back.boot_ns == e.boot_ns);
    assert_true (back.ranks.info == 3 && back.ranks.args == EVIDENCE_UNKNOWN);
    assert_true (back.schedule.warmup == 0);
    assert_int_equal (back.ngroups, 2);
    assert_int_equal (back.groups[0].highest, 7);
    assert_int_equal (back.groups[1].own, EVIDENCE_SEVERAL);
    assert_int_equal (back.nspans, 2);
    assert_true (back.spans[0].host && !back.spans[0].device);
    assert_true (back.spans[1].start_ns == INT64_MAX);
    assert_int_equal (back.nsamples, 1);
    assert_int_equal (back.samples->count, 2);
    free (text);
    free (again);
    evidence_fini (&e);
    evidence_fini (&back);
}

/* It comes from the wire. */
static void test_refused (void **state)
{
    static const char *const bad[] = {
        "[]", "{\"colour\":\"red\"}", "{\"pid\":1}", "{\"pid\":\"-1\"}",
        "{\"ranks.info\":\"-2\"}", "{\"groups\":[\"1\"]}",
        "{\"groups\":[\"x 2 3\"]}", "{\"groups\":[1]}",
        "{\"groups\":[\"0 0 123456789012345678901234\"]}",
        "{\"spans\":[\"1 2 3 0 10\"]}", "{\"spans\":[\"1 2\"]}",
        "{\"other\":[\"1\"]}", "{\"samples\":[{}]}",
        "{\"samples\":[\"1 g 1 1 5\"]}", "{\"samples\":[\"-1 g 1 1\"]}",
        "{\"samples\":[\"2 g 1 1\",\"1 g 1 1\"]}",
    };

    (void)state;
    for (size_t i = 0; i < sizeof (bad) / sizeof (bad[0]); i++) {
        char text[256];
        struct evidence e;
        struct err err = { "" };

        (void)snprintf (text, sizeof (text), "{\"evidence\":%s}", bad[i]);
        if (parse (&e, text, &err) != -EBADMSG)
            fail_msg ("accepted: %s", bad[i]);
        assert_true (err.text[0] != '\0');
        evidence_fini (&e);
    }
}

/* More ops than there is room for are no reason to write behind it. */
static void test_limits (void **state)
{
    struct evidence e;
    struct err err;
    char text[8192] = "{\"evidence\":{\"samples\":[\"1 g 1 99";

    (void)state;
    for (int i = 0; i <= EVIDENCE_OPS_MAX; i++)
        (void)snprintf (text + strlen (text), 24, " %d %d %d", i, i, i);
    (void)snprintf (text + strlen (text), 16, "\"]}}");
    assert_int_equal (parse (&e, text, &err), -EBADMSG);
    evidence_fini (&e);
}

/* Captures of the same ops keep the same ones, in whatever order they come:
 * those that the one kept and the other did not could not be compared.
 */
static void test_same_sample (void **state)
{
    struct evidence a, b;

    (void)state;
    evidence_init (&a);
    evidence_init (&b);
    for (int i = 0; i < 1000; i++) {
        char step[8], name[8], other[8], other_step[8];
        int n = snprintf (step, sizeof (step), "%d", i % 20);

        (void)snprintf (name, sizeof (name), "op%d", i);
        (void)evidence_note_op (&a, step, (size_t)n, "5", name, strlen (name),
                                i, i);
        n = snprintf (other_step, sizeof (other_step), "%d", (999 - i) % 20);
        (void)snprintf (other, sizeof (other), "op%d", 999 - i);
        (void)evidence_note_op (&b, other_step, (size_t)n, "5", other,
                                strlen (other), 999 - i, 999 - i);
    }
    assert_int_equal (a.nsamples, EVIDENCE_SAMPLES_MAX);
    assert_int_equal (b.nsamples, a.nsamples);
    for (uint32_t i = 0; i < a.nsamples; i++) {
        assert_true (a.samples[i].key == b.samples[i].key);
        assert_true (a.samples[i].names == b.samples[i].names);
        assert_int_equal (a.samples[i].count, 50);
        assert_int_equal (a.samples[i].n, EVIDENCE_OPS_MAX);
        assert_memory_equal (a.samples[i].ops, b.samples[i].ops,
                             sizeof (a.samples[i].ops));
    }
    evidence_fini (&a);
    evidence_fini (&b);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_round_trip), cmocka_unit_test (test_widen),
        cmocka_unit_test (test_refused),
        cmocka_unit_test (test_limits),
        cmocka_unit_test (test_same_sample),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
