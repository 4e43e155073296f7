/* tests/unit/node_agent/agent/test_sealer.c - captures sealed in a thread
 *
 * bulk_pause is this file's own: it counts, and tells when the agent ends.
 * fileio_pread_all, too: it fails for files of one size; and what opens files
 * and directories: it fails for one name.  fsync tells what it was called for.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent/seal_items.h"
#include "base/clock.h"
#include "store/content.h"
#include "store/fileio.h"
#include "throttle/bulk.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LIMIT_NS (30 * NS_PER_S)

struct fixture {
    char dir[PATH_MAX - 256], capture[PATH_MAX - 128], shipment[PATH_MAX];
    struct loop *loop;
    struct bulk *bulk;
    struct sealer *sealer;
    int rc;                     // of what was sealed last
    size_t nitems;
    uint64_t skipped;
    size_t manifest;            // bytes of it
    char raw_path[PATH_MAX];    // of the last item
    struct err why, err;
    bool again, moved, unfinished;
    const char *left;           // what is sealed is left out, after this file
                                // was removed
};

static atomic_uint rests, end_at;       // end_at 0: never

int __wrap_bulk_pause (struct bulk *b); // the linker's name for it

int __wrap_bulk_pause (struct bulk *b)
{
    unsigned n = atomic_fetch_add (&rests, 1) + 1;

    (void)b;
    return end_at > 0 && n >= end_at ? -ECANCELED : 0;
}

#define BAD_SIZE 4711
static int bad_with;            // 0: nothing is bad
static char made_at_read[PATH_MAX];     // this file, at the first one
static char renamed_at_read[PATH_MAX];  // from this one, if that is not ""

int __real_fileio_pread_all (int fd, void *data, size_t size, off_t offset);
int __wrap_fileio_pread_all (int fd, void *data, size_t size, off_t offset);

int __wrap_fileio_pread_all (int fd, void *data, size_t size, off_t offset)
{
    struct stat st;

    if (renamed_at_read[0])
        assert_int_equal (rename (renamed_at_read, made_at_read), 0);
    else if (made_at_read[0])
        (void)fileio_replace (made_at_read, "", 0, 0600, NULL);
    made_at_read[0] = renamed_at_read[0] = '\0';
    if (bad_with < 0 && fstat (fd, &st) == 0 && st.st_size == BAD_SIZE)
        return bad_with;
    return __real_fileio_pread_all (fd, data, size, offset);
}

static const char *bad_name;    // NULL: none; fails with 'bad_with'

int __real_fileio_open_at (int dirfd, const char *name, struct err *err);
int __wrap_fileio_open_at (int dirfd, const char *name, struct err *err);
int __real_fileio_open_dir_at (int dirfd, const char *name, struct err *err);
int __wrap_fileio_open_dir_at (int dirfd, const char *name, struct err *err);

int __wrap_fileio_open_at (int dirfd, const char *name, struct err *err)
{
    return bad_name && strcmp (name, bad_name) == 0
               ? err_sys (err, -bad_with, "cannot open %s", name)
               : __real_fileio_open_at (dirfd, name, err);
}

int __wrap_fileio_open_dir_at (int dirfd, const char *name, struct err *err)
{
    return bad_name && strcmp (name, bad_name) == 0
               ? err_sys (err, -bad_with, "cannot open %s", name)
               : __real_fileio_open_dir_at (dirfd, name, err);
}

static ino_t synced;            // last; 0: nothing was
static atomic_uint syncs;       // so many
static off_t synced_size;       // as it was then
static int sync_error;          // 0: none

int __real_fsync (int fd);
int __wrap_fsync (int fd);

int __wrap_fsync (int fd)
{
    struct stat st;

    if (sync_error) {
        errno = sync_error;
        return -1;
    }
    if (fstat (fd, &st) == 0) {
        synced = st.st_ino;
        synced_size = st.st_size;
    }
    syncs++;
    return __real_fsync (fd);
}

static void on_sealed (void *arg, struct sealed *s)
{
    struct fixture *f = arg;

    f->rc = s->rc;
    f->moved = s->moved;
    f->nitems = s->nitems;
    f->skipped = s->skipped;
    f->manifest = s->manifest.size;
    (void)snprintf (f->raw_path, sizeof (f->raw_path), "%s",
                    s->nitems > 0 ? s->items[s->nitems - 1].path : "");
    f->why = s->skipped_why;
    f->err = s->err;
    if (f->left) {
        (void)unlink (f->left);
        seal_leave_raw (s);
        f->nitems = s->nitems;
        (void)snprintf (f->raw_path, sizeof (f->raw_path), "%s",
                        s->items[s->nitems - 1].path);
    }
    loop_stop (f->loop, 0);
}

static int setup (void **state)
{
    const char *tmp = getenv ("TMPDIR");
    struct fixture *f = calloc (1, sizeof (*f));
    const struct bulk_decision d = { .class = BULK_NORMAL };

    (void)snprintf (f->dir, sizeof (f->dir), "%s/rollcall-sealer-XXXXXX",
                    tmp && *tmp ? tmp : "/tmp");
    assert_non_null (mkdtemp (f->dir));
    (void)snprintf (f->capture, sizeof (f->capture), "%s/a_ascend_pt", f->dir);
    (void)snprintf (f->shipment, sizeof (f->shipment), "%s/1-0", f->dir);
    assert_int_equal (fileio_mkdirs (f->capture, 0700, NULL), 0);
    assert_non_null (f->loop = loop_create ());
    assert_non_null (f->bulk = bulk_create (10000));
    bulk_set (f->bulk, &d);
    assert_int_equal (sealer_create (f->loop, f->bulk, true, false, on_sealed,
                                     f, &f->sealer, NULL), 0);
    rests = end_at = 0;
    bad_with = sync_error = 0;
    bad_name = NULL;
    synced = 0;
    *state = f;
    return 0;
}

static int teardown (void **state)
{
    struct fixture *f = *state;

    bulk_end (f->bulk);
    sealer_destroy (f->sealer);
    bulk_destroy (f->bulk);
    loop_destroy (f->loop);
    (void)fileio_remove_tree (f->dir, NULL);
    free (f);
    return 0;
}

/* A file of the capture, all of it a hole. */
static void put (struct fixture *f, const char *name, off_t size)
{
    char path[PATH_MAX];

    assert_true (fileio_join (path, sizeof (path), f->capture, name));
    assert_int_equal (fileio_replace (path, "", 0, 0600, NULL), 0);
    assert_int_equal (truncate (path, size), 0);
}

