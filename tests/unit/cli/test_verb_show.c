/* tests/unit/cli/test_verb_show.c - what rollcall show says of a job */
#include "cli/verb_check.h"

#include "aggregator/catalogue/catalogue_check.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static void has (const char *text, const char *want)
{
    if (!strstr (text, want))
        fail_msg ("no \"%s\" in:\n%s", want, text);
}

static void fill (struct root *r)
{
    add_job (r, "a", 5);
    publish_job (r, make_result (), "a");
    add_fact (r, "a", FACT_USER, "alice");
    add_fact (r, "a", FACT_TAG, "night");
    add_fact (r, "a", FACT_PIN, "1");
    add_job (r, "b", 6);
}

static void test_text (void **state)
{
    struct root *r = *state;
    const char *text;

    fill (r);
    text = verb_text (verb_show, "--root", r->dir, "a", NULL);
    has (text, "job           a");
    has (text, "user          alice");
    has (text, "tag           night, since 1970-01-01");
    has (text, "pinned        since 1970-01-01");
    has (text, "n0 (2 ranks)");
    has (text, "2 of 100.000 ms (the longest: 100.000 ms): computing 70.0 %, "
               "communication 25.0 %, free 5.0 %");
    has (text, "1 HCCS at 20.0 GB/s");
    has (text, "2 of 3 present, 1 missing");
    has (text, "high: slow");
    has (text, "/jobs/a/cluster_analysis_output/analysis.db");
    assert_null (strstr (text, "report"));      // there is no page
    text = verb_text (verb_show, "--root", r->dir, "b", NULL);
    has (text, "result        none");
    assert_null (strstr (text, "alice"));
    assert_null (strstr (text, "steps"));
}

static void test_json (void **state)
{
    struct root *r = *state;
    const struct json *one;
    struct json *j;
    int64_t n = 0;

    fill (r);
    j = verb_json (verb_text (verb_show, "--json", "--root", r->dir, "a",
                              NULL));
    assert_string_equal (json_text (json_get (j, "user"), ""), "alice");
    assert_true (json_is_true (json_get (j, "pinned")));
    one = json_first (json_get (j, "by_host"));
    assert_string_equal (json_text (json_get (one, "host"), ""), "n0");
    assert_true (json_int (json_get (one, "ranks"), &n));
    assert_int_equal (n, 2);
    one = json_first (json_get (j, "finding_texts"));
    assert_string_equal (json_text (json_get (one, "text"), ""), "slow");
    one = json_first (json_get (j, "not_present"));
    assert_true (json_int (json_get (one, "rank"), &n));
    assert_int_equal (n, 2);
    assert_int_equal (json_count (json_get (j, "facts")), 3);
    json_free (j);
}

static int status_of (const char *root, const char *job)
{
    char words[4][PATH_MAX] = { "show", "--root", "", "" };
    char *argv[] = { words[0], words[1], words[2], words[3], NULL };

    (void)snprintf (words[2], sizeof (words[2]), "%s", root);
    (void)snprintf (words[3], sizeof (words[3]), "%s", job);
    return verb_show (4, argv);
}

/* As for a user: what is another's is as if it were not there. */
static void test_visible (void **state)
{
    struct root *r = *state;

    fill (r);
    assert_int_equal (setenv ("ROLLCALL_VISIBLE_TO", "alice", 1), 0);
    assert_int_equal (status_of (r->dir, "a"), EX_NOINPUT);     // not built
    all_built (r, "a");
    assert_int_equal (status_of (r->dir, "a"), 0);
    assert_int_equal (status_of (r->dir, "b"), EX_NOINPUT);
    assert_int_equal (setenv ("ROLLCALL_VISIBLE_TO", "you", 1), 0);
    assert_int_equal (status_of (r->dir, "a"), EX_NOINPUT);
    assert_int_equal (unsetenv ("ROLLCALL_VISIBLE_TO"), 0);
    assert_int_equal (status_of (r->dir, "nothing"), EX_NOINPUT);
    assert_int_equal (status_of (r->dir, "../a"), EXIT_USAGE);
}

/* Whether show says that a job was removed. */
static bool tells_removed (struct root *r, const char *job)
{
    char path[PATH_MAX], text[4096] = "";
    int kept = dup (STDERR_FILENO), fd;
    ssize_t n;

    (void)snprintf (path, sizeof (path), "%s/said", r->dir);
    fd = open (path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    assert_true (dup2 (fd, STDERR_FILENO) >= 0);
    assert_int_equal (status_of (r->dir, job), EX_NOINPUT);
    (void)dup2 (kept, STDERR_FILENO);
    (void)close (kept);
    n = pread (fd, text, sizeof (text) - 1, 0);
    (void)close (fd);
    return n > 0 && strstr (text, "was removed on") != NULL;
}

static void test_removed (void **state)
{
    const struct ledger_deletion d = { .scope = "old", .rank = 1, .job = "old",
                                       .capture = "c", .newest_ns = 1,
                                       .at_ns = 1, .by = "bob" };
    struct root *r = *state;

    fill (r);
    assert_int_equal (ledger_delete (r->l, &d, NULL), 1);
    assert_true (tells_removed (r, "old"));
    assert_int_equal (setenv ("ROLLCALL_VISIBLE_TO", "alice", 1), 0);
    assert_false (tells_removed (r, "old"));
    assert_int_equal (unsetenv ("ROLLCALL_VISIBLE_TO"), 0);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        ROOT_TEST (test_text), ROOT_TEST (test_json), ROOT_TEST (test_visible),
        ROOT_TEST (test_removed),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
