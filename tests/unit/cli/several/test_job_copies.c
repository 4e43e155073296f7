/* tests/unit/cli/several/test_job_copies.c - what is made of the lists of several
 * aggregators, also of those that are none
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "several/job_copies.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PLACES 3

static const char *texts[PLACES];       // that they print
static int statuses[PLACES];
static char *asked;

struct place_answer *__wrap_places_ask (const struct cli_places *p,
                                        const struct json *request);

struct place_answer *__wrap_places_ask (const struct cli_places *p,
                                        const struct json *request)
{
    struct place_answer *a = calloc (p->n, sizeof (*a));

    free (asked);
    asked = json_print (request, false);
    for (size_t i = 0; i < p->n; i++) {
        a[i].place = &p->list[i];
        buf_init (&a[i].out, 1 << 20);
        buf_init (&a[i].said, 1 << 16);
        a[i].status = statuses[i];
        if (texts[i])
            buf_put (statuses[i] ? &a[i].said : &a[i].out, texts[i],
                     strlen (texts[i]));
    }
    return a;
}

static const struct command_spec command = { "rollcall jobs", "", "", NULL, 0 };
static struct cli_places places = {
    .list = { { "A", NULL }, { "B", NULL }, { "C", NULL } }, .n = PLACES,
};

static int teardown (void **state)
{
    (void)state;
    free (asked);
    asked = NULL;
    memset (texts, 0, sizeof (texts));
    memset (statuses, 0, sizeof (statuses));
    return 0;
}

#define JOB(name, captures, present, missing, built) \
    "{\"job\": \"" name "\", \"ranks\": " captures ", \"captures\": " captures \
    ", \"roll\": {\"present\": " present ", \"missing\": " missing "}, " \
    "\"built_at\": \"" built "\", \"result_bytes\": 5}"
#define LIST(jobs) "{\"jobs\": [" jobs "]}\n"

static void have (const char *a, const char *b, const char *c)
{
    texts[0] = a;
    texts[1] = b;
    texts[2] = c;
}

static void is_at (const struct job_copies *j, size_t i, const char *job,
                   const char *at)
{
    assert_true (i < j->n);
    assert_string_equal (j->list[i].job, job);
    assert_string_equal (j->list[i].place->name, at);
}

/* By name, and of one job the whole one first, then the newest. */
static void test_order (void **state)
{
    struct job_copies j;

    (void)state;
    have (LIST (JOB ("b", "2", "2", "2", "2026-02") ", "
                JOB ("a", "4", "4", "0", "2026-01")),
          LIST (JOB ("b", "4", "4", "0", "2026-01")),
          LIST (JOB ("a", "4", "4", "0", "2026-02") ", {\"job\": \"b\"}"));
    assert_int_equal (job_copies_ask (&command, &places, NULL, &j), 0);
    assert_int_equal (j.n, 5);
    is_at (&j, 0, "a", "C");
    is_at (&j, 1, "a", "A");
    assert_int_equal (job_copies_next (&j, 0), 2);
    is_at (&j, 2, "b", "B");
    is_at (&j, 3, "b", "A");
    is_at (&j, 4, "b", "C");
    assert_int_equal (job_copies_next (&j, 2), 5);
    assert_true (j.list[2].whole);
    assert_false (j.list[3].whole);
    assert_int_equal (j.list[3].in_roll, 4);
    assert_int_equal (j.list[4].present, -1);
    assert_int_equal (job_copies_compare (&j.list[0], &j.list[1]),
                      COPIES_SAME);
    assert_int_equal (job_copies_compare (&j.list[2], &j.list[3]),
                      COPIES_LACK);
    assert_int_equal (job_copies_tell (&command, &j), 0);
    job_copies_fini (&j);
}

/* As after a failover of a job whose number of ranks nobody knows. */
static void test_not_counted (void **state)
{
    struct job_copies j;

    (void)state;
    have (LIST ("{\"job\": \"a\", \"ranks\": 2, \"captures\": 2, \"built_at\": "
                "\"2026-02\", \"known_by\": \"guess\", \"roll\": "
                "{\"present\": 2}}"),
          LIST ("{\"job\": \"a\", \"ranks\": 3, \"captures\": 3, \"built_at\": "
                "\"2026-01\", \"known_by\": \"guess\", \"roll\": "
                "{\"present\": 3}}"), LIST (""));
    assert_int_equal (job_copies_ask (&command, &places, NULL, &j), 0);
    is_at (&j, 0, "a", "B");
    assert_int_equal (job_copies_compare (&j.list[0], &j.list[1]), COPIES_LACK);
    assert_int_equal (job_copies_tell (&command, &j), 0);
    job_copies_fini (&j);
}

