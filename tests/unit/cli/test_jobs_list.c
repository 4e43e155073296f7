/* tests/unit/cli/test_jobs_list.c - which jobs are listed, and their objects */
#include "cli/verb_check.h"

#include "aggregator/catalogue/catalogue_check.h"
#include "jobs_list.h"

static const struct command_spec command = { "rollcall test", "", "", NULL, 0 };

static void test_filter (void **state)
{
    struct cli_filter f = { .user = "me", .since = "2d", .tag = "a" };
    struct catalogue_filter to;

    (void)state;
    assert_int_equal (cli_filter_read (&command, &f, &to), 0);
    assert_string_equal (to.user, "me");
    assert_string_equal (to.tag, "a");
    assert_true (to.since_ns == verb_now_ns - 2 * 86400 * NS_PER_S);
    f.since = "2026-11-01";
    assert_int_equal (cli_filter_read (&command, &f, &to), 0);
    assert_true (to.since_ns == INT64_C (1793491200) * NS_PER_S);
    f.since = "90";             // of what?
    assert_int_equal (cli_filter_read (&command, &f, &to), EXIT_USAGE);
    f = (struct cli_filter){ .tag = "-x" };
    assert_int_equal (cli_filter_read (&command, &f, &to), EXIT_USAGE);
    f = (struct cli_filter){ .where = "" };
    assert_int_equal (cli_filter_read (&command, &f, &to), EXIT_USAGE);
}

static int to_json (void *arg, const struct catalogue_job *j)
{
    struct json_out out = { .f = stdout, .comma = ",", .colon = ":" };
    const struct cli_jobs *jobs = arg;

    json_out_open (&out, '{');
    cli_job_to_json (&out, jobs, j);
    cli_claims_to_json (&out, jobs, j->job);
    json_out_close (&out, '}');
    return 0;
}

static struct root *root;

/* As a verb: what it prints is caught. */
static int print (int argc, char **argv)
{
    const struct catalogue_filter f = { .job = argv[1] };
    struct cli_jobs jobs;
    int rc;

    (void)argc;
    assert_int_equal (cli_jobs_open (&command, root->dir, &jobs), 0);
    rc = catalogue_each (jobs.catalogue, &f, to_json, &jobs, NULL);
    cli_jobs_close (&jobs);
    return rc;
}

static void test_object (void **state)
{
    const struct size_claim claim = { .by = CLAIM_EXPECT, .world_size = 5 };
    const struct json *one;
    struct json *j;
    int64_t n = 0;

    root = *state;
    add_job (root, "a", 5);
    publish_job (root, make_result (), "a");
    add_fact (root, "a", FACT_TAG, "x");
    add_fact (root, "a", FACT_TAG, "y");
    assert_int_equal (ledger_set_claim (root->l, "a", &claim, NULL), 0);
    j = verb_json (verb_text (print, "a", NULL));
    assert_int_equal (json_count (json_get (j, "tags")), 2);
    assert_false (json_is_true (json_get (j, "pinned")));
    assert_string_equal (json_text (json_get (j, "result"), ""), "behind");
    one = json_get (j, "roll");
    assert_true (json_int (json_get (one, "missing"), &n));
    assert_int_equal (n, 1);
    one = json_first (json_get (j, "words"));
    assert_string_equal (json_text (json_get (one, "by"), ""),
                         "rollcall jobs --expect");
    json_free (j);
    // nothing was built of this one
    add_job (root, "b", 6);
    add_fact (root, "b", FACT_HOME, "tcp://a:1, tcp://b:1");
    j = verb_json (verb_text (print, "b", NULL));
    assert_string_equal (json_text (json_get (j, "result"), ""), "none");
    assert_non_null (json_get (j, "step_ms"));
    assert_string_equal (json_text (json_get (j, "analysis_db"), "-"), "-");
    assert_false (json_is_object (json_get (j, "roll")));
    assert_string_equal (json_text (json_get (j, "home"), ""),
                         "tcp://a:1, tcp://b:1");
    assert_null (json_get (j, "raw_at"));
    json_free (j);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_filter), ROOT_TEST (test_object),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
