/* tests/unit/node_agent/spool/test_spool_wanted.c - raw files on demand */
#include "node_agent/spool/spool_check.h"

#include "identity/fingerprint.h"
#include "spool/manifest.h"
#include "spool/release_rows.h"
#include "spool/spool_private.h"

#include <fcntl.h>
#include <sys/stat.h>

#define VERSION "1/9/1000/0~0123456789abcdef"

static uint64_t items_in (struct fixture *f, enum spool_state state)
{
    return spool_tally (f->s, ITEM_RAW, state).items;
}

static void deliver (struct fixture *f, enum item_kind kind)
{
    struct spool_item got;

    assert_int_equal (spool_next (f->s, kind, 0, &got, NULL), 1);
    assert_int_equal (spool_durable (f->s, &got.id, 1, NULL), 0);
}

/* A raw file of the capture, which is read where it is. */
static void make_raw (struct fixture *f, const char *name, unsigned number,
                      struct spool_new *ret)
{
    char path[PATH_MAX];
    struct stat st;
    int fd;

    assert_true (fileio_join (path, sizeof (path), f->raw, name));
    assert_int_equal (fileio_replace (path, name, strlen (name), 0600, NULL),
                      0);
    *ret = (struct spool_new){ .kind = ITEM_RAW, .number = number,
                               .path = strdup (name) };
    fd = open (path, O_RDONLY);
    assert_true (fd >= 0 && fstat (fd, &st) == 0);
    ret->size = (uint64_t)st.st_size;
    content_hash_init (&ret->hash);
    assert_int_equal (content_hash_file (fd, ret->size, &ret->hash, NULL, NULL,
                                         NULL), 0);
    (void)close (fd);
}

static int want_file (struct fixture *f, uint64_t id, const char *name,
                      unsigned number)
{
    struct spool_new raw;
    int rc;

    make_raw (f, name, number, &raw);
    rc = spool_add_raw (f->s, id, &raw, 1, NULL);
    content_hash_fini (&raw.hash);
    free (raw.path);
    return rc;
}

/* What is wanted is open until it is acknowledged, also for the next agent. */
static void test_add (void **state)
{
    struct fixture *f = *state;
    uint64_t id = spool_put (f, f->raw, VERSION, "rows", NULL, false);
    struct spool_version v;
    struct spool_item got;

    assert_int_equal (spool_find_version (f->s, "a_pt", 2, "", &v, NULL), 1);
    assert_true (v.id == id && v.newest_ns == 1000);
    assert_string_equal (v.path, f->raw);
    deliver (f, ITEM_ROWS);
    assert_int_equal (spool_undelivered (f->s), 0);
    assert_int_equal (want_file (f, id, "y", 1), 0);
    assert_int_equal (spool_undelivered (f->s), 1);
    spool_reopen (f);
    assert_int_equal (spool_undelivered (f->s), 1);
    assert_int_equal (spool_next (f->s, ITEM_RAW, 0, &got, NULL), 1);
    assert_string_equal (got.path, "y");
    assert_int_equal (got.newest_ns, 1000);     // of the version of the rows
    deliver (f, ITEM_RAW);
    assert_int_equal (spool_undelivered (f->s), 0);
    assert_true (spool_knows (f->s, f->raw, VERSION));
    spool_close (f->s);
    f->s = NULL;
    assert_int_equal (spool_check (f->spool, false, NULL, NULL, NULL), 0);
    spool_reopen_new (f);
}

static void test_find (void **state)
{
    struct fixture *f = *state;
    struct spool_version v;
    uint64_t id, later;

    assert_int_equal (spool_find_version (f->s, "a_pt", 2, "", &v, NULL), 0);
    id = spool_put (f, f->raw, VERSION, "rows", NULL, false);
    later = spool_put (f, f->raw, "1/9/2000/0~0123456789abcdef", "more", NULL,
                       false);
    assert_true (later > id);
    assert_int_equal (spool_find_version (f->s, "a_pt", 2, "", &v, NULL), 1);
    assert_true (v.id == later);
    assert_int_equal (spool_find_version (f->s, "a_pt", 3, "", &v, NULL), 0);
    assert_int_equal (spool_find_version (f->s, "b_pt", 2, "", &v, NULL), 0);
    assert_int_equal (spool_find_version (f->s, "a_pt", 2, "0123", &v, NULL),
                      0);
}

