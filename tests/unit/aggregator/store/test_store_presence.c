/* tests/unit/aggregator/store/test_store_presence.c - what is removed below a
 * root in use */
#include "aggregator/ledger/ledger_check.h"
#include "store/store_private.h"

#include <errno.h>

static void segment_path (struct root *r, int64_t n, char out[PATH_MAX])
{
    store_segment_path (r->dir, n, out);
}

static void remove_segment (struct root *r, int64_t n)
{
    char path[PATH_MAX];

    segment_path (r, n, path);
    assert_int_equal (unlink (path), 0);
}

static void cut_segment (struct root *r, int64_t n, off_t size)
{
    char path[PATH_MAX];

    segment_path (r, n, path);
    assert_int_equal (truncate (path, size), 0);
}

static void count_lost (void *arg, const struct ledger_item *item)
{
    assert_string_equal (item->job, "j");
    ++*(unsigned *)arg;
}

/* Look and mend: how many items have lost their content, -1 if nothing was
 * missing.
 */
static int mend (struct root *r)
{
    struct store_lost lost;
    struct err err = { "" };
    unsigned n = 0;
    int rc = store_look (r->s, false, &lost, &err);

    if (rc > 0) {
        rc = store_repair (r->s, r->l, &lost, count_lost, &n, &err);
        if (rc > 0)
            assert_int_equal (ledger_begin_epoch (r->l, NULL), 0);
        store_lost_fini (&lost);
        if (rc >= 0)
            assert_int_equal (rc, n > 0);
    } else {
        n = UINT32_MAX;
    }
    if (rc < 0)
        fail_msg ("%s", err.text);
    return (int)n;
}

static bool has (struct root *r, const struct ledger_item *item)
{
    struct ledger_place place;

    return ledger_find_content (r->l, &item->content, &place, NULL) == 1 &&
           store_has (r->s, r->l, &item->content, &place);
}

/* Nothing had been committed to it, and what is committed next need not write
 * to one: it is missed once, and then there is another one.
 */
static void test_empty_removed (void **state)
{
    struct root *r = *state;
    struct ledger_item a = true_item ("a", "first");

    remove_segment (r, 1);
    assert_int_equal (store_sync (r->s, NULL), -ESTALE);
    assert_int_equal (mend (r), 0);
    assert_true (store_is_there (r->s));
    assert_int_equal (store_sync (r->s, NULL), 0);
    assert_int_equal (mend (r), -1);
    (void)enter (r, a, "first");
    root_close (r);
    root_open (r);
    assert_true (has (r, &a));
}

/* Nothing in it may be acknowledged; what comes then is in another one, and a
 * next life has that.
 */
static void test_open_removed (void **state)
{
    struct root *r = *state;
    struct ledger_item a = true_item ("a", "first"), b = a;
    struct ledger_item c = true_item ("c", "other");

    (void)enter (r, a, "first");
    assert_int_equal (mend (r), -1);
    assert_true (store_is_there (r->s));
    remove_segment (r, 1);
    assert_false (store_is_there (r->s));
    assert_false (has (r, &a));
    assert_int_equal (put_item (r, &b, "first", NULL), 0);
    assert_int_equal (store_sync (r->s, NULL), -ESTALE);
    store_revert (r->s);
    assert_int_equal (mend (r), 1);
    assert_int_equal (mend (r), -1);
    assert_int_equal (r->s->segment, 2);
    (void)enter (r, c, "other");
    (void)enter (r, a, "first");
    for (int life = 0; life < 2; life++) {
        assert_int_equal (count_all (r).n, 2);
        check_bytes (r, &a.content, "first");
        check_bytes (r, &c.content, "other");
        assert_int_equal (mend (r), -1);
        root_close (r);
        root_open (r);
    }
}

/* A copy has its name, with all that was committed: nothing is lost, and the
 * copy is not written to.
 */
