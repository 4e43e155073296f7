/* tests/unit/aggregator/service/test_operators.c - who may do everything */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "service/operators.h"

#include <errno.h>
#include <string.h>

#define NOBODY 54321

static void test_find (void **state)
{
    struct option_list l = { .items = { "root", "@root" }, .n = 2 };
    struct operators o;
    struct err err;

    (void)state;
    assert_int_equal (operators_find (&l, &o, NULL), 0);
    assert_int_equal (o.nusers, 1);
    assert_int_equal (o.ngroups, 1);
    assert_string_equal (o.text, "root, @root");
    l = (struct option_list){ .items = { "no.such.user" }, .n = 1 };
    assert_int_equal (operators_find (&l, &o, &err), -EINVAL);
    assert_non_null (strstr (err.text, "no user no.such.user"));
    l = (struct option_list){ .items = { "@no.such.group" }, .n = 1 };
    assert_int_equal (operators_find (&l, &o, &err), -EINVAL);
    assert_non_null (strstr (err.text, "no group no.such.group"));
}

static void test_have (void **state)
{
    const struct operators none = { .nusers = 0 };
    const struct operators some = { .users = { 7 }, .nusers = 1,
                                    .groups = { 8, 9 }, .ngroups = 2 };
    struct control_peer p = { .uid = NOBODY, .owner = true };

    (void)state;
    assert_true (operators_have (&none, &p));
    p.owner = false;
    assert_false (operators_have (&none, &p));
    assert_false (operators_have (&some, &p));
    p.groups[0] = 6;
    p.groups[1] = 9;
    p.ngroups = 1;
    assert_false (operators_have (&some, &p));
    p.ngroups = 2;
    assert_true (operators_have (&some, &p));
    p.ngroups = 0;
    p.uid = 7;
    assert_true (operators_have (&some, &p));
    p.uid = 8;                  // the number of a group
    assert_false (operators_have (&some, &p));
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_find), cmocka_unit_test (test_have),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
