/* tests/unit/aggregator/archive/test_archive.c - what is read back of a root */
#include "aggregator/ledger/ledger_check.h"
#include "archive/archive_items.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

static bool unread;             // the disk gives nothing

ssize_t __real_pread (int fd, void *buf, size_t n, off_t at);
ssize_t __wrap_pread (int fd, void *buf, size_t n, off_t at);

ssize_t __wrap_pread (int fd, void *buf, size_t n, off_t at)
{
    if (!unread)
        return __real_pread (fd, buf, n, at);
    errno = EIO;
    return -1;
}

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

/* Who only lists keeps nothing from being collected. */
static void test_leases (void **state)
{
    struct root *r = *state;
    char text[LEASE_TEXT_MAX];
    struct archive_items list;
    struct archive a;

    (void)enter (r, raw_item ("x", "bytes"), "bytes");
    open_archive (r, &a, &list);
    assert_int_equal (lease_count (r->dir, text, NULL), 1);
    archive_items_fini (&list);
    archive_close (&a);
    assert_int_equal (archive_open_lists (r->dir, &a, NULL), 0);
    assert_int_equal (lease_count (r->dir, text, NULL), 0);
    assert_int_equal (archive_list (&a, "j", NULL, &list, NULL), 0);
    assert_int_equal (list.n, 1);
    close_archive (r, &a, &list);
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

/* What no job has been found for yet must not become that of one job. */
static void test_mark (void **state)
{
    struct ledger_item i = { .rank = 3 };
    struct job_mark m;

    (void)state;
    PRINT (i.job, "j");
    PRINT (i.host, "h");
    archive_mark (&i, "k", 8, &m);
    assert_string_equal (m.job, "k");
    assert_int_equal (m.rank, 3);
    assert_int_equal (m.world_size, 8);
    assert_string_equal (m.host, "h");
    PRINT (i.scope, "default");
    PRINT (i.dir, "0123456789abcdef");
    archive_mark (&i, "j", 0, &m);
    assert_string_equal (m.job, "j");
    assert_int_equal (m.world_size, -1);
    PRINT (i.job, "default");
    archive_mark (&i, "default", 0, &m);
    assert_string_equal (m.job, "");
    assert_int_equal (m.rank, 3);
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
    struct err err = { "" };
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
    unread = true;              // it is not the place that cannot be written
    assert_int_equal (archive_get (&a, &item, &to, "bad", false, &err),
                      -EBADMSG);
    unread = false;
    assert_non_null (strstr (err.text, "disk did not give its bytes"));
    archive_item (&list, 1, &item);
    assert_int_equal (archive_get (&a, &item, &to, "bad", false, NULL),
                      -EBADMSG);
    assert_int_equal (count_names (dir), 1);
    tree_close (&to);
    close_archive (r, &a, &list);
}

#define CHUNKS 7                // and some bytes

/* A committed item of some chunks, each of one letter. */
static void enter_chunks (struct root *r, struct ledger_item *item)
{
    const uint64_t size = CHUNKS * (uint64_t)CONTENT_CHUNK + 10;
    char *bytes = malloc (CONTENT_CHUNK);
    struct digest ids[CHUNKS + 1];
    struct ledger_place place;

    assert_int_equal (ledger_begin (r->l, NULL), 0);
    for (int i = 0; i <= CHUNKS; i++) {
        size_t n = i < CHUNKS ? CONTENT_CHUNK : 10;

        memset (bytes, 'a' + i, n);
        assert_int_equal (digest_of (bytes, n, &ids[i]), 0);
        assert_int_equal (store_put_chunk (r->s, &ids[i], n, CODEC_PLAIN, bytes,
                                           n, &place, NULL), 0);
        assert_int_equal (ledger_add_content (r->l, &ids[i], &place, NULL), 0);
    }
    free (bytes);
    assert_int_equal (content_list_id (ids, CHUNKS + 1, &item->content), 0);
    assert_int_equal (store_put_list (r->s, &item->content, size, ids,
                                      CHUNKS + 1, &place, NULL), 0);
    assert_int_equal (ledger_add_content (r->l, &item->content, &place, NULL),
                      0);
    assert_int_equal (ledger_add_item (r->l, item, NULL), 1);
    assert_int_equal (store_account (r->s, r->l, NULL), 0);
    assert_int_equal (ledger_commit (r->l, NULL), 0);
}

/* Some threads write a large file, each chunk where it belongs. */
static void test_get_large (void **state)
{
    struct ledger_item item = raw_item ("x", "");
    struct root *r = *state;
    struct archive_items list;
    char dir[PATH_MAX], path[PATH_MAX + 8], letter;
    struct archive a;
    struct stat st;
    struct tree to;
    int fd;

    enter_chunks (r, &item);
    (void)snprintf (dir, sizeof (dir), "%s/out", r->dir);
    assert_int_equal (mkdir (dir, 0700), 0);
    assert_int_equal (tree_open (&to, dir, NULL), 0);
    open_archive (r, &a, &list);
    archive_item (&list, 0, &item);
    a.threads = 3;
    assert_int_equal (archive_get (&a, &item, &to, "got", false, NULL), 0);
    (void)snprintf (path, sizeof (path), "%s/got", dir);
    assert_int_equal (stat (path, &st), 0);
    assert_int_equal (st.st_size, CHUNKS * CONTENT_CHUNK + 10);
    assert_true ((fd = open (path, O_RDONLY)) >= 0);
    for (off_t at = 0; at < st.st_size; at += CONTENT_CHUNK / 2) {
        assert_int_equal (pread (fd, &letter, 1, at), 1);
        assert_int_equal (letter, 'a' + at / CONTENT_CHUNK);
    }
    (void)close (fd);
    tree_close (&to);
    close_archive (r, &a, &list);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        ROOT_TEST (test_leases), ROOT_TEST (test_checked_once),
        cmocka_unit_test (test_mark), ROOT_TEST (test_get),
        ROOT_TEST (test_get_large),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
