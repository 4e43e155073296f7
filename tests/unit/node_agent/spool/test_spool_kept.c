/* tests/unit/node_agent/spool/test_spool_kept.c - acknowledged, and kept until it
 * has a second copy
 */
#include "node_agent/spool/redeliver_check.h"
#include "spool/release_rows.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

static const struct ledger_mark later = { 7, 9 };

/* Two copies are needed, and this one alone acknowledges; SPOOL_NO_COPY: two do. */
static void keep_by (struct fixture *f, unsigned copy)
{
    const struct spool_keepers k = { true, { SPOOL_NO_COPY, copy, copy } };

    assert_int_equal (spool_keep (f->s, &k, NULL), 0);
}

/* How many captures are offered again. */
static uint64_t revise (struct fixture *f)
{
    uint64_t n = 0;
    int rc;

    while ((rc = spool_revise (f->s, &n, NULL)) > 0)
        continue;
    assert_int_equal (rc, 0);
    assert_false (spool_has_to_revise (f->s));
    return n;
}

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

    keep_by (f, 0);
    spool_put_releasable (f, 0);
    acknowledge_with (f, &later, ITEM_ROWS, 1);
    acknowledge_with (f, &later, ITEM_RAW, 1);
    assert_int_equal (spool_undelivered (f->s), 0);
    assert_int_equal (spool_kept (f->s), 2);
    assert_int_equal (may_go (f), 0);
    spool_reopen (f);
    keep_by (f, 0);
    assert_int_equal (spool_files (f, "items"), 2);
    assert_int_equal (spool_stored (f->s, 0, later.seq - 1, NULL), 0);
    assert_int_equal (spool_files (f, "items"), 2);
    assert_int_equal (may_go (f), 0);
    assert_int_equal (spool_stored (f->s, 0, later.seq, NULL), 0);
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
    const struct spool_keepers one = { false, { SPOOL_NO_COPY, SPOOL_NO_COPY,
                                                SPOOL_NO_COPY } };
    struct fixture *f = *state;

    keep_by (f, 0);
    spool_put_releasable (f, 0);
    acknowledge (f, ITEM_ROWS, 1);
    acknowledge (f, ITEM_RAW, 1);
    spool_reopen (f);
    assert_int_equal (spool_kept (f->s), 2);
    assert_int_equal (spool_keep (f->s, &one, NULL), 0);
    assert_true (spool_has_to_revise (f->s));
    assert_int_equal (revise (f), 0);
    assert_int_equal (spool_files (f, "items"), 0);
    assert_int_equal (may_go (f), 1);
}

/* No file goes before the ledger says so, whoever dies meanwhile; what cannot be
 * removed then is by the next start.
 */
static void test_let_go_late (void **state)
{
    const struct spool_keepers one = { false, { SPOOL_NO_COPY, SPOOL_NO_COPY,
                                                SPOOL_NO_COPY } };
    struct fixture *f = *state;
    struct rlimit was, nothing;
    struct spool_item item;
    char path[PATH_MAX];
    uint64_t n = 0;

    keep_by (f, 0);
    path_below (f, "one", path);
    (void)spool_put (f, path, "v1", "one", NULL, false);
    assert_int_equal (spool_next (f->s, ITEM_ROWS, 0, &item, NULL), 1);
    acknowledge (f, ITEM_ROWS, 1);
    assert_int_equal (spool_keep (f->s, &one, NULL), 0);
    assert_int_equal (getrlimit (RLIMIT_FSIZE, &was), 0);
    nothing = (struct rlimit){ 0, was.rlim_max };
    assert_true (signal (SIGXFSZ, SIG_IGN) != SIG_ERR);
    assert_int_equal (setrlimit (RLIMIT_FSIZE, &nothing), 0);
    assert_true (spool_revise (f->s, &n, NULL) < 0);
    assert_int_equal (setrlimit (RLIMIT_FSIZE, &was), 0);
    assert_int_equal (spool_files (f, "items"), 1);
    spool_reopen (f);
    assert_int_equal (spool_kept (f->s), 1);
    assert_int_equal (spool_files (f, "items"), 1);
    // the ledger is written, and the file is not removed
    assert_true (fileio_join (path, PATH_MAX, f->spool, "aside"));
    assert_int_equal (rename (item.file, path), 0);
    assert_int_equal (mkdir (item.file, 0700), 0);
    assert_int_equal (spool_keep (f->s, &one, NULL), 0);
    assert_int_equal (revise (f), 0);
    assert_int_equal (spool_kept (f->s), 0);
    assert_int_equal (rmdir (item.file), 0);
    assert_int_equal (rename (path, item.file), 0);
    spool_reopen (f);
    assert_int_equal (spool_kept (f->s), 0);
    assert_int_equal (spool_files (f, "items"), 0);
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

    keep_by (f, 0);
    path_below (f, "one", path);
    (void)spool_put (f, path, "v1", "one", "raw", true);
    acknowledge_with (f, &later, ITEM_ROWS, 1);
    acknowledge_with (f, &later, ITEM_RAW, 1);
    assert_int_equal (spool_begin_redelivery (f->s, 0, NULL), 0);
    assert_int_equal (spool_stored (f->s, 0, 100, NULL), 0);
    assert_int_equal (spool_files (f, "items"), 2);
    assert_true (fileio_join (f->again_path, PATH_MAX, path, "x"));
    assert_int_equal (unlink (f->again_path), 0);
    assert_int_equal (rmdir (path), 0);
    redeliver (f, &r);
    assert_int_equal (r.gone, 1);
    assert_int_equal (spool_stored (f->s, 0, 100, NULL), 0);
    for (enum item_kind kind = ITEM_ROWS; kind <= ITEM_RAW; kind++) {
        assert_int_equal (spool_next (f->s, kind, 0, &item, NULL), 1);
        assert_int_equal (item.state, SPOOL_ASKED);
        assert_true (item.here);
        assert_int_equal (access (item.file, R_OK), 0);
    }
    // who damages it finds out nothing else than that it is lost
    assert_int_equal (unlink (item.file), 0);
    assert_int_equal (spool_next (f->s, ITEM_RAW, 0, &item, NULL), 1);
    assert_false (item.here);
    acknowledge (f, ITEM_ROWS, 1);
    acknowledge (f, ITEM_RAW, 1);
    assert_int_equal (spool_files (f, "items"), 1);
    assert_int_equal (spool_stored (f->s, 0, mark.seq, NULL), 0);
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

    keep_by (f, 0);
    path_below (f, "one", path);
    (void)spool_put (f, path, "v1", "one", NULL, false);
    acknowledge_with (f, &later, ITEM_ROWS, 1);
    assert_int_equal (spool_begin_redelivery (f->s, 0, NULL), 0);
    redeliver (f, &r);
    assert_int_equal (r.captures, 1);
    assert_int_equal (spool_stored (f->s, 0, 1, NULL), 0);
    assert_int_equal (spool_kept (f->s), 0);
}

