/* tests/unit/common/model/test_steps.c - which steps are wanted */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/steps.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static bool wanted (const struct steps_filter *f, const char *step)
{
    return steps_wanted (f, step, strlen (step));
}

static void test_parse (void **state)
{
    struct steps_filter f;
    struct err err = { "" };

    (void)state;
    assert_int_equal (steps_parse ("10,12-15", &f, &err), 0);
    assert_int_equal (f.nranges, 2);
    assert_false (wanted (&f, "9"));
    assert_true (wanted (&f, "10"));
    assert_false (wanted (&f, "11"));
    assert_true (wanted (&f, "12"));
    assert_true (wanted (&f, "15"));
    assert_false (wanted (&f, "16"));
    assert_false (wanted (&f, "100"));
    // one step, spelled as in the communication tables
    assert_true (wanted (&f, "step13"));
    assert_false (wanted (&f, "step11"));
    assert_true (wanted (&f, "step013"));
    assert_int_equal (steps_parse ("0-9223372036854775807", &f, &err), 0);
    assert_true (wanted (&f, "9223372036854775807"));
    assert_int_equal (steps_parse ("5-5", &f, &err), 0);
    assert_true (wanted (&f, "5"));
}

static void test_parse_refused (void **state)
{
    static const char *const bad[] = {
        "", ",", "1,", ",1", "1,,2", "-", "-5", "5-", "5--6", "0--0", "7-6",
        "1-2-3", "a", "step5", "1 ", " 1", "1.5", "9223372036854775808",
        "1,99999999999999999999999999999999999999999999999999999999999999999",
    };
    struct steps_filter f = { .nranges = 33 };
    struct err err;

    (void)state;
    for (size_t i = 0; i < sizeof (bad) / sizeof (bad[0]); i++) {
        err.text[0] = '\0';
        if (steps_parse (bad[i], &f, &err) != -EINVAL)
            fail_msg ("accepted: \"%s\"", bad[i]);
        assert_true (err.text[0] != '\0');
        assert_int_equal (f.nranges, 33);       // left alone
    }
    assert_int_equal (steps_parse ("1,x2,3", &f, &err), -EINVAL);
    assert_non_null (strstr (err.text, "\"x2\""));
}

static void test_parse_many (void **state)
{
    char list[1024] = "0";
    struct steps_filter f;
    struct err err;

    (void)state;
    for (int i = 1; i < STEPS_RANGES_MAX; i++)
        (void)snprintf (list + strlen (list), 16, ",%d", 2 * i);
    assert_int_equal (steps_parse (list, &f, &err), 0);
    assert_int_equal (f.nranges, STEPS_RANGES_MAX);
    assert_true (wanted (&f, "126"));
    assert_false (wanted (&f, "127"));
    strcat (list, ",1000");
    assert_int_equal (steps_parse (list, &f, &err), -EINVAL);
}

static void check_id (const char *step, size_t n, const char *want)
{
    size_t size = 99;
    const char *id = steps_id (step, n, &size);

    assert_int_equal (size, strlen (want));
    assert_memory_equal (id, want, size);
}

static void test_id (void **state)
{
    (void)state;
    check_id ("step13", 6, "13");
    check_id ("13", 2, "13");
    check_id ("step", 4, "");
    check_id ("ste", 3, "ste");
    check_id ("", 0, "");
    check_id (NULL, 0, "");
    check_id ("step13,x", 6, "13");     // a field within a longer line
    check_id ("Step13", 6, "Step13");
}

/* Without a filter everything is wanted, what has no name too; with one,
 * nothing that is not a number.
 */
static void test_nameless (void **state)
{
    static const char *const odd[] = { "", "step", "x", "step-1", "-1", "+1",
                                       " 1", "1x", "1.0",
                                       "9223372036854775808",
                                       "00000000000000000000000000000001" };
    struct steps_filter all = { .nranges = 0 }, f;

    (void)state;
    assert_int_equal (steps_parse ("0-9223372036854775807", &f, NULL), 0);
    for (size_t i = 0; i < sizeof (odd) / sizeof (odd[0]); i++) {
        assert_true (wanted (&all, odd[i]));
        assert_true (wanted (NULL, odd[i]));
        if (wanted (&f, odd[i]))
            fail_msg ("wanted: \"%s\"", odd[i]);
    }
    assert_true (steps_wanted (&all, NULL, 0));
    assert_true (steps_wanted (NULL, NULL, 0));
    assert_false (steps_wanted (&f, NULL, 0));
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_parse),
        cmocka_unit_test (test_parse_refused),
        cmocka_unit_test (test_parse_many),
        cmocka_unit_test (test_id),
        cmocka_unit_test (test_nameless),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
