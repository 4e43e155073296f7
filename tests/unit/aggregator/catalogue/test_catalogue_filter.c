/* tests/unit/aggregator/catalogue/test_catalogue_filter.c - which jobs a filter
 * has, and what an expression may not do
 */
#include "aggregator/catalogue/catalogue_check.h"

#include "store/db.h"

#define S INT64_C (1000000000)
#define BEGAN (1764000000 * S)  // the job of make_result
#define CAME (1765000000 * S)
#define WHERE(text) (struct catalogue_filter) { .where = (text) }

static void fill (struct root *r)
{
    add_job (r, "a", 1000 * S);
    add_job (r, "b", 2000 * S);
    add_job (r, "c", CAME);
    add_fact (r, "a", FACT_USER, "me");
    add_fact (r, "b", FACT_USER, "you");
    add_fact (r, "b", FACT_TAG, "night");
    add_fact (r, "c", FACT_TAG, "nightly");
    publish_job (r, make_result (), "c");
}

static void test_chosen (void **state)
{
    struct root *r = *state;
    struct opened o;

    fill (r);
    o = open_catalogue (r);
#define HAS(want, ...) assert_string_equal (names (o.c, \
    (struct catalogue_filter){ __VA_ARGS__ }), want)
    HAS ("a b c ", .job = NULL);
    HAS ("b ", .job = "b");
    HAS ("a ", .user = "me");
    HAS ("b ", .tag = "night");         // no part of a tag
    HAS ("c ", .host = "n1");
    HAS ("b c ", .since_ns = 2000 * S);
    HAS ("c ", .since_ns = BEGAN + S);  // it came later
    HAS ("", .since_ns = CAME + S);
    HAS ("", .since_ns = 2000 * S, .user = "me");
    HAS ("c ", .where = "step_ms > 99 AND high = 1");
    HAS ("a b ", .where = "present IS NULL");
    HAS ("a c ", .where = "job IN ('a', 'c') OR tags LIKE '%,x'");
    HAS ("a ", .where = "first_received < '1970-01-01T00:20'");
    HAS ("", .where = "0");
    close_catalogue (&o);
}

static int count (void *arg, const struct catalogue_job *j)
{
    (void)j;
    ++*(size_t *)arg;
    return 0;
}

/* It computes with the columns, and does nothing else. */
static void test_refused (void **state)
{
    static const char *const bad[] = {
        "foo = 1", "user = \"me\"", "1; DROP TABLE job_row", "1) OR (",
        "1) UNION SELECT (1", "job IN (SELECT name FROM job_row)",
        "job IN (SELECT job FROM job)", "EXISTS (SELECT 1 FROM sqlite_schema)",
        "load_extension('x')", ")", "'", "max(step_ms) > 1", "user = ?9",
        "", "1 LIMIT 1; --", "1) OR (1", "1) AND (1", "1 /*",
        "1, 1", "1) ELSE 0 END OR CASE WHEN 1 THEN (1", "*", "abs(-9223372036854775808)",
        // an index is asked without a SELECT
        "((NULL,'n1',NULL,NULL,NULL) IN host) IS NULL", "'n1' IN host",
        "length(hex(randomblob(1000000))) > 0", "zeroblob(2000000) > 0",
    };
    struct root *r = *state;
    struct opened o;

    fill (r);
    o = open_catalogue (r);
    for (size_t i = 0; i < sizeof (bad) / sizeof (bad[0]); i++) {
        struct catalogue_filter f = { .where = bad[i] };
        struct err err = { "" };
        size_t n = 0;

        assert_int_equal (catalogue_each (o.c, &f, count, &n, &err), -EINVAL);
        assert_int_equal (n, 0);
        assert_true (err.text[0] != '\0');
    }
    assert_non_null (strstr (names (o.c, WHERE ("usr='me'")),
                             "no such column: usr"));
    assert_non_null (strstr (names (o.c, WHERE ("usr='me'")), "step_ms"));
    assert_string_equal (names (o.c, WHERE ("1")), "a b c ");
    close_catalogue (&o);
}

