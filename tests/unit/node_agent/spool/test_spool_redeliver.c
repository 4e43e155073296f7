/* tests/unit/node_agent/spool/test_spool_redeliver.c - what the aggregator has
 * lost */
#include "node_agent/spool/redeliver_check.h"

#include "base/clock.h"
#include "base/counter.h"
#include "disk/release.h"
#include "spool/manifest.h"
#include "spool/manifest_remove.h"

#include <sys/stat.h>

/* The mark is noted with the items that it stands for: a later one that is
 * not has told of nothing that is lost if it is.
 */
static void test_mark (void **state)
{
    struct fixture *f = *state;

    assert_true (mark_is (f, 0, 0));
    (void)spool_put (f, f->raw, "v1", "rows", NULL, false);
    spool_set_mark (f->s, 0, &mark);
    spool_reopen (f);
    assert_true (mark_is (f, 0, 0));
    acknowledge (f, ITEM_ROWS, 1);
    spool_reopen (f);
    assert_true (mark_is (f, mark.epoch, 7));
}

/* What was delivered is sealed again, what is on its way stays so, and only
 * the one that is not there any more is asked for.
 */
static void test_again (void **state)
{
    struct fixture *f = *state;
    char delivered[PATH_MAX], part[PATH_MAX], gone[PATH_MAX];
    struct spool_redelivery r;

    path_below (f, "delivered", delivered);
    path_below (f, "part", part);
    path_below (f, "gone", gone);
    (void)spool_put (f, delivered, "v1", "1", NULL, false);
    (void)spool_put (f, delivered, "v2", "2", NULL, false);
    (void)spool_put (f, gone, "v1", "3", NULL, false);
    (void)spool_put (f, part, "v1", "4", "raw", false);
    acknowledge (f, ITEM_ROWS, 4);
    (void)spool_put (f, f->raw, "v1", "5", NULL, false);
    assert_int_equal (rmdir (gone), 0);
    assert_int_equal (spool_begin_redelivery (f->s, 0, NULL), 0);
    assert_true (mark_is (f, 0, 0));
    redeliver (f, &r);
    assert_int_equal (r.captures, 2);
    assert_int_equal (r.gone, 1);
    assert_int_equal (spool_undelivered (f->s), 3);     // the raw file, and 5
    lose (f, ITEM_ROWS, 1);
    assert_false (spool_asks (f->s));
    assert_int_equal (spool_each_lost_there (f->s, NULL, NULL, NULL), 1);
    assert_false (spool_knows (f->s, delivered, "v1"));
    assert_false (spool_knows (f->s, delivered, "v2"));
    assert_false (spool_knows (f->s, part, "v1"));
    assert_false (spool_knows (f->s, gone, "v1"));
    assert_true (spool_knows (f->s, f->raw, "v1"));
    assert_int_equal (spool_undelivered (f->s), 2);     // the raw file, and 5
    // until they are sealed again they are lost
    assert_int_equal (losses (f), 3);
    (void)spool_put (f, delivered, "v2", "2", NULL, false);
    (void)spool_put (f, part, "v1", "4", "raw", false);
    assert_int_equal (losses (f), 1);
    acknowledge (f, ITEM_ROWS, 3);
    acknowledge (f, ITEM_RAW, 2);
    assert_int_equal (spool_undelivered (f->s), 0);
    assert_true (mark_is (f, mark.epoch, 7));
    spool_close (f->s);
    assert_int_equal (spool_check (f->spool, false, NULL, NULL, NULL), 0);
    spool_reopen_new (f);
}

static void see_loss (void *arg, const char *path, bool again,
                      const char *text)
{
    assert_string_equal (path, arg);
    assert_true (again);
    assert_non_null (strstr (text, path));
}

/* Only what is not here any more is asked for, and it was delivered before: nothing
 * is sealed again, and the next start does not go on.
 */