static void test_open_replaced (void **state)
{
    struct root *r = *state;
    struct ledger_item a = true_item ("a", "first"), b = a;
    char path[PATH_MAX], command[5 * PATH_MAX];

    (void)enter (r, a, "first");
    segment_path (r, 1, path);
    (void)snprintf (command, sizeof (command), "cp '%s' '%s.x' && mv '%s.x' "
                    "'%s'", path, path, path, path);
    assert_int_equal (system (command), 0);
    assert_false (store_is_there (r->s));
    assert_int_equal (put_item (r, &b, "first", NULL), 0);
    assert_int_equal (store_sync (r->s, NULL), -ESTALE);
    store_revert (r->s);
    assert_int_equal (mend (r), -1);
    assert_int_equal (store_sync (r->s, NULL), 0);      // commits nothing
    (void)enter (r, true_item ("c", "other"), "other");
    assert_int_equal (r->s->segment, 2);
    check_bytes (r, &a.content, "first");
}

/* Between two records of one commit: the second makes it as long as it was. */
static void test_open_emptied (void **state)
{
    struct root *r = *state;
    struct ledger_item a = true_item ("a", "first");
    struct ledger_item b = true_item ("b", "second");

    assert_int_equal (put_item (r, &a, "first", NULL), 0);
    cut_segment (r, 1, 0);
    assert_int_equal (put_item (r, &b, "second", NULL), -ESTALE);
    assert_int_not_equal (store_sync (r->s, NULL), 0);
    store_revert (r->s);
    (void)enter (r, a, "first");
    check_bytes (r, &a.content, "first");
}

/* What is before the cut stays, what comes later lies behind no hole. */
static void test_open_cut (void **state)
{
    struct root *r = *state;
    struct ledger_item a = true_item ("a", "first");
    struct ledger_item b = true_item ("b", "second"), again = b;

    off_t first;

    (void)enter (r, a, "first");
    first = (off_t)r->s->committed;
    (void)enter (r, b, "second");
    cut_segment (r, 1, first + 70);     // in the bytes of its chunk
    assert_int_equal (put_item (r, &again, "second", NULL),
                      -ESTALE);
    store_revert (r->s);
    assert_int_equal (mend (r), 1);
    check_bytes (r, &a.content, "first");
    assert_false (has (r, &b));
    (void)enter (r, b, "second");
    check_bytes (r, &b.content, "second");
    assert_int_equal (mend (r), -1);
}

/* One that nobody writes to, when a next life has loaded it, too. */
static void test_sealed_removed (void **state)
{
    struct root *r = *state;
    struct ledger_item a = true_item ("a", "first");
    struct ledger_item b = true_item ("b", "second");

    for (int life = 0; life < 2; life++) {
        int64_t n = r->s->segment;

        (void)enter (r, a, "first");
        r->s->distrusted = true;        // it goes on in the next one
        (void)enter (r, b, "second");
        if (life == 1) {
            root_close (r);
            root_open (r);
        }
        assert_int_equal (mend (r), -1);
        remove_segment (r, n);
        assert_int_equal (mend (r), 1);
        assert_int_equal (mend (r), -1);
        assert_false (has (r, &a));
        check_bytes (r, &b.content, "second");
        assert_int_equal (count_all (r).n, 2);
    }
}

/* There are names and roots enough for a second try. */
static void test_no_room (void **state)
{
    struct root *r = *state;
    struct ledger_item a = true_item ("a", "first");
    struct store_lost lost;
    char path[PATH_MAX];
    unsigned n = 0;

    (void)enter (r, a, "first");
    remove_segment (r, 1);
    segment_path (r, 2, path);
    assert_int_equal (mkdir (path, 0700), 0);
    assert_int_equal (store_look (r->s, true, &lost, NULL), 1);
    assert_true (store_repair (r->s, r->l, &lost, count_lost, &n, NULL) < 0);
    store_lost_fini (&lost);
    assert_int_equal (rmdir (path), 0);
    assert_int_equal (mend (r), 1);
    (void)enter (r, a, "first");
    check_bytes (r, &a.content, "first");
}

/* Those who were told before that all is there, of that host and job, and until
 * it has come again.
 */
