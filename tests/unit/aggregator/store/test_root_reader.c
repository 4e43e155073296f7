/* tests/unit/aggregator/store/test_root_reader.c - a root that is read in a
 * thread
 */
#include "aggregator/ledger/ledger_check.h"

#include "store/lease.h"
#include "store/root_reader.h"

#include <sched.h>
#include <stdatomic.h>

static atomic_bool go_on;
static unsigned seen;

static int count (void *arg, const struct ledger_item *i)
{
    (void)arg;
    (void)i;
    seen++;
    return 0;
}

static int look (void *arg, struct ledger *l, struct store *s, struct err *err)
{
    int rc;

    while (!atomic_load (&go_on))
        (void)sched_yield ();
    assert_non_null (s);
    rc = ledger_each (l, "j", ITEM_ROWS, count, NULL, err);
    return rc < 0 || !*(bool *)arg ? rc : err_set (err, EIO, "a sentence");
}

/* It sees the root as it was; nothing is collected until it has ended. */
static void test_snapshot (void **state)
{
    struct root *r = *state;
    struct root_reader *reader;
    char text[LEASE_TEXT_MAX];
    bool fails = false;

    assert_int_equal (deliver (r, "a", 1, "one"), 1);
    atomic_store (&go_on, false);
    seen = 0;
    assert_int_equal (root_reader_begin (r->dir, look, &fails, &reader, NULL),
                      0);
    assert_int_equal (deliver (r, "b", 2, "two"), 1);
    assert_false (root_reader_ended (reader));
    assert_int_equal (lease_count (r->dir, text, NULL), 1);
    atomic_store (&go_on, true);
    while (!root_reader_ended (reader))
        (void)sched_yield ();
    // who waits for the lease need not wait until somebody calls the end
    assert_int_equal (lease_count (r->dir, text, NULL), 0);
    assert_int_equal (root_reader_end (reader, NULL), 0);
    assert_int_equal (seen, 1);
    assert_int_equal (lease_count (r->dir, text, NULL), 0);
}

static void test_fails (void **state)
{
    struct root *r = *state;
    struct root_reader *reader;
    struct err err = { "" };
    bool fails = true;

    atomic_store (&go_on, true);
    assert_int_equal (root_reader_begin (r->dir, look, &fails, &reader, NULL),
                      0);
    assert_int_equal (root_reader_end (reader, &err), -EIO);
    assert_string_equal (err.text, "a sentence");
    assert_int_equal (root_reader_end (NULL, NULL), 0);
    assert_true (root_reader_begin ("/nowhere", look, &fails, &reader, &err) <
                 0);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        ROOT_TEST (test_snapshot), ROOT_TEST (test_fails),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
