/* aggregator/store/store.c - append to segments, receive and commit content */
#include "store/store_private.h"

#include "base/fault.h"
#include "base/vec.h"
#include "model/shipment.h"
#include "store/fileio.h"
#include "store/record.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void store_segment_path (const char *root, int64_t n, char out[PATH_MAX])
{
    (void)snprintf (out, PATH_MAX, "%s/segments/%08" PRId64, root, n);
}

void store_blob_path (const char *root, const struct digest *id,
                      char out[PATH_MAX])
{
    char hex[DIGEST_HEX_SIZE];

    digest_hex (id, hex);
    (void)snprintf (out, PATH_MAX, "%s/blobs/%.2s/%s", root, hex, hex + 2);
}

void store_path (const char *root, const struct digest *id,
                 const struct ledger_place *place, char out[PATH_MAX])
{
    if (place->segment > 0)
        store_segment_path (root, place->segment, out);
    else
        store_blob_path (root, id, out);
}

static void incoming_path (const struct store *s, const struct digest *id,
                           char out[PATH_MAX])
{
    char hex[DIGEST_HEX_SIZE];

    digest_hex (id, hex);
    (void)snprintf (out, PATH_MAX, "%s/incoming/%s", s->root, hex);
}

int store_make_dirs (const struct store *s, struct err *err)
{
    static const char *const names[] = { "segments", "blobs", "incoming",
                                         "jobs" };
    char path[PATH_MAX];
    int rc = 0;

    for (size_t i = 0; i < sizeof (names) / sizeof (names[0]) && rc == 0;
         i++) {
        PRINT (path, "%s/%s", s->root, names[i]);
        rc = fileio_mkdirs (path, FILEIO_DIR_MODE, err);
    }
    // an earlier process may have made names without syncing them
    for (size_t i = 0; i < 2 && rc == 0; i++) {
        PRINT (path, "%s/%s", s->root, names[i]);
        rc = fileio_sync_dir (path, err);
    }
    return rc < 0 ? rc : fileio_sync_dir (s->root, err);
}

int store_open_segment (struct store *s, int64_t n, struct err *err)
{
    char path[PATH_MAX];
    int fd;

    store_segment_path (s->root, n, path);
    fd = open (path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW,
               FILEIO_FILE_MODE);
    if (fd < 0)
        return err_sys (err, errno, "cannot open %s", path);
    fileio_close (s->segment_fd);
    s->segment_fd = fd;
    s->segment = n;
    s->names_dirty = true;
    return 0;
}

bool store_is_there (const struct store *s)
{
    struct stat open, named;
    char path[PATH_MAX];

    store_segment_path (s->root, s->segment, path);
    if (s->segment_fd < 0 || fstat (s->segment_fd, &open) < 0)
        return true;
    if (lstat (path, &named) < 0)
        return errno != ENOENT && errno != ENOTDIR;
    return open.st_dev == named.st_dev && open.st_ino == named.st_ino &&
           (uint64_t)named.st_size >= s->end;
}

/* ---- segments that are no longer written to ---- */

int store_add_extent (struct store_extent **list, size_t *n, int64_t segment,
                      uint64_t end, struct err *err)
{
    struct store_extent e = { segment, end };

    return vec_push (list, n, &e, sizeof (e)) < 0
               ? err_set (err, ENOMEM, "no memory for the store") : 0;
}

int store_seal (struct store *s, struct err *err)
{
    return s->segment_fd < 0 ? 0
               : store_add_extent (&s->sealed, &s->nsealed, s->segment,
                                   s->committed, err);
}

struct loading {
    struct store *store;
    struct err *err;
};

static int load_sealed (void *arg, int64_t segment, uint64_t end)
{
    struct loading *l = arg;
    struct store *s = l->store;

    return segment == s->segment ? 0
               : store_add_extent (&s->sealed, &s->nsealed, segment, end,
                                   l->err);
}

int store_load_sealed (struct store *s, struct ledger *ledger,
                       struct err *err)
{
    struct loading l = { s, err };

    s->nsealed = 0;
    return ledger_each_segment (ledger, load_sealed, &l, err);
}

/* ---- appending ---- */

int store_open_next (struct store *s, struct err *err)
{
    int rc = FAULT ("aggregator.store.segment.open");

    if (rc < 0)
        return err_sys (err, -rc, "cannot open segment %" PRId64,
                        s->segment + 1);
    if ((rc = store_seal (s, err)) < 0 ||
        (rc = store_open_segment (s, s->segment + 1, err)) < 0)
        return rc;
    s->end = s->committed = 0;
    s->distrusted = false;
    return 0;
}

