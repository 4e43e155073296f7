/* tests/unit/node_agent/control/test_cgroup.c - control groups */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "control/cgroup.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* As kernels with one hierarchy say it, and with several. */
static void test_within (void **state)
{
    static const struct {
        const char *in, *group;
        bool within;
    } cases[] = {
        { "0::/job_1/step_0\n", "0::/job_1/step_0\n", true },
        { "0::/job_1/step_0/task_3\n", "0::/job_1/step_0\n", true },
        { "0::/job_1\n", "0::/job_1/step_0\n", false },
        { "0::/job_12\n", "0::/job_1\n", false },
        { "0::/job_2/step_0\n", "0::/job_1/step_0\n", false },
        { "0::/job_1\n", "0::/job_1", true },
        // everybody is in the root
        { "0::/\n", "0::/\n", false },
        { "0::/job_1\n", "0::/\n", false },
        { "9:name=systemd:/a\n8:memory:/job_1\n0::/\n",
          "9:name=systemd:/\n8:memory:/job_1\n0::/\n", true },
        { "9:name=systemd:/a\n8:memory:/job_2\n0::/\n",
          "9:name=systemd:/a\n8:memory:/job_1\n0::/\n", false },
        // hierarchies in another order
        { "0::/b\n8:memory:/a\n", "8:memory:/a\n0::/b\n", true },
        // one that is not known of the other
        { "0::/b\n", "8:memory:/a\n0::/b\n", false },
        { "", "0::/b\n", false },
        { "0::/b\n", "", false },
        { "0::/b\n", "nonsense\n", false },
    };

    (void)state;
    for (size_t i = 0; i < sizeof (cases) / sizeof (cases[0]); i++)
        assert_int_equal (cgroup_is_within (cases[i].in, cases[i].group),
                          cases[i].within);
    assert_false (cgroup_is_within (NULL, "0::/b\n"));
    assert_false (cgroup_is_within ("0::/b\n", NULL));
}

static void test_read (void **state)
{
    int self = open ("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC);
    char *text = cgroup_read (self);

    (void)state;
    if (text)                   // a kernel without any has no such file
        assert_non_null (strchr (text, ':'));
    free (text);
    (void)close (self);
    assert_null (cgroup_read (-1));
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_within),
        cmocka_unit_test (test_read),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
