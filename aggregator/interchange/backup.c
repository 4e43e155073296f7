/* aggregator/interchange/backup.c - back up a root
 *
 * This folder: what goes out of a root and comes into one: jobs as tar files,
 * backups.
 */
#include "interchange/backup.h"

#include "archive/audit.h"
#include "base/vec.h"
#include "ledger/ledger.h"
#include "store/fileio.h"
#include "store/lease.h"
#include "store/object_mark.h"
#include "store/record.h"
#include "store/root.h"
#include "store/segment.h"
#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define COPY_BYTES (8u << 20)   // at once, between two looks whether to go on
#define EDGE_BYTES 4096         // that are compared at both ends of a segment
#define NEW_LEDGER "ledger.db.new"
#define NEW_FILE "new"          // becomes a segment, or the audit log

struct extent {
    int64_t segment;
    uint64_t end;
};

struct extents {
    struct extent *list;
    size_t n;
};

struct backup {
    const char *root, *dir;     // dir: its held path
    const struct backup_how *how;
    struct extents former;      // what the former backup has: all else may be
                                // of one that was interrupted
    const atomic_bool *cancel;
    struct backup_sums *sums;
    int64_t last;               // the open segment
    struct segments *segments;  // of the root, to read with
    struct err *err;
};

/* ---- segments ---- */

static int copy_some (int in, int out, uint64_t at, size_t n, void *block)
{
    loff_t from = (loff_t)at, to = (loff_t)at;
    ssize_t done = copy_file_range (in, &from, out, &to, n, 0);
    int rc;

    if (done == (ssize_t)n)
        return 0;
    rc = fileio_pread_all (in, block, n, (off_t)at);
    return rc < 0 ? rc : fileio_pwrite_all (out, block, n, (off_t)at);
}

static int copy_all (int in, int out, uint64_t at, uint64_t end,
                     const atomic_bool *cancel)
{
    void *block = malloc (COPY_BYTES);
    int rc = block ? 0 : -ENOMEM;

    // behind the former end may be what an interrupted backup has left
    if (rc == 0 && ftruncate (out, (off_t)at) < 0)
        rc = -errno;
    while (rc == 0 && at < end) {
        size_t n = end - at < COPY_BYTES ? (size_t)(end - at) : COPY_BYTES;

        if (cancel && atomic_load (cancel))
            rc = -EINTR;
        else
            rc = copy_some (in, out, at, n, block);
        at += n;
    }
    free (block);
    return rc < 0 ? rc : fdatasync (out) < 0 ? -errno : 0;
}

int backup_copy_segment (const char *from, const char *to, uint64_t at,
                         uint64_t end, const atomic_bool *cancel,
                         struct err *err)
{
    int in = open (from, O_RDONLY | O_CLOEXEC | O_NOFOLLOW), out, rc;

    if (in < 0)
        return err_sys (err, errno, "cannot open %s", from);
    out = open (to, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW,
                FILEIO_FILE_MODE);
    rc = out < 0 ? -errno : copy_all (in, out, at, end, cancel);
    rc = fileio_close_written (out, rc);
    (void)close (in);
    return rc == -ENODATA
               ? err_set (err, EBADMSG, "%s is cut short", from)
           : rc < 0 ? err_sys (err, -rc, "cannot copy %s to %s", from, to) : 0;
}

int backup_copy_audit (const char *from, const char *to,
                       const atomic_bool *cancel, struct err *err)
{
    char path[PATH_MAX];
    struct stat st;
    int rc;

    if (!fileio_join (path, sizeof (path), from, AUDIT_LOG))
        return err_set (err, ENAMETOOLONG, "path is too long: %s", from);
    if (lstat (path, &st) < 0)
        return errno == ENOENT ? 0 : err_sys (err, errno, "cannot stat %s",
                                              path);
    if (access (path, R_OK) < 0 && errno == EACCES)
        return audit_denied (from, "read", err);
    rc = backup_copy_segment (path, to, 0, (uint64_t)st.st_size, cancel, err);
    return rc < 0 ? rc : 1;
}

/* ---- what is only in an object store ---- */

static int fail_read (struct backup *b, int rc, int64_t n)
{
    if (rc == -EREMOTEIO)
        segments_why (b->segments, b->err);
    else if (rc < 0)
        (void)err_sys (b->err, -rc, "cannot copy segment %" PRId64, n);
    return rc;
}

