/* tests/unit/aggregator/store/test_store.c - where an aggregator's bytes are */
#include "aggregator/ledger/ledger_check.h"
#include "store/store_private.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>

static int syncs_fail;          // so many of directories

int __real_fileio_sync_dir (const char *path, struct err *err);
int __wrap_fileio_sync_dir (const char *path, struct err *err);

int __wrap_fileio_sync_dir (const char *path, struct err *err)
{
    return syncs_fail > 0 && syncs_fail-- ? -EIO
                                          : __real_fileio_sync_dir (path, err);
}

static int data_syncs;          // of files
static int data_error;          // 0: none

int __real_fdatasync (int fd);
int __wrap_fdatasync (int fd);

int __wrap_fdatasync (int fd)
{
    data_syncs++;
    errno = data_error;
    return data_error ? -1 : __real_fdatasync (fd);
}

static off_t segment_size (struct root *r)
{
    char path[PATH_MAX];
    struct stat st;

    store_segment_path (r->dir, 1, path);
    assert_int_equal (stat (path, &st), 0);
    return st.st_size;
}

static void cut_segment (struct root *r, off_t size)
{
    char path[PATH_MAX];

    store_segment_path (r->dir, 1, path);
    assert_int_equal (truncate (path, size), 0);
}

/* What was written whole before a crash came between it and the commit is
 * entered; what was not whole is cut off, and the next content does not lie
 * behind a hole.
 */
static void test_unacknowledged (void **state)
{
    struct root *r = *state;
    struct ledger_item a = true_item ("a", "first");
    struct ledger_item b = true_item ("b", "whole");
    struct ledger_item c = true_item ("c", "half"), d = true_item ("d", "new");
    struct ledger_place place;

    (void)enter (r, a, "first");
    assert_int_equal (store_append (r->s, &b, "whole", 5, NULL), 0);
    assert_int_equal (store_append (r->s, &c, "half", 4, NULL), 0);
    cut_segment (r, segment_size (r) - 1);
    root_close (r);
    root_open (r);
    assert_int_equal (store_recovered (r->s).records, 1);
    assert_true (store_recovered (r->s).cut > 3);
    assert_int_equal (store_recovered (r->s).between, 0);
    assert_int_equal (count_all (r).n, 2);
    check_bytes (r, &a.content, "first");
    check_bytes (r, &b.content, "whole");
    assert_int_equal (ledger_find_content (r->l, &c.content, &place, NULL),
                      0);
    (void)enter (r, d, "new");
    root_close (r);
    root_open (r);
    assert_int_equal (count_all (r).n, 3);
    check_bytes (r, &d.content, "new");
}

static void flip_segment (struct root *r, off_t at)
{
    char path[PATH_MAX];
    uint8_t byte;
    int fd;

    store_segment_path (r->dir, 1, path);
    fd = open (path, O_RDWR);
    assert_int_equal (pread (fd, &byte, 1, at), 1);
    byte ^= 1;
    assert_int_equal (pwrite (fd, &byte, 1, at), 1);
    (void)close (fd);
}

/* The ledger of a backup, as it was when the first item was there. */
static void put_back (struct root *r, bool back)
{
    char command[3 * PATH_MAX];

    (void)snprintf (command, sizeof (command), back ? "cp '%s.old' '%s'"
                                                    : "cp '%s' '%s.old'",
                    r->db, r->db);
    root_close (r);
    assert_int_equal (system (command), 0);
    if (!back)
        root_open (r);
}

/* An older ledger does not know of items that were acknowledged: those that
 * are whole are there again, also behind one that is damaged, and of its bytes
 * none are cut off.
 */
