/* tests/unit/cli/test_verb_doctor.c - how much disk a root needs */
#include "cli/verb_check.h"

#include "aggregator/catalogue/catalogue_check.h"

static double real_of (const struct json *j, const char *key)
{
    double v = -1;

    assert_true (json_number (json_get (j, key), &v));
    return v;
}

static void enter_raw (struct root *r, const char *job, const char *bytes)
{
    struct ledger_item i = true_item ("c", bytes);

    i.kind = ITEM_RAW;
    (void)snprintf (i.job, sizeof (i.job), "%s", job);
    (void)snprintf (i.path, sizeof (i.path), "file");
    assert_int_equal (enter (r, i, bytes), 1);
}

/* One rank with two steps, one byte of rows and six of a raw file; what a job
 * without steps has counts for nothing.
 */
static void test_size (void **state)
{
    struct root *r = *state;
    const struct json *each;
    char page[PATH_MAX];
    struct json *j;
    double one;

    add_job (r, "a", 5);
    enter_raw (r, "a", "sixsix");
    publish_job (r, make_result (), "a");
    add_job (r, "without-steps", 6);
    j = verb_json (verb_text (verb_doctor, "--size", r->dir, "--ranks", "100",
                              "--steps", "10", "--jobs-per-day", "5",
                              "--keep-days", "4", "--json", NULL));
    assert_true (real_of (j, "jobs") == 1);
    assert_true (real_of (j, "ranks_and_steps") == 2);
    each = json_get (j, "bytes_per_rank_and_step");
    assert_true (real_of (each, "rows") == 0.5);
    assert_true (real_of (each, "raw") == 3);
    one = 3.5 + real_of (each, "results");
    assert_true (one > 1000);
    assert_true (real_of (j, "bytes") == one * 100 * 10 * 5 * 4);
    json_free (j);
    // what is beside analysis.db is of the result, too
    (void)snprintf (page, sizeof (page), "%s/jobs/a/cluster_analysis_output/"
                    "report.html", r->dir);
    assert_int_equal (fileio_replace (page, "pagepage", 8, 0600, NULL), 0);
    j = verb_json (verb_text (verb_doctor, "--size", r->dir, "--json", NULL));
    assert_true (real_of (json_get (j, "bytes_per_rank_and_step"), "results") ==
                 one - 3.5 + 4);
    json_free (j);
    assert_non_null (strstr (verb_text (verb_doctor, "--size", r->dir, NULL),
                             "raw           3 B a rank and step\n"));
}

static int status_of (const char *root, const char *more)
{
    char words[5][PATH_MAX] = { "doctor", "--size", "", "--ranks", "" };
    char *argv[] = { words[0], words[1], words[2], words[3], words[4], NULL };

    (void)snprintf (words[2], sizeof (words[2]), "%s", root);
    (void)snprintf (words[4], sizeof (words[4]), "%s", more);
    return verb_doctor (*more ? 5 : 3, argv);
}

static void test_nothing (void **state)
{
    struct root *r = *state;

    add_job (r, "without-steps", 6);
    assert_int_equal (status_of (r->dir, ""), EX_NOINPUT);
    assert_int_equal (status_of (r->dir, "5"), EXIT_USAGE);
    assert_int_equal (status_of ("/nowhere", ""), EX_NOINPUT);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        ROOT_TEST (test_size), ROOT_TEST (test_nothing),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