/* Cut off what was appended but not committed. */
static void cut_off (struct store *s)
{
    if (s->end == s->committed)
        return;
    s->end = s->committed;
    if (ftruncate (s->segment_fd, (off_t)s->end) < 0)
        s->distrusted = true;
}

static int say_gone (const struct store *s, struct err *err)
{
    return err_set (err, ESTALE, "segment %" PRId64 " of %s was removed, cut "
                    "or replaced while it was in use", s->segment, s->root);
}

/* Continue in the next segment; the full one counts up to its current end. */
static int next_segment (struct store *s, struct err *err)
{
    uint64_t end = s->end;
    int rc;

    if (s->nfull == STORE_FULL_MAX)
        return err_set (err, ENOSPC, "too many records wait for a commit of "
                        "the ledger");
    if ((rc = FAULT ("aggregator.store.segment.full")) < 0 ||
        (rc = ftruncate (s->segment_fd, (off_t)s->end) < 0 ? -errno : 0) < 0 ||
        (rc = fdatasync (s->segment_fd) < 0 ? -errno : 0) < 0) {
        // a second fsync would succeed: an error is reported only once
        s->distrusted = true;
        s->cannot_commit = s->end != s->committed;
        cut_off (s);
        return err_sys (err, -rc, "cannot fsync segment %" PRId64, s->segment);
    }
    if (!store_is_there (s)) {
        s->distrusted = true;
        s->cannot_commit = s->end != s->committed;
        return say_gone (s, err);
    }
    if ((rc = store_open_next (s, err)) < 0)
        return rc;
    s->full[s->nfull].segment = s->segment - 1;
    s->full[s->nfull++].end = end;
    return 0;
}

/* If somebody truncated the segment, appending would leave a hole in it. */
static int check_end (struct store *s, struct err *err)
{
    struct stat st;

    if (fstat (s->segment_fd, &st) < 0 || (uint64_t)st.st_size >= s->end)
        return 0;
    s->distrusted = true;
    s->cannot_commit = s->end != s->committed;
    return say_gone (s, err);
}

static int write_record (struct store *s, struct record *r, const void *data,
                         size_t size, struct err *err)
{
    struct buf head;
    int rc;

    buf_init (&head, RECORD_MAX);
    if (record_encode (r, &head) < 0) {
        buf_fini (&head);
        return err_set (err, ENOMEM, "no memory for a record");
    }
    rc = s->distrusted ? store_open_next (s, err) : check_end (s, err);
    if (rc == 0 && s->end > 0 && s->end + head.size + size > STORE_SEGMENT_MAX)
        rc = next_segment (s, err);
    if (rc == 0) {
        if ((rc = FAULT ("aggregator.store.append.write")) == 0)
            rc = fileio_pwrite_all (s->segment_fd, head.data, head.size,
                                    (off_t)s->end);
        if (rc == 0)
            rc = fileio_pwrite_all (s->segment_fd, data, size,
                                    (off_t)(s->end + head.size));
        if (rc < 0)
            rc = err_sys (err, -rc, "cannot write segment %" PRId64 " of %s",
                          s->segment, s->root);
    }
    if (rc == 0) {
        r->item.place.segment = s->segment;
        r->item.place.offset = s->end + head.size;
        s->end += head.size + size;
        s->segment_dirty = true;
    }
    buf_fini (&head);
    return rc;
}

int store_append (struct store *s, struct ledger_item *item, const void *data,
                  size_t size, struct err *err)
{
    struct record r = { .kind = RECORD_CONTENT, .item = *item };
    int rc;

    r.item.place.size = size;
    if ((rc = write_record (s, &r, data, size, err)) == 0)
        item->place = r.item.place;
    return rc;
}

int store_refer (struct store *s, const struct ledger_item *item,
                 struct err *err)
{
    struct record r = { .kind = RECORD_REFER, .item = *item };

    return write_record (s, &r, "", 0, err);
}

int store_note_claim (struct store *s, const char *job,
                      const struct size_claim *word, struct err *err)
{
    struct record r = { .kind = RECORD_JOB, .word = *word };

    PRINT (r.item.job, "%s", job);
    return write_record (s, &r, "", 0, err);
}

int store_note_assignment (struct store *s,
                           const struct ledger_assignment *a, struct err *err)
{
    struct record r = { .kind = RECORD_ASSIGN, .assignment = *a };

    return write_record (s, &r, "", 0, err);
}

int store_note_bound (struct store *s, const struct ledger_bound *b,
                      struct err *err)
{
    struct record r = { .kind = RECORD_BOUND, .bound = *b };

    return write_record (s, &r, "", 0, err);
}

/* ---- larger content ---- */

/* The file that a content is received into.  Its inode is kept because somebody
 * may replace the file by another one of the same size.
 */
struct incoming_file {
    struct digest name;
    dev_t dev;
    ino_t ino;
};