static const char *in (const struct fixture *f, const char *name)
{
    static char path[PATH_MAX];

    assert_true (fileio_join (path, sizeof (path), f->capture, name));
    return path;
}

static unsigned links (const struct fixture *f)
{
    char path[PATH_MAX];
    unsigned n = 0;

    for (unsigned i = 1; i < 8; i++) {
        (void)snprintf (path, sizeof (path), "%s/1-%u", f->dir, i);
        n += access (path, F_OK) == 0;
    }
    return n;
}

static void timed_out (void *arg)
{
    loop_stop (arg, -ETIMEDOUT);
}

static void seal (struct fixture *f)
{
    struct watch_settled what = { .path = f->capture, .rank_hint = 0,
                                  .finished = !f->unfinished };

    assert_int_equal (sealer_add (f->sealer, &what, 1, f->shipment,
                                  f->again,
                                  &(struct sealer_analysis){ NULL, false }), 0);
    (void)loop_add_timer (f->loop, LIMIT_NS, timed_out, f->loop);
    assert_int_equal (loop_run (f->loop), 0);
    loop_del_timer (f->loop, timed_out, f->loop);
}

/* A budget that is looked at between files only is none: a profiler's file may
 * have 60 GB.
 */
static void test_rests_in_a_file (void **state)
{
    struct fixture *f = *state;
    unsigned small;

    put (f, "data", 1);
    seal (f);
    assert_int_equal (f->rc, 0);
    assert_int_equal (f->nitems, 2);
    small = rests;
    rests = 0;
    put (f, "data", 9 * (off_t)CONTENT_CHUNK);
    seal (f);
    assert_int_equal (f->rc, 0);
    assert_int_equal (rests, small + 8);
}

/* The spool's row says that the shipment is there; with the power lost before
 * its bytes are on the disk, that row would be of an empty file.
 */
static void test_synced_before_its_row (void **state)
{
    struct fixture *f = *state;
    struct stat st;

    put (f, "data", 1);
    seal (f);
    assert_int_equal (f->rc, 0);
    assert_int_equal (stat (f->shipment, &st), 0);
    assert_int_equal (synced, st.st_ino);
    assert_int_equal (synced_size, st.st_size);
    sync_error = EIO;
    seal (f);
    assert_int_equal (f->rc, -EIO);
    sync_error = 0;
    assert_non_null (strstr (f->err.text, "cannot fsync"));
}