static void test_ask_gone (void **state)
{
    struct fixture *f = *state;
    uint64_t durable = counter_get (COUNTER_ITEMS_DURABLE);
    uint64_t confirmed = counter_get (COUNTER_ITEMS_CONFIRMED);
    char here[PATH_MAX], gone[PATH_MAX];
    struct spool_redelivery r = { .at = 0 };

    path_below (f, "here", here);
    path_below (f, "gone", gone);
    (void)spool_put (f, here, "v1", "1", NULL, false);
    (void)spool_put (f, gone, "v1", "2", NULL, false);
    acknowledge (f, ITEM_ROWS, 2);
    assert_int_equal (rmdir (gone), 0);
    spool_ask_gone (f->s);
    assert_true (spool_redelivers (f->s));
    spool_reopen (f);
    assert_false (spool_redelivers (f->s));
    spool_ask_gone (f->s);
    redeliver (f, &r);
    assert_true (r.only_gone);
    assert_int_equal (r.captures, 0);
    assert_int_equal (r.gone, 1);
    assert_true (spool_knows (f->s, here, "v1"));
    assert_true (mark_is (f, mark.epoch, mark.seq));
    assert_int_equal (spool_undelivered (f->s), 1);
    acknowledge (f, ITEM_ROWS, 1);
    assert_false (spool_asks (f->s));
    assert_int_equal (counter_get (COUNTER_ITEMS_DURABLE) - durable, 2);
    assert_int_equal (counter_get (COUNTER_ITEMS_CONFIRMED) - confirmed, 1);
}


/* It is away while it is looked for, as on a file system that is not mounted
 * yet: a loss in each later life, but not for good.
 */
static void test_away (void **state)
{
    struct fixture *f = *state;
    char path[PATH_MAX];
    struct spool_redelivery r;

    path_below (f, "away", path);
    (void)spool_put (f, path, "v1", "1", NULL, false);
    acknowledge (f, ITEM_ROWS, 1);
    assert_int_equal (rmdir (path), 0);
    assert_int_equal (spool_begin_redelivery (f->s, 0, NULL), 0);
    redeliver (f, &r);
    assert_int_equal (r.gone, 1);
    lose (f, ITEM_ROWS, 1);
    for (int life = 0; life < 2; life++) {
        spool_reopen (f);
        assert_int_equal (spool_each_lost (f->s, see_loss, path, NULL), 1);
    }
    path_below (f, "away", path);
    assert_false (spool_knows (f->s, path, "v1"));
    (void)spool_put (f, path, "v1", "1", NULL, false);
    assert_int_equal (losses (f), 0);
    assert_true (spool_knows (f->s, path, "v1"));
}

/* It comes again, but elsewhere.  Another one of its name is another one. */
static void test_comes_elsewhere (void **state)
{
    struct fixture *f = *state;
    char away[PATH_MAX], lost[PATH_MAX], path[PATH_MAX];
    struct spool_redelivery r;

    path_below (f, "away", path);
    path_below (f, "lost", path);
    path_below (f, "new", path);
    path_below (f, "away/x_pt", away);
    path_below (f, "lost/x_pt", lost);
    (void)spool_put (f, away, "v1", "1", NULL, false);
    (void)spool_put (f, lost, "v1", "2", NULL, false);
    acknowledge (f, ITEM_ROWS, 2);
    assert_int_equal (rmdir (away), 0);
    assert_int_equal (rmdir (lost), 0);
    assert_int_equal (spool_begin_redelivery (f->s, 0, NULL), 0);
    redeliver (f, &r);
    lose (f, ITEM_ROWS, 2);
    assert_int_equal (losses (f), 2);
    path_below (f, "new/x_pt", path);
    (void)spool_put (f, path, "v1", "1", NULL, false);
    assert_int_equal (spool_each_lost (f->s, see_loss, lost, NULL), 1);
}

/* Delivered from three directories, one after the other, of which only the
 * second is there; its content: so many are lost then.
 */