static int by_name (const void *pa, const void *pb)
{
    const struct incoming_file *a = pa, *b = pb;

    return memcmp (&a->name, &b->name, sizeof (a->name));
}

static struct incoming_file *find_incoming (const struct store *s,
                                            const struct digest *name)
{
    struct incoming_file key = { .name = *name };
    struct incoming_file **at = tfind (&key, &s->incoming, by_name);

    return at ? *at : NULL;
}

static void forget_incoming (struct store *s, const struct digest *name)
{
    struct incoming_file *f = find_incoming (s, name);

    if (f)
        (void)tdelete (f, &s->incoming, by_name);
    free (f);
}

static int note_incoming (struct store *s, const struct digest *name,
                          const struct stat *st, struct err *err)
{
    struct incoming_file *f = find_incoming (s, name);

    if (!f && ((f = calloc (1, sizeof (*f))))) {
        f->name = *name;
        if (!tsearch (f, &s->incoming, by_name)) {
            free (f);
            f = NULL;
        }
    }
    if (!f)
        return err_set (err, ENOMEM, "no memory to receive");
    f->dev = st->st_dev;
    f->ino = st->st_ino;
    return 0;
}

/* A file from before a restart is not known here and is accepted as it is. */
static bool is_other_file (const struct store *s, const struct digest *name,
                           const struct stat *st)
{
    const struct incoming_file *f = find_incoming (s, name);

    return f && (f->dev != st->st_dev || f->ino != st->st_ino);
}

static int open_incoming (struct store *s, const struct digest *id, int flags,
                          struct err *err)
{
    char path[PATH_MAX];
    int fd, rc;

    incoming_path (s, id, path);
    fd = open (path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | flags,
               FILEIO_FILE_MODE);
    // somebody may have removed the directory, or replaced it by a link
    if (fd < 0 && (errno == ENOENT || errno == ELOOP) && (flags & O_CREAT)) {
        if (errno == ELOOP)
            (void)unlink (path);
        if ((rc = store_make_dirs (s, err)) < 0)
            return rc;
        fd = open (path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | flags,
                   FILEIO_FILE_MODE);
    }
    return fd < 0 ? err_sys (err, errno, "cannot open %s", path) : fd;
}

int store_incoming_write (struct store *s, const struct digest *name,
                          const void *data, size_t size, uint64_t offset,
                          struct err *err)
{
    int fd = open_incoming (s, name, O_CREAT, err), rc;
    struct stat st;

    if (fd < 0)
        return fd;
    if (fstat (fd, &st) < 0 || (uint64_t)st.st_size < offset ||
        (offset > 0 && is_other_file (s, name, &st))) {
        (void)close (fd);
        return err_set (err, ESTALE, "data received before is missing from "
                        "%s/incoming; it is requested again", s->root);
    }
    if ((rc = note_incoming (s, name, &st, err)) < 0) {
        (void)close (fd);
        return rc;
    }
    if ((rc = FAULT ("aggregator.store.incoming.write")) == 0)
        rc = fileio_pwrite_all (fd, data, size, (off_t)offset);
    (void)close (fd);
    return rc < 0 ? err_sys (err, -rc, "cannot write received data into "
                             "%s/incoming", s->root) : 0;
}

int store_incoming_sync (struct store *s, const struct digest *name,
                         struct err *err)
{
    int fd = open_incoming (s, name, 0, err), rc;

    if (fd < 0)
        return fd;
    if ((rc = FAULT ("aggregator.store.incoming.fsync")) == 0 &&
        fdatasync (fd) < 0)
        rc = -errno;
    (void)close (fd);
    return rc < 0 ? err_sys (err, -rc, "cannot fsync received data in "
                             "%s/incoming", s->root) : 0;
}

uint64_t store_incoming_size (struct store *s, const struct digest *name)
{
    char path[PATH_MAX];
    struct stat st;

    incoming_path (s, name, path);
    return lstat (path, &st) == 0 && S_ISREG (st.st_mode)
               ? (uint64_t)st.st_size : 0;
}

void store_discard (struct store *s, const struct digest *name)
{
    char path[PATH_MAX];

    incoming_path (s, name, path);
    (void)unlink (path);
    forget_incoming (s, name);
}

