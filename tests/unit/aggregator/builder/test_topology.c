/* tests/unit/aggregator/builder/test_topology.c - files of switches and racks */
#include "builder/topology.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#define FILE_NAME "/tmp/test_topology.XXXXXX"

static void topology_is (const char *text, int want)
{
    struct topology t;
    struct err err = { "" };
    char path[] = FILE_NAME;
    FILE *f = fdopen (mkstemp (path), "w");

    assert_non_null (f);
    assert_true (fputs (text, f) >= 0);
    assert_int_equal (fclose (f), 0);
    if (want < 0)
        assert_int_equal (topology_read (path, &t, &err), want);
    else
        assert_int_equal (topology_read (path, &t, &err), 0);
    assert_int_equal (t.n, want < 0 ? 0 : want);
    if (want == 2) {
        assert_string_equal (t.hosts[0].host, "a");
        assert_string_equal (t.hosts[0].sw, "s 1");
        assert_null (t.hosts[0].rack);
        assert_string_equal (t.hosts[1].rack, "r");
    }
    topology_fini (&t);
    assert_int_equal (unlink (path), 0);
}

static void test_topology (void **state)
{
    struct topology t;

    (void)state;
    topology_is ("# x\n\nb,s,r\r\n  a , s 1 ,\n", 2);
    topology_is ("", 0);
    topology_is ("a\n", -EINVAL);
    topology_is ("a,\n", -EINVAL);
    topology_is (",s\n", -EINVAL);
    topology_is ("a,s,r,x\n", -EINVAL);
    topology_is ("a,s\nb,s\na,t\n", -EINVAL);
    assert_int_equal (topology_read ("/nowhere", &t, NULL), -ENOENT);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_topology),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
