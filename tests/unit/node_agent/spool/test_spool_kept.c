/* tests/unit/node_agent/spool/test_spool_kept.c - acknowledged, and kept until it
 * has a second copy
 */
#include "node_agent/spool/redeliver_check.h"
#include "spool/release_rows.h"

static const struct ledger_mark later = { 7, 9 };

/* 1: a capture may be removed. */
static int may_go (struct fixture *f)
{
    struct released r;
    int rc = spool_next_release (f->s, RELEASE_KEPT, 0, INT64_MAX, &r, NULL);

    if (rc > 0) {
        assert_null (r.why);
        buf_fini (&r.manifest);
    }
    return rc;
}

/* Neither the file nor the capture goes before its position is stored, whoever
 * dies meanwhile.
 */
static void test_kept (void **state)
{
    struct fixture *f = *state;

    assert_int_equal (spool_keep (f->s, true, NULL), 0);
    spool_put_releasable (f, 0);
    acknowledge_with (f, &later, ITEM_ROWS, 1);
    acknowledge_with (f, &later, ITEM_RAW, 1);
    assert_int_equal (spool_undelivered (f->s), 0);
    assert_int_equal (spool_kept (f->s), 2);
    assert_int_equal (may_go (f), 0);
    spool_reopen (f);
    assert_int_equal (spool_keep (f->s, true, NULL), 0);
    assert_int_equal (spool_files (f, "items"), 2);
    assert_int_equal (spool_stored (f->s, later.seq - 1, NULL), 0);
    assert_int_equal (spool_files (f, "items"), 2);
    assert_int_equal (may_go (f), 0);
    assert_int_equal (spool_stored (f->s, later.seq, NULL), 0);
    assert_int_equal (spool_files (f, "items"), 0);
    assert_int_equal (spool_kept (f->s), 0);
    assert_int_equal (may_go (f), 1);
    spool_close (f->s);
    assert_int_equal (spool_check (f->spool, false, NULL, NULL, NULL), 0);
    spool_reopen_new (f);
    assert_int_equal (spool_kept (f->s), 0);
}

/* Who needs no second copy any more lets it go. */
static void test_no_longer (void **state)
{
    struct fixture *f = *state;

    assert_int_equal (spool_keep (f->s, true, NULL), 0);
    spool_put_releasable (f, 0);
    acknowledge (f, ITEM_ROWS, 1);
    acknowledge (f, ITEM_RAW, 1);
    spool_reopen (f);
    assert_int_equal (spool_kept (f->s), 2);
    assert_int_equal (spool_keep (f->s, false, NULL), 0);
    assert_int_equal (spool_files (f, "items"), 0);
    assert_int_equal (may_go (f), 1);
}

/* The aggregator is gone before that, and so is the capture: what was kept is
 * asked for with its bytes; nothing that another ledger says lets it go before.
 */
static void test_asked (void **state)
{
    struct fixture *f = *state;
    struct spool_redelivery r;
    struct spool_item item;
    char path[PATH_MAX];

    assert_int_equal (spool_keep (f->s, true, NULL), 0);
    path_below (f, "one", path);
    (void)spool_put (f, path, "v1", "one", "raw", true);
    acknowledge_with (f, &later, ITEM_ROWS, 1);
    acknowledge_with (f, &later, ITEM_RAW, 1);
    assert_int_equal (spool_begin_redelivery (f->s, 0, NULL), 0);
    assert_int_equal (spool_stored (f->s, 100, NULL), 0);
    assert_int_equal (spool_files (f, "items"), 2);
    assert_true (fileio_join (f->again_path, PATH_MAX, path, "x"));
    assert_int_equal (unlink (f->again_path), 0);
    assert_int_equal (rmdir (path), 0);
    redeliver (f, &r);
    assert_int_equal (r.gone, 1);
    assert_int_equal (spool_stored (f->s, 100, NULL), 0);
    for (enum item_kind kind = ITEM_ROWS; kind <= ITEM_RAW; kind++) {
        assert_int_equal (spool_next (f->s, kind, 0, &item, NULL), 1);
        assert_int_equal (item.state, SPOOL_ASKED);
        assert_true (item.own);
        assert_int_equal (access (item.file, R_OK), 0);
    }
    // who damages it finds out nothing else than that it is lost
    assert_int_equal (unlink (item.file), 0);
    assert_int_equal (spool_next (f->s, ITEM_RAW, 0, &item, NULL), 1);
    assert_false (item.own);
    acknowledge (f, ITEM_ROWS, 1);
    acknowledge (f, ITEM_RAW, 1);
    assert_int_equal (spool_files (f, "items"), 1);
    assert_int_equal (spool_stored (f->s, mark.seq, NULL), 0);
    assert_int_equal (spool_files (f, "items"), 0);
}

/* A version that is sealed again is not kept for a position of a ledger that is
 * gone.
 */
static void test_sealed_again (void **state)
{
    struct fixture *f = *state;
    struct spool_redelivery r;
    char path[PATH_MAX];

    assert_int_equal (spool_keep (f->s, true, NULL), 0);
    path_below (f, "one", path);
    (void)spool_put (f, path, "v1", "one", NULL, false);
    acknowledge_with (f, &later, ITEM_ROWS, 1);
    assert_int_equal (spool_begin_redelivery (f->s, 0, NULL), 0);
    redeliver (f, &r);
    assert_int_equal (r.captures, 1);
    assert_int_equal (spool_stored (f->s, 1, NULL), 0);
    assert_int_equal (spool_kept (f->s), 0);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
#define T(fn) cmocka_unit_test_setup_teardown (fn, spool_setup, spool_teardown)
        T (test_kept), T (test_no_longer), T (test_asked),
        T (test_sealed_again),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