static void test_older_ledger (void **state)
{
    struct root *r = *state;
    struct ledger_item a = true_item ("a", "first");
    struct ledger_item b = true_item ("b", "spoiled");
    struct ledger_item c = true_item ("c", "later");
    off_t first, second, size;
    struct store_recovered did;

    (void)enter (r, a, "first");
    put_back (r, false);
    first = segment_size (r);
    (void)enter (r, b, "spoiled");
    second = segment_size (r);
    (void)enter (r, c, "later");
    size = segment_size (r);
    for (int i = 0; i < 2; i++) {       // its content, and its record, too
        put_back (r, true);
        flip_segment (r, i == 0 ? second - 1 : first + 9);
        root_open (r);
        did = store_recovered (r->s);
        assert_int_equal (did.records, 1);
        assert_int_equal (did.entered, size - second);
        assert_int_equal (did.between, second - first);
        assert_int_equal (did.cut, 0);
        assert_int_equal (segment_size (r), size);
        assert_int_equal (count_all (r).n, 2);
        check_bytes (r, &a.content, "first");
        check_bytes (r, &c.content, "later");
    }
    root_close (r);
    root_open (r);
    assert_int_equal (store_recovered (r->s).records, 0);
    assert_int_equal (count_all (r).n, 2);
}

/* What a commit that failed had appended is not found by the next life. */
static void test_revert (void **state)
{
    struct root *r = *state;
    struct ledger_item a = true_item ("a", "older"), b = a;

    assert_int_equal (store_append (r->s, &b, "older", 5, NULL), 0);
    store_revert (r->s);
    assert_int_equal (segment_size (r), 0);
    (void)enter (r, true_item ("a", "newer"), "newer");
    root_close (r);
    root_open (r);
    assert_int_equal (count_all (r).n, 1);
}

/* No segment 2 can be made while this is there. */
static void block_segment (struct root *r, bool blocked)
{
    char path[PATH_MAX];

    store_segment_path (r->dir, 2, path);
    assert_int_equal (blocked ? mkdir (path, 0700) : rmdir (path), 0);
}

/* As if the segment had been filled and committed. */
static void fill_segment (struct root *r)
{
    off_t size = STORE_SEGMENT_MAX - 8;

    assert_int_equal (ftruncate (r->s->segment_fd, size), 0);
    r->s->end = r->s->committed = (uint64_t)size;
    assert_int_equal (ledger_begin (r->l, NULL), 0);
    assert_int_equal (ledger_set_segment (r->l, 1, (uint64_t)size, NULL), 0);
    assert_int_equal (ledger_commit (r->l, NULL), 0);
}

/* What failed once is tried again with every record: a store that had closed
 * its segment before there was another one would take nothing any more.
 */
static void test_no_next_segment (void **state)
{
    struct root *r = *state;
    struct ledger_item a = true_item ("a", "waits");

    fill_segment (r);
    block_segment (r, true);
    assert_int_equal (store_append (r->s, &a, "waits", 5, NULL), -EISDIR);
    assert_int_equal (store_append (r->s, &a, "waits", 5, NULL), -EISDIR);
    store_revert (r->s);
    assert_int_equal (store_append (r->s, &a, "waits", 5, NULL), -EISDIR);
    block_segment (r, false);
    (void)enter (r, a, "waits");
    root_close (r);
    root_open (r);
    assert_int_equal (count_all (r).n, 1);
    check_bytes (r, &a.content, "waits");
}

/* A segment whose fsync failed takes nothing more, also if there is no other
 * one at first.
 */
static void test_distrusted (void **state)
{
    struct root *r = *state;
    struct ledger_item a = true_item ("a", "first"), b = a;

    assert_int_equal (store_append (r->s, &b, "first", 5, NULL), 0);
    r->s->distrusted = true;
    block_segment (r, true);
    store_revert (r->s);
    assert_int_equal (segment_size (r), 0);
    assert_int_equal (store_append (r->s, &b, "first", 5, NULL), -EISDIR);
    assert_int_equal (segment_size (r), 0);
    block_segment (r, false);
    (void)enter (r, a, "first");
    assert_int_equal (segment_size (r), 0);
    root_close (r);
    root_open (r);
    assert_int_equal (count_all (r).n, 1);
    check_bytes (r, &a.content, "first");
}

/* The name of a segment could not be fsynced: that succeeds when it is tried
 * again, and the name is lost with the power all the same.
 */
static void test_distrusted_name (void **state)
{
    struct root *r = *state;
    struct ledger_item a = true_item ("a", "first"), b = a;

    assert_int_equal (store_append (r->s, &b, "first", 5, NULL), 0);
    syncs_fail = 1;
    assert_int_equal (store_sync (r->s, NULL), -EIO);
    store_revert (r->s);
    (void)enter (r, a, "first");
    assert_int_equal (segment_size (r), 0);
    assert_int_equal (r->s->segment, 2);
    root_close (r);
    root_open (r);
    check_bytes (r, &a.content, "first");
}