/* Whoever ends an agent waits for the thread: it must stop within a file, and
 * what it has so far must not count as the capture.
 */
static void test_breaks_off (void **state)
{
    struct fixture *f = *state;

    put (f, "data", (off_t)CONTENT_SIZE_MAX);   // hours
    end_at = 10;
    seal (f);
    assert_int_equal (f->rc, -ECANCELED);
    assert_int_equal (rests, 10);
}

/* A file that nobody can deliver must not look as if it had never been there.
 */
static void test_leaves_out_aloud (void **state)
{
    struct fixture *f = *state;
    char deep[PATH_MAX];
    size_t n = (size_t)snprintf (deep, sizeof (deep), "%s", f->capture);

    put (f, "data", 1);
    for (int i = 0; i < 40; i++)
        n += (size_t)snprintf (deep + n, sizeof (deep) - n, "/%d", i);
    assert_int_equal (fileio_mkdirs (deep, 0700, NULL), 0);
    seal (f);
    assert_int_equal (f->rc, 0);
    assert_int_equal (f->nitems, 2);
    assert_int_equal (f->skipped, 1);
    assert_non_null (strstr (f->why.text, "30/31/32: directories are not"));
    // the whole of it
    f->skipped = 0;
    assert_int_equal (fileio_remove_tree (f->capture, NULL), 0);
    assert_int_equal (mkfifo (f->capture, 0600), 0);
    seal (f);
    assert_int_equal (f->skipped, 1);
    assert_non_null (strstr (f->why.text, "all of it: Not a directory"));
}

/* A capture that is one file is its own raw file; without it a release would
 * remove what nobody has.
 */
static void test_one_file (void **state)
{
    struct fixture *f = *state;

    (void)snprintf (f->capture, sizeof (f->capture), "%s/r.pt.trace.json",
                    f->dir);
    assert_int_equal (fileio_replace (f->capture, "{}", 2, 0600, NULL), 0);
    seal (f);
    assert_int_equal (f->rc, 0);
    assert_int_equal (f->nitems, 2);
    assert_int_equal (f->skipped, 0);
    assert_string_equal (f->raw_path, "r.pt.trace.json");
    // removed before it could be read
    assert_int_equal (unlink (f->capture), 0);
    seal (f);
    assert_int_equal (f->rc, -ENOENT);
    assert_true (f->moved);
}

/* Sealed, it would count as one that has no files. */
static void test_moved (void **state)
{
    struct fixture *f = *state;
    char other[PATH_MAX];

    put (f, "data", 1);
    (void)snprintf (other, sizeof (other), "%s/b_ascend_pt", f->dir);
    for (int again = 0; again < 2; again++) {
        f->again = again;
        (void)strcpy (made_at_read, other);
        (void)strcpy (renamed_at_read, f->capture);
        seal (f);
        assert_int_equal (f->rc, -ENOENT);
        assert_true (f->moved);
        assert_int_equal (rename (other, f->capture), 0);
    }
    seal (f);
    assert_int_equal (f->rc, 0);
    assert_false (f->moved);
    assert_int_equal (f->nitems, 2);
    // the spool's directory is another thing
    (void)strcpy (f->shipment, "/nonexistent/1-0");
    seal (f);
    assert_int_equal (f->rc, -ENOENT);
    assert_false (f->moved);
}

/* A disk that cannot read one file must not keep all others, and the rows, from
 * being delivered; but what passes is waited for.
 */
static void test_unreadable (void **state)
{
    static const int bad[] = { -EIO, -ESTALE, -ETIMEDOUT };
    struct fixture *f = *state;
    char link[PATH_MAX];

    put (f, "data", 1);
    put (f, "worn", BAD_SIZE);
    for (size_t i = 0; i < sizeof (bad) / sizeof (bad[0]); i++) {
        bad_with = bad[i];
        f->again = false;
        seal (f);
        assert_int_equal (f->rc, bad[i]);
        assert_non_null (strstr (f->err.text, "worn: "));
        f->again = true;
        seal (f);
        assert_int_equal (f->rc, 0);
        assert_int_equal (f->nitems, 2);
        assert_string_equal (f->raw_path, "data");
        assert_int_equal (f->skipped, 1);
        assert_non_null (strstr (f->why.text, "worn: "));
        assert_non_null (strstr (f->why.text, strerror (-bad[i])));
    }
    (void)snprintf (link, sizeof (link), "%s/1-2", f->dir);
    assert_int_equal (access (link, F_OK), -1);
    // what is not a file's own fault fails it all, again or not
    bad_with = -ENOMEM;
    seal (f);
    assert_int_equal (f->rc, -ENOMEM);
    // and it is there again
    bad_with = 0;
    seal (f);
    assert_int_equal (f->nitems, 3);
    assert_int_equal (f->skipped, 0);
}