static void move_it (struct fixture *f, const char *content, unsigned lost)
{
    char paths[3][PATH_MAX], below[PATH_MAX];
    struct spool_redelivery r;

    for (unsigned i = 0; i < 3; i++) {
        (void)snprintf (below, sizeof (below), "%u", i);
        path_below (f, below, paths[i]);
        (void)snprintf (below, sizeof (below), "%u/x_pt", i);
        path_below (f, below, paths[i]);
        (void)spool_put (f, paths[i], "v1", i == 1 ? content : "1", NULL,
                         false);
        acknowledge (f, ITEM_ROWS, 1);
    }
    assert_int_equal (rmdir (paths[0]), 0);
    assert_int_equal (rmdir (paths[2]), 0);
    assert_int_equal (spool_begin_redelivery (f->s, 0, NULL), 0);
    redeliver (f, &r);
    assert_int_equal (r.captures, 1);
    assert_int_equal (r.gone, lost);
    lose (f, ITEM_ROWS, lost);
    assert_int_equal (losses (f), lost + 1);
    (void)spool_put (f, paths[1], "v1", content, NULL, false);
    assert_int_equal (losses (f), lost);
    // should it come back
    assert_false (spool_knows (f->s, paths[0], "v1"));
}

/* It was moved, and moved back: nothing is lost. */
static void test_moved (void **state)
{
    move_it (*state, "1", 0);
}

static void test_namesakes (void **state)
{
    move_it (*state, "2", 2);
}

/* Killed in the middle: the next life goes on.  What has been sealed and
 * acknowledged again by then stays so.
 */
static void test_next_life (void **state)
{
    struct fixture *f = *state;
    struct spool_redelivery r = { 0 };
    char path[PATH_MAX];

    for (unsigned i = 0; i < 1100; i++)         // more than at once
        (void)spool_put (f, f->raw, i % 2 ? "v1" : "v2", "rows", NULL, false);
    path_below (f, "last", path);
    (void)spool_put (f, path, "v1", "rows", NULL, false);
    acknowledge (f, ITEM_ROWS, 1101);
    assert_int_equal (spool_begin_redelivery (f->s, 0, NULL), 0);
    assert_int_equal (spool_redeliver (f->s, &r, NULL), 1);
    assert_true (spool_knows (f->s, path, "v1"));
    (void)spool_put (f, f->raw, "v3", "rows", NULL, false);
    acknowledge (f, ITEM_ROWS, 1);
    spool_reopen (f);
    redeliver (f, &r);
    assert_false (spool_knows (f->s, path, "v1"));
    assert_true (spool_knows (f->s, f->raw, "v3"));
    spool_reopen (f);
    assert_false (spool_redelivers (f->s));
    assert_true (mark_is (f, mark.epoch, 7));
}

/* It would be removed before it has arrived for the second time. */
static void test_release (void **state)
{
    struct fixture *f = *state;
    struct spool_redelivery r;
    struct released got;
    struct buf manifest;

    buf_init (&manifest, 64);
    buf_put (&manifest, "x", 2);
    (void)spool_put (f, f->raw, "v1", "rows", NULL, false);
    assert_int_equal (spool_add_release (f->s, f->raw, RELEASE_ALL_SEALED, 1,
                                         &manifest, 1, NULL), 0);
    buf_fini (&manifest);
    acknowledge (f, ITEM_ROWS, 1);
    assert_int_equal (spool_next_release (f->s, RELEASE_KEPT, 0, 2, &got,
                                          NULL), 1);
    buf_fini (&got.manifest);
    assert_int_equal (spool_begin_redelivery (f->s, 0, NULL), 0);
    redeliver (f, &r);
    assert_int_equal (r.captures, 1);
    assert_int_equal (spool_next_release (f->s, RELEASE_KEPT, 0, 2, &got,
                                          NULL), 0);
}

/* Acknowledged by an aggregator that had no marks: all of it is sealed again,
 * once, and what is not there any more is asked for, also by the life that goes
 * on with it.
 */
