/* tests/unit/node_agent/spool/test_redelivery_requests.c - what is not here any
 * more, and is asked for
 */
#include "node_agent/spool/redeliver_check.h"

/* Two captures that are not here any more, of rows and a raw file each. */
static void begin_asking (struct fixture *f, char paths[2][PATH_MAX])
{
    static const char *const names[] = { "one", "two" };
    struct spool_redelivery r;
    char file[PATH_MAX];

    for (unsigned i = 0; i < 2; i++) {
        path_below (f, names[i], paths[i]);
        (void)spool_put (f, paths[i], "v1", names[i], names[i], false);
        assert_true (fileio_join (file, sizeof (file), paths[i], "x"));
        assert_int_equal (unlink (file), 0);
        assert_int_equal (rmdir (paths[i]), 0);
    }
    acknowledge (f, ITEM_ROWS, 2);
    acknowledge (f, ITEM_RAW, 2);
    assert_int_equal (spool_begin_redelivery (f->s, 0, NULL), 0);
    redeliver (f, &r);
    assert_int_equal (r.gone, 2);
    assert_int_equal (losses (f), 0);           // not known yet
    assert_int_equal (spool_bytes (f->s), 0);
}

static void see_text (void *arg, const char *path, bool again,
                      const char *text)
{
    const char *const *want = arg;

    assert_true (again);
    assert_string_equal (path, want[0]);
    if (!strstr (text, want[1]))
        fail_msg ("no \"%s\" in: %s", want[1], text);
}

static void loss_is (struct fixture *f, const char *path, const char *text)
{
    const char *want[] = { path, text };

    assert_int_equal (spool_each_lost_there (f->s, see_text, want, NULL), 1);
    assert_int_equal (spool_each_lost (f->s, see_text, want, NULL), 1);
}

/* The aggregator has what it acknowledges: only the other one is lost, and with
 * each answer it is known better what of it.  Whoever dies meanwhile asks on.
 */
static void test_asked (void **state)
{
    struct fixture *f = *state;
    char paths[2][PATH_MAX];

    begin_asking (f, paths);
    assert_int_equal (spool_undelivered (f->s), 4);
    acknowledge (f, ITEM_ROWS, 1);
    spool_reopen (f);
    assert_int_equal (spool_undelivered (f->s), 3);
    lose (f, ITEM_ROWS, 1);
    loss_is (f, paths[1], "has lost the rows of");
    assert_true (spool_asks (f->s));
    acknowledge (f, ITEM_RAW, 1);
    spool_reopen (f);
    lose (f, ITEM_RAW, 1);
    loss_is (f, paths[1], "has lost rows and raw files of");
    assert_false (spool_asks (f->s));
    assert_int_equal (spool_undelivered (f->s), 0);
    assert_true (mark_is (f, mark.epoch, 7));
    // the one that is there is known as before
    assert_true (spool_knows (f->s, paths[0], "v1"));
    assert_false (spool_knows (f->s, paths[1], "v1"));
    spool_close (f->s);
    assert_int_equal (spool_check (f->spool, false, NULL, NULL, NULL), 0);
    spool_reopen_new (f);
    // and the other one when it comes
    path_below (f, "two", paths[1]);
    (void)spool_put (f, paths[1], "v1", "two", "two", false);
    assert_int_equal (losses (f), 0);
}

static void test_raw_lost (void **state)
{
    struct fixture *f = *state;
    char paths[2][PATH_MAX];

    begin_asking (f, paths);
    acknowledge (f, ITEM_ROWS, 2);
    lose (f, ITEM_RAW, 1);
    acknowledge (f, ITEM_RAW, 1);
    loss_is (f, paths[0], "no longer here; the first is x");
    assert_false (spool_knows (f->s, paths[0], "v1"));
    assert_true (spool_knows (f->s, paths[1], "v1"));
}

