/* tests/unit/node_agent/offline_analysis/test_own_analysis.c - what the profilers' own
 * analyses are called with */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "offline_analysis/own_analysis.h"

#include <stdlib.h>
#include <string.h>

/* Another profiler's program makes nothing of a capture. */
static void test_whose (void **state)
{
    (void)state;
    assert_int_equal (own_analysis_of ("ascend_pt"), OWN_TORCH_NPU);
    assert_int_equal (own_analysis_of ("ascend_ms"), OWN_MINDSPORE);
    assert_int_equal (own_analysis_of ("msprof"), OWN_NONE);
    assert_int_equal (own_analysis_of (""), OWN_NONE);
    assert_string_equal (own_analysis_module (OWN_MINDSPORE), "mindspore");
}

static void check (enum own_analysis own, const struct own_settings *set,
                   const char *import, const char *wanted)
{
    char *text = own_analysis_command (own, set);

    assert_non_null (text);
    if (!strstr (text, import) || !strstr (text, wanted))
        fail_msg ("no \"%s\", or no \"%s\", in \"%s\"", import, wanted, text);
    // a shell takes it for one word
    assert_ptr_equal (strchr (strchr (text, '\'') + 1, '\''),
                      text + strlen (text) - 1);
    free (text);
}

static void test_command (void **state)
{
    const struct own_settings none = { .processes = 0 };
    const struct own_settings all = { 7, "db,text", "0,4-6" };

    (void)state;
    check (OWN_TORCH_NPU, &none, "from torch_npu.profiler.profiler import",
           "wanted = {}\n");
    check (OWN_MINDSPORE, &all, "from mindspore.profiler.profiler import",
           "{\"max_process_number\": 7, \"export_type\": [\"db\", \"text\"], "
           "\"step_list\": [*range(0, 0 + 1), *range(4, 6 + 1)], }\n");
}

/* What is said becomes a program: nothing gets in that was not understood. */
static void test_refused (void **state)
{
    static const struct {
        struct own_settings set;
        const char *why;
    } cases[] = {
        { { 0, "xml", NULL }, "--analyse-export" },
        { { 0, "", NULL }, "--analyse-export" },
        { { 0, "text\"]", NULL }, "--analyse-export" },
        { { 0, NULL, "" }, "--analyse-steps" },
        { { 0, NULL, "1]; x" }, "--analyse-steps" },
        { { 0, NULL, "7-5" }, "--analyse-steps" },
        { { 0, NULL, "0-9223372036854775807" }, "more than" },
        { { 0, NULL, "0-8000,0-8000" }, "more than" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof (cases) / sizeof (cases[0]); i++) {
        struct err err = { "" };

        assert_true (own_analysis_check (&cases[i].set, &err) < 0);
        assert_non_null (strstr (err.text, cases[i].why));
        assert_null (own_analysis_command (OWN_TORCH_NPU, &cases[i].set));
    }
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_whose),
        cmocka_unit_test (test_command),
        cmocka_unit_test (test_refused),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