/* Once it was sealed as it was read then, nobody would read it again: what has
 * nothing to do with the capture must not make it a damaged one.
 */
static void test_waits (void **state)
{
    static const char *const names[] = { "ASCEND_PROFILER_OUTPUT",
                                         "step_trace_time.csv", "analysis.db",
                                         "profiler_info_0.json", "data",
                                         "profiler_metadata.json" };
    static const int waited[] = { -EIO, -ESTALE, -ETIMEDOUT };
    static const int never[] = { -EMFILE, -ENFILE, -ENOMEM };
    struct fixture *f = *state;

    put (f, "data", 1);
    put (f, "profiler_info_0.json", 1);
    put (f, "profiler_metadata.json", 1);
    assert_int_equal (fileio_mkdirs (in (f, names[0]), 0700, NULL), 0);
    put (f, "ASCEND_PROFILER_OUTPUT/step_trace_time.csv", 1);
    put (f, "ASCEND_PROFILER_OUTPUT/analysis.db", 1);
    for (size_t n = 0; n < sizeof (names) / sizeof (names[0]); n++) {
        bad_name = names[n];
        for (int i = 0; i < 6; i++) {
            bad_with = i < 3 ? waited[i] : never[i - 3];
            f->again = false;
            seal (f);
            assert_int_equal (f->rc, bad_with);
            assert_non_null (strstr (f->err.text, strerror (-bad_with)));
            f->again = true;
            seal (f);
            assert_int_equal (f->rc, i < 3 ? 0 : bad_with);
        }
    }
    // the file itself is another thing
    bad_with = -EACCES;
    seal (f);
    assert_int_equal (f->rc, 0);
    assert_int_equal (f->skipped, 1);
}

/* As many files as before are not the same files: released, the one that was
 * left out would be lost.
 */
static void test_one_comes_one_is_left_out (void **state)
{
    static const int bad[] = { -EIO, -ENODATA };
    struct fixture *f = *state;
    char made[PATH_MAX];

    sealer_destroy (f->sealer);
    assert_int_equal (sealer_create (f->loop, f->bulk, true, true, on_sealed,
                                     f, &f->sealer, NULL), 0);
    put (f, "data", 1);
    put (f, "worn", BAD_SIZE);
    seal (f);
    assert_int_equal (f->nitems, 3);
    assert_true (f->manifest > 0);
    assert_true (fileio_join (made, sizeof (made), f->capture, "new"));
    f->again = true;
    for (size_t i = 0; i < sizeof (bad) / sizeof (bad[0]); i++) {
        bad_with = bad[i];
        (void)strcpy (made_at_read, made);
        seal (f);
        assert_int_equal (f->rc, 0);
        assert_int_equal (f->nitems, 3);
        assert_int_equal (f->manifest, 0);
        assert_int_equal (unlink (made), 0);
    }
    // nothing is left out, but it is another one
    bad_with = 0;
    (void)strcpy (made_at_read, made);
    assert_true (fileio_join (renamed_at_read, sizeof (renamed_at_read),
                              f->capture, "data"));
    seal (f);
    assert_int_equal (f->rc, 0);
    assert_int_equal (f->nitems, 3);
    assert_int_equal (f->manifest, 0);
}

/* What is beside the capture is delivered with it; what has its name and is in
 * the capture could not be told from that, and is not.
 */
