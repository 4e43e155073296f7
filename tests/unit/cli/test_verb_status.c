/* tests/unit/cli/test_verb_status.c - which daemons rollcall status shows */
#include "cli/verb_check.h"

#include "json/status.h"

/* What a daemon of this number and time has written. */
static void put_status (const char *dir, int64_t pid, int64_t start_time)
{
    char path[PATH_MAX], text[512];
    int n = snprintf (text, sizeof (text), "{\"program\": "
                      "\"rollcall-aggregator\", \"pid\": %lld, \"start_time\": "
                      "%lld, \"state\": \"collecting\"}", (long long)pid,
                      (long long)start_time);

    assert_true (fileio_join (path, sizeof (path), dir, "status.json"));
    assert_int_equal (fileio_replace (path, text, (size_t)n, 0600, NULL), 0);
}

static bool is_alive (const char *dir)
{
    struct json *j = verb_json (verb_text (verb_status, "--json", "--state",
                                           dir, dir, NULL));
    const struct json *one = json_first (json_get (j, "daemons"));
    bool alive = json_is_true (json_get (one, "alive"));

    assert_non_null (one);
    json_free (j);
    return alive;
}

/* A number is given again: a process that has that of a daemon which was killed
 * is not that daemon, and nobody would start another one.
 */
static void test_reused_pid (void **state)
{
    int64_t pid = getpid (), began = status_start_time (getpid ());

    put_status (*state, pid, began);
    assert_true (is_alive (*state));
    assert_non_null (strstr (verb_text (verb_status, "--state", *state, *state,
                                        NULL), "collecting"));
    put_status (*state, pid, began - 1);
    assert_false (is_alive (*state));
    assert_non_null (strstr (verb_text (verb_status, "--state", *state, *state,
                                        NULL), "gone"));
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown (test_reused_pid, verb_setup,
                                         verb_teardown),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
