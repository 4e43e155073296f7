/* tests/unit/aggregator/findings/test_finding_list.c - findings of a finished
 * file */
#include "aggregator/findings/findings_check.h"

#include "findings/finding_list.h"

#include <errno.h>

/* Of a finished file: nothing is changed, and what is stored is not seen. */
static void test_again (void **state)
{
    struct job *j = *state;
    struct findings_options opt;
    struct finding_list list;
    struct err err = { "" };

    ranks (j, 4, 1);
    run (j, "UPDATE StepTraceTime SET computing=80000 WHERE rank=1;"
            "INSERT INTO Finding (kind, severity) VALUES ('other', 'note');"
            "COMMIT; PRAGMA locking_mode=NORMAL; SELECT * FROM Roster");
    findings_defaults (&opt);
    assert_int_equal (finding_list_read (j->path, &opt, &list, &err), 0);
    assert_int_equal (list.n, 1);
    assert_string_equal (list.items[0].kind, "slow_rank");
    assert_int_equal (list.items[0].peer, FINDING_NONE);
    assert_true (finding_list_any (&list));
    finding_list_fini (&list);
    assert_int_equal (finding_list_read (j->path, NULL, &list, &err), 0);
    assert_int_equal (list.n, 1);
    assert_string_equal (list.items[0].kind, "other");
    assert_false (finding_list_any (&list));
    finding_list_fini (&list);
    run (j, "PRAGMA user_version=99");
    assert_int_equal (finding_list_read (j->path, NULL, &list, &err), -EBADMSG);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        FINDINGS_TEST (test_again),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