/* One of each path, as it was sealed last. */
static void test_list (void **state)
{
    struct fixture *f = *state;
    uint64_t id = spool_put (f, f->raw, VERSION, "rows", NULL, false);
    struct spool_raw_list l;
    struct spool_item got;

    assert_int_equal (spool_list_raw (f->s, id, 0, &l, NULL), 0);
    assert_true (l.n == 0 && l.first == 0 && l.next_number == 1);
    assert_int_equal (want_file (f, id, "y", 1), 0);
    assert_int_equal (spool_next (f->s, ITEM_RAW, 0, &got, NULL), 1);
    assert_int_equal (spool_gone (f->s, got.id, SPOOL_HAS_CHANGED, "changed",
                                  NULL), 0);
    assert_int_equal (want_file (f, id, "b", 2), 0);
    assert_int_equal (spool_list_raw (f->s, id, 0, &l, NULL), 0);
    assert_true (l.n == 2 && l.first == got.id && l.next_number == 3);
    assert_string_equal (l.files[0].path, "b");
    assert_int_equal (l.files[1].state, SPOOL_CHANGED);
    assert_string_equal (l.files[1].why, "changed");
    spool_raw_list_fini (&l);
    assert_int_equal (want_file (f, id, "y", 3), 0);
    assert_int_equal (spool_list_raw (f->s, id, got.id, &l, NULL), 0);
    assert_int_equal (l.n, 2);
    assert_int_equal (l.files[1].state, SPOOL_SEALED);
    spool_raw_list_fini (&l);
}

/* Data that was set aside is sealed again, in another row. */
static void test_add_to_none (void **state)
{
    struct fixture *f = *state;
    uint64_t id = spool_put (f, f->raw, VERSION, "rows", NULL, false);
    struct spool_item got;

    assert_int_equal (spool_next (f->s, ITEM_ROWS, 0, &got, NULL), 1);
    assert_int_equal (spool_quarantine (f->s, &got, "damaged", NULL), 0);
    assert_int_equal (want_file (f, id, "y", 1), -ESTALE);
    assert_int_equal (spool_undelivered (f->s), 0);
}

/* A capture is not removed below a file of it that was wanted later. */
static void test_release_waits (void **state)
{
    struct fixture *f = *state;
    uint64_t id = spool_put (f, f->raw, VERSION, "rows", NULL, false);
    struct buf manifest;
    struct released r;

    buf_init (&manifest, MANIFEST_MAX);
    assert_int_equal (manifest_take (f->raw, &manifest, NULL, NULL), 0);
    assert_int_equal (spool_add_release (f->s, f->raw, RELEASE_ROWS_SEALED, 1,
                                         &manifest, 1, NULL), 0);
    buf_fini (&manifest);
    deliver (f, ITEM_ROWS);
    assert_int_equal (want_file (f, id, "y", 1), 0);
    assert_int_equal (spool_next_release (f->s, RELEASE_KEPT_ROWS, 0,
                                          INT64_MAX, &r, NULL), 0);
    deliver (f, ITEM_RAW);
    assert_int_equal (spool_next_release (f->s, RELEASE_KEPT_ROWS, 0,
                                          INT64_MAX, &r, NULL), 1);
    assert_null (r.why);
    assert_false (spool_was_released (f->s, f->raw));
    assert_int_equal (spool_change_release (f->s, &r, RELEASE_REMOVE, NULL,
                                            NULL), 0);
    assert_true (spool_was_released (f->s, f->raw));
    buf_fini (&r.manifest);
}

static unsigned dropped;

