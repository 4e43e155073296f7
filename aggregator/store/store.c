/* aggregator/store/store.c - append to segments, and commit */
#include "store/store_private.h"

#include "base/clock.h"
#include "base/cmp.h"
#include "base/fault.h"
#include "base/vec.h"
#include "store/checksum.h"
#include "store/fileio.h"
#include "store/root.h"
#include "store/lease.h"
#include "store/record.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void store_segment_path (const char *root, int64_t n, char out[PATH_MAX])
{
    (void)snprintf (out, PATH_MAX, "%s/segments/%08" PRId64, root, n);
}

int store_make_dirs (const struct store *s, struct err *err)
{
    char path[PATH_MAX];
    int rc;

    PRINT (path, "%s/jobs", s->root);
    rc = fileio_mkdirs (path, FILEIO_DIR_MODE, err);
    PRINT (path, "%s/" LEASE_DIR, s->root);
    if (rc == 0)
        rc = fileio_mkdirs (path, FILEIO_DIR_MODE, err);
    PRINT (path, "%s/segments", s->root);
    if (rc == 0)
        rc = fileio_mkdirs (path, FILEIO_DIR_MODE, err);
    if (rc == 0)                // an earlier process may have made names
        rc = fileio_sync_dir (path, err);       // without syncing them
    if (rc == 0)
        rc = root_make_id (s->root, err);
    return rc < 0 ? rc : fileio_sync_dir (s->root, err);
}

static int open_file (struct store *s, int64_t n, int flags, struct err *err)
{
    char path[PATH_MAX];
    int fd;

    store_segment_path (s->root, n, path);
    fd = open (path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | flags,
               FILEIO_FILE_MODE);
    if (fd < 0)
        return err_sys (err, errno, "cannot open %s", path);
    fileio_close (s->segment_fd);
    s->segment_fd = fd;
    s->segment = n;
    s->names_dirty = true;
    return 0;
}

int store_open_segment (struct store *s, int64_t n, struct err *err)
{
    return open_file (s, n, 0, err);
}

static bool is_file (const struct store *s, int64_t n)
{
    char path[PATH_MAX];
    struct stat st;

    store_segment_path (s->root, n, path);
    return lstat (path, &st) == 0 && S_ISREG (st.st_mode);
}

int store_create_segment (struct store *s, int64_t n, struct err *err)
{
    int rc;

    while ((rc = open_file (s, n, O_EXCL, err)) == -EEXIST && is_file (s, n))
        n++;
    return rc;
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

static struct store_extent *sealed_of (const struct store *s, int64_t segment)
{
    const struct store_extent key = { .segment = segment };

    return s->nsealed == 0 ? NULL : bsearch (&key, s->sealed, s->nsealed,
                                             sizeof (key), cmp_int64);
}

uint64_t store_sealed_end (const struct store *s, int64_t segment)
{
    const struct store_extent *e = sealed_of (s, segment);

    return e ? e->end : 0;
}

void store_forget_segment (struct store *s, int64_t segment)
{
    size_t n = 0;

    for (size_t i = 0; i < s->nsealed; i++) {
        if (s->sealed[i].segment != segment)
            s->sealed[n++] = s->sealed[i];
    }
    s->nsealed = n;
}

/* Those in 'full' wait for a commit, and so does all behind them. */
int store_each_sealed (const struct store *s, int64_t after,
                       int (*fn) (void *arg, const struct store_extent *e),
                       void *arg)
{
    int64_t first = s->nfull > 0 ? s->full[0].segment : INT64_MAX;
    size_t i = s->nsealed;
    int rc = 0;

    while (i > 0 && s->sealed[i - 1].segment > after)
        i--;
    for (; i < s->nsealed && rc == 0 && s->sealed[i].segment < first; i++)
        rc = fn (arg, &s->sealed[i]);
    return rc;
}

struct store_extent store_open_extent (const struct store *s)
{
    return (struct store_extent){ s->segment, s->committed };
}

int64_t store_last_used (const struct store *s)
{
    return s->committed > 0 ? s->segment
           : s->nsealed > 0 ? s->sealed[s->nsealed - 1].segment : 0;
}

/* ---- appending ---- */

int store_open_from (struct store *s, int64_t n, struct err *err)
{
    bool seals = s->segment_fd >= 0;
    int rc = seals ? store_add_extent (&s->sealed, &s->nsealed, s->segment,
                                       s->committed, err) : 0;

    if (rc < 0)
        return rc;
    if ((rc = FAULT ("aggregator.store.segment.open")) < 0)
        rc = err_sys (err, -rc, "cannot open segment %" PRId64, n);
    else
        rc = store_create_segment (s, n, err);
    if (rc < 0) {
        s->nsealed -= seals;    // it is written to: nothing of it may be taken
        return rc;              // for what never changes again
    }
    s->end = s->committed = 0;
    s->since_ns = 0;
    s->distrusted = false;
    return 0;
}

int store_open_next (struct store *s, struct err *err)
{
    return store_open_from (s, s->segment + 1, err);
}

int store_seal_after (struct store *s, int64_t age_ns, struct err *err)
{
    int64_t now = clock_mono_ns ();
    int rc;

    if (s->committed > 0 && s->since_ns == 0)
        s->since_ns = now;
    if (s->committed == 0 || now - s->since_ns < age_ns)
        return 0;
    if (s->end != s->committed || s->nfull > 0)
        return 2;
    rc = store_open_next (s, err);
    return rc < 0 ? rc : 1;
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
    int64_t segment = s->segment;
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
    s->full[s->nfull].segment = segment;
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

static int write_record (struct store *s, const struct record *r,
                         const void *data, size_t size,
                         struct ledger_place *ret, struct err *err)
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
        if (rc < 0) {
            rc = err_sys (err, -rc, "cannot write segment %" PRId64 " of %s",
                          s->segment, s->root);
            (void)ftruncate (s->segment_fd, (off_t)s->end);
        }
    }
    if (rc == 0) {
        *ret = r->place;
        ret->segment = s->segment;
        ret->offset = s->end + head.size;
        s->head = head.size;
        s->end += head.size + size;
        s->segment_dirty = true;
    }
    buf_fini (&head);
    return rc;
}

