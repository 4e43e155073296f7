/* tests/unit/aggregator/compare/test_compare_read.c - what two results are
 * asked for */
#include "aggregator/findings/job_check.h"

#include "builder/rollup.h"
#include "compare/compare.h"
#include "store/db.h"

#include <string.h>

/* Two ranks with two kinds of ops that differ in byte 'at' of their names. */
static struct job *job_of_long_names (int at)
{
    struct job *j = job_make ();

    assert_int_equal (rollup_links (j->db, NULL), 0);
    assert_int_equal (rollup_derive (j->db, NULL, NULL), 0);
    assert_int_equal (
        db_execf (j->db, NULL,
                  "WITH r(i) AS (VALUES (0), (1)), k(c) AS (VALUES ('a'),"
                  " ('b')) INSERT INTO OpTime (kind, elapse_time,"
                  " step, rank) SELECT printf('%%0%dd', 0)||c, 5, 'step1', i FROM k JOIN r; COMMIT;"
                  "PRAGMA locking_mode=NORMAL; SELECT * FROM Roster", at),
        0);
    return j;
}

static void compare_names (int at, size_t want)
{
    struct job *j = job_of_long_names (at);
    struct err err = { "" };
    struct compare c;

    if (compare_read (j->path, j->path, 1, &c, &err) < 0)
        fail_msg ("%s", err.text);
    assert_int_equal (c.nmetrics, want);
    for (size_t i = 0; i < want; i++) {
        assert_memory_equal (c.metrics[i].name, "ops: 0", 6);
        assert_int_equal (c.metrics[i].runs[0].n, 2);
        assert_int_equal (c.metrics[i].runs[1].n, 2);
    }
    compare_fini (&c);
    job_destroy (j);
}

/* Names that are alike as far as a metric's name goes are one metric, of as
 * many ranks as there are: they were written behind the list of ranks.
 */
static void test_long_names (void **state)
{
    (void)state;
    compare_names (100, 2);
    for (int at = 122; at < 135; at++)
        compare_names (at, 1);
}

static void metric_is (const struct compare_metric *m, const char *name,
                       int64_t rank, double value)
{
    assert_string_equal (m->name, name);
    assert_int_equal (m->runs[0].n, 2);
    assert_int_equal (m->runs[0].ranks[1].rank, rank);
    assert_true (m->runs[0].ranks[1].s.median == value);
}

/* Rows of one rank and step are one value, wherever they are; what has no value
 * does not count.
 */
static void test_sums (void **state)
{
    struct job *j = job_make ();
    struct compare c;

    (void)state;
    assert_int_equal (rollup_links (j->db, NULL), 0);
    assert_int_equal (rollup_derive (j->db, NULL, NULL), 0);
    run (j, "INSERT INTO OpTime (kind, elapse_time, step, rank) VALUES"
            " ('b', 1, 'step1', 1), ('a', 2, 'step1', 1), ('a', 9, 'step1', 0),"
            " ('a', 3, 'step1', 1), ('b', NULL, 'step1', 1),"
            " ('b', 4, 'step1', 0);"
            "INSERT INTO Link (src_rank, dst_rank, transport_type, step,"
            " transit_size, transit_time) VALUES (0, 1, 'HCCS', 's', 6, 2),"
            " (1, 0, 'HCCS', 's', 4, 2), (1, 0, 'HCCS', 's', 8, 1),"
            " (1, 0, 'SDMA', 's', 8, 1), (1, 0, 'HCCS', 's', 0.5, 1);"
            "COMMIT; PRAGMA locking_mode=NORMAL; SELECT * FROM Roster");
    assert_int_equal (compare_read (j->path, j->path, 1, &c, NULL), 0);
    assert_int_equal (c.nmetrics, 3);
    metric_is (&c.metrics[0], "ops: a", 1, 5);
    metric_is (&c.metrics[1], "ops: b", 1, 1);
    metric_is (&c.metrics[2], "links: HCCS", COMPARE_LINK_SRC, 4);
    compare_fini (&c);
    job_destroy (j);
}

static void add_settings (struct job *j, const char *sql)
{
    assert_int_equal (rollup_links (j->db, NULL), 0);
    assert_int_equal (rollup_derive (j->db, NULL, NULL), 0);
    run (j, sql);
    run (j, "COMMIT; PRAGMA locking_mode=NORMAL; SELECT * FROM Roster");
}

/* Settings that lie in other rows are compared all the same; those of ranks that
 * only one run has are left out.
 */
static void test_settings (void **state)
{
    struct job *a = job_make (), *b = job_make ();
    struct compare c;

    (void)state;
    add_settings (a, "INSERT INTO CaptureInfo (kind, name, value, rank) VALUES"
                     " ('config', 'same', 'x', 0), ('config', 'other', 'x', 0),"
                     " ('config', 'same', 'x', 1), ('config', 'other', 'y', 1),"
                     " ('config', 'moved', 'z', 1), ('config', 'only', '1', 1),"
                     " ('clock', 'offset_ms', '1', 1)");
    add_settings (b, "INSERT INTO CaptureInfo (kind, name, value, rank) VALUES"
                     " ('config', 'same', 'x', 0), ('config', 'other', 'x', 0),"
                     " ('config', 'same', 'x', 1), ('config', 'moved', 'z', 1),"
                     " ('config', 'other', 'n', 1), ('config', 'same', 'q', 2),"
                     " ('clock', 'offset_ms', '2', 1)");
    assert_int_equal (compare_read (a->path, b->path, 1, &c, NULL), 0);
    assert_int_equal (c.nsettings, 2);
    assert_string_equal (c.settings[0].name, "only");
    assert_null (c.settings[0].b);
    assert_string_equal (c.settings[1].name, "other");
    assert_string_equal (c.settings[1].a, "y");
    assert_string_equal (c.settings[1].b, "n");
    assert_int_equal (c.settings[1].ranks, 1);
    compare_fini (&c);
    job_destroy (a);
    job_destroy (b);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_long_names),
        cmocka_unit_test (test_sums),
        cmocka_unit_test (test_settings),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
