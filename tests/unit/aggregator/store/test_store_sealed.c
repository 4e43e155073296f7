/* tests/unit/aggregator/store/test_store_sealed.c - which bytes never change again
 */
#include "aggregator/ledger/ledger_check.h"
#include "base/clock.h"
#include "store/object_mark.h"
#include "store/root.h"
#include "store/store_private.h"

#include <errno.h>
#include <sys/stat.h>

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
    assert_int_equal (store_sealed_end (r->s, 1), r->s->sealed[0].end);
    assert_int_equal (store_sealed_end (r->s, 2), r->s->sealed[1].end);
    assert_int_equal (store_sealed_end (r->s, 3), 0);   // it is open
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
    assert_int_equal (store_seal_after (r->s, NS_PER_S * 3600, NULL), 0);
    assert_int_equal (store_seal_after (r->s, 0, NULL), 2);
    r->s->end--;
    assert_int_equal (r->s->segment, 1);
    assert_int_equal (store_seal_after (r->s, 0, NULL), 1);
    assert_int_equal (r->s->segment, 2);
    assert_int_equal (store_seal_after (r->s, 0, NULL), 0);
}

/* No other segment can be made: this one takes more, so nobody may take it for
 * what never changes.
 */
static void test_no_next (void **state)
{
    struct root *r = *state;
    char path[PATH_MAX];
    int n = 0;

    (void)enter (r, true_item ("a", "first"), "first");
    store_segment_path (r->dir, 2, path);
    assert_int_equal (mkdir (path, 0700), 0);
    assert_int_equal (store_open_next (r->s, NULL), -EEXIST);
    assert_int_equal (store_seal_after (r->s, 0, NULL), -EEXIST);
    assert_int_equal (store_each_sealed (r->s, 0, count, &n), 0);
    assert_int_equal (n, 0);
    (void)enter (r, true_item ("b", "second"), "second");
    assert_int_equal (r->s->segment, 1);
    assert_int_equal (rmdir (path), 0);
    assert_int_equal (store_seal_after (r->s, 0, NULL), 1);
    assert_int_equal (r->s->nsealed, 1);
    assert_true (r->s->sealed[0].end > 2 * strlen ("second"));
}

/* A crash took the name of the next segment, or that was collected: the one of
 * which the store has something gets nothing more, and that goes into another one.
 */
static void test_stored (void **state)
{
    struct object_mark m = { .state = OBJECT_WHOLE, .url = "s3://b" };
    struct root *r = *state;
    uint64_t end;

    (void)enter (r, true_item ("a", "first"), "first");
    end = r->s->committed;
    assert_int_equal (object_mark_begin (r->dir, NULL), 0);
    m.size = end;
    assert_int_equal (object_mark_set (r->dir, 1, &m, NULL), 0);
    root_close (r);
    root_open (r);
    assert_int_equal (r->s->segment, 2);
    assert_int_equal (r->s->nsealed, 1);
    assert_int_equal (r->s->sealed[0].end, end);
    (void)enter (r, true_item ("b", "second"), "second");
    root_close (r);
    root_open (r);
    assert_int_equal (r->s->segment, 2);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        ROOT_TEST (test_sealed),
        ROOT_TEST (test_age),
        ROOT_TEST (test_no_next),
        ROOT_TEST (test_stored),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