/* Another aggregator gets what one alone has: what is kept with its bytes, whoever
 * dies meanwhile; and what has only its capture by that.
 */
static void test_revised (void **state)
{
    struct fixture *f = *state;
    char path[PATH_MAX];

    keep_by (f, 1);
    path_below (f, "one", path);
    (void)spool_put (f, path, "v1", "one", "raw", true);
    spool_set_mark (f->s, 1, &later);
    acknowledge (f, ITEM_ROWS, 1);
    assert_int_equal (spool_kept (f->s), 1);
    assert_int_equal (spool_kept_bytes (f->s), 3);
    // it is in the store, and not at another aggregator
    assert_int_equal (spool_stored (f->s, 0, later.seq, NULL), 0);
    assert_int_equal (spool_kept (f->s), 1);
    assert_int_equal (spool_stored (f->s, 1, later.seq, NULL), 0);
    assert_int_equal (spool_kept (f->s), 0);
    acknowledge (f, ITEM_RAW, 1);
    spool_reopen (f);
    keep_by (f, SPOOL_NO_COPY);
    assert_true (spool_has_to_revise (f->s));
    assert_true (spool_knows (f->s, path, "v1"));
    assert_int_equal (revise (f), 1);
    assert_false (spool_knows (f->s, path, "v1"));
    assert_int_equal (spool_kept (f->s), 0);
    assert_int_equal (losses (f), 0);
    // and again: there is nothing
    spool_reopen (f);
    keep_by (f, SPOOL_NO_COPY);
    assert_false (spool_has_to_revise (f->s));
}

/* What is kept is asked, and has no second copy by the position of another ledger.
 */
static void test_revised_kept (void **state)
{
    struct fixture *f = *state;
    struct spool_item item;
    char path[PATH_MAX];

    keep_by (f, 1);
    path_below (f, "one", path);
    (void)spool_put (f, path, "v1", "one", "raw", true);
    acknowledge (f, ITEM_ROWS, 1);
    acknowledge (f, ITEM_RAW, 1);
    assert_int_equal (spool_kept (f->s), 2);
    keep_by (f, 0);
    assert_true (spool_has_to_revise (f->s));
    assert_int_equal (spool_stored (f->s, 0, INT64_MAX, NULL), 0);
    assert_int_equal (spool_stored (f->s, 1, INT64_MAX, NULL), 0);
    assert_int_equal (spool_kept (f->s), 2);
    spool_reopen (f);           // mixed positions: whoever keeps then
    keep_by (f, 1);
    assert_true (spool_has_to_revise (f->s));
    assert_int_equal (revise (f), 1);
    assert_int_equal (spool_files (f, "items"), 2);
    for (enum item_kind kind = ITEM_ROWS; kind <= ITEM_RAW; kind++) {
        assert_int_equal (spool_next (f->s, kind, 0, &item, NULL), 1);
        assert_int_equal (item.state, SPOOL_ASKED);
        assert_true (item.here);
    }
    keep_by (f, SPOOL_NO_COPY);
    acknowledge (f, ITEM_ROWS, 1);
    acknowledge (f, ITEM_RAW, 1);
    assert_int_equal (spool_files (f, "items"), 0);
    assert_int_equal (spool_kept (f->s), 0);
    assert_int_equal (revise (f), 0);
    assert_true (spool_knows (f->s, path, "v1"));
}

/* A raw file without a link in the spool is asked for where it is. */
static void test_original (void **state)
{
    struct fixture *f = *state;
    struct spool_item item;
    char path[PATH_MAX];

    keep_by (f, 0);
    path_below (f, "one", path);
    (void)spool_put (f, path, "v1", "one", "raw", false);
    acknowledge (f, ITEM_ROWS, 1);
    acknowledge (f, ITEM_RAW, 1);
    keep_by (f, SPOOL_NO_COPY);
    assert_int_equal (revise (f), 1);
    assert_int_equal (spool_next (f->s, ITEM_RAW, 0, &item, NULL), 1);
    assert_int_equal (item.state, SPOOL_ASKED);
    assert_true (item.here);
    assert_int_equal (unlink (item.file), 0);
    assert_int_equal (spool_next (f->s, ITEM_RAW, 0, &item, NULL), 1);
    assert_false (item.here);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
#define T(fn) cmocka_unit_test_setup_teardown (fn, spool_setup, spool_teardown)
        T (test_kept), T (test_no_longer), T (test_let_go_late), T (test_asked),
        T (test_sealed_again), T (test_revised), T (test_revised_kept),
        T (test_original),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