static void test_beside (void **state)
{
    struct fixture *f = *state;
    const char *name = strrchr (f->capture, '/') + 1;
    char path[PATH_MAX], file[PATH_MAX], want[PATH_MAX];

    sealer_destroy (f->sealer);
    assert_int_equal (sealer_create (f->loop, f->bulk, true, true, on_sealed,
                                     f, &f->sealer, NULL), 0);
    put (f, "data", 1);
    (void)snprintf (path, sizeof (path), "%s_op_args", f->capture);
    assert_int_equal (fileio_mkdirs (path, 0700, NULL), 0);
    assert_true (fileio_join (file, sizeof (file), path, "x"));
    assert_int_equal (fileio_replace (file, "1", 1, 0600, NULL), 0);
    seal (f);
    assert_int_equal (f->rc, 0);
    assert_int_equal (f->nitems, 3);
    assert_true (f->manifest > 0);
    (void)snprintf (want, sizeof (want), "%s_op_args/x", name);
    assert_string_equal (f->raw_path, want);
    (void)snprintf (file, sizeof (file), "%s/%s_op_args", f->capture, name);
    assert_int_equal (fileio_mkdirs (file, 0700, NULL), 0);
    (void)snprintf (want, sizeof (want), "%s_op_args/y", name);
    put (f, want, 1);
    seal (f);
    assert_int_equal (f->nitems, 3);
    assert_int_equal (f->manifest, 0);
    assert_int_equal (fileio_remove_tree (path, NULL), 0);
}

/* Hashed for hours, and refused by the ledger, again and again. */
static void test_too_large (void **state)
{
    struct fixture *f = *state;

    put (f, "data", 1);
    put (f, "core", 0);
    if (truncate (in (f, "core"), (off_t)CONTENT_SIZE_MAX + 1) < 0) {
        print_message ("SKIPPED: the file system has no files so large\n");
        skip ();
    }
    seal (f);
    assert_int_equal (f->rc, 0);
    assert_int_equal (f->nitems, 2);
    assert_int_equal (f->skipped, 1);
    assert_non_null (strstr (f->why.text, "core: it is larger"));
}

/* Whoever was writing it may go on, into files that are removed. */
static void test_unfinished (void **state)
{
    struct fixture *f = *state;

    sealer_destroy (f->sealer);
    assert_int_equal (sealer_create (f->loop, f->bulk, true, true, on_sealed,
                                     f, &f->sealer, NULL), 0);
    put (f, "data", 1);
    seal (f);
    assert_true (f->manifest > 0);
    f->unfinished = true;
    seal (f);
    assert_int_equal (f->rc, 0);
    assert_int_equal (f->nitems, 2);
    assert_int_equal (f->manifest, 0);
}

static bool others_had_a_turn;
static unsigned ended;

static void other (void *arg)
{
    (void)arg;
    others_had_a_turn = true;
}

/* The first one ends; before it has been entered, the second one is sealed. */
static void on_one_of_two (void *arg, struct sealed *s)
{
    struct fixture *f = arg;

    (void)s;
    if (++ended == 2) {
        loop_stop (f->loop, 0);
        return;
    }
    (void)loop_add_timer (f->loop, 0, other, NULL);
    while (syncs < 2)
        (void)sched_yield ();
    for (unsigned i = 0; i < 1000; i++)
        (void)sched_yield ();   // until it is ready, too
}

/* An agent that seals thousands of captures as fast as it enters them was not
 * heard of for half a minute, and taken for lost.
 */
static void test_others_have_a_turn (void **state)
{
    struct fixture *f = *state;
    struct watch_settled what = { .path = f->capture, .finished = true };
    const struct sealer_analysis none = { NULL, false };

    sealer_destroy (f->sealer);
    assert_int_equal (sealer_create (f->loop, f->bulk, false, false,
                                     on_one_of_two, f, &f->sealer, NULL), 0);
    syncs = 0;
    ended = 0;
    others_had_a_turn = false;
    put (f, "data", 1);
    for (uint64_t id = 1; id <= 2; id++)
        assert_int_equal (sealer_add (f->sealer, &what, id, f->shipment, false,
                                      &none), 0);
    (void)loop_add_timer (f->loop, LIMIT_NS, timed_out, f->loop);
    assert_int_equal (loop_run (f->loop), 0);
    loop_del_timer (f->loop, timed_out, f->loop);
    assert_true (others_had_a_turn);
}

static void seal_wanted (struct fixture *f, struct seal_wanted *w)
{
    assert_int_equal (sealer_add_wanted (f->sealer, f->capture, 1, f->shipment,
                                         f->again, w), 0);
    (void)loop_add_timer (f->loop, LIMIT_NS, timed_out, f->loop);
    assert_int_equal (loop_run (f->loop), 0);
    loop_del_timer (f->loop, timed_out, f->loop);
}

/* Raw files that are not wanted after all are left out, but not those that exist
 * nowhere else.
 */
