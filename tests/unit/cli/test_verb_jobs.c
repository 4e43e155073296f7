/* tests/unit/cli/test_verb_jobs.c - what rollcall jobs says of jobs */
#include "cli/verb_check.h"

#include "aggregator/ledger/ledger_check.h"

static double real_of (const struct json *o, const char *key)
{
    double v = -1;

    assert_true (json_number (json_get (o, key), &v));
    return v;
}

/* Clocks are told in seconds, as their names say: whoever corrects times by
 * them would be wrong by a factor of thousands.
 */
static void test_clocks (void **state)
{
    static const struct ledger_clock clock = {
        .host_key = "k", .host = "n0", .offset_ns = -1500 * NS_PER_MS,
        .error_ns = 250 * NS_PER_MS,
    };
    struct root *r = *state;
    const struct json *job, *one;
    struct json *j;
    int64_t n = 0;

    (void)deliver (r, "a", 1, "bytes");
    assert_int_equal (ledger_set_clock (r->l, "j", &clock, NULL), 0);
    j = verb_json (verb_text (verb_jobs, "--json", "--root", r->dir, NULL));
    job = json_first (json_get (j, "jobs"));
    assert_true (json_int (json_get (job, "captures"), &n));
    assert_int_equal (n, 1);
    assert_true (json_int (json_get (job, "bytes"), &n));
    assert_int_equal (n, 5);
    one = json_first (json_get (job, "clocks"));
    assert_string_equal (json_text (json_get (one, "host"), ""), "n0");
    assert_true (real_of (one, "offset_s") == -1.5);
    assert_true (real_of (one, "error_s") == 0.25);
    json_free (j);
}

int main (void)
{
    const struct CMUnitTest tests[] = { ROOT_TEST (test_clocks) };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
