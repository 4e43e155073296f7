/* tests/unit/aggregator/trend/test_trend.c - sums of several jobs, and the page
 */
#include "aggregator/catalogue/catalogue_check.h"

#include "store/db.h"
#include "trend/trend.h"

#include <math.h>

/* Three jobs with one result each: a week apart, the third with a step that is
 * twice as long, on another host.
 */
static void fill (struct root *r)
{
    static const char *const names[] = { "a", "b", "c<i>" };

    for (int i = 0; i < 3; i++) {
        struct job *j = make_result ();
        char sql[512];

        (void)snprintf (sql, sizeof (sql), "UPDATE Capture SET started_ns="
                        "started_ns+%d*604800*1000000000;"
                        "UPDATE StepTraceTime SET computing=computing*%d;%s",
                        i, i == 2 ? 2 : 1,
                        i == 2 ? "UPDATE Roster SET host='n7'" : "");
        run (j, sql);
        add_job (r, names[i], 5);
        publish_job (r, j, names[i]);
    }
    add_fact (r, "a", FACT_TAG, "x");
    add_fact (r, "b", FACT_TAG, "x");
    add_fact (r, "b", FACT_TAG, "y");
}

static struct trend read_by (struct opened *o, enum trend_by by)
{
    const struct catalogue_filter all = { .job = NULL };
    struct err err = { "" };
    struct trend t;

    if (trend_read (o->c, &all, by, true, &t, &err) < 0)
        fail_msg ("%s", err.text);
    return t;
}

static bool near (double x, double want)
{
    return fabs (x - want) < 0.01;
}

static void test_keys (void **state)
{
    struct root *r = *state;
    struct opened o;
    struct trend t;

    fill (r);
    o = open_catalogue (r);
    t = read_by (&o, TREND_WEEK);
    assert_int_equal (t.jobs, 3);
    assert_int_equal (t.nrows, 3);
    assert_string_equal (t.rows[0].key, "2025-11-24");
    assert_string_equal (t.rows[2].key, "2025-12-08");
    assert_true (near (t.rows[0].step_ms, 100));
    assert_true (near (t.rows[2].step_ms, 170));
    assert_true (near (t.rows[0].comm_percent, 25));
    assert_int_equal (t.ntransports, 1);
    assert_string_equal (t.transports[0], "HCCS");
    assert_true (near (t.rows[1].gbps[0], 20));
    trend_fini (&t);
    t = read_by (&o, TREND_TAG);
    assert_int_equal (t.nrows, 3);
    assert_string_equal (t.rows[0].key, "-");
    assert_string_equal (t.rows[1].key, "x");
    assert_int_equal (t.rows[1].jobs, 2);
    assert_int_equal (t.rows[2].jobs, 1);
    trend_fini (&t);
    t = read_by (&o, TREND_HOST);
    assert_int_equal (t.nrows, 3);              // n0, n1, n7
    assert_true (near (t.rows[2].step_ms, 170));
    assert_true (isnan (t.rows[1].step_ms));    // its rank is missing
    trend_fini (&t);
    close_catalogue (&o);
}

/* Device 1 of n0 is slow in two jobs; that of n7 in one. */
static void test_back (void **state)
{
    struct root *r = *state;
    struct opened o;
    struct trend t;

    fill (r);
    o = open_catalogue (r);
    t = read_by (&o, TREND_WEEK);
    assert_int_equal (t.nback, 1);
    assert_string_equal (t.back[0].kind, "slow_rank");
    assert_string_equal (t.back[0].what, "n0 device 1");
    assert_int_equal (t.back[0].jobs, 2);
    assert_int_equal (t.back[0].of, 2);
    assert_string_equal (t.back[0].latest, "b");
    assert_true (near (t.back[0].percent, 30));
    trend_fini (&t);
    close_catalogue (&o);
}

static void test_page (void **state)
{
    struct root *r = *state;
    char dir[PATH_MAX], path[PATH_MAX], *text = NULL;
    struct opened o;
    struct trend t;
    size_t size;
    FILE *f;

    fill (r);
    o = open_catalogue (r);
    (void)snprintf (path, sizeof (path),
                    "%s/jobs/b/cluster_analysis_output/report.html", r->dir);
    assert_int_equal (fileio_replace (path, "x", 1, 0600, NULL), 0);
    (void)snprintf (dir, sizeof (dir), "%s/pages/deep", r->dir);
    t = read_by (&o, TREND_WEEK);
    assert_non_null (f = open_memstream (&text, &size));
    assert_int_equal (trend_page (f, &t, o.c, TREND_WEEK, dir), 0);
    assert_int_equal (fclose (f), 0);
    assert_non_null (strstr (text, "href=\"../../jobs/b/"
                                   "cluster_analysis_output/report.html\""));
    assert_null (strstr (text, "jobs/a/"));     // it has no report
    assert_null (strstr (text, "<i>"));
    assert_non_null (strstr (text, "c&lt;i&gt;"));
    assert_null (strstr (text, "<script"));
    assert_null (strstr (text, "nan"));
    assert_non_null (strstr (text, "</html>"));
    free (text);
    trend_fini (&t);
    close_catalogue (&o);
}

/* Nothing to draw is a page, too. */
static void test_empty (void **state)
{
    struct root *r = *state;
    struct opened o = open_catalogue (r);
    struct trend t = read_by (&o, TREND_WEEK);
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream (&text, &size);

    assert_int_equal (t.jobs + (int64_t)t.nrows, 0);
    assert_int_equal (trend_page (f, &t, o.c, TREND_WEEK, ""), 0);
    assert_int_equal (fclose (f), 0);
    assert_non_null (strstr (text, "There are no such jobs"));
    free (text);
    trend_fini (&t);
    close_catalogue (&o);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        ROOT_TEST (test_keys), ROOT_TEST (test_back), ROOT_TEST (test_page),
        ROOT_TEST (test_empty),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