static void test_without_mark (void **state)
{
    static const struct ledger_mark none = { 0, 0 };
    struct fixture *f = *state;
    char gone[PATH_MAX];
    struct spool_redelivery r;

    assert_false (spool_lacks_mark (f->s, 0));
    assert_false (spool_has_delivered (f->s));
    path_below (f, "gone", gone);
    (void)spool_put (f, gone, "v1", "1", NULL, false);
    (void)spool_put (f, f->raw, "v1", "2", NULL, false);
    assert_false (spool_lacks_mark (f->s, 0));
    acknowledge_with (f, &none, ITEM_ROWS, 2);
    spool_reopen (f);
    assert_true (spool_lacks_mark (f->s, 0));
    assert_int_equal (rmdir (gone), 0);
    assert_int_equal (spool_begin_redelivery (f->s, 0, NULL), 0);
    spool_reopen (f);
    assert_false (spool_lacks_mark (f->s, 0));
    redeliver (f, &r);
    assert_true (r.in_doubt);
    assert_int_equal (r.captures, 1);
    assert_int_equal (r.gone, 1);
    acknowledge (f, ITEM_ROWS, 1);
    assert_int_equal (losses (f), 1);           // until it is sealed again
    (void)spool_put (f, f->raw, "v1", "2", NULL, false);
    assert_int_equal (losses (f), 0);
    acknowledge (f, ITEM_ROWS, 1);
    assert_int_equal (spool_begin_redelivery (f->s, 0, NULL), 0);
    redeliver (f, &r);
    assert_false (r.in_doubt);
}

/* The same behind a redelivery: what came without a mark would never have been
 * delivered again.
 */
static void test_without_mark_again (void **state)
{
    static const struct ledger_mark none = { 0, 0 };
    struct fixture *f = *state;
    struct spool_redelivery r;

    (void)spool_put (f, f->raw, "v1", "1", NULL, false);
    assert_int_equal (spool_begin_redelivery (f->s, 0, NULL), 0);
    redeliver (f, &r);
    assert_false (spool_lacks_mark (f->s, 0));
    acknowledge_with (f, &none, ITEM_ROWS, 1);
    assert_true (spool_lacks_mark (f->s, 0));
    spool_reopen (f);
    assert_true (spool_lacks_mark (f->s, 0));
    assert_int_equal (spool_begin_redelivery (f->s, 0, NULL), 0);
    redeliver (f, &r);
    assert_int_equal (r.captures, 1);
    assert_false (spool_lacks_mark (f->s, 0));
}

/* The same if the note of the mark is damaged. */
static void test_damaged_mark (void **state)
{
    struct fixture *f = *state;

    (void)spool_put (f, f->raw, "v1", "1", NULL, false);
    acknowledge (f, ITEM_ROWS, 1);
    assert_false (spool_lacks_mark (f->s, 0));
    assert_int_equal (spool_keep_note (f->s, "mark", "?", NULL), 0);
    spool_reopen (f);
    assert_true (spool_lacks_mark (f->s, 0));
    (void)spool_put (f, f->raw, "v2", "2", NULL, false);
    acknowledge (f, ITEM_ROWS, 1);
    assert_false (spool_lacks_mark (f->s, 0));
}

/* A life died in the middle of it, and the disk forgot that: what was called
 * acknowledged must not be taken for confirmed by an aggregator that has not
 * been asked for it.  fsck --repair does not make that any better.
 */
