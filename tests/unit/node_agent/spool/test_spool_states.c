/* tests/unit/node_agent/spool/test_spool_states.c - states of the ledger's rows
 */
#include "node_agent/spool/spool_check.h"

#include "common/base/states_check.h"
#include "spool/spool_private.h"

static void test_captures (void **state)
{
    (void)state;
    states_check_rows (&spool_capture_states, SPOOL_NO_ROW);
    states_check_document (&spool_capture_states, "## A capture in the spool");
}

static void test_items (void **state)
{
    (void)state;
    states_check_rows (&spool_item_states, SPOOL_NO_ROW);
    states_check_document (&spool_item_states, "## An item in the spool");
}

static void test_releases (void **state)
{
    (void)state;
    states_check_table (&spool_release_states, RELEASE_NO_ROW);
    states_check_document (&spool_release_states,
                           "## The release of a capture");
}

/* What is acknowledged is never offered with its bytes again, nor set aside:
 * its file may be gone.
 */
static void test_acknowledged (void **state)
{
    (void)state;
    for (size_t i = 0; i < spool_item_states.nedges; i++) {
        const struct states_edge *e = &spool_item_states.edges[i];

        if (e->from == SPOOL_DURABLE || e->from == SPOOL_RELEASED)
            assert_true (e->to == SPOOL_ASKED || e->to == SPOOL_RELEASED);
    }
}

/* A capture is removed only after the ledger says that this has begun. */
static void test_removed (void **state)
{
    (void)state;
    for (size_t i = 0; i < spool_release_states.nedges; i++) {
        const struct states_edge *e = &spool_release_states.edges[i];

        if (e->to == RELEASE_DONE || e->to == RELEASE_LEFT)
            assert_int_equal (e->from, RELEASE_BEGUN);
    }
}

/* A number in the ledger that is no state has no edge. */
static void test_no_state (void **state)
{
    static const int numbers[] = { -1, SPOOL_SEEN, SPOOL_SETTLED, 99, 300 };
    struct fixture *f = *state;

    for (size_t i = 0; i < sizeof (numbers) / sizeof (numbers[0]); i++) {
        for (unsigned e = 0; e < SPOOL_EVENTS; e++) {
            int now = numbers[i];

            assert_false (spool_change (f->s, SPOOL_TABLE_ITEM, 1, NULL, &now,
                                        e, NULL));
            assert_int_equal (now, numbers[i]);
        }
    }
}

/* What a capture's last acknowledgement writes to the log: 'text'. */
static void deliver (struct fixture *f, char text[LOG_LINE_MAX])
{
    struct spool_item got;
    FILE *log = tmpfile ();
    int out = dup (STDERR_FILENO);

    assert_non_null (log);
    assert_true (dup2 (fileno (log), STDERR_FILENO) >= 0);
    assert_int_equal (spool_next (f->s, ITEM_ROWS, 0, &got, NULL), 1);
    assert_int_equal (spool_durable (f->s, &got.id, 1, NULL), 0);
    assert_true (dup2 (out, STDERR_FILENO) >= 0);
    (void)close (out);
    rewind (log);
    if (!fgets (text, LOG_LINE_MAX, log))
        text[0] = '\0';
    (void)fclose (log);
}

/* How long it had been sealed is known to the agent that has sealed it. */
static void test_log (void **state)
{
    struct fixture *f = *state;
    char text[LOG_LINE_MAX];

    log_setup ("test", LOG_LEVEL_INFO);
    (void)spool_put (f, "/a", "v1", "1", NULL, false);
    deliver (f, text);
    assert_string_equal (text, "");
    spool_log_captures (f->s, LOG_LEVEL_INFO);
    (void)spool_put (f, "/b", "v1", "2", NULL, false);
    deliver (f, text);
    assert_non_null (strstr (text, " event=capture path=/b from=sealed "
                             "to=durable reason=closed after_s="));
    (void)spool_put (f, "/c", "v1", "3", NULL, false);
    spool_reopen (f);
    spool_log_captures (f->s, LOG_LEVEL_INFO);
    deliver (f, text);
    assert_non_null (strstr (text, " reason=closed\n"));
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_captures),
        cmocka_unit_test (test_items),
        cmocka_unit_test (test_releases),
        cmocka_unit_test (test_acknowledged),
        cmocka_unit_test (test_removed),
        cmocka_unit_test_setup_teardown (test_no_state, spool_setup,
                                         spool_teardown),
        cmocka_unit_test_setup_teardown (test_log, spool_setup,
                                         spool_teardown),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
