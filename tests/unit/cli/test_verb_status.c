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

static void has (const char *text, const char *want)
{
    if (!strstr (text, want))
        fail_msg ("no \"%s\" in:\n%s", want, text);
}

static const char *told (const char *dir, const char *more)
{
    char path[PATH_MAX], text[2048];
    int n = snprintf (text, sizeof (text), "{\"program\": "
                      "\"rollcall-aggregator\", \"pid\": %lld, \"start_time\": "
                      "%lld, \"state\": \"serving\", %s}", (long long)getpid (),
                      (long long)status_start_time (getpid ()), more);

    assert_true (fileio_join (path, sizeof (path), dir, "status.json"));
    assert_int_equal (fileio_replace (path, text, (size_t)n, 0600, NULL), 0);
    return verb_text (verb_status, "--state", dir, dir, NULL);
}

/* When a service is full, and what waits for room. */
static void test_forecast (void **state)
{
    const char *text = told (*state, "\"stored_bytes\": 5000000000, "
                             "\"growth\": [{\"hours\": 24}, {\"hours\": "
                             "168}]");

    has (text, "5.0 GB are stored; how soon the disk is full is not known yet");
    text = told (*state, "\"stored_bytes\": 5000000000, \"growth\": ["
                 "{\"hours\": 24, \"bytes_a_day\": 2000000000, "
                 "\"disk_full_in_days\": 12.5, \"quota_full_in_days\": 2.5},"
                 "{\"hours\": 168, \"bytes_a_day\": 0}], \"waits\": ["
                 "{\"job\": \"j\", \"why\": \"delivery waits: full\", "
                 "\"hint\": \"rm frees\"}], \"retention\": {\"next\": \"k\", "
                 "\"next_at\": \"2026-11-27\", \"bytes\": 1000, \"why\": "
                 "\"too old\"}");
    has (text, "2.0 GB a day in the last 24 hours: the disk is full in 12.5 "
               "days");
    has (text, "--quota-root is reached in 2.5 days at that rate");
    has (text, "0 B a day in the last 7 days");
    has (text, "job j: delivery waits: full; rm frees");
    has (text, "retention removes job k (1.0 kB) next, at 2026-11-27: too old");
    text = told (*state, "\"stored_bytes\": 5000000000, \"growth\": [], "
                 "\"retention\": {\"waits\": \"the clock jumped\"}");
    has (text, "retention waits: the clock jumped");
    assert_null (strstr (text, "retention removes"));
}

/* Which results could not be built, since when, why, and what helps. */
static void test_unbuilt (void **state)
{
    const char *text = told (*state, "\"unbuilt\": [{\"job\": \"j\", \"since\": "
                             "\"2026-11-27\", \"tries\": 1, \"why\": \"/d is "
                             "full\", \"hint\": \"make room\"}, {\"job\": \"k\", "
                             "\"since\": \"2026-11-28\", \"tries\": 3, \"why\": "
                             "\"it is odd\", \"hint\": null}], "
                             "\"unbuilt_jobs\": 7");

    has (text, "job j: its result could not be built since 2026-11-27 (1 try): "
               "/d is full; make room; it is tried again by itself");
    has (text, "job k: its result could not be built since 2026-11-28 (3 tries): "
               "it is odd; it is tried again by itself");
    has (text, "results of 5 more jobs could not be built");
    text = told (*state, "\"unbuilt\": [], \"unbuilt_jobs\": 0");
    assert_null (strstr (text, "could not be built"));
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown (test_reused_pid, verb_setup,
                                         verb_teardown),
        cmocka_unit_test_setup_teardown (test_forecast, verb_setup,
                                         verb_teardown),
        cmocka_unit_test_setup_teardown (test_unbuilt, verb_setup,
                                         verb_teardown),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
