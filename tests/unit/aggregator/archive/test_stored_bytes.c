/* tests/unit/aggregator/archive/test_stored_bytes.c - which bytes are of which
 * item
 */
#include "aggregator/ledger/ledger_check.h"

#include "archive/stored_bytes.h"

struct sum {
    uint64_t rows, raw;
    unsigned calls;
    int stop;                   // what the callback says
};

static int add (void *arg, const struct ledger_item *i, uint64_t bytes)
{
    struct sum *s = arg;

    s->calls++;
    if (i->kind == ITEM_ROWS)
        s->rows += bytes;
    else
        s->raw += bytes;
    assert_string_equal (i->job, "j");
    return s->stop;
}

static void enter_raw (struct root *r, const char *path, const char *bytes)
{
    struct ledger_item i = true_item ("c", bytes);

    i.kind = ITEM_RAW;
    (void)snprintf (i.path, sizeof (i.path), "%s", path);
    assert_int_equal (enter (r, i, bytes), 1);
}

static void test_each (void **state)
{
    struct root *r = *state;
    struct sum s = { .rows = 0 };

    assert_int_equal (stored_bytes_each (r->l, r->s, add, &s, NULL), 0);
    assert_int_equal (s.calls, 0);
    assert_int_equal (enter (r, true_item ("c", "rows"), "rows"), 1);
    enter_raw (r, "one", "a file");
    enter_raw (r, "two", "a file");     // the same
    enter_raw (r, "three", "rows");     // as the rows, which came first
    assert_int_equal (stored_bytes_each (r->l, r->s, add, &s, NULL), 0);
    assert_int_equal (s.calls, 2);
    assert_int_equal (s.rows, 4);
    assert_int_equal (s.raw, 6);
    s = (struct sum){ .stop = -EINTR };
    assert_int_equal (stored_bytes_each (r->l, r->s, add, &s, NULL), -EINTR);
    assert_int_equal (s.calls, 1);
}

int main (void)
{
    const struct CMUnitTest tests[] = { ROOT_TEST (test_each) };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