static void test_contradict (void **state)
{
    struct job_copies j;
    const struct job_copy *copy;

    (void)state;
    have (LIST (JOB ("a", "4", "4", "0", "2026-01")),
          LIST (JOB ("a", "3", "3", "0", "2026-02")), LIST (""));
    assert_int_equal (job_copies_ask (&command, &places, NULL, &j), 0);
    assert_int_equal (job_copies_compare (&j.list[0], &j.list[1]),
                      COPIES_CONTRADICT);
    assert_int_equal (job_copies_tell (&command, &j), 1);
    job_copies_fini (&j);
    assert_int_equal (job_copies_find (&command, &places, "a", true, &j,
                                       &copy), EXIT_USAGE);
    job_copies_fini (&j);
    have (LIST ("{\"job\": \"a\", \"user\": \"x\"}"),
          LIST ("{\"job\": \"a\", \"user\": \"y\"}"), LIST (""));
    assert_int_equal (job_copies_ask (&command, &places, NULL, &j), 0);
    assert_int_equal (job_copies_tell (&command, &j), 1);
    job_copies_fini (&j);
}

#define RAW_OF(home) \
    "{\"job\": \"a\", \"ranks\": 9, \"captures\": 9, \"roll\": null, " \
    "\"home\": \"" home "\"}"

/* Who has only raw files of a divided job lacks nothing, and does not speak for
 * it, not even before it is built.
 */
static void test_divided (void **state)
{
    struct job_copies j;
    const struct job_copy *copy = NULL;

    (void)state;
    have (LIST (RAW_OF ("tcp://c:1")), LIST (RAW_OF ("tcp://c:1")),
          LIST ("{\"job\": \"a\", \"captures\": 4, \"home\": \"tcp://b:1\", "
                "\"raw_at\": \"tcp://a:1\"}"));
    assert_int_equal (job_copies_find (&command, &places, "a", false, &j,
                                       &copy), 0);
    assert_string_equal (copy->place->name, "C");
    assert_false (copy->raw_only);
    assert_int_equal (j.n, 3);
    assert_true (j.list[1].raw_only && j.list[2].raw_only);
    for (size_t i = 1; i < 3; i++)
        assert_int_equal (job_copies_compare (copy, &j.list[i]),
                          COPIES_DIVIDED);
    job_copies_fini (&j);
    // one that has stood in for the home has a result
    have (LIST (JOB ("a", "4", "4", "0", "2026-01")),
          LIST ("{\"job\": \"a\", \"captures\": 1, \"home\": \"tcp://c:1\", "
                "\"roll\": {\"present\": 1, \"missing\": 3}}"), LIST (""));
    assert_int_equal (job_copies_ask (&command, &places, NULL, &j), 0);
    assert_int_equal (job_copies_compare (&j.list[0], &j.list[1]),
                      COPIES_LACK);
    job_copies_fini (&j);
    // its rows are where nobody answers
    have (LIST (RAW_OF ("tcp://c:1")), LIST (""), NULL);
    statuses[2] = -EHOSTUNREACH;
    assert_int_equal (job_copies_find (&command, &places, "a", false, &j,
                                       &copy), 0);
    job_copies_fini (&j);
    assert_int_equal (job_copies_find (&command, &places, "a", true, &j,
                                       &copy), EX_UNAVAILABLE);
    job_copies_fini (&j);
}

static void silent_are (const struct job_copies *j, const char *shown)
{
    struct json_out out = { .comma = ", ", .colon = ": " };
    char *text = NULL;
    size_t n = 0;

    out.f = open_memstream (&text, &n);
    assert_non_null (out.f);
    job_copies_silent (j, &out);
    assert_int_equal (fclose (out.f), 0);
    assert_string_equal (text, shown);
    free (text);
}

/* Who did not answer, or only to the first question, is named once. */
static void test_silent (void **state)
{
    struct job_copies j;

    (void)state;
    have (LIST (JOB ("a", "4", "4", "0", "2026-01")), LIST (""), "x: no\n");
    statuses[2] = 74;
    assert_int_equal (job_copies_ask (&command, &places, NULL, &j), 0);
    assert_int_equal (j.away, 1);
    silent_are (&j, "\"not_answered\": [{\"at\": \"C\", \"reason\": \"no\"}]");
    job_copies_lost (&command, &j, &places.list[0], "it died");
    job_copies_lost (&command, &j, &places.list[0], "again");
    job_copies_lost (&command, &j, &places.list[2], "again");
    assert_int_equal (j.away, 2);
    silent_are (&j, "\"not_answered\": [{\"at\": \"A\", \"reason\": "
                    "\"it died\"}, {\"at\": \"C\", \"reason\": \"no\"}]");
    job_copies_fini (&j);
}

