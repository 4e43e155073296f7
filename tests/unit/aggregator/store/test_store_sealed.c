/* tests/unit/aggregator/store/test_store_sealed.c - which bytes never change again
 */
#include "aggregator/ledger/ledger_check.h"
#include "base/clock.h"
#include "store/root.h"
#include "store/store_private.h"

static void seal (struct root *r, const char *bytes)
{
    (void)enter (r, true_item (bytes, bytes), bytes);
    assert_int_equal (store_open_next (r->s, NULL), 0);
}

/* Nothing that a commit may take back is offered. */
static int count (void *arg, const struct store_extent *e)
{
    (void)e;
    ++*(int *)arg;
    return 0;
}

static void test_sealed (void **state)
{
    struct root *r = *state;
    int n = 0;

    seal (r, "first");
    seal (r, "second");
    assert_int_equal (store_each_sealed (r->s, 0, count, &n), 0);
    assert_int_equal (n, 2);
    assert_int_equal (store_each_sealed (r->s, 1, count, &n), 0);
    assert_int_equal (n, 3);
    r->s->full[0].segment = 2;
    r->s->nfull = 1;
    n = 0;
    assert_int_equal (store_each_sealed (r->s, 0, count, &n), 0);
    assert_int_equal (n, 1);
    r->s->nfull = 0;
}

/* One that is not full is sealed by its age, when nothing waits for a commit. */
static void test_age (void **state)
{
    struct root *r = *state;

    assert_int_equal (store_seal_after (r->s, 0, NULL), 0);
    (void)enter (r, true_item ("a", "first"), "first");
    assert_int_equal (store_seal_after (r->s, NS_PER_S * 3600, NULL), 0);
    r->s->end++;
    assert_int_equal (store_open_extent (r->s).end, r->s->committed);
    assert_int_equal (store_seal_after (r->s, 0, NULL), 0);
    r->s->end--;
    assert_int_equal (r->s->segment, 1);
    assert_int_equal (store_seal_after (r->s, 0, NULL), 1);
    assert_int_equal (r->s->segment, 2);
    assert_int_equal (store_seal_after (r->s, 0, NULL), 0);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        ROOT_TEST (test_sealed),
        ROOT_TEST (test_age),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
