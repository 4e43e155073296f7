/* tests/unit/aggregator/store/test_store.c - where an aggregator's bytes are */
#include "aggregator/ledger/ledger_check.h"
#include "base/pack.h"
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
    off_t whole;

    (void)enter (r, a, "first");
    assert_int_equal (put_item (r, &b, "whole", NULL), 0);
    whole = segment_size (r);
    assert_int_equal (put_item (r, &c, "half", NULL), 0);
    cut_segment (r, whole + RECORD_CONTENT_SIZE + 3);
    root_close (r);
    root_open (r);
    assert_int_equal (store_recovered (r->s).records, 2);
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
    off_t first, second, size, between;
    struct store_recovered did;

    (void)enter (r, a, "first");
    put_back (r, false);
    first = segment_size (r);
    (void)enter (r, b, "spoiled");
    second = segment_size (r);
    (void)enter (r, c, "later");
    size = segment_size (r);
    for (int i = 0; i < 2; i++) {       // its record, then that of its chunk
        put_back (r, true);
        flip_segment (r, i == 0 ? second - 1 : first + 9);
        between = second - first - (i == 0 ? RECORD_CONTENT_SIZE + 7 : 0);
        root_open (r);
        did = store_recovered (r->s);
        assert_int_equal (did.records, i == 0 ? 3 : 2);
        assert_int_equal (did.entered, size - first - between);
        assert_int_equal (did.between, between);
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

    assert_int_equal (put_item (r, &b, "older", NULL), 0);
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

/* As if the segment had been filled, but for a few bytes, and committed. */
static void fill_segment (struct root *r, off_t left)
{
    off_t size = (off_t)STORE_SEGMENT_MAX - left;

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

    fill_segment (r, 8);
    block_segment (r, true);
    assert_int_equal (put_item (r, &a, "waits", NULL), -EEXIST);
    assert_int_equal (put_item (r, &a, "waits", NULL), -EEXIST);
    store_revert (r->s);
    assert_int_equal (put_item (r, &a, "waits", NULL), -EEXIST);
    block_segment (r, false);
    (void)enter (r, a, "waits");
    root_close (r);
    root_open (r);
    assert_int_equal (count_all (r).n, 1);
    check_bytes (r, &a.content, "waits");
}

/* A commit that failed had filled a segment: what is cut off is as it was when it
 * was committed.  With more in it, its object would differ from it for ever.
 */
static void test_revert_full (void **state)
{
    struct root *r = *state;
    struct ledger_item a = true_item ("a", "first");
    char path[PATH_MAX];
    struct stat st;

    fill_segment (r, 600);
    while (r->s->segment == 1)
        assert_int_equal (put_item (r, &a, "first", NULL), 0);
    store_segment_path (r->dir, 1, path);
    assert_int_equal (stat (path, &st), 0);
    assert_true (st.st_size > (off_t)STORE_SEGMENT_MAX - 600);
    store_revert (r->s);
    assert_int_equal (stat (path, &st), 0);
    assert_int_equal (st.st_size, STORE_SEGMENT_MAX - 600);
    assert_int_equal (r->s->sealed[0].end, STORE_SEGMENT_MAX - 600);
}

/* A segment whose fsync failed takes nothing more, also if there is no other
 * one at first.
 */
static void test_distrusted (void **state)
{
    struct root *r = *state;
    struct ledger_item a = true_item ("a", "first"), b = a;

    assert_int_equal (put_item (r, &b, "first", NULL), 0);
    r->s->distrusted = true;
    block_segment (r, true);
    store_revert (r->s);
    assert_int_equal (segment_size (r), 0);
    assert_int_equal (put_item (r, &b, "first", NULL), -EEXIST);
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

    assert_int_equal (put_item (r, &b, "first", NULL), 0);
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

    fill_segment (r, 8);           // one that is full is written to no more
    data_syncs = 0;
    assert_int_equal (put_item (r, &a, "first", NULL), 0);
    assert_int_equal (data_syncs, 1);
    assert_int_equal (store_sync (r->s, NULL), 0);
    assert_int_equal (data_syncs, 2);
    assert_int_equal (store_sync (r->s, NULL), 0);      // nothing is new
    assert_int_equal (data_syncs, 2);
    assert_int_equal (put_item (r, &b, "first", NULL), 0);
    data_error = EIO;
    assert_int_equal (store_sync (r->s, NULL), -EIO);
    data_error = 0;
    store_revert (r->s);
}

/* An fsync that failed while a segment was filled dooms what was in it, though
 * one that is tried again would succeed and the next record finds room.
 */
static void test_doomed (void **state)
{
    struct root *r = *state;
    struct ledger_item a = true_item ("a", "first");
    int good, bad[2];

    fill_segment (r, 8);
    r->s->end = r->s->committed - 100;      // of which 100 bytes are new
    r->s->committed = r->s->end;
    r->s->end += 100;
    good = r->s->segment_fd;
    assert_int_equal (pipe (bad), 0);       // can be neither cut nor synced
    r->s->segment_fd = bad[1];
    assert_true (put_item (r, &a, "first", NULL) < 0);
    (void)close (bad[0]);
    (void)close (good);
    assert_int_equal (put_item (r, &a, "first", NULL), 0);
    assert_int_equal (store_sync (r->s, NULL), -EIO);
    store_revert (r->s);
    assert_int_equal (put_item (r, &a, "first", NULL), 0);
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

static void rename_segment (struct root *r, int64_t was, int64_t is)
{
    char from[PATH_MAX], to[PATH_MAX];

    store_segment_path (r->dir, was, from);
    store_segment_path (r->dir, is, to);
    assert_int_equal (rename (from, to), 0);
}

/* The same when the first segments were collected. */
static void test_ledger_gone_collected (void **state)
{
    struct root *r = *state;

    (void)enter (r, true_item ("a", "bytes"), "bytes");
    root_close (r);
    rename_segment (r, 1, 3);
    assert_int_equal (unlink (r->db), 0);
    assert_int_equal (ledger_open (r->db, &r->l, NULL), 0);
    r->s = NULL;
    assert_int_equal (store_open (r->dir, r->l, &r->s, NULL), -EBADMSG);
}

/* A segment that is there is never written over, nor is a number used twice. */
static void test_no_overwriting (void **state)
{
    struct root *r = *state;
    struct ledger_item a = true_item ("a", "first"), b = true_item ("b", "2");
    char path[PATH_MAX], got[5];
    int fd;

    store_segment_path (r->dir, 2, path);
    assert_true ((fd = open (path, O_RDWR | O_CREAT, 0600)) >= 0);
    assert_int_equal (write (fd, "here", 5), 5);
    fill_segment (r, 8);
    assert_int_equal (put_item (r, &a, "first", NULL), 0);
    assert_int_equal (a.place.segment, 3);
    assert_int_equal (r->s->full[0].segment, 1);
    (void)enter (r, b, "2");
    assert_int_equal (pread (fd, got, 5, 0), 5);
    assert_string_equal (got, "here");
    (void)close (fd);
}

/* An older ledger, and after it segments with a gap between: what was
 * acknowledged is entered, and appending goes on behind all of it.
 */
static void test_gap_in_numbers (void **state)
{
    struct root *r = *state;
    struct ledger_item a = true_item ("a", "first"), b = true_item ("b", "2nd"),
                       c = true_item ("c", "3rd"), d = true_item ("d", "4th");

    (void)enter (r, a, "first");
    put_back (r, false);
    assert_int_equal (store_open_next (r->s, NULL), 0);
    (void)enter (r, b, "2nd");
    assert_int_equal (store_open_next (r->s, NULL), 0);
    (void)enter (r, c, "3rd");
    put_back (r, true);
    rename_segment (r, 3, 5);
    rename_segment (r, 2, 4);
    root_open (r);
    assert_int_equal (count_all (r).n, 3);
    assert_int_equal (r->s->segment, 5);
    (void)enter (r, d, "4th");
    check_bytes (r, &b.content, "2nd");
    check_bytes (r, &c.content, "3rd");
    check_bytes (r, &d.content, "4th");
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

/* Bytes of two chunks, the second of them packed. */
#define LARGE (CONTENT_CHUNK + 5000)

static struct digest put_large (struct root *r, uint8_t *bytes,
                                struct ledger_place *ret)
{
    struct ledger_place place;
    struct content_hash h;
    struct digest id;
    struct buf frame;

    for (size_t i = 0; i < LARGE; i++)
        bytes[i] = (uint8_t)(i / 1000);
    content_hash_init (&h);
    assert_int_equal (content_hash_add (&h, bytes, CONTENT_CHUNK), 0);
    assert_int_equal (content_hash_add (&h, bytes + CONTENT_CHUNK, 5000), 0);
    assert_int_equal (content_hash_end (&h, &id), 0);
    assert_int_equal (ledger_begin (r->l, NULL), 0);
    assert_int_equal (store_put_chunk (r->s, &h.chunks[0], CONTENT_CHUNK,
                                       CODEC_PLAIN, bytes, CONTENT_CHUNK,
                                       &place, NULL), 0);
    assert_int_equal (ledger_add_content (r->l, &h.chunks[0], &place, NULL),
                      0);
    buf_init (&frame, CONTENT_CHUNK);
    assert_int_equal (pack_frame (bytes + CONTENT_CHUNK, 5000, &frame, NULL),
                      0);
    assert_int_equal (store_put_chunk (r->s, &h.chunks[1], 5000, CODEC_LZ4,
                                       frame.data, frame.size, &place, NULL),
                      0);
    buf_fini (&frame);
    assert_int_equal (ledger_add_content (r->l, &h.chunks[1], &place, NULL),
                      0);
    assert_int_equal (store_put_list (r->s, &id, LARGE, h.chunks, 2, ret,
                                      NULL), 0);
    assert_int_equal (ledger_add_content (r->l, &id, ret, NULL), 0);
    content_hash_fini (&h);
    assert_int_equal (store_sync (r->s, NULL), 0);
    assert_int_equal (store_account (r->s, r->l, NULL), 0);
    assert_int_equal (ledger_commit (r->l, NULL), 0);
    store_committed (r->s);
    return id;
}

static int compare (void *arg, const void *bytes, size_t size)
{
    const uint8_t **at = arg;

    assert_memory_equal (*at, bytes, size);
    *at += size;
    return 0;
}

/* It is read whole and in any part, across the chunks; a damaged one is never
 * given, and one that is missing is said.
 */
static void test_large (void **state)
{
    static uint8_t bytes[LARGE], got[LARGE];
    struct root *r = *state;
    struct ledger_place place;
    struct digest id = put_large (r, bytes, &place);
    const uint8_t *at = bytes;
    struct store_reader *reader;
    struct byte_source from;

    root_close (r);
    root_open (r);
    assert_true (store_has (r->s, r->l, &id, &place));
    assert_int_equal (store_reader_open (r->s, r->l, &id, &place, &reader,
                                         NULL), 0);
    assert_int_equal (store_reader_check (reader, compare, &at, NULL, NULL),
                      0);
    assert_ptr_equal (at, bytes + LARGE);
    from = store_reader_source (reader);
    assert_int_equal (from.read (&from, got, 6000, CONTENT_CHUNK - 2000), 0);
    assert_memory_equal (got, bytes + CONTENT_CHUNK - 2000, 6000);
    assert_int_equal (from.read (&from, got, 10, LARGE - 9), -ENODATA);
    store_reader_destroy (reader);
    assert_int_equal (store_check_content (r->s, r->l, &id, &place, NULL), 0);
    flip_segment (r, (off_t)place.offset - 1);  // in the record of the list
    assert_int_equal (store_check_content (r->s, r->l, &id, &place, NULL),
                      -EBADMSG);
    flip_segment (r, (off_t)place.offset - 1);
    flip_segment (r, 500000);   // in the first chunk
    assert_int_equal (store_check_content (r->s, r->l, &id, &place, NULL),
                      -EBADMSG);
    assert_int_equal (ledger_begin (r->l, NULL), 0);
    assert_int_equal (ledger_lose_segment (r->l, 1, 600000, NULL), 0);
    assert_int_equal (ledger_add_content (r->l, &id, &place, NULL), 0);
    assert_int_equal (store_check_content (r->s, r->l, &id, &place, NULL),
                      -ENOENT);
    assert_int_equal (store_drop_broken (r->s, r->l, NULL), 0);
    assert_int_equal (ledger_find_content (r->l, &id, &place, NULL), 0);
    assert_int_equal (ledger_commit (r->l, NULL), 0);
}

/* A chunk that is taken back leaves nothing, also not for the next life. */
static void test_take_back (void **state)
{
    struct root *r = *state;
    struct ledger_item a = true_item ("a", "first");
    struct ledger_place place;
    off_t before;

    (void)enter (r, a, "first");
    before = segment_size (r);
    assert_int_equal (store_put_chunk (r->s, &a.content, 5, CODEC_PLAIN,
                                       "wrong", 5, &place, NULL), 0);
    assert_true (segment_size (r) > before);
    store_take_back (r->s, &place);
    assert_int_equal (segment_size (r), before);
    (void)enter (r, true_item ("b", "other"), "other");
    root_close (r);
    root_open (r);
    assert_int_equal (count_all (r).n, 2);
    check_bytes (r, &a.content, "first");
}

/* If that cannot be cut off, nobody syncs what is before it any more: that is
 * appended again.
 */
static void test_not_taken_back (void **state)
{
    struct root *r = *state;
    struct ledger_item a = true_item ("a", "first");
    struct ledger_place place;
    char path[PATH_MAX];
    int fd = r->s->segment_fd;

    assert_int_equal (put_item (r, &a, "first", NULL), 0);
    assert_int_equal (store_put_chunk (r->s, &a.content, 5, CODEC_PLAIN,
                                       "wrong", 5, &place, NULL), 0);
    store_segment_path (r->dir, 1, path);
    r->s->segment_fd = open (path, O_RDONLY | O_CLOEXEC);
    store_take_back (r->s, &place);
    (void)close (r->s->segment_fd);
    r->s->segment_fd = fd;
    assert_int_equal (store_put_item (r->s, &a, NULL), 0);
    assert_int_equal (r->s->segment, 2);
    assert_int_equal (store_sync (r->s, NULL), -EIO);
    store_revert (r->s);
    assert_int_equal (enter (r, a, "first"), 1);
    check_bytes (r, &a.content, "first");
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        ROOT_TEST (test_unacknowledged), ROOT_TEST (test_revert),
        ROOT_TEST (test_older_ledger), ROOT_TEST (test_describe_full),
        ROOT_TEST (test_no_next_segment), ROOT_TEST (test_revert_full),
        ROOT_TEST (test_distrusted),
        ROOT_TEST (test_distrusted_name),
        ROOT_TEST (test_synced_before_its_row),
        ROOT_TEST (test_doomed),
        ROOT_TEST (test_short_segment), ROOT_TEST (test_ledger_gone),
        ROOT_TEST (test_ledger_gone_later),
        ROOT_TEST (test_ledger_gone_collected),
        ROOT_TEST (test_no_overwriting),
        ROOT_TEST (test_gap_in_numbers),
        ROOT_TEST (test_large), ROOT_TEST (test_take_back),
        ROOT_TEST (test_not_taken_back),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