static void test_left (void **state)
{
    struct fixture *f = *state;
    char path[PATH_MAX];

    put (f, "a.json", 1);
    put (f, "b.json", 1);
    put (f, "c.json", 1);
    (void)snprintf (path, sizeof (path), "%s", in (f, "b.json"));
    f->left = path;
    seal (f);
    assert_int_equal (f->rc, 0);
    assert_int_equal (f->nitems, 2);
    assert_string_equal (f->raw_path, "b.json");
    assert_int_equal (links (f), 1);
    f->left = in (f, "none");
    seal (f);
    assert_int_equal (f->nitems, 1);
    assert_int_equal (links (f), 0);
}

static struct seal_wanted *wanted (const char *pattern)
{
    struct seal_wanted *w = calloc (1, sizeof (*w));

    assert_non_null (w);
    (void)snprintf (w->pattern, sizeof (w->pattern), "%s", pattern);
    w->known.next_number = 3;
    return w;
}

/* No rows, and no file but those that are wanted and not in the spool yet. */
static void test_wanted (void **state)
{
    struct fixture *f = *state;
    struct seal_wanted *w = wanted ("*.json");
    char link[PATH_MAX];

    put (f, "a.json", 1);
    put (f, "b.json", 1);
    put (f, "data", 1);
    assert_non_null (w->known.files = calloc (1, sizeof (*w->known.files)));
    w->known.files[0] = (struct spool_raw){ strdup ("a.json"), SPOOL_DURABLE,
                                            "" };
    w->known.n = 1;
    seal_wanted (f, w);
    assert_int_equal (f->rc, 0);
    assert_int_equal (f->nitems, 1);
    assert_string_equal (f->raw_path, "b.json");
    assert_int_equal (access (f->shipment, F_OK), -1);
    // its link has a number that no other file of the version has
    (void)snprintf (link, sizeof (link), "%s/1-3", f->dir);
    assert_int_equal (access (link, F_OK), 0);
}

/* One that was given up is sealed again. */
static void test_wanted_again (void **state)
{
    struct fixture *f = *state;
    struct seal_wanted *w = wanted ("");

    put (f, "a.json", 1);
    assert_non_null (w->known.files = calloc (1, sizeof (*w->known.files)));
    w->known.files[0] = (struct spool_raw){ strdup ("a.json"), SPOOL_UNWANTED,
                                            "" };
    w->known.n = 1;
    seal_wanted (f, w);
    assert_int_equal (f->nitems, 1);
}

/* What was written since then is not what the rows are of. */
static void test_wanted_later (void **state)
{
    const struct timespec old[2] = { { .tv_sec = 1000 }, { .tv_sec = 1000 } };
    struct fixture *f = *state;
    struct seal_wanted *w = wanted ("");

    put (f, "a.json", 1);
    put (f, "b.json", 1);
    assert_int_equal (utimensat (AT_FDCWD, in (f, "a.json"), old, 0), 0);
    w->newest_ns = 2000 * NS_PER_S;
    seal_wanted (f, w);
    assert_int_equal (f->rc, 0);
    assert_int_equal (f->nitems, 1);
    assert_string_equal (f->raw_path, "a.json");
    assert_int_equal (f->skipped, 1);
    assert_non_null (strstr (f->why.text, "b.json: it was written to after"));
}

/* Nothing of it is left in the spool. */
static void test_wanted_fails (void **state)
{
    struct fixture *f = *state;
    char link[PATH_MAX];

    put (f, "a.json", 1);
    put (f, "z", BAD_SIZE);
    bad_with = -EIO;
    seal_wanted (f, wanted (""));
    assert_int_equal (f->rc, -EIO);
    (void)snprintf (link, sizeof (link), "%s/1-3", f->dir);
    assert_int_equal (access (link, F_OK), -1);
    f->again = true;            // the others come
    seal_wanted (f, wanted (""));
    assert_int_equal (f->rc, 0);
    assert_int_equal (f->nitems, 1);
    assert_int_equal (f->skipped, 1);
}

int main (void)
{
#define TEST(name) cmocka_unit_test_setup_teardown (name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST (test_rests_in_a_file), TEST (test_breaks_off),
        TEST (test_synced_before_its_row),
        TEST (test_leaves_out_aloud), TEST (test_one_file),
        TEST (test_moved), TEST (test_waits),
        TEST (test_unreadable), TEST (test_one_comes_one_is_left_out),
        TEST (test_unfinished), TEST (test_too_large), TEST (test_beside),
        TEST (test_others_have_a_turn), TEST (test_left), TEST (test_wanted),
        TEST (test_wanted_again), TEST (test_wanted_later),
        TEST (test_wanted_fails),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
