/* aggregator/intake/store.c - the bytes that were delivered */
#include "intake/store.h"

#include "base/fileio.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct store {
    char root[PATH_MAX - 128];  // room for the names below it
    int segment_fd;             // -1: none open
    int64_t segment;            // its number, from 1
    uint64_t end;               // where the next content goes
    bool segment_dirty;         // written since the last store_sync
    bool names_dirty;           // a file was made or renamed
    uint64_t incoming;          // last number given out
};

static void segment_path (const struct store *s, int64_t n,
                          char out[PATH_MAX])
{
    (void)snprintf (out, PATH_MAX, "%s/segments/%08" PRId64, s->root, n);
}

static void incoming_path (const struct store *s, uint64_t n,
                           char out[PATH_MAX])
{
    (void)snprintf (out, PATH_MAX, "%s/incoming/%" PRIu64, s->root, n);
}

static void blob_path (const struct store *s, const struct digest *id,
                       char out[PATH_MAX])
{
    char hex[DIGEST_HEX_SIZE];

    digest_hex (id, hex);
    (void)snprintf (out, PATH_MAX, "%s/blobs/%.2s/%s", s->root, hex, hex + 2);
}

static int open_segment (struct store *s, int64_t n, struct err *err)
{
    char path[PATH_MAX];

    segment_path (s, n, path);
    s->segment_fd = open (path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW,
                          FILEIO_FILE_MODE);
    if (s->segment_fd < 0)
        return err_sys (err, errno, "cannot open %s", path);
    s->segment = n;
    s->names_dirty = true;
    return 0;
}

static int make_dirs (const struct store *s, struct err *err)
{
    static const char *const names[] = { "segments", "blobs", "incoming",
                                         "jobs" };
    char path[PATH_MAX];
    int rc = 0;

    for (size_t i = 0; i < sizeof (names) / sizeof (names[0]) && rc == 0;
         i++) {
        (void)snprintf (path, sizeof (path), "%s/%s", s->root, names[i]);
        rc = fileio_mkdirs (path, FILEIO_DIR_MODE, err);
    }
    return rc;
}

/* Transfers that a former life did not finish start over. */
static int clear_incoming (const struct store *s, struct err *err)
{
    char path[PATH_MAX];
    int rc;

    (void)snprintf (path, sizeof (path), "%s/incoming", s->root);
    if ((rc = fileio_remove_tree (path, err)) < 0)
        return rc;
    return fileio_mkdirs (path, FILEIO_DIR_MODE, err);
}

int store_open (const char *root, struct ledger *ledger, struct store **ret,
                struct err *err)
{
    struct store *s = calloc (1, sizeof (*s));
    const char *remote;
    int64_t last = 0;
    int rc = 0;

    if (!s)
        return err_set (err, ENOMEM, "no memory for the store");
    s->segment_fd = -1;
    if (strlen (root) >= sizeof (s->root))
        rc = err_set (err, ENAMETOOLONG, "path is too long: %s", root);
    else
        (void)snprintf (s->root, sizeof (s->root), "%s", root);
    if (rc == 0 && (remote = fileio_remote_fs (root)))
        rc = err_set (err, ENOTSUP, "%s is on a shared file system (%s), where "
                      "a ledger is not safe: choose a local directory", root,
                      remote);
    if (rc == 0)
        rc = make_dirs (s, err);
    if (rc == 0)
        rc = clear_incoming (s, err);
    if (rc == 0)
        rc = ledger_last_segment (ledger, &last, &s->end, err);
    if (rc == 0)
        rc = open_segment (s, last > 0 ? last : 1, err);
    // what lies behind the last known content was never acknowledged
    if (rc == 0 && ftruncate (s->segment_fd, (off_t)s->end) < 0)
        rc = err_sys (err, errno, "cannot cut segment %" PRId64, s->segment);
    if (rc < 0) {
        store_close (s);
        return rc;
    }
    *ret = s;
    return 0;
}

void store_close (struct store *s)
{
    if (!s)
        return;
    if (s->segment_fd >= 0)
        (void)close (s->segment_fd);
    free (s);
}

static int next_segment (struct store *s, struct err *err)
{
    if (fdatasync (s->segment_fd) < 0)
        return err_sys (err, errno, "cannot fsync segment %" PRId64,
                        s->segment);
    (void)close (s->segment_fd);
    s->end = 0;
    return open_segment (s, s->segment + 1, err);
}

int store_append (struct store *s, const void *data, size_t size,
                  struct ledger_place *ret, struct err *err)
{
    int rc;

    if (s->end > 0 && s->end + size > STORE_SEGMENT_MAX &&
        (rc = next_segment (s, err)) < 0)
        return rc;
    rc = fileio_pwrite_all (s->segment_fd, data, size, (off_t)s->end);
    if (rc < 0)
        return err_sys (err, -rc, "cannot write segment %" PRId64 " of %s",
                        s->segment, s->root);
    *ret = (struct ledger_place){ s->segment, s->end, size };
    s->end += size;
    s->segment_dirty = true;
    return 0;
}

int store_incoming (struct store *s, uint64_t *number, struct err *err)
{
    char path[PATH_MAX];
    int fd;

    incoming_path (s, s->incoming + 1, path);
    fd = open (path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, FILEIO_FILE_MODE);
    if (fd < 0)
        return err_sys (err, errno, "cannot create %s", path);
    *number = ++s->incoming;
    return fd;
}

void store_discard (struct store *s, uint64_t number)
{
    char path[PATH_MAX];

    incoming_path (s, number, path);
    (void)unlink (path);
}

int store_keep (struct store *s, uint64_t number, const struct digest *id,
                struct err *err)
{
    char from[PATH_MAX], to[PATH_MAX];
    char *slash;
    int rc;

    incoming_path (s, number, from);
    blob_path (s, id, to);
    slash = strrchr (to, '/');
    *slash = '\0';
    if ((rc = fileio_mkdirs (to, FILEIO_DIR_MODE, err)) < 0)
        return rc;
    *slash = '/';
    s->names_dirty = true;
    return fileio_rename (from, to, err);       // syncs blobs/ab
}

int store_sync (struct store *s, struct err *err)
{
    static const char *const names[] = { "segments", "blobs" };
    char path[PATH_MAX];
    int rc = 0;

    if (s->segment_dirty && fdatasync (s->segment_fd) < 0)
        return err_sys (err, errno, "cannot fsync segment %" PRId64 " of %s",
                        s->segment, s->root);
    s->segment_dirty = false;
    for (size_t i = 0; s->names_dirty && i < 2 && rc == 0; i++) {
        (void)snprintf (path, sizeof (path), "%s/%s", s->root, names[i]);
        rc = fileio_sync_dir (path, err);
    }
    s->names_dirty = s->names_dirty && rc < 0;
    return rc;
}

int store_read (struct store *s, const struct digest *id,
                const struct ledger_place *place, struct err *err)
{
    char path[PATH_MAX];
    int fd;

    if (place->segment > 0)
        segment_path (s, place->segment, path);
    else
        blob_path (s, id, path);
    fd = open (path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return err_sys (err, errno, "cannot open %s", path);
    return fd;
}