static int put_content (struct store *s, enum record_kind kind,
                        const struct digest *id, uint64_t size,
                        enum ledger_form form, const void *data, size_t n,
                        struct ledger_place *ret, struct err *err)
{
    struct record r = { .kind = kind, .id = *id,
                        .place = { .size = size, .stored = n, .form = form },
                        .sum = checksum_add (0, data, n) };

    return write_record (s, &r, data, n, ret, err);
}

int store_put_chunk (struct store *s, const struct digest *id, uint64_t size,
                     enum chunk_codec codec, const void *stored, size_t n,
                     struct ledger_place *ret, struct err *err)
{
    return put_content (s, RECORD_CHUNK, id, size, (enum ledger_form)codec,
                        stored, n, ret, err);
}

int store_put_list (struct store *s, const struct digest *id, uint64_t size,
                    const struct digest *chunks, size_t n,
                    struct ledger_place *ret, struct err *err)
{
    return put_content (s, RECORD_LIST, id, size, FORM_LIST, chunks,
                        n * DIGEST_SIZE, ret, err);
}

/* What follows must not be overwritten only in part: its bytes could look like
 * records then.
 */
void store_take_back (struct store *s, const struct ledger_place *last)
{
    s->end = last->offset - s->head;
    if (ftruncate (s->segment_fd, (off_t)s->end) < 0) {
        s->distrusted = true;
        // what comes goes elsewhere, and what is before it is not synced any more
        s->cannot_commit = s->cannot_commit || s->end != s->committed;
    }
}

bool store_is_crowded (const struct store *s)
{
    return s->nfull >= STORE_CROWDED;
}

int store_note (struct store *s, const struct record *r, struct err *err)
{
    struct ledger_place place;

    return write_record (s, r, "", 0, &place, err);
}

int store_put_item (struct store *s, const struct ledger_item *item,
                    struct err *err)
{
    struct record r = { .kind = RECORD_ITEM, .item = *item };

    return store_note (s, &r, err);
}

int store_note_claim (struct store *s, const char *job,
                      const struct size_claim *word, struct err *err)
{
    struct record r = { .kind = RECORD_JOB, .word = *word };

    PRINT (r.item.job, "%s", job);
    return store_note (s, &r, err);
}

int store_note_assignment (struct store *s,
                           const struct ledger_assignment *a, struct err *err)
{
    struct record r = { .kind = RECORD_ASSIGN, .assignment = *a };

    return store_note (s, &r, err);
}

int store_note_bound (struct store *s, const struct ledger_bound *b,
                      struct err *err)
{
    struct record r = { .kind = RECORD_BOUND, .bound = *b };

    return store_note (s, &r, err);
}

int store_note_fact (struct store *s, const struct ledger_fact *f,
                     struct err *err)
{
    struct record r = { .kind = RECORD_FACT, .fact = *f };

    return store_note (s, &r, err);
}

int store_note_deletion (struct store *s, const struct ledger_deletion *d,
                         struct err *err)
{
    struct record r = { .kind = RECORD_DELETION, .deletion = *d };

    return store_note (s, &r, err);
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
    struct store_extent *e;

    for (size_t i = 0; i < s->nfull; i++) {
        if ((e = sealed_of (s, s->full[i].segment)))
            e->end = s->full[i].end;
    }
    s->nfull = 0;
    s->committed = s->end;
}

/* The same of those that were left since the last commit. */
static void cut_off_full (const struct store *s)
{
    const struct store_extent *e;
    char path[PATH_MAX];
    struct stat st;

    for (size_t i = 0; i < s->nfull; i++) {
        store_segment_path (s->root, s->full[i].segment, path);
        e = sealed_of (s, s->full[i].segment);
        // one that somebody cut is not made longer
        if (e && stat (path, &st) == 0 && (uint64_t)st.st_size > e->end)
            (void)truncate (path, (off_t)e->end);
    }
}

/* Cut off what was appended: after a restart it would be taken for delivered. A
 * segment whose fsync failed is never written to again, since the kernel's copy
 * in memory may differ from the disk; the next write opens another one.
 */
void store_revert (struct store *s)
{
    cut_off_full (s);
    s->nfull = 0;
    s->segment_dirty = s->cannot_commit = false;
    cut_off (s);
}

const char *store_root (const struct store *s)
{
    return s->root;
}

struct segments *store_segments (const struct store *s)
{
    return s->segments;
}
