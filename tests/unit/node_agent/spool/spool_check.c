/* tests/unit/node_agent/spool/spool_check.c - a spool in a directory of its own
 */
#include "node_agent/spool/spool_check.h"

#include "spool/manifest.h"
#include "spool/release_rows.h"

#include <fcntl.h>
#include <ftw.h>
#include <sqlite3.h>
#include <sys/stat.h>

static void on_again (void *arg, const char *path, const char *why)
{
    struct fixture *f = arg;

    f->again++;
    (void)snprintf (f->again_path, sizeof (f->again_path), "%s", path);
    (void)snprintf (f->again_why, sizeof (f->again_why), "%s", why);
}

static void open_it (struct fixture *f)
{
    struct err err = { "" };

    if (spool_open (f->spool, &f->s, &err) < 0)
        fail_msg ("%s", err.text);
    spool_on_reseal (f->s, on_again, f);
}

int spool_setup (void **state)
{
    const char *tmp = getenv ("TMPDIR");
    struct fixture *f = calloc (1, sizeof (*f));

    (void)snprintf (f->dir, sizeof (f->dir), "%s/rollcall-spool-XXXXXX",
                    tmp && *tmp ? tmp : "/tmp");
    assert_non_null (mkdtemp (f->dir));
    (void)snprintf (f->raw, sizeof (f->raw), "%s/capture", f->dir);
    (void)snprintf (f->spool, sizeof (f->spool), "%s/spool", f->dir);
    assert_int_equal (mkdir (f->raw, 0700), 0);
    open_it (f);
    *state = f;
    return 0;
}

int spool_teardown (void **state)
{
    struct fixture *f = *state;

    spool_close (f->s);
    (void)fileio_remove_tree (f->dir, NULL);
    free (f);
    return 0;
}

void spool_reopen (struct fixture *f)
{
    spool_close (f->s);
    f->s = NULL;
    open_it (f);
}

void spool_reopen_new (struct fixture *f)
{
    f->s = NULL;
    open_it (f);
}

void spool_path_of (struct fixture *f, uint64_t id, unsigned number,
                    char out[PATH_MAX])
{
    assert_int_equal (spool_file (f->s, id, number, out, NULL), 0);
}

static void hash_it (struct spool_new *item, const char *path)
{
    int fd = open (path, O_RDONLY);
    struct stat st;

    assert_true (fd >= 0 && fstat (fd, &st) == 0);
    item->size = (uint64_t)st.st_size;
    content_hash_init (&item->hash);
    assert_int_equal (content_hash_file (fd, item->size, &item->hash, NULL,
                                         NULL, NULL), 0);
    (void)close (fd);
}

void spool_seal_raw (struct fixture *f, uint64_t id, char *path)
{
    char empty[] = "", shipment[PATH_MAX];
    struct spool_new items[2] = {
        { .kind = ITEM_ROWS, .number = 0, .own = true, .path = empty },
        { .kind = ITEM_RAW, .number = 1, .path = path },
    };

    spool_path_of (f, id, 0, shipment);
    assert_int_equal (fileio_replace (shipment, "1", 1, 0600, NULL), 0);
    hash_it (&items[0], shipment);
    content_hash_init (&items[1].hash);
    assert_int_equal (spool_seal (f->s, id, "a_pt", 2, items, 2,
                                  (struct spool_left_out){ 0 }, NULL, NULL), 0);
    content_hash_fini (&items[0].hash);
    content_hash_fini (&items[1].hash);
}

uint64_t spool_put (struct fixture *f, const char *path, const char *version,
                    const char *rows, const char *raw, bool link_it)
{
    char file[PATH_MAX], original[PATH_MAX], shipment[PATH_MAX];
    char empty[] = "", x[] = "x";
    struct spool_new items[2] = {
        { .kind = ITEM_ROWS, .number = 0, .own = true, .path = empty },
        { .kind = ITEM_RAW, .number = 1, .own = link_it, .path = x },
    };
    const char *name = strcmp (path, f->raw) == 0 ? "a_pt"
                                                  : strrchr (path, '/') + 1;
    uint64_t id;

    assert_int_equal (spool_settle (f->s, path, version, &id, NULL), 0);
    spool_path_of (f, id, 0, shipment);
    assert_int_equal (fileio_replace (shipment, rows, strlen (rows), 0600,
                                      NULL), 0);
    hash_it (&items[0], shipment);
    if (raw) {
        (void)snprintf (original, sizeof (original), "%s/x", path);
        assert_int_equal (fileio_replace (original, raw, strlen (raw), 0600,
                                          NULL), 0);
        spool_path_of (f, id, 1, file);
        if (link_it)
            assert_int_equal (link (original, file), 0);
        hash_it (&items[1], original);
    }
    assert_int_equal (spool_seal (f->s, id, name, 2, items, raw ? 2 : 1,
                                  (struct spool_left_out){ 0 }, NULL, NULL), 0);
    content_hash_fini (&items[0].hash);
    content_hash_fini (&items[1].hash);
    return id;
}

void spool_put_releasable (struct fixture *f, unsigned delivered)
{
    static const enum item_kind kinds[] = { ITEM_ROWS, ITEM_RAW };
    struct spool_item got = { .id = 0 };
    struct buf manifest;
    size_t files;

    assert_int_equal (fileio_mkdirs (f->raw, 0700, NULL), 0);
    (void)spool_put (f, f->raw, "v1", "0123456789", "raw", true);
    buf_init (&manifest, MANIFEST_MAX);
    assert_int_equal (manifest_take (f->raw, &manifest, &files, NULL), 0);
    assert_int_equal (spool_add_release (f->s, f->raw, RELEASE_ALL_SEALED, 2,
                                         &manifest, 1, NULL), 0);
    buf_fini (&manifest);
    for (unsigned i = 0; i < delivered; i++) {
        assert_int_equal (spool_next (f->s, kinds[i], 0, &got, NULL), 1);
        assert_int_equal (spool_durable (f->s, &got.id, 1, NULL), 0);
    }
}

static unsigned counted;

static int count_file (const char *path, const struct stat *st, int kind,
                       struct FTW *w)
{
    (void)path;
    (void)st;
    (void)w;
    counted += kind == FTW_F;
    return 0;
}

unsigned spool_files (struct fixture *f, const char *name)
{
    char path[PATH_MAX];

    (void)snprintf (path, sizeof (path), "%s/%s", f->spool, name);
    counted = 0;
    (void)nftw (path, count_file, 8, FTW_PHYS);
    return counted;
}

void spool_sql (struct fixture *f, const char *text)
{
    char path[PATH_MAX];
    sqlite3 *db;

    spool_close (f->s);
    f->s = NULL;
    assert_true (fileio_join (path, sizeof (path), f->spool, "ledger.db"));
    assert_int_equal (sqlite3_open (path, &db), SQLITE_OK);
    assert_int_equal (sqlite3_exec (db, text, NULL, NULL, NULL), SQLITE_OK);
    (void)sqlite3_close (db);
}

void spool_flip (const char *path, long at, unsigned char bits)
{
    int fd = open (path, O_RDWR);
    unsigned char byte;

    assert_true (fd >= 0);
    assert_int_equal (pread (fd, &byte, 1, at), 1);
    byte ^= bits;
    assert_int_equal (pwrite (fd, &byte, 1, at), 1);
    (void)close (fd);
}