static void test_damaged_redelivery (void **state)
{
    static const struct {
        const char *damage;
        bool repaired;
    } cases[] = {
        { "UPDATE note SET text='9 0' WHERE name='redeliver'", false },
        { "UPDATE note SET text='9 0' WHERE name='redeliver'", true },
        { "UPDATE note SET name='redelives' WHERE name='redeliver'", false },
    };
    struct fixture *f = *state;
    struct spool_redelivery r;

    (void)spool_put (f, f->raw, "v1", "1", NULL, false);
    acknowledge (f, ITEM_ROWS, 1);
    for (size_t i = 0; i < sizeof (cases) / sizeof (cases[0]); i++) {
        assert_int_equal (spool_begin_redelivery (f->s, 0, NULL), 0);
        spool_sql (f, cases[i].damage);
        if (cases[i].repaired)
            assert_int_equal (spool_check (f->spool, true, NULL, NULL, NULL),
                              1);
        spool_reopen (f);
        assert_false (spool_redelivers (f->s));
        assert_true (spool_lacks_mark (f->s, 0));
    }
    assert_int_equal (spool_begin_redelivery (f->s, 0, NULL), 0);
    redeliver (f, &r);
    assert_true (r.in_doubt);
    assert_int_equal (r.captures, 1);
    spool_reopen (f);
    assert_false (spool_lacks_mark (f->s, 0));
}

/* Set aside by a life that died of it: so many files were removed then. */
static void begin_release (struct fixture *f, unsigned removed,
                           char aside[PATH_MAX])
{
    struct released r;
    char file[PATH_MAX];

    spool_put_releasable (f, 0);
    acknowledge (f, ITEM_ROWS, 1);
    acknowledge (f, ITEM_RAW, 1);
    assert_int_equal (spool_next_release (f->s, RELEASE_KEPT, 0, 9, &r, NULL),
                      1);
    assert_int_equal (spool_change_release (f->s, &r, RELEASE_REMOVE, NULL,
                                            NULL), 0);
    assert_int_equal (manifest_set_aside (f->raw, r.manifest.data,
                                          r.manifest.size, NULL), 0);
    manifest_aside_path (aside, f->raw, r.manifest.data, r.manifest.size);
    buf_fini (&r.manifest);
    assert_int_equal (access (aside, F_OK), 0);
    assert_int_equal (access (f->raw, F_OK), -1);
    assert_true (fileio_join (file, sizeof (file), aside, "x"));
    if (removed > 0)
        assert_int_equal (unlink (file), 0);
    spool_reopen (f);
    assert_int_equal (spool_begin_redelivery (f->s, 0, NULL), 0);
}

/* It was whole, under a name that nobody looks for: now it is the only one. */
static void test_taken_back (void **state)
{
    struct fixture *f = *state;
    struct spool_redelivery r;
    char aside[PATH_MAX], file[PATH_MAX];

    begin_release (f, 0, aside);
    assert_int_equal (release_take_back (f->s, NULL), 1);
    assert_int_equal (release_take_back (f->s, NULL), 0);
    assert_true (fileio_join (file, sizeof (file), f->raw, "x"));
    assert_int_equal (access (file, F_OK), 0);
    redeliver (f, &r);
    assert_int_equal (r.captures, 1);
    assert_int_equal (r.gone, 0);
    assert_false (spool_knows (f->s, f->raw, "v1"));
    // and nobody goes on with the removal
    assert_int_equal (release_claims (f->s, f->raw, true), RELEASE_KEPT);
    assert_int_equal (release_repair (f->s, NULL), 0);
    assert_int_equal (access (file, F_OK), 0);
}

/* Its name may be that of another one by now: what was set aside is not, and
 * goes when the aggregator has confirmed that it has it, or stays.
 */
static void set_aside_beside_another (struct fixture *f, bool confirmed)
{
    char aside[PATH_MAX], file[PATH_MAX], other[PATH_MAX];

    begin_release (f, 0, aside);
    assert_int_equal (mkdir (f->raw, 0700), 0);
    assert_true (fileio_join (other, sizeof (other), f->raw, "other"));
    assert_int_equal (fileio_replace (other, "", 0, 0600, NULL), 0);
    assert_true (fileio_join (file, sizeof (file), aside, "x"));
    assert_int_equal (release_claims (f->s, f->raw, false), -EAGAIN);
    assert_int_equal (access (file, F_OK), 0);
    if (confirmed) {
        assert_int_equal (release_claims (f->s, f->raw, true), RELEASE_KEPT);
        assert_int_equal (access (aside, F_OK), -1);
    } else {
        assert_int_equal (release_take_back (f->s, NULL), -ESTALE);
        assert_int_equal (access (file, F_OK), 0);
    }
    assert_int_equal (release_claims (f->s, f->raw, false), RELEASE_KEPT);
    assert_int_equal (access (other, F_OK), 0);
}

