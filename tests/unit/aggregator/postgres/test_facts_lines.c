/* tests/unit/aggregator/postgres/test_facts_lines.c - facts of jobs as lines, also
 * of those who say what they like
 */
#include "aggregator/catalogue/catalogue_check.h"

#include "postgres/facts_lines.h"
#include "store/db.h"
#include "trend/trend.h"

#include <errno.h>
#include <math.h>
#include <string.h>

static const struct catalogue_filter all = { .job = NULL };
static const char *left_out;    // a job that is not wanted

static bool is_wanted (void *arg, const char *job, const char **path)
{
    (void)arg;
    *path = "/here/analysis.db";
    return !left_out || strcmp (job, left_out) != 0;
}

static char *lines_of (struct root *r)
{
    struct opened o = open_catalogue (r);
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream (&text, &size);
    struct err err = { "" };

    assert_non_null (f);
    if (facts_lines_print (o.c, &all, FACTS_TREND, f, &err) < 0)
        fail_msg ("%s", err.text);
    assert_int_equal (fclose (f), 0);
    close_catalogue (&o);
    return text;
}

/* What the last line gives, after all others. */
static int take_lines (struct facts_lines *x, const char *text)
{
    char *copy = strdup (text), *save = NULL;
    struct err err = { "" };
    int rc = 0;

    assert_non_null (copy);
    for (char *l = strtok_r (copy, "\n", &save); l && rc == 0;
         l = strtok_r (NULL, "\n", &save))
        rc = facts_lines_take (x, l, &err);
    free (copy);
    return rc;
}

struct other {
    struct catalogue *c;
    struct facts_lines lines;
};

static void begin (struct other *o)
{
    assert_int_equal (catalogue_open_copy (&o->c, NULL), 0);
    assert_int_equal (facts_lines_begin (&o->lines, o->c, is_wanted, NULL,
                                         NULL), 0);
}

static int take_root (struct other *o, const char *text)
{
    int rc;

    assert_int_equal (facts_lines_begin_root (&o->lines, NULL), 0);
    rc = take_lines (&o->lines, text);
    assert_int_equal (facts_lines_end_root (&o->lines, rc == 0, NULL), 0);
    return rc;
}

static struct trend trend_of (struct catalogue *c)
{
    struct trend t;
    struct err err = { "" };

    if (trend_read (c, &all, TREND_HOST, true, &t, &err) < 0)
        fail_msg ("%s", err.text);
    return t;
}

static void end (struct other *o)
{
    assert_int_equal (facts_lines_end (&o->lines, NULL), 0);
}

static void fill (struct root *r)
{
    static const char *const names[] = { "a", "b" };

    for (int i = 0; i < 2; i++) {
        struct job *j = make_result ();

        run (j, i == 0 ? "UPDATE StepTraceTime SET computing=computing/3" : "");
        add_job (r, names[i], 5);
        publish_job (r, j, names[i]);
    }
    add_fact (r, "a", FACT_TAG, "x");
}

static int count (struct catalogue *c, const char *table)
{
    char sql[128];

    (void)snprintf (sql, sizeof (sql), "SELECT count(*) FROM %s", table);
    return (int)db_int (catalogue_db (c), sql, -1);
}

/* The same numbers, to the last bit, from the copy. */
static void test_same (void **state)
{
    struct other o;
    struct opened from;
    struct trend want, got;
    char *text;

    fill (*state);
    text = lines_of (*state);
    begin (&o);
    assert_int_equal (take_root (&o, text), 0);
    end (&o);
    from = open_catalogue (*state);
    want = trend_of (from.c);
    got = trend_of (o.c);
    assert_int_equal (got.jobs, 2);
    assert_int_equal (got.nrows, want.nrows);
    assert_int_equal (got.nback, want.nback);
    for (size_t i = 0; i < want.nrows; i++) {
        assert_string_equal (got.rows[i].key, want.rows[i].key);
        assert_memory_equal (&got.rows[i].step_ms, &want.rows[i].step_ms,
                             sizeof (double));
        assert_int_equal (got.rows[i].first_ns, want.rows[i].first_ns);
    }
    assert_int_equal (got.npoints, 2);
    assert_string_equal (got.points[0].tags, want.points[0].tags);
    trend_fini (&want);
    trend_fini (&got);
    close_catalogue (&from);
    catalogue_close (o.c);
    free (text);
}

/* Two roots give the same numbers to their jobs; of what is not wanted, and not
 * whole, nothing stays.
 */
static void test_roots (void **state)
{
    struct other o;
    char *text, *cut;
    int hosts;

    fill (*state);
    text = lines_of (*state);
    begin (&o);
    left_out = "b";
    assert_int_equal (take_root (&o, text), 0);
    hosts = count (o.c, "host");
    assert_true (hosts > 0);
    left_out = "a";
    cut = strdup (text);
    assert_non_null (cut);
    *strrchr (cut, ',') = '\0';
    assert_int_equal (take_root (&o, cut), -EBADMSG);
    assert_int_equal (count (o.c, "job_row"), 1);
    assert_int_equal (take_root (&o, text), 0);
    left_out = NULL;
    assert_int_equal (count (o.c, "job_row"), 2);
    assert_int_equal (count (o.c, "host"), 2 * hosts);
    end (&o);
    catalogue_close (o.c);
    free (cut);
    free (text);
}

static void test_bad (void **state)
{
    static const char *const texts[] = {
        "", "{}", "[]", "[\"job\",\"1\"]", "[\"facts\",\"0\"]",
        "[\"facts\",\"1\"]\n[\"nothing\",\"1\"]",
        "[\"facts\",\"1\"]\n[\"roster\",\"1\",\"2\"]",
        "[\"facts\",\"1\"]\n[\"job_tag\",\"1\"]",
        "[\"facts\",\"1\"]\n[\"job_tag\",\"x\",\"t\"]",
        "[\"facts\",\"1\"]\n[\"job_tag\",\"1\",\"t\",\"u\"]",
        "[\"facts\",\"1\"]\n[\"job\",\"1\",\"name\"]",
    };
    struct other o;
    struct err err;

    (void)state;
    begin (&o);
    for (size_t i = 0; i < sizeof (texts) / sizeof (texts[0]); i++) {
        if (*texts[i])
            assert_int_equal (take_root (&o, texts[i]), -EBADMSG);
    }
    // rows of a job that nobody has named are left out
    assert_int_equal (take_root (&o, "[\"facts\",\"1\"]\n[\"job_tag\",\"7\","
                                     "\"t\"]"), 0);
    assert_int_equal (facts_lines_begin_root (&o.lines, &err), 0);
    assert_int_equal (facts_lines_take (&o.lines, "", &err), -EBADMSG);
    assert_int_equal (facts_lines_end_root (&o.lines, false, &err), 0);
    assert_int_equal (count (o.c, "tag"), 0);
    end (&o);
    catalogue_close (o.c);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        ROOT_TEST (test_same), ROOT_TEST (test_roots),
        cmocka_unit_test (test_bad),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