/* Whatever it is, it does not count, and the others do. */
static void test_garbage (void **state)
{
    static const char *const garbage[] = {
        "", "x", "[", "[]", "{\"jobs\": {}}", "{\"jobs\": 1}",
    };
    struct job_copies j;

    (void)state;
    for (size_t i = 0; i < sizeof (garbage) / sizeof (garbage[0]); i++) {
        have (garbage[i], LIST (JOB ("a", "4", "4", "0", "2026-01")), NULL);
        statuses[2] = -EHOSTUNREACH;
        assert_int_equal (job_copies_ask (&command, &places, NULL, &j), 0);
        assert_int_equal (j.n, 1);
        assert_int_equal (j.away, 2);
        assert_null (j.docs[0]);
        job_copies_fini (&j);
    }
    // no names; numbers that are none; one that is there three times
    have (LIST ("1, null, [], {}, {\"job\": \"\"}, {\"job\": \"a/b\"}, "
                "{\"job\": \"..\"}, {\"job\": 5}, "
                "{\"job\": \"a\", \"ranks\": \"x\", \"captures\": 1e300, "
                "\"roll\": {\"present\": 9007199254740991, "
                "\"missing\": 9007199254740991}, \"built_at\": [1]}, "
                "{\"job\": \"a\"}, {\"job\": \"a\"}"),
          LIST ("{\"job\": \"a\"}"), LIST (""));
    statuses[2] = 0;
    assert_int_equal (job_copies_ask (&command, &places, NULL, &j), 0);
    assert_int_equal (j.n, 2);
    assert_int_equal (j.strange, 10);
    assert_int_equal (j.list[0].captures, -1);
    assert_int_equal (job_copies_tell (&command, &j), 0);
    job_copies_fini (&j);
}

/* Why nobody answered is the exit status. */
static void test_nobody (void **state)
{
    struct job_copies j;

    (void)state;
    for (size_t i = 0; i < PLACES; i++)
        statuses[i] = -EHOSTUNREACH;
    assert_int_equal (job_copies_ask (&command, &places, NULL, &j),
                      EX_UNAVAILABLE);
    job_copies_fini (&j);
    statuses[0] = EX_NOPERM;
    texts[0] = "rollcall jobs: it is not yours\n";
    assert_int_equal (job_copies_ask (&command, &places, NULL, &j), EX_NOPERM);
    assert_string_equal (j.answers[0].why.text, "it is not yours");
    job_copies_fini (&j);
    statuses[0] = 137;
    assert_int_equal (job_copies_ask (&command, &places, NULL, &j),
                      EX_UNAVAILABLE);
    job_copies_fini (&j);
}

/* The name goes into an expression of SQL, and an answer may have others. */
static void test_find (void **state)
{
    const struct job_copy *copy = NULL;
    struct job_copies j;

    (void)state;
    have (LIST (JOB ("b", "4", "4", "0", "2026-01")),
          LIST (JOB ("a'b", "4", "4", "0", "2026-01")), NULL);
    statuses[2] = -ETIMEDOUT;
    assert_int_equal (job_copies_find (&command, &places, "a'b", true, &j,
                                       &copy), 0);
    assert_string_equal (copy->place->name, "B");
    assert_non_null (strstr (asked, "job='a''b'"));
    job_copies_fini (&j);
    // it may be where nobody answers
    assert_int_equal (job_copies_find (&command, &places, "c", true, &j, &copy),
                      EX_UNAVAILABLE);
    job_copies_fini (&j);
    have (LIST ("{\"job\": \"c\"}"), LIST (""), LIST (""));
    statuses[2] = 0;
    assert_int_equal (job_copies_find (&command, &places, "d", true, &j, &copy),
                      EX_NOINPUT);
    job_copies_fini (&j);
    assert_int_equal (job_copies_find (&command, &places, "c", true, &j, &copy),
                      EX_NOINPUT);
    job_copies_fini (&j);
    assert_int_equal (job_copies_find (&command, &places, "c", false, &j,
                                       &copy), 0);
    job_copies_fini (&j);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown (test_order, teardown),
        cmocka_unit_test_teardown (test_contradict, teardown),
        cmocka_unit_test_teardown (test_not_counted, teardown),
        cmocka_unit_test_teardown (test_divided, teardown),
        cmocka_unit_test_teardown (test_silent, teardown),
        cmocka_unit_test_teardown (test_garbage, teardown),
        cmocka_unit_test_teardown (test_nobody, teardown),
        cmocka_unit_test_teardown (test_find, teardown),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