/* The root that has them is put back: they were never lost. */
static void test_asked_once_more (void **state)
{
    struct fixture *f = *state;
    char paths[2][PATH_MAX];
    struct spool_redelivery r;

    begin_asking (f, paths);
    lose (f, ITEM_ROWS, 2);
    lose (f, ITEM_RAW, 1);
    acknowledge (f, ITEM_RAW, 1);
    assert_int_equal (losses (f), 2);
    assert_int_equal (spool_begin_redelivery (f->s, 0, NULL), 0);
    redeliver (f, &r);
    assert_int_equal (r.gone, 2);
    assert_int_equal (spool_undelivered (f->s), 4);
    assert_int_equal (losses (f), 0);
    acknowledge (f, ITEM_ROWS, 2);
    acknowledge (f, ITEM_RAW, 2);
    assert_int_equal (losses (f), 0);
    assert_true (spool_knows (f->s, paths[0], "v1"));
    assert_true (spool_knows (f->s, paths[1], "v1"));
}

/* What is lost of it for another reason stays so, whatever the aggregator has. */
static void test_other_loss (void **state)
{
    struct fixture *f = *state;
    struct spool_redelivery r;
    struct spool_item got;
    char path[PATH_MAX], file[PATH_MAX];

    path_below (f, "gone", path);
    (void)spool_put (f, path, "v1", "1", "raw", false);
    acknowledge (f, ITEM_ROWS, 1);
    assert_int_equal (spool_next (f->s, ITEM_RAW, 0, &got, NULL), 1);
    assert_int_equal (spool_gone (f->s, got.id, SPOOL_HAS_CHANGED, "changed",
                                  NULL), 0);
    assert_true (fileio_join (file, sizeof (file), path, "x"));
    assert_int_equal (unlink (file), 0);
    assert_int_equal (rmdir (path), 0);
    for (unsigned round = 0; round < 2; round++) {
        assert_int_equal (spool_begin_redelivery (f->s, 0, NULL), 0);
        redeliver (f, &r);
        assert_int_equal (losses (f), 1);
        if (round == 0)
            lose (f, ITEM_ROWS, 1);
        else
            acknowledge (f, ITEM_ROWS, 1);
        assert_int_equal (losses (f), 2 - round);
    }
    assert_int_equal (spool_each_lost_there (f->s, NULL, NULL, NULL), 0);
}

/* It came, and was sealed, while its former self was asked for. */
static void test_comes_while_asked (void **state)
{
    struct fixture *f = *state;
    char paths[2][PATH_MAX];

    begin_asking (f, paths);
    path_below (f, "one", paths[0]);
    (void)spool_put (f, paths[0], "v2", "new", NULL, false);
    lose (f, ITEM_ROWS, 2);
    loss_is (f, paths[1], "has lost the rows of");
    acknowledge (f, ITEM_ROWS, 1);
    lose (f, ITEM_RAW, 2);
    loss_is (f, paths[1], "has lost rows and raw files of");
    assert_true (spool_knows (f->s, paths[0], "v2"));
    assert_int_equal (spool_undelivered (f->s), 0);
}

/* What it was nobody knows any more: it cannot be asked for, and is named. */
static void test_damaged_and_gone (void **state)
{
    struct fixture *f = *state;
    char path[PATH_MAX];
    struct spool_redelivery r;

    path_below (f, "gone", path);
    (void)spool_put (f, path, "v1", "1", NULL, false);
    acknowledge (f, ITEM_ROWS, 1);
    assert_int_equal (rmdir (path), 0);
    spool_sql (f, "UPDATE item SET content=zeroblob(32)");
    spool_reopen (f);
    assert_int_equal (spool_begin_redelivery (f->s, 0, NULL), 0);
    redeliver (f, &r);
    assert_false (spool_asks (f->s));
    assert_int_equal (losses (f), 1);
}

#define TEST(name) \
    cmocka_unit_test_setup_teardown (name, spool_setup, spool_teardown)

int main (void)
{
    const struct CMUnitTest tests[] = {
        TEST (test_asked), TEST (test_raw_lost), TEST (test_asked_once_more),
        TEST (test_other_loss), TEST (test_comes_while_asked),
        TEST (test_damaged_and_gone),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
