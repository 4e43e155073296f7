/* tests/unit/cli/test_verb_trend.c - what rollcall trend prints */
#include "cli/verb_check.h"

#include "aggregator/catalogue/catalogue_check.h"

#include <fcntl.h>

static void has (const char *text, const char *want)
{
    if (!strstr (text, want))
        fail_msg ("no \"%s\" in:\n%s", want, text);
}

static void fill (struct root *r)
{
    for (int i = 0; i < 2; i++) {
        struct job *j = make_result ();
        const char *name = i == 0 ? "a" : "b";

        if (i == 1)
            run (j, "UPDATE StepTraceTime SET computing=computing*2");
        add_job (r, name, 5);
        publish_job (r, j, name);
        add_fact (r, name, FACT_USER, i == 0 ? "alice" : "bob");
    }
    add_fact (r, "a", FACT_TAG, "night");
}

static void test_text (void **state)
{
    struct root *r = *state;
    const char *text;

    fill (r);
    text = verb_text (verb_trend, "--root", r->dir, "--by", "user", NULL);
    has (text, "2 jobs, 2 with steps, of 2 users, from 2025-11-24 to "
               "2025-11-24");
    has (text, "alice");
    has (text, "100.000");
    has (text, "170.000");
    has (text, "HCCS_GB/s");
    text = verb_text (verb_trend, "--root", r->dir, "--tag", "night", NULL);
    has (text, "1 job, 1 with steps, of 1 user");
    assert_null (strstr (text, "170.000"));
    text = verb_text (verb_trend, "--root", r->dir, "--where", "step_ms>150",
                      NULL);
    has (text, "170.000");
    assert_null (strstr (text, "100.000"));
}

static void test_json (void **state)
{
    struct root *r = *state;
    struct json *j;
    int64_t n = 0;

    fill (r);
    j = verb_json (verb_text (verb_trend, "--json", "--root", r->dir, NULL));
    assert_true (json_int (json_get (j, "jobs"), &n));
    assert_int_equal (n, 2);
    json_free (j);
}

/* A page replaces a file, and links the jobs. */
static void test_page (void **state)
{
    struct root *r = *state;
    char path[PATH_MAX];
    struct buf b;

    fill (r);
    (void)snprintf (path, sizeof (path), "%s/page.html", r->dir);
    (void)verb_text (verb_trend, "--root", r->dir, "--html", path, NULL);
    buf_init (&b, 16 << 20);
    assert_int_equal (fileio_read_at (AT_FDCWD, path, &b, NULL), 0);
    has (buf_text (&b), "<html");
    has (buf_text (&b), "alice");
    buf_fini (&b);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        ROOT_TEST (test_text), ROOT_TEST (test_json), ROOT_TEST (test_page),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