static void on_drop (void *arg, uint64_t item)
{
    (void)arg;
    assert_true (item > 0);
    dropped++;
}

/* What was sealed before anybody said that it is not wanted is not open any
 * more, and its link does not keep the blocks of a deleted file.
 */
static void test_drop (void **state)
{
    struct fixture *f = *state;
    struct spool_item got;

    (void)spool_put (f, f->raw, VERSION FINGERPRINT_RAW, "rows", "raw", true);
    assert_int_equal (spool_files (f, "items"), 2);
    assert_true (spool_knows (f->s, f->raw, VERSION FINGERPRINT_RAW));
    dropped = 0;
    assert_int_equal (spool_drop_raw (f->s, on_drop, NULL, NULL), 0);
    assert_int_equal (dropped, 1);
    assert_int_equal (spool_files (f, "items"), 1);
    assert_int_equal (items_in (f, SPOOL_UNWANTED), 1);
    assert_int_equal (spool_next (f->s, ITEM_RAW, 0, &got, NULL), 0);
    assert_int_equal (spool_undelivered (f->s), 1);
    // or it would not be sealed again if raw files are wanted after all
    assert_true (spool_knows (f->s, f->raw, VERSION));
    assert_false (spool_knows (f->s, f->raw, VERSION FINGERPRINT_RAW));
    deliver (f, ITEM_ROWS);
    spool_reopen (f);
    assert_int_equal (spool_undelivered (f->s), 0);
    assert_int_equal (spool_each_lost (f->s, NULL, NULL, NULL), 0);
}

/* The same if it turns out while they are hashed. */
static void test_forget_raw (void **state)
{
    struct fixture *f = *state;
    uint64_t id = spool_put (f, f->raw, VERSION FINGERPRINT_RAW, "rows", NULL,
                             false);

    assert_true (spool_knows (f->s, f->raw, VERSION FINGERPRINT_RAW));
    for (int twice = 0; twice < 2; twice++) {
        assert_int_equal (spool_forget_raw (f->s, id, NULL), 0);
        assert_false (spool_knows (f->s, f->raw, VERSION FINGERPRINT_RAW));
        assert_true (spool_knows (f->s, f->raw, VERSION));
    }
    spool_reopen (f);           // its rows are verified
    assert_true (spool_knows (f->s, f->raw, VERSION));
}

/* The only copy that there is: to give it up would delete it. */
static void test_keep_last (void **state)
{
    char original[PATH_MAX];
    struct fixture *f = *state;

    (void)spool_put (f, f->raw, VERSION, "rows", "raw", true);
    assert_true (fileio_join (original, sizeof (original), f->raw, "x"));
    assert_int_equal (unlink (original), 0);
    dropped = 0;
    assert_int_equal (spool_drop_raw (f->s, on_drop, NULL, NULL), 0);
    assert_int_equal (dropped, 0);
    assert_int_equal (items_in (f, SPOOL_SEALED), 1);
    deliver (f, ITEM_RAW);
}

/* Only what all was delivered of may go, and this was not. */
static void test_drop_and_release (void **state)
{
    struct fixture *f = *state;
    struct released r;

    spool_put_releasable (f, 0);
    assert_int_equal (spool_drop_raw (f->s, on_drop, NULL, NULL), 0);
    deliver (f, ITEM_ROWS);
    assert_int_equal (spool_next_release (f->s, RELEASE_KEPT, 0, INT64_MAX, &r,
                                          NULL), 0);
    assert_false (spool_has_release (f->s, f->raw));
}

int main (void)
{
#define CASE(x) cmocka_unit_test_setup_teardown (x, spool_setup, spool_teardown)
    const struct CMUnitTest tests[] = {
        CASE (test_add), CASE (test_find), CASE (test_list),
        CASE (test_add_to_none), CASE (test_release_waits), CASE (test_drop), CASE (test_forget_raw),
        CASE (test_keep_last), CASE (test_drop_and_release),
    };
#undef CASE

    return cmocka_run_group_tests (tests, NULL, NULL);
}
