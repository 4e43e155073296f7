/* tests/unit/aggregator/archive/test_archive.c - what is read back of a root */
#include "aggregator/ledger/ledger_check.h"
#include "archive/archive_items.h"

#include <dirent.h>

/* A file of the root, by that name. */
static struct ledger_item raw_item (const char *path, const char *bytes)
{
    struct ledger_item item = true_item ("c", bytes);

    item.kind = ITEM_RAW;
    item.facts = (struct file_facts){ S_IFREG | 0604, 1234567890, -1, -1 };
    (void)snprintf (item.path, sizeof (item.path), "%s", path);
    return item;
}

static void open_archive (struct root *r, struct archive *a,
                          struct archive_items *list)
{
    root_close (r);
    assert_int_equal (archive_open (r->dir, a, NULL), 0);
    assert_int_equal (archive_list (a, "j", NULL, list, NULL), 0);
}

static void close_archive (struct root *r, struct archive *a,
                           struct archive_items *list)
{
    archive_items_fini (list);
    archive_close (a);
    root_open (r);
}

/* What many items have is read for the first of them, and what is wrong with it
 * is said of each.
 */
static void test_checked_once (void **state)
{
    struct root *r = *state;
    struct archive_items list;
    struct ledger_item item;
    struct archive a;
    char path[PATH_MAX];

    for (int bad = 0; bad < 2; bad++) {
        (void)enter (r, raw_item ("x", "the same bytes"), "the same bytes");
        (void)enter (r, raw_item ("y", "the same bytes"), "the same bytes");
        (void)enter (r, raw_item ("z", "others"), "others");
        if (bad) {
            store_segment_path (r->dir, 1, path);
            assert_int_equal (truncate (path, 100), 0);
        }
        open_archive (r, &a, &list);
        for (size_t i = 0; i < list.n; i++) {
            archive_item (&list, i, &item);
            assert_int_equal (archive_check (&a, &item, NULL),
                              bad ? -EBADMSG : 0);
        }
        assert_int_equal (list.n, 3);
        assert_int_equal (a.read, 14 + 6);
        if (bad) {
            archive_items_fini (&list);
            archive_close (&a);
            assert_int_equal (ledger_open (r->db, &r->l, NULL), 0);
            r->s = NULL;
        } else {
            close_archive (r, &a, &list);
        }
    }
}

static size_t count_names (const char *dir)
{
    DIR *d = opendir (dir);
    size_t n = 0;

    while (readdir (d))
        n++;
    (void)closedir (d);
    return n - 2;
}

/* A file is there when it is whole, with its mode and time, and never in place
 * of another one.
 */
static void test_get (void **state)
{
    struct root *r = *state;
    struct archive_items list;
    struct ledger_item item;
    char dir[PATH_MAX], path[PATH_MAX + 8];
    struct archive a;
    struct stat st;
    struct tree to;

    (void)enter (r, raw_item ("x", "bytes"), "bytes");
    (void)enter (r, raw_item ("y", "these"), "those");
    (void)snprintf (dir, sizeof (dir), "%s/out", r->dir);
    assert_int_equal (mkdir (dir, 0700), 0);
    assert_int_equal (tree_open (&to, dir, NULL), 0);
    open_archive (r, &a, &list);
    archive_item (&list, 0, &item);
    assert_int_equal (archive_get (&a, &item, &to, "got", false, NULL), 0);
    (void)snprintf (path, sizeof (path), "%s/got", dir);
    assert_int_equal (stat (path, &st), 0);
    assert_int_equal (st.st_mode, S_IFREG | 0604);
    assert_int_equal (st.st_size, 5);
    assert_int_equal (st.st_mtim.tv_nsec, 234567890);
    assert_int_equal (archive_get (&a, &item, &to, "got", false, NULL),
                      -EEXIST);
    archive_item (&list, 1, &item);
    assert_int_equal (archive_get (&a, &item, &to, "bad", false, NULL),
                      -EBADMSG);
    assert_int_equal (count_names (dir), 1);
    tree_close (&to);
    close_archive (r, &a, &list);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        ROOT_TEST (test_checked_once), ROOT_TEST (test_get),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
