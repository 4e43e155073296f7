/* tests/unit/cli/test_build_share.c - which jobs a task of an array builds */
#include "cli/verb_check.h"

#include "build.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const variables[] = {
    "SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_MIN", "SLURM_ARRAY_TASK_MAX",
    "SLURM_ARRAY_TASK_STEP", "SLURM_ARRAY_TASK_COUNT",
};

#define VARIABLES (sizeof (variables) / sizeof (variables[0]))

/* Its variables, in this order; NULL: not set. */
static void set_task (const char *const values[VARIABLES])
{
    for (size_t i = 0; i < VARIABLES; i++)
        (void)(values[i] ? setenv (variables[i], values[i], 1)
                         : unsetenv (variables[i]));
}

static void check (const struct build_options *opt, uint64_t index,
                   uint64_t count)
{
    struct build_share s;
    struct err err = { "" };

    if (build_share_read (opt, &s, &err) < 0)
        fail_msg ("%s", err.text);
    assert_int_equal (s.index, index);
    assert_int_equal (s.count, count);
}

static void refused (const struct build_options *opt, const char *why)
{
    struct build_share s;
    struct err err = { "" };

    assert_int_equal (build_share_read (opt, &s, &err), -EINVAL);
    if (!strstr (err.text, why))
        fail_msg ("no \"%s\" in: %s", why, err.text);
    // whoever reads that is told what to type
    assert_non_null (strstr (err.text, "--share"));
}

static void test_tasks (void **state)
{
    const struct build_options out = { .out = "o" }, root = { .out = NULL };

    (void)state;
    set_task ((const char *[]){ NULL, NULL, NULL, NULL, NULL });
    check (&out, 0, 1);
    set_task ((const char *[]){ "0", "0", "9", "1", "10" });
    check (&out, 0, 10);
    check (&root, 0, 1);
    set_task ((const char *[]){ "99", "1", "99", "2", "50" });
    check (&out, 49, 50);
    set_task ((const char *[]){ "7", "7", "7", "1", "1" });
    check (&out, 0, 1);
}

/* Whatever Slurm says of the step, one task at least does not know. */
static void test_uneven (void **state)
{
    static const char *const ids[] = { "1", "2", "9" };
    static const char *const steps[] = { "1", "3", "4", "7", "8" };
    const struct build_options out = { .out = "o" }, root = { .out = NULL };

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        for (size_t k = 0; k < 5; k++) {
            set_task ((const char *[]){ ids[i], "1", "9", steps[k], "3" });
            if (strcmp (steps[k], "4") != 0 || i == 1)
                refused (&out, "not evenly spaced");
        }
    }
    refused (&out, "--array=0-2");
    check (&root, 0, 1);
    set_task ((const char *[]){ "2", "1", "10", "3", "4" });    // 1,2,8,10
    refused (&out, "jobs task 2 has");
    set_task ((const char *[]){ "12", "1", "9", "1", "9" });
    refused (&out, "not evenly spaced");
    set_task ((const char *[]){ "1", "1", NULL, "1", "9" });
    refused (&out, "SLURM_ARRAY_TASK_MAX is not: ");
    set_task ((const char *[]){ "1", "1", "9", "0", "9" });
    refused (&out, "SLURM_ARRAY_TASK_STEP is no number");
}

static void test_option (void **state)
{
    static const char *const bad[] = {
        "", "1", "/3", "1/", "1/0", "-1/3", "a/b", "1/3/5", "1 /3",
        "1111111111111111/3", "0/1000001",
    };
    struct build_options opt = { .out = "o" };

    (void)state;
    set_task ((const char *[]){ "9", "1", "9", "1", "3" });
    opt.share = "9/10";
    check (&opt, 9, 10);
    opt.share = "0/1";
    check (&opt, 0, 1);
    opt.share = "10/10";
    refused (&opt, "the 10 shares are 0/10 to 9/10");
    for (size_t i = 0; i < sizeof (bad) / sizeof (bad[0]); i++) {
        opt.share = bad[i];
        refused (&opt, "is no I/N");
    }
}

/* Each job is in one share, and no share has all of them. */
static void test_jobs (void **state)
{
    size_t of_share[4] = { 0 };

    (void)state;
    for (unsigned j = 0; j < 400; j++) {
        char job[16];
        unsigned in = 0;

        PRINT (job, "job%u", j);
        for (uint64_t i = 0; i < 4; i++) {
            const struct build_share s = { i, 4 };
            bool has = build_share_has (&s, job);

            in += has;
            of_share[i] += has;
        }
        assert_int_equal (in, 1);
    }
    for (size_t i = 0; i < 4; i++)
        assert_true (of_share[i] > 50);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_tasks),
        cmocka_unit_test (test_uneven),
        cmocka_unit_test (test_option),
        cmocka_unit_test (test_jobs),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
