/* tests/unit/node_agent/spool/test_spool_presence.c - what is removed below a
 * spool in use */
#include "node_agent/spool/spool_check.h"

#include "spool/spool_private.h"

#include <sys/stat.h>

static void path_in (struct fixture *f, const char *name, char out[PATH_MAX])
{
    assert_true (fileio_join (out, PATH_MAX, f->spool, name));
}

static void write_file (const char *path, const char *text)
{
    FILE *file = fopen (path, "w");

    assert_non_null (file);
    (void)fputs (text, file);
    assert_int_equal (fclose (file), 0);
}

/* Without the ledger a next life would not know what was lost. */
static void test_ledger_removed (void **state)
{
    static const char *const names[] = { "ledger.db", "ledger.db-wal" };
    struct fixture *f = *state;
    char path[PATH_MAX], aside[PATH_MAX];
    struct err err = { "" };

    for (unsigned i = 0; i < 2; i++) {
        char capture[16];

        (void)snprintf (capture, sizeof (capture), "/c%u", i);
        (void)spool_put (f, capture, "1", "rows", NULL, false);
        assert_int_equal (spool_look (f->s, aside, NULL), 0);
        path_in (f, names[i], path);
        assert_int_equal (unlink (path), 0);
        if (spool_look (f->s, aside, &err) != 1)
            fail_msg ("%s", err.text);
        assert_string_equal (aside, "");
        assert_int_equal (access (path, F_OK), 0);
        assert_int_equal (spool_look (f->s, aside, NULL), 0);
    }
    (void)spool_put (f, "/c2", "1", "rows", NULL, false);
    spool_reopen (f);
    assert_null (spool_set_aside (f->s));
    assert_true (spool_knows (f->s, "/c0", "1"));
    assert_true (spool_knows (f->s, "/c1", "1"));
    assert_true (spool_knows (f->s, "/c2", "1"));
}

static void check_text (const char *path, const char *text)
{
    char got[16] = "";
    FILE *file = fopen (path, "r");

    assert_non_null (file);
    (void)fgets (got, sizeof (got), file);
    (void)fclose (file);
    assert_string_equal (got, text);
}

/* What somebody has put there may be in its journal only. */
static void test_ledger_replaced (void **state)
{
    struct fixture *f = *state;
    char path[PATH_MAX], aside[PATH_MAX], wal[PATH_MAX + 8];

    (void)spool_put (f, "/c", "1", "rows", NULL, false);
    path_in (f, "ledger.db", path);
    (void)snprintf (wal, sizeof (wal), "%s-wal", path);
    assert_int_equal (unlink (path), 0);
    assert_int_equal (unlink (wal), 0);
    write_file (path, "mine");
    write_file (wal, "journal");
    assert_int_equal (spool_look (f->s, aside, NULL), 1);
    check_text (aside, "mine");
    (void)snprintf (wal, sizeof (wal), "%s-wal", aside);
    check_text (wal, "journal");
    spool_reopen (f);
    assert_true (spool_knows (f->s, "/c", "1"));
}

/* Its lock is another one: nobody keeps another agent out.  The journal of the
 * spool that has its place is left alone.
 */
static void test_dir_replaced (void **state)
{
    struct fixture *f = *state;
    char away[PATH_MAX], wal[PATH_MAX], aside[PATH_MAX], lock[PATH_MAX];

    (void)spool_put (f, "/c", "1", "rows", NULL, false);
    (void)snprintf (away, sizeof (away), "%s.away", f->spool);
    assert_int_equal (rename (f->spool, away), 0);
    assert_int_equal (spool_look (f->s, aside, NULL), -ENODEV);
    assert_int_equal (mkdir (f->spool, 0700), 0);
    path_in (f, "lock", lock);
    write_file (lock, "");
    path_in (f, "ledger.db-wal", wal);
    write_file (wal, "journal");
    assert_int_equal (spool_look (f->s, aside, NULL), -ENODEV);
    spool_close (f->s);
    f->s = NULL;
    check_text (wal, "journal");
    assert_int_equal (fileio_remove_tree (f->spool, NULL), 0);
    assert_int_equal (rename (away, f->spool), 0);
    spool_reopen (f);
    assert_true (spool_knows (f->s, "/c", "1"));
}

/* It has a place for the next capture, and for what is to be set aside. */
static void test_items_removed (void **state)
{
    struct fixture *f = *state;
    struct spool_item item = { .id = 0 };
    char path[PATH_MAX];

    (void)spool_put (f, "/c0", "1", "rows", NULL, false);
    path_in (f, SPOOL_ITEMS, path);
    assert_int_equal (fileio_remove_tree (path, NULL), 0);
    path_in (f, SPOOL_QUARANTINE, path);
    assert_int_equal (fileio_remove_tree (path, NULL), 0);
    (void)spool_put (f, "/c1", "1", "rows", NULL, false);
    assert_int_equal (spool_next (f->s, ITEM_ROWS, 0, &item, NULL), 1);
    assert_string_equal (f->again_path, "/c0");
    assert_string_equal (item.capture, "c1");
}

int main (void)
{
#define TEST(name) \
    cmocka_unit_test_setup_teardown (name, spool_setup, spool_teardown)
    const struct CMUnitTest tests[] = {
        TEST (test_ledger_removed), TEST (test_ledger_replaced),
        TEST (test_dir_replaced), TEST (test_items_removed),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