static void test_set_aside_and_confirmed (void **state)
{
    set_aside_beside_another (*state, true);
}

static void test_set_aside_and_lost (void **state)
{
    set_aside_beside_another (*state, false);
}

/* What is left is no capture; and it is nowhere else any more. */
static void test_not_taken_back (void **state)
{
    struct fixture *f = *state;
    struct spool_redelivery r;
    struct err err = { "" };
    char aside[PATH_MAX];

    begin_release (f, 1, aside);
    assert_int_equal (release_take_back (f->s, &err), -ESTALE);
    assert_non_null (strstr (err.text, aside));
    assert_int_equal (release_take_back (f->s, NULL), 0);
    redeliver (f, &r);
    assert_int_equal (r.captures, 0);
    assert_int_equal (r.gone, 1);
    lose (f, ITEM_ROWS, 1);
    lose (f, ITEM_RAW, 1);
    assert_int_equal (losses (f), 1);
    assert_int_equal (release_repair (f->s, NULL), 0);
    assert_int_equal (access (aside, F_OK), 0);
    assert_int_equal (access (f->raw, F_OK), -1);
}

/* It was removed, but for a file that came to it later: what is there by its
 * name is not what the aggregator has lost, and is never sealed.
 */
static void test_only_left (void **state)
{
    struct fixture *f = *state;
    struct spool_redelivery r;
    struct released release;
    struct buf manifest;
    size_t files;

    (void)spool_put (f, f->raw, "v1", "1", "raw", true);
    buf_init (&manifest, MANIFEST_MAX);
    assert_int_equal (manifest_take (f->raw, &manifest, &files, NULL), 0);
    assert_int_equal (spool_add_release (f->s, f->raw, RELEASE_ALL_SEALED, 2,
                                         &manifest, clock_wall_ns (), NULL),
                      0);
    buf_fini (&manifest);
    acknowledge (f, ITEM_ROWS, 1);
    acknowledge (f, ITEM_RAW, 1);
    assert_int_equal (spool_next_release (f->s, RELEASE_KEPT, 0, INT64_MAX,
                                          &release, NULL), 1);
    assert_int_equal (spool_change_release (f->s, &release, RELEASE_REMOVE,
                                            NULL, NULL), 0);
    assert_int_equal (spool_change_release (f->s, &release, RELEASE_OTHER_FILES,
                                            NULL, NULL), 0);
    buf_fini (&release.manifest);
    assert_int_equal (access (f->raw, F_OK), 0);
    assert_int_equal (spool_begin_redelivery (f->s, 0, NULL), 0);
    redeliver (f, &r);
    assert_int_equal (r.captures, 0);
    assert_int_equal (r.gone, 1);
    lose (f, ITEM_ROWS, 1);
    assert_int_equal (losses (f), 1);
}

#define TEST(name) \
    cmocka_unit_test_setup_teardown (name, spool_setup, spool_teardown)

int main (void)
{
    const struct CMUnitTest tests[] = {
        TEST (test_mark), TEST (test_again), TEST (test_ask_gone),
        TEST (test_away),
        TEST (test_comes_elsewhere), TEST (test_moved), TEST (test_namesakes),
        TEST (test_next_life), TEST (test_release), TEST (test_without_mark),
        TEST (test_without_mark_again), TEST (test_damaged_mark),
        TEST (test_damaged_redelivery), TEST (test_taken_back),
        TEST (test_set_aside_and_confirmed), TEST (test_set_aside_and_lost),
        TEST (test_not_taken_back), TEST (test_only_left),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