static void test_who_is_told (void **state)
{
    struct root *r = *state;
    struct ledger_item a = true_item ("a", "first");
    struct ledger_mark before, after;

    assert_int_equal (ledger_begin_epoch (r->l, NULL), 0);
    (void)enter (r, a, "first");
    before = ledger_mark (r->l);
    assert_int_equal (ledger_lost_since (r->l, &before, "j", "n0", NULL), 0);
    remove_segment (r, 1);
    assert_int_equal (mend (r), 1);
    (void)enter (r, true_item ("b", "second"), "second");
    after = ledger_mark (r->l);
    for (int life = 0; life < 2; life++) {
        assert_int_equal (ledger_reaches (r->l, &before, NULL), 1);
        assert_int_equal (ledger_lost_since (r->l, &before, "j", "n0", NULL),
                          1);
        assert_int_equal (ledger_lost_since (r->l, &before, "k", "n0", NULL),
                          0);
        assert_int_equal (ledger_lost_since (r->l, &before, "j", "n1", NULL),
                          0);
        assert_int_equal (ledger_lost_since (r->l, &after, "j", "n0", NULL),
                          0);
        root_close (r);
        root_open (r);
        assert_int_equal (ledger_begin_epoch (r->l, NULL), 0);
    }
    (void)enter (r, a, "first");
    assert_int_equal (ledger_lost_since (r->l, &before, "j", "n0", NULL), 0);
}

static void remove_ledger (struct root *r, const char *end)
{
    char path[PATH_MAX];

    (void)snprintf (path, sizeof (path), "%s%s", r->db, end);
    assert_int_equal (unlink (path), 0);
}

/* Each of its files; what was told is still known, also by a next life. */
static void test_ledger_removed (void **state)
{
    static const char *const ends[] = { "", "-wal", "-shm" };
    struct root *r = *state;
    struct ledger_mark mark;
    struct err err = { "" };
    char aside[PATH_MAX];

    assert_int_equal (ledger_begin_epoch (r->l, NULL), 0);
    for (unsigned i = 0; i < 3; i++) {
        struct ledger_item a = true_item (ends[i], "first");

        (void)snprintf (a.capture, sizeof (a.capture), "c%u", i);
        assert_true (ledger_is_there (r->l));
        remove_ledger (r, ends[i]);
        assert_false (ledger_is_there (r->l));
        if (ledger_put_back (r->l, aside, &err) < 0)
            fail_msg ("%s", err.text);
        assert_string_equal (aside, "");
        assert_true (ledger_is_there (r->l));
        (void)enter (r, a, "first");
        assert_true (ledger_is_there (r->l));
    }
    mark = ledger_mark (r->l);
    root_close (r);
    root_open (r);
    assert_int_equal (count_all (r).n, 3);
    assert_int_equal (ledger_reaches (r->l, &mark, NULL), 1);
}

/* With what it has only in its journal, and beside one that is not ours. */
static void test_ledger_replaced (void **state)
{
    struct root *r = *state;
    char aside[PATH_MAX], text[8] = "", wal[PATH_MAX + 8];
    FILE *f;

    (void)enter (r, true_item ("a", "first"), "first");
    remove_ledger (r, "");
    remove_ledger (r, "-wal");
    (void)snprintf (wal, sizeof (wal), "%s-wal", r->db);
    f = fopen (wal, "w");
    assert_non_null (f);
    (void)fclose (f);
    f = fopen (r->db, "w");
    assert_non_null (f);
    (void)fputs ("mine", f);
    (void)fclose (f);
    assert_false (ledger_is_there (r->l));
    assert_int_equal (ledger_put_back (r->l, aside, NULL), 0);
    assert_int_equal (count_all (r).n, 1);
    f = fopen (aside, "r");
    assert_non_null (f);
    assert_non_null (fgets (text, sizeof (text), f));
    (void)fclose (f);
    assert_string_equal (text, "mine");
    // what it has may be in its journal only
    (void)snprintf (wal, sizeof (wal), "%s-wal", aside);
    assert_int_equal (access (wal, F_OK), 0);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        ROOT_TEST (test_empty_removed),
        ROOT_TEST (test_open_removed), ROOT_TEST (test_open_replaced),
        ROOT_TEST (test_open_emptied), ROOT_TEST (test_open_cut),
        ROOT_TEST (test_sealed_removed),
        ROOT_TEST (test_no_room),
        ROOT_TEST (test_who_is_told), ROOT_TEST (test_ledger_removed),
        ROOT_TEST (test_ledger_replaced),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