/* Whatever an expression is, or is not: it sees no job of others. */
static void test_visible (void **state)
{
    static const char *const breaks_out[] = {
        "1) ELSE 0 END OR CASE WHEN 1 THEN (1", "1) OR (1", "0) OR NOT (0",
        "1) THEN 1 ELSE 1 END) OR (CASE WHEN (1", "1 OR 1",
        "1) OR 1 --", "1) OR 1 /*", "1 /*", "1 */", "1) ORDER BY job --",
        "1) LIMIT 9 --", "') OR ('", "'1') OR ('1", "\"job\") OR (\"job\"",
        "1) UNION VALUES ('b', 1, 1", "1) FROM job WHERE (1", "*", "job.*",
        "1, 1", "1) AS x, (1", "1 AS x", "1 FROM job --", "1;", "1; --",
        "abs(iif(job='b', -9223372036854775807-1, 1)) > 0",
        "1) AND 1=abs(iif(job='b', -9223372036854775807-1, 1)) OR (1",
    };
    static const char *const good[] = {
        "1", "1 -- all", "1 /* all */", "(1) OR (1)", "job LIKE '%)%' OR 1",
        "CASE WHEN 1 THEN 1 ELSE 0 END", "tags <> ') OR (' /* ) */",
    };
    struct root *r = *state;
    struct opened o;

    fill (r);
    o = open_catalogue (r);
    catalogue_show_only (o.c, "me");
    assert_string_equal (names (o.c, WHERE ("1")), "");  // it is not built
    close_catalogue (&o);
    all_built (r, "a");
    o = open_catalogue (r);
    catalogue_show_only (o.c, "me");
    for (size_t i = 0; i < sizeof (breaks_out) / sizeof (*breaks_out); i++) {
        struct catalogue_filter f = { .where = breaks_out[i] };
        struct err err = { "" };
        size_t n = 0;
        int rc = catalogue_each (o.c, &f, count, &n, &err);

        if (rc == 0 ? strpbrk (names (o.c, f), "bc") != NULL : rc != -EINVAL)
            fail_msg ("%s: %s", f.where, rc ? err.text : names (o.c, f));
    }
    for (size_t i = 0; i < sizeof (good) / sizeof (*good); i++)
        assert_string_equal (names (o.c, WHERE (good[i])), "a ");
    close_catalogue (&o);
}

static void test_since (void **state)
{
    static const struct {
        const char *text;
        int64_t want_s;
    } good[] = {
        { "2026-11-01", 1793491200 }, { "2026-11-01T01:00Z", -1 },
        { "2026-11-01T01:00:00Z", 1793494800 },
        { "2026-11-01 01:00", 1793494800 },
        { "7d", 1800000000 - 7 * 86400 }, { "2w", 1800000000 - 14 * 86400 },
        { "12h", 1800000000 - 12 * 3600 }, { "90m", 1800000000 - 5400 },
        { "30s", 1800000000 - 30 },
    };
    static const char *const bad[] = { "", "7", "d", "-1d", "yesterday",
                                       "2026-13-01", "2026-11-01x", "7 d",
                                       "9999999999999d", "1.5d" };
    int64_t ns;

    (void)state;
    for (size_t i = 0; i < sizeof (good) / sizeof (good[0]); i++) {
        if (good[i].want_s < 0)
            continue;
        assert_int_equal (catalogue_since (good[i].text, 1800000000 * S, &ns),
                          0);
        assert_int_equal (ns, good[i].want_s * S);
    }
    for (size_t i = 0; i < sizeof (bad) / sizeof (bad[0]); i++)
        assert_int_equal (catalogue_since (bad[i], 1800000000 * S, &ns),
                          -EINVAL);
}

static int add_part (void *arg, const struct catalogue_part *p)
{
    char *text = arg;
    size_t used = strlen (text);

    (void)snprintf (text + used, 256 - used, "%s%s %lld %.1f, ", p->name,
                    p->severity, (long long)p->n, p->value);
    return 0;
}

static void test_parts (void **state)
{
    static const char *const want[] = {
        [CATALOGUE_HOSTS] = "n0 2 70.0, n1 1 nan, ",
        [CATALOGUE_LINKS] = "HCCS 1 20.0, ", [CATALOGUE_GROUPS] = "",
        [CATALOGUE_FINDINGS] = "slow_rankhigh 1 30.0, ",
    };
    struct root *r = *state;
    struct opened o;

    fill (r);
    o = open_catalogue (r);
    for (unsigned k = 0; k < sizeof (want) / sizeof (want[0]); k++) {
        char text[256] = "";

        assert_int_equal (catalogue_each_part (o.c, "c", k, add_part, text,
                                               NULL), 0);
        assert_string_equal (text, want[k]);
    }
    close_catalogue (&o);
}

/* What a copy in memory takes already is none of an expression's. */
static void test_memory (void **state)
{
    struct catalogue_filter f = { .where = "1" };
    struct catalogue *c;
    int64_t used;

    (void)state;
    assert_int_equal (catalogue_open_copy (&c, NULL), 0);
    used = sqlite3_memory_used ();
    assert_true (used > 0);
    assert_int_equal (catalogue_check (c, &f, NULL), 0);
    assert_true (sqlite3_hard_heap_limit64 (-1) >= used + (256 << 20));
    (void)sqlite3_hard_heap_limit64 (0);
    catalogue_close (c);
}

/* The largest numbers have room: an aggregator may send any. */
static void test_roll (void **state)
{
    const struct catalogue_job j = {
        .in_roll = INT64_MIN, .present = INT64_MAX, .missing = INT64_MAX,
        .failed = INT64_MAX, .partial = INT64_MAX, .raw = INT64_MAX,
        .unexpected = INT64_MAX,
    };
    char text[2 * CATALOGUE_ROLL_MAX] = "";

    (void)state;
    catalogue_roll (&j, text);
    assert_true (strlen (text) < CATALOGUE_ROLL_MAX);
    assert_non_null (strstr (text, "9223372036854775807 unexpected"));
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        ROOT_TEST (test_chosen), ROOT_TEST (test_refused),
        ROOT_TEST (test_visible),
        cmocka_unit_test (test_roll),
        cmocka_unit_test (test_since), cmocka_unit_test (test_memory), ROOT_TEST (test_parts),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
