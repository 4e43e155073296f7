/* tests/unit/aggregator/service/test_aggregator_forecast.c - when a root is full
 */
#include "aggregator/service/service_check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define HOUR_NS (3600 * NS_PER_S)

static double of (const struct json *j, const char *key)
{
    double v = -1;

    return json_number (json_get (j, key), &v) ? v : -1;
}

/* As whoever reads the file sees it. */
static struct json *forecast (struct service *s)
{
    struct json *j = json_object (), *back;
    char *text;

    aggregator_add_forecast (&s->a, j);
    text = json_print (j, false);
    assert_non_null (text);
    back = json_parse (text, strlen (text), NULL);
    assert_non_null (back);
    json_free (j);
    free (text);
    return back;
}

static void test_days (void **state)
{
    (void)state;
    assert_true (aggregator_days_left (100, 50) == 2);
    assert_true (aggregator_days_left (-5, 50) == 0);
    assert_true (isnan (aggregator_days_left (100, 0)));
    assert_true (isnan (aggregator_days_left (100, (double)NAN)));
}

static void test_status (void **state)
{
    struct service *s = *state;
    struct json *j = forecast (s);
    int64_t now_ns = clock_wall_ns ();
    const struct json *day;

    day = json_first (json_get (j, "growth"));
    assert_true (of (day, "hours") == 24);
    assert_true (of (day, "bytes_a_day") < 0);  // not known
    json_free (j);
    // 1 GB within four hours
    usage_add (&s->a.usage, "j", 1000000000, now_ns - 4 * HOUR_NS);
    s->opt.quotas.root = 10000000000;
    j = forecast (s);
    assert_true (of (j, "stored_bytes") == 1e9);
    day = json_first (json_get (j, "growth"));
    assert_true (fabs (of (day, "bytes_a_day") - 6e9) < 1e8);
    assert_true (of (day, "quota_full_in_days") == 1.5);
    assert_true (of (day, "disk_full_in_days") >= 0);
    json_free (j);
    usage_fini (&s->a.usage);
}

int main (void)
{
#define TEST(name) \
    cmocka_unit_test_setup_teardown (name, service_setup, service_teardown)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_days), TEST (test_status),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