int store_keep (struct store *s, const struct digest *name,
                const struct digest *id, struct err *err)
{
    char from[PATH_MAX], to[PATH_MAX];
    struct stat st;
    char *slash;
    int rc;

    incoming_path (s, name, from);
    store_blob_path (s->root, id, to);
    slash = strrchr (to, '/');
    *slash = '\0';
    if ((rc = fileio_mkdirs (to, FILEIO_DIR_MODE, err)) < 0)
        return rc;              // it synced blobs/, or created nothing
    *slash = '/';
    if ((rc = FAULT ("aggregator.store.blob.rename")) < 0)
        return err_sys (err, -rc, "cannot rename %s", from);
    if ((rc = fileio_rename (from, to, err)) < 0)       // syncs blobs/ab
        return rc;
    if (lstat (to, &st) < 0 || is_other_file (s, name, &st)) {
        (void)unlink (to);
        return err_set (err, ESTALE, "%s was replaced while it was received; "
                        "it is requested again", from);
    }
    forget_incoming (s, name);
    return 0;
}

/* ---- committing ---- */

/* After a failed fsync of a directory a second one would succeed, but the name
 * could still be lost.  So what comes next goes into a segment with another
 * name.
 */
static int sync_names (struct store *s, struct err *err)
{
    char path[PATH_MAX];
    int rc = FAULT ("aggregator.store.names.fsync");

    PRINT (path, "%s/segments", s->root);
    rc = rc < 0 ? err_sys (err, -rc, "cannot fsync %s", path)
                : fileio_sync_dir (path, err);
    s->names_dirty = rc < 0;
    s->distrusted = s->distrusted || rc < 0;
    return rc;
}

int store_sync (struct store *s, struct err *err)
{
    int rc = 0;

    if (s->cannot_commit)
        return err_set (err, EIO, "a segment of %s could not be fsynced: its "
                        "data has to be sent again", s->root);
    if (s->segment_dirty) {
        if ((rc = FAULT ("aggregator.store.segment.fsync")) == 0 &&
            fdatasync (s->segment_fd) < 0)
            rc = -errno;
        if (rc < 0) {
            s->distrusted = true;
            return err_sys (err, -rc, "cannot fsync segment %" PRId64 " of %s",
                            s->segment, s->root);
        }
    }
    s->segment_dirty = false;
    if ((rc = s->names_dirty ? sync_names (s, err) : 0) < 0 ||
        store_is_there (s))
        return rc;
    s->distrusted = true;
    return say_gone (s, err);
}

int store_account (struct store *s, struct ledger *ledger, struct err *err)
{
    int rc = 0;

    for (size_t i = 0; i < s->nfull && rc == 0; i++)
        rc = ledger_set_segment (ledger, s->full[i].segment, s->full[i].end,
                                 err);
    if (rc == 0 && (s->nfull > 0 || s->end != s->committed))
        rc = ledger_set_segment (ledger, s->segment, s->end, err);
    return rc;
}

void store_committed (struct store *s)
{
    for (size_t i = 0; i < s->nfull; i++) {
        for (size_t k = s->nsealed; k > 0; k--) {
            if (s->sealed[k - 1].segment == s->full[i].segment)
                s->sealed[k - 1].end = s->full[i].end;
        }
    }
    s->nfull = 0;
    s->committed = s->end;
}

/* Cut off what was appended: after a restart it would be taken for delivered. A
 * segment whose fsync failed is never written to again, since the kernel's copy
 * in memory may differ from the disk; the next write opens another one.
 */
void store_revert (struct store *s)
{
    s->nfull = 0;
    s->segment_dirty = s->cannot_commit = false;
    cut_off (s);
}

int store_read (struct store *s, const struct digest *id,
                const struct ledger_place *place, struct err *err)
{
    char path[PATH_MAX];
    int fd;

    store_path (s->root, id, place, path);
    fd = open (path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return err_sys (err, errno, "cannot open %s", path);
    return fd;
}

int store_check_content (struct store *s, const struct digest *id,
                         const struct ledger_place *place, struct err *err)
{
    int fd = store_read (s, id, place, err);
    int rc = fd < 0 ? fd : record_check_content (fd, id, place, err);

    fileio_close (fd);
    return rc;
}

int store_read_meta (struct store *s, const struct digest *id,
                     const struct ledger_place *place, struct capture *ret,
                     struct err *err)
{
    int fd = store_read (s, id, place, err);
    int rc = fd < 0 ? fd : shipment_read_meta (fd, (off_t)place->offset,
                                               place->size, ret, err);

    fileio_close (fd);
    return rc;
}

int64_t store_sum_rows (struct store *s, const struct ledger_item *item)
{
    struct ledger_place rows = item->place;
    struct digest digest = { { 0 } };
    int fd, rc;

    if (!*item->who || item->kind != ITEM_ROWS || item->rank < 0 ||
        (fd = store_read (s, &item->content, &item->place, NULL)) < 0)
        return 0;
    rc = shipment_find_meta (fd, (off_t)rows.offset, rows.size, &rows.size,
                             NULL);
    if (rc == 0)
        rc = record_hash (fd, &rows, &digest);
    (void)close (fd);
    return rc < 0 ? 0 : digest_number (&digest);
}