/* The ledger's row says that the bytes are there, and the agent removes its own
 * after that: they are on the disk before.
 */
static void test_synced_before_its_row (void **state)
{
    struct root *r = *state;
    struct ledger_item a = true_item ("a", "first"), b = a;
    struct digest large = { { 7 } };

    fill_segment (r);           // one that is full is written to no more
    data_syncs = 0;
    assert_int_equal (store_append (r->s, &a, "first", 5, NULL), 0);
    assert_int_equal (data_syncs, 1);
    assert_int_equal (store_sync (r->s, NULL), 0);
    assert_int_equal (data_syncs, 2);
    assert_int_equal (store_sync (r->s, NULL), 0);      // nothing is new
    assert_int_equal (data_syncs, 2);
    assert_int_equal (store_append (r->s, &b, "first", 5, NULL), 0);
    data_error = EIO;
    assert_int_equal (store_sync (r->s, NULL), -EIO);
    data_error = 0;
    store_revert (r->s);
    // larger content, in a file of its own
    assert_int_equal (store_incoming_write (r->s, &large, "de", 2, 0, NULL),
                      0);
    data_syncs = 0;
    assert_int_equal (store_incoming_sync (r->s, &large, NULL), 0);
    assert_int_equal (data_syncs, 1);
    data_error = EIO;
    assert_int_equal (store_incoming_sync (r->s, &large, NULL), -EIO);
    data_error = 0;
}

/* An fsync that failed while a segment was filled dooms what was in it, though
 * one that is tried again would succeed and the next record finds room.
 */
static void test_doomed (void **state)
{
    struct root *r = *state;
    struct ledger_item a = true_item ("a", "first");
    int good, bad[2];

    fill_segment (r);
    r->s->end = r->s->committed - 100;      // of which 100 bytes are new
    r->s->committed = r->s->end;
    r->s->end += 100;
    good = r->s->segment_fd;
    assert_int_equal (pipe (bad), 0);       // can be neither cut nor synced
    r->s->segment_fd = bad[1];
    assert_true (store_append (r->s, &a, "first", 5, NULL) < 0);
    (void)close (bad[0]);
    (void)close (good);
    assert_int_equal (store_append (r->s, &a, "first", 5, NULL), 0);
    assert_int_equal (store_sync (r->s, NULL), -EIO);
    store_revert (r->s);
    assert_int_equal (store_append (r->s, &a, "first", 5, NULL), 0);
    assert_int_equal (store_sync (r->s, NULL), 0);
    assert_int_equal (r->s->segment, 2);
}

/* A segment that is shorter than the ledger knows: said, nothing is cut. */
static void test_short_segment (void **state)
{
    struct root *r = *state;
    struct err err = { "" };

    (void)enter (r, true_item ("a", "bytes"), "bytes");
    root_close (r);
    cut_segment (r, segment_size (r) - 1);
    assert_int_equal (ledger_open (r->db, &r->l, NULL), 0);
    r->s = NULL;
    assert_int_equal (store_open (r->dir, r->l, &r->s, &err), -EBADMSG);
    assert_non_null (strstr (err.text, "cut short"));
}

/* A ledger that is gone while segments are there: nothing may be cut off as
 * unacknowledged.
 */
static void test_ledger_gone (void **state)
{
    struct root *r = *state;
    struct err err = { "" };
    off_t size;

    (void)enter (r, true_item ("a", "bytes"), "bytes");
    root_close (r);
    size = segment_size (r);
    assert_int_equal (unlink (r->db), 0);
    assert_int_equal (ledger_open (r->db, &r->l, NULL), 0);
    r->s = NULL;
    assert_int_equal (store_open (r->dir, r->l, &r->s, &err), -EBADMSG);
    assert_non_null (strstr (err.text, "fsck"));
    assert_int_equal (segment_size (r), size);
}

/* The same when the first segment is empty, since it could not be fsynced: the
 * next one would be written over.
 */
