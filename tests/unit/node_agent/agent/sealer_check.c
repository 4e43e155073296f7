/* tests/unit/node_agent/agent/sealer_check.c - a sealer and a capture in a
 * directory of their own, and what may go wrong while it reads
 */
#include "node_agent/agent/sealer_check.h"

#define LIMIT_NS (30 * NS_PER_S)

atomic_uint rests, end_at;

int __wrap_bulk_pause (struct bulk *b); // the linker's name for it

int __wrap_bulk_pause (struct bulk *b)
{
    unsigned n = atomic_fetch_add (&rests, 1) + 1;

    (void)b;
    return end_at > 0 && n >= end_at ? -ECANCELED : 0;
}

int bad_with;
char made_at_read[PATH_MAX];
char renamed_at_read[PATH_MAX];

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

const char *bad_name;

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

ino_t synced;
atomic_uint syncs;
off_t synced_size;
int sync_error;

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

void on_sealed (void *arg, struct sealed *s)
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

int sealer_setup (void **state)
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

int sealer_teardown (void **state)
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

void other_sealer (struct fixture *f, bool raw, bool manifests,
                   void (*fn) (void *arg, struct sealed *s))
{
    sealer_destroy (f->sealer);
    assert_int_equal (sealer_create (f->loop, f->bulk, raw, manifests, fn, f,
                                     &f->sealer, NULL), 0);
}

void put (struct fixture *f, const char *name, off_t size)
{
    char path[PATH_MAX];

    assert_true (fileio_join (path, sizeof (path), f->capture, name));
    assert_int_equal (fileio_replace (path, "", 0, 0600, NULL), 0);
    assert_int_equal (truncate (path, size), 0);
}

const char *in (const struct fixture *f, const char *name)
{
    static char path[PATH_MAX];

    assert_true (fileio_join (path, sizeof (path), f->capture, name));
    return path;
}

unsigned links (const struct fixture *f)
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

void run (struct fixture *f)
{
    (void)loop_add_timer (f->loop, LIMIT_NS, timed_out, f->loop);
    assert_int_equal (loop_run (f->loop), 0);
    loop_del_timer (f->loop, timed_out, f->loop);
}

void seal (struct fixture *f)
{
    struct watch_settled what = { .path = f->capture, .rank_hint = 0,
                                  .finished = !f->unfinished };

    assert_int_equal (sealer_add (f->sealer, &what, 1, f->shipment,
                                  f->again,
                                  &(struct sealer_analysis){ NULL, false }), 0);
    run (f);
}