static bool is_evicted (const struct backup *b, int64_t n)
{
    struct object_mark m;

    return object_mark_read (b->root, n, &m, NULL) == 0 && m.evicted;
}

static int copy_read (struct backup *b, struct segment *f, int out,
                      uint64_t end)
{
    void *block = malloc (COPY_BYTES);
    int rc = block ? 0 : -ENOMEM;

    for (uint64_t at = 0; rc == 0 && at < end; at += COPY_BYTES) {
        size_t n = end - at < COPY_BYTES ? (size_t)(end - at) : COPY_BYTES;

        if (b->how->cancel && atomic_load (b->how->cancel))
            rc = -EINTR;
        if (rc == 0 && (rc = segment_read (f, block, n, at)) == 0)
            rc = fileio_pwrite_all (out, block, n, (off_t)at);
    }
    free (block);
    return rc;
}

/* What is damaged here is in a backup as it is; what came has to be right. */
static int look_at_fetched (void *arg, const struct record *r, int bad,
                            const struct ledger_place *gap)
{
    const struct ledger_place *p = r ? &r->place : gap;

    return (!r || bad < 0) && segment_is_far (arg, p->stored, p->offset)
               ? -EBADMSG : 0;
}

static int check_fetched (struct backup *b, struct segment *f, const char *path,
                          uint64_t end)
{
    struct segment copy = { .number = f->number,
                            .fd = open (path, O_RDONLY | O_CLOEXEC) };
    int rc = copy.fd < 0 ? err_sys (b->err, errno, "cannot read %s", path)
                         : record_scan (&copy, 0, end, true, look_at_fetched,
                                        f, b->err);

    fileio_close (copy.fd);
    return rc == -EBADMSG ? err_set (b->err, EBADMSG, "segment %" PRId64 " is "
                                     "damaged in the object store", f->number)
                          : rc;
}

/* A backup has all bytes: those that are not here come from the store. */
static int fetch_segment (struct backup *b, int64_t n, const char *to,
                          uint64_t end)
{
    char fresh[PATH_MAX];
    struct segment f;
    int out, rc = segment_open (b->segments, n, &f, b->err);

    if (rc < 0)
        return rc;
    PRINT (fresh, "%.4000s/" NEW_FILE, b->dir);
    out = open (fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW,
                FILEIO_FILE_MODE);
    rc = out < 0 ? -errno : copy_read (b, &f, out, end);
    if (rc == 0 && fdatasync (out) < 0)
        rc = -errno;
    rc = fileio_close_written (out, rc);
    rc = rc < 0 ? fail_read (b, rc, n) : check_fetched (b, &f, fresh, end);
    segment_close (&f);
    return rc < 0 ? rc : fileio_rename (fresh, to, b->err);
}

/* Whether a segment and a file have the same bytes at both ends of [0, size): 1,
 * 0.
 */