static void test_ledger_gone_later (void **state)
{
    struct root *r = *state;
    char from[PATH_MAX], to[PATH_MAX];
    int fd;

    (void)enter (r, true_item ("a", "bytes"), "bytes");
    root_close (r);
    store_segment_path (r->dir, 1, from);
    store_segment_path (r->dir, 2, to);
    assert_int_equal (rename (from, to), 0);
    assert_true ((fd = creat (from, 0600)) >= 0);
    (void)close (fd);
    assert_int_equal (unlink (r->db), 0);
    assert_int_equal (ledger_open (r->db, &r->l, NULL), 0);
    r->s = NULL;
    assert_int_equal (store_open (r->dir, r->l, &r->s, NULL), -EBADMSG);
}

/* A disk that is full when a repair writes records again: it is said. */
static void test_describe_full (void **state)
{
    struct root *r = *state;
    struct rlimit none = { 20, RLIM_INFINITY }, old;
    struct err err = { "" };
    int rc;

    (void)enter (r, true_item ("a", "bytes"), "bytes");
    assert_int_equal (getrlimit (RLIMIT_FSIZE, &old), 0);
    none.rlim_max = old.rlim_max;
    (void)signal (SIGXFSZ, SIG_IGN);
    assert_int_equal (setrlimit (RLIMIT_FSIZE, &none), 0);
    rc = store_describe (r->s, r->l, &err);
    assert_int_equal (setrlimit (RLIMIT_FSIZE, &old), 0);
    assert_int_equal (rc, -EFBIG);
    assert_non_null (strstr (err.text, "cannot write segment 2"));
}

/* Larger content gets a file named by its hash; an unfinished one is kept as
 * far as the ledger knows of it.
 */
static void test_incoming (void **state)
{
    struct root *r = *state;
    struct ledger_place place = { 0, 0, 3 };
    struct digest kept, known, unknown;
    struct content_hash h;
    int fd;

    memset (kept.bytes, 7, DIGEST_SIZE);
    memset (known.bytes, 8, DIGEST_SIZE);
    memset (unknown.bytes, 9, DIGEST_SIZE);
    assert_int_equal (store_incoming_write (r->s, &kept, "abc", 3, 0, NULL),
                      0);
    assert_int_equal (store_keep (r->s, &kept, &kept, NULL), 0);
    assert_int_equal (store_incoming_write (r->s, &known, "de", 2, 0, NULL),
                      0);
    assert_int_equal (store_incoming_write (r->s, &unknown, "f", 1, 0, NULL),
                      0);
    content_hash_init (&h);
    assert_int_equal (content_hash_add (&h, "de", 2), 0);
    assert_int_equal (ledger_add_incoming (r->l, &known, 9, &h, 0, NULL), 0);
    assert_int_equal (content_hash_add (&h, "xy", 2), 0);
    assert_int_equal (ledger_add_incoming (r->l, &known, 9, &h, 1, NULL), 0);
    content_hash_fini (&h);
    root_close (r);
    root_open (r);
    fd = store_read (r->s, &kept, &place, NULL);
    assert_true (fd >= 0);
    (void)close (fd);
    assert_int_equal (store_incoming_size (r->s, &known), 2);
    assert_int_equal (store_incoming_size (r->s, &unknown), 0);
    assert_int_equal (ledger_find_incoming (r->l, &known, 9, &h, NULL), 1);
    assert_int_equal (h.n, 2);
    content_hash_fini (&h);
    // of another size it is not the same
    assert_int_equal (ledger_find_incoming (r->l, &known, 8, &h, NULL), 0);
    content_hash_fini (&h);
    assert_int_equal (ledger_drop_older_incoming (r->l, INT64_MAX, NULL), 0);
    assert_false (ledger_knows_incoming (r->l, &known));
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        ROOT_TEST (test_unacknowledged), ROOT_TEST (test_revert),
        ROOT_TEST (test_older_ledger), ROOT_TEST (test_describe_full),
        ROOT_TEST (test_no_next_segment), ROOT_TEST (test_distrusted),
        ROOT_TEST (test_distrusted_name),
        ROOT_TEST (test_synced_before_its_row),
        ROOT_TEST (test_doomed),
        ROOT_TEST (test_short_segment), ROOT_TEST (test_ledger_gone),
        ROOT_TEST (test_ledger_gone_later),
        ROOT_TEST (test_incoming),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