static int same_edges (struct backup *b, int64_t n, const char *to,
                       uint64_t size)
{
    uint8_t x[EDGE_BYTES], y[EDGE_BYTES];
    size_t some = size < EDGE_BYTES ? (size_t)size : EDGE_BYTES;
    int fd = open (to, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    struct segment f;
    int rc = segment_open (b->segments, n, &f, b->err);
    bool same = true;

    for (int i = 0; i < 2 && rc == 0 && same; i++) {
        uint64_t at = i == 0 ? 0 : size - some;

        rc = segment_read (&f, x, some, at);
        if (rc == 0)
            rc = fileio_pread_all (fd, y, some, (off_t)at);
        same = rc == 0 && memcmp (x, y, some) == 0;
    }
    fileio_close (fd);
    segment_close (&f);
    return rc < 0 ? fail_read (b, rc, n) : same;
}

static void segment_path (const char *root, int64_t n, char path[PATH_MAX])
{
    store_segment_path (root, n, path);
}

static int note_extent (void *arg, int64_t segment, uint64_t end)
{
    const struct extent e = { segment, end };
    struct extents *x = arg;

    return vec_push (&x->list, &x->n, &e, sizeof (e));
}

/* Whether a segment belongs to these, and how far. */
static bool find_extent (const struct extents *x, int64_t segment,
                         uint64_t *end)
{
    size_t i = 0;

    while (i < x->n && x->list[i].segment != segment)
        i++;
    if (end)
        *end = i < x->n ? x->list[i].end : 0;
    return i < x->n;
}

/* What is there already must be of this root: 0, with the bytes that stay; 1: it
 * is linked, and a copy is wanted.
 */
static int look_at_copy (struct backup *b, int64_t n, const char *from,
                         const char *to, uint64_t end, uint64_t *at)
{
    struct stat st, original;
    uint64_t former;
    int same;

    (void)find_extent (&b->former, n, &former);
    *at = 0;
    if (lstat (to, &st) < 0)
        return errno == ENOENT ? 0 : err_sys (b->err, errno, "cannot stat %s",
                                              to);
    if (stat (from, &original) < 0)
        return err_sys (b->err, errno, "cannot open %s", from);
    if ((uint64_t)st.st_size >= former)
        *at = former < end ? former : end;
    if (st.st_dev == original.st_dev && st.st_ino == original.st_ino) {
        *at = b->how->copy ? 0 : end;
        return b->how->copy;
    }
    if ((same = same_edges (b, n, to, *at)) < 0)
        return same;
    return same ? 0 : err_set (b->err, EEXIST, "%s is of another root: choose "
                               "another directory", to);
}

/* The link stays until there is a copy. */
static int replace_link (struct backup *b, const char *from, const char *to,
                         uint64_t end)
{
    char fresh[PATH_MAX];
    int rc;

    PRINT (fresh, "%.4000s/" NEW_FILE, b->dir);
    b->sums->copied += end;
    rc = backup_copy_segment (from, fresh, 0, end, b->how->cancel, b->err);
    return rc < 0 ? rc : fileio_rename (fresh, to, b->err);
}

static int copy_or_link (struct backup *b, int64_t n, const char *from,
                         const char *to, uint64_t end)
{
    uint64_t at;
    int rc;

    if ((rc = look_at_copy (b, n, from, to, end, &at)) < 0 ||
        (at == end && end > 0))
        return rc;
    if (rc == 1)
        return replace_link (b, from, to, end);
    // what the former backup has stays until it is replaced
    if (at == 0 && !find_extent (&b->former, n, NULL) &&
        unlink (to) < 0 && errno != ENOENT)
        return err_sys (b->err, errno, "cannot replace %s", to);
    if (at == 0 && !b->how->copy && n != b->last && link (from, to) == 0) {
        b->sums->linked += end;
        return 0;
    }
    b->sums->copied += end - at;
    return backup_copy_segment (from, to, at, end, b->how->cancel, b->err);
}

static bool is_link (const char *from, const char *to)
{
    struct stat a, b;

    return stat (from, &a) == 0 && lstat (to, &b) == 0 &&
           a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* Bytes may be let go before they are copied, or meanwhile: then its mark says
 * so.  A link may be of a backup that could not fetch them.
 */
static int save_segment (void *arg, int64_t n, uint64_t end)
{
    struct backup *b = arg;
    char from[PATH_MAX], to[PATH_MAX];
    uint64_t linked = b->sums->linked, copied = b->sums->copied;
    int rc;

    segment_path (b->root, n, from);
    segment_path (b->dir, n, to);
    b->sums->segments++;
    b->sums->bytes += end;
    rc = copy_or_link (b, n, from, to, end);
    if (rc < 0 || (b->sums->linked == linked && b->sums->copied == copied &&
                   !is_link (from, to)) || !is_evicted (b, n))
        return rc;
    b->sums->linked = linked;
    b->sums->copied = copied + end;
    return fetch_segment (b, n, to, end);
}

/* The number in the name of a segment; 0: it is none. */
static int64_t segment_number (const char *name)
{
    size_t digits = strspn (name, "0123456789");

    return digits >= 8 && digits < 16 && !name[digits]
               ? strtoll (name, NULL, 10) : 0;
}

/* Remove segments that the ledger has no more. */
static void drop_unwanted (const struct backup *b, struct ledger *l)
{
    struct extents wanted = { NULL, 0 };
    char path[PATH_MAX];
    struct dirent *e;
    int listed = 0;
    DIR *dir;

    PRINT (path, "%s/segments", b->dir);
    dir = ledger_each_segment (l, note_extent, &wanted, NULL) == 0
              ? opendir (path) : NULL;
    while (dir && (e = fileio_next_entry (dir, &listed))) {
        int64_t n = segment_number (e->d_name);

        if (n > 0 && !find_extent (&wanted, n, NULL))
            (void)unlinkat (dirfd (dir), e->d_name, 0);
    }
    fileio_close_dir (dir);
    free (wanted.list);
}

/* ---- the ledger ---- */

/* The copy gets its name: from now on it is the new backup. */
static int publish (struct backup *b, const char *fresh)
{
    static const char *const ends[] = { "-wal", "-shm", "-journal" };
    char path[PATH_MAX], beside[PATH_MAX + 16];

    PRINT (path, "%s/segments", b->dir);
    if (fileio_sync_dir (path, b->err) < 0)
        return -EIO;
    PRINT (path, "%s/ledger.db", b->dir);
    for (size_t i = 0; i < sizeof (ends) / sizeof (ends[0]); i++) {
        PRINT (beside, "%s%s", path, ends[i]);
        (void)unlink (beside);  // of somebody who has looked at the former one
    }
    return fileio_rename (fresh, path, b->err);
}

/* After the ledger: what was removed from that has a line by now. */
static int save_audit (struct backup *b)
{
    char fresh[PATH_MAX], path[PATH_MAX];
    int rc;

    PRINT (fresh, "%.4000s/" NEW_FILE, b->dir);
    PRINT (path, "%.4000s/" AUDIT_LOG, b->dir);
    rc = backup_copy_audit (b->root, fresh, b->how->cancel, b->err);
    return rc <= 0 ? rc : fileio_rename (fresh, path, b->err);
}

static int save_segments (struct backup *b, const char *fresh)
{
    struct ledger *l = NULL;
    uint64_t end;
    int rc = ledger_open_read (fresh, &l, b->err);

    memset (b->sums, 0, sizeof (*b->sums));
    if (rc == 0)
        rc = ledger_last_segment (l, &b->last, &end, b->err);
    if (rc == 0)
        rc = ledger_each_segment (l, save_segment, b, b->err);
    if (rc == 0)
        rc = save_audit (b);
    if (rc == 0)
        rc = publish (b, fresh);
    if (rc == 0)
        drop_unwanted (b, l);
    ledger_close (l);
    return rc;
}

/* Without a lease, -ENOENT may mean that a segment was removed meanwhile, and a
 * newer ledger does not have it any more.
 */
static int save (struct backup *b)
{
    char path[PATH_MAX], fresh[PATH_MAX];
    struct ledger *l = NULL;
    int rc;

    if (!fileio_join (path, sizeof (path), b->root, "ledger.db") ||
        !fileio_join (fresh, sizeof (fresh), b->dir, NEW_LEDGER))
        return err_set (b->err, ENAMETOOLONG, "path is too long: %s", b->dir);
    if ((rc = ledger_open_quick (path, &l, b->err)) < 0)
        return rc == -ENOENT ? err_set (b->err, ENOMEDIUM, "%s is not the root "
                                        "of an aggregator", b->root) : rc;
    rc = ledger_copy (l, fresh, b->err);
    ledger_close (l);
    return rc < 0 ? rc : save_segments (b, fresh);
}

/* One try: the ledger, then its segments, of which none is collected. */
static int save_once (struct backup *b)
{
    struct lease lease = LEASE_NONE;
    int rc;

    (void)lease_take (b->root, "rollcall backup", &lease, NULL);
    rc = save (b);
    lease_end (&lease);
    return rc;
}

/* A former backup must be of this root; a first one gets its id before anything
 * else.
 */
static int check_id (struct backup *b)
{
    char mine[ROOT_ID_SIZE], theirs[ROOT_ID_SIZE];
    int rc = root_need_id (b->root, mine, b->err);

    if (rc < 0)
        return rc;
    rc = root_read_id (b->dir, theirs, b->err);
    if (rc == -ENOENT && !fileio_has (b->dir, "ledger.db"))
        return root_write_id (b->dir, mine, b->err);
    if (rc == -ENOENT)
        return err_set (b->err, EEXIST, "the backup in %s does not say of which "
                        "root it is: choose another directory", b->dir);
    return rc < 0 || strcmp (mine, theirs) == 0
               ? rc : err_set (b->err, EEXIST, "the backup in %s is of another "
                               "root: choose another directory", b->dir);
}

/* What the former backup has, if there is one. */
static int read_former (struct backup *b)
{
    char path[PATH_MAX];
    struct ledger *l = NULL;
    int rc;

    if (!fileio_has (b->dir, "ledger.db") ||
        !fileio_join (path, sizeof (path), b->dir, "ledger.db"))
        return 0;
    // a damaged one has nothing that could be kept
    if ((rc = ledger_open_read (path, &l, NULL)) == 0)
        rc = ledger_each_segment (l, note_extent, &b->former, NULL);
    ledger_close (l);
    return rc == -ENOMEM ? err_set (b->err, ENOMEM, "no memory for a backup")
                         : 0;
}

static bool is_of_backup (const char *name)
{
    return strncmp (name, "ledger.db", 9) == 0 ||
           strcmp (name, "segments") == 0 || strcmp (name, NEW_FILE) == 0 ||
           strcmp (name, AUDIT_LOG) == 0 ||
           strncmp (name, ROOT_ID, strlen (ROOT_ID)) == 0 ||
           // the cache of verbs that look into it
           strncmp (name, "catalogue.db", 12) == 0;
}

/* Only a backup, or nothing, may be there. */
static int check_dir (const char *dir, struct err *err)
{
    bool ours = root_is_backup (dir);
    struct dirent *e;
    int listed = 0, rc = 0;
    DIR *d;

    if (!ours && fileio_has (dir, "ledger.db"))
        return err_set (err, EEXIST, "%s is a root, not a backup", dir);
    if (!(d = opendir (dir)))
        return err_sys (err, errno, "cannot read %s", dir);
    while (rc == 0 && (e = fileio_next_entry (d, &listed))) {
        if (strcmp (e->d_name, "lock") != 0 &&
            strncmp (e->d_name, ROOT_BACKUP, strlen (ROOT_BACKUP)) != 0 &&
            !(ours && is_of_backup (e->d_name)))
            rc = err_set (err, EEXIST, "%s has something else in it (%.80s): "
                          "name a directory for the backup alone", dir,
                          e->d_name);
    }
    (void)closedir (d);
    return rc;
}

/* What became no part of the backup, also when it was killed. */
static void drop_new (const char *dir)
{
    static const char *const names[] = { NEW_LEDGER, NEW_FILE };
    char path[PATH_MAX];

    for (size_t i = 0; i < sizeof (names) / sizeof (names[0]); i++) {
        if (fileio_join (path, sizeof (path), dir, names[i]))
            (void)unlink (path);
    }
}

/* Cut a path off before its last name: false: it has one only. */
static bool go_up (char *path)
{
    size_t n = strlen (path);
    char *slash;

    while (n > 1 && path[n - 1] == '/')
        path[--n] = '\0';
    if (!(slash = strrchr (path, '/')) || n == 1)
        return false;
    slash[slash == path] = '\0';
    return true;
}

/* A directory that is to be made is where the first one above it is. */
static int check_roots (const char *root, const char *dir, struct err *err)
{
    char path[PATH_MAX], named[PATH_MAX];
    struct stat a, b;
    bool itself = true;

    if (stat (root, &a) < 0)
        return err_sys (err, errno, "cannot open %s", root);
    PRINT (named, "%s%.4000s", *dir == '/' ? "" : "./", dir);
    while (!realpath (named, path)) {
        itself = false;
        if (!go_up (named))
            return 0;
    }
    do {
        if (stat (path, &b) == 0 && a.st_dev == b.st_dev &&
            a.st_ino == b.st_ino)
            return err_set (err, EEXIST, "%s is %sthe root itself: choose "
                            "another directory", dir, itself ? "" : "in ");
        itself = false;
    } while (go_up (path));
    return 0;
}

static int not_ours (const char *dir, struct err *err)
{
    return err_set (err, EPERM, "%s is another user's, who could lead elsewhere "
                    "what root writes there: run this as that user, or name "
                    "another directory", dir);
}

int backup_hold (const char *dir, struct tree *t, char held[TREE_HELD_MAX],
                 struct err *err)
{
    int rc;

    if (tree_check_path (dir, false, NULL) < 0)
        return not_ours (dir, err);
    if ((rc = fileio_mkdirs (dir, FILEIO_DIR_MODE, err)) < 0 ||
        (rc = tree_open (t, dir, err)) < 0)
        return rc;
    if (tree_check_owner (t, false, NULL) < 0)
        rc = not_ours (dir, err);
    if (rc == 0 && (rc = tree_can_hold (t, err)) == 0)
        rc = tree_hold (t, "", held, err);
    if (rc < 0)
        tree_close (t);
    return rc;
}

/* From here on nothing else changes the directory. */
static int mark (const struct backup *b)
{
    static const char text[] = "a backup: rollcall restore makes a root of it\n";
    char path[PATH_MAX];

    if (root_is_backup (b->dir))
        return 0;
    if (!fileio_join (path, sizeof (path), b->dir, ROOT_BACKUP))
        return err_set (b->err, ENAMETOOLONG, "path is too long: %s", b->dir);
    return fileio_replace (path, text, sizeof (text) - 1, FILEIO_FILE_MODE,
                           b->err);
}

/* Whose the segments are counts, since 'dir' is held. */
static int make_segments (const struct backup *b)
{
    char path[PATH_MAX], held[TREE_HELD_MAX];
    struct tree segments;
    int rc;

    if (!fileio_join (path, sizeof (path), b->dir, "segments"))
        return err_set (b->err, ENAMETOOLONG, "path is too long: %s", b->dir);
    if ((rc = backup_hold (path, &segments, held, b->err)) == 0)
        tree_close (&segments);
    return rc;
}

/* What a failure leaves: nobody takes half of a backup for one. */
static int tell_left (struct backup *b, int rc)
{
    const struct err why = b->err ? *b->err : (struct err){ "" };

    return err_set (b->err, -rc, "%s; %s", why.text,
                    fileio_has (b->dir, "ledger.db")
                        ? "the former backup is as it was"
                        : "this is no backup yet: repeat it");
}

static int make_held (struct backup *b)
{
    int lock, rc = check_dir (b->dir, b->err);
    bool begun;

    if (rc < 0)
        return rc;
    if ((lock = root_lock (b->dir, false, b->err)) < 0)
        return lock;
    if ((rc = mark (b)) == 0 && (rc = make_segments (b)) == 0 &&
        (rc = check_id (b)) == 0)
        rc = read_former (b);
    begun = rc == 0;
    rc = rc < 0 ? rc : -ENOENT;
    for (unsigned i = 0; i < BACKUP_TRIES && rc == -ENOENT; i++)
        rc = save_once (b);
    drop_new (b->dir);
    if (rc < 0 && rc != -ENOMEDIUM && begun)
        rc = tell_left (b, rc);
    free (b->former.list);
    (void)close (lock);
    // a segment that is missing at each try is not being collected
    return rc == -ENOMEDIUM ? -ENOENT : rc == -ENOENT ? -EBADMSG : rc;
}

/* Before anything is made for it. */
static int check_readable (const char *root, struct err *err)
{
    char id[ROOT_ID_SIZE], path[PATH_MAX];
    int rc = root_need_id (root, id, err);

    if (rc == 0 && fileio_join (path, sizeof (path), root, "ledger.db") &&
        faccessat (AT_FDCWD, path, R_OK, AT_EACCESS) < 0 && errno == EACCES)
        return err_sys (err, EACCES, "cannot open %s", path);
    return rc;
}

int backup_make (const char *root, const char *dir,
                 const struct backup_how *how, struct backup_sums *ret,
                 struct err *err)
{
    char held[TREE_HELD_MAX];
    struct backup b = { .root = root, .dir = held, .how = how, .sums = ret,
                        .err = err };
    int rc = check_roots (root, dir, err);
    struct tree t;

    if (rc == 0 && (rc = check_readable (root, err)) == -ENOMEDIUM)
        return -ENOENT;         // it is no root
    if (rc < 0 || (rc = backup_hold (dir, &t, held, err)) < 0)
        return rc;
    if ((rc = segments_create (root, &b.segments, err)) == 0)
        rc = make_held (&b);
    segments_destroy (b.segments);
    tree_tell (&t, err);
    tree_close (&t);
    return rc;
}
