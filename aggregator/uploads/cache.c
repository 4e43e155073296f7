/* aggregator/uploads/cache.c - the root as a bounded cache of its objects */
#include "uploads/cache.h"

#include "store/object_mark.h"
#include "store/record.h"
#include "store/segment.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* ---- one segment ---- */

struct punching {
    int fd;
    uint64_t block;             // bytes: holes begin and end with one
    int error;
};

/* What is damaged stays: a check says so. */
static int punch (void *arg, const struct record *r, int bad,
                  const struct ledger_place *gap)
{
    struct punching *p = arg;
    uint64_t from, to;

    (void)gap;
    if (!r || bad < 0 || r->kind != RECORD_CHUNK)
        return 0;
    from = (r->place.offset + p->block - 1) / p->block * p->block;
    to = (r->place.offset + r->place.stored) / p->block * p->block;
    if (from < to && fallocate (p->fd, FALLOC_FL_PUNCH_HOLE |
                                FALLOC_FL_KEEP_SIZE, (off_t)from,
                                (off_t)(to - from)) < 0)
        p->error = errno;
    return p->error ? -p->error : 0;
}

/* The time of the file says when it was written to: the collection asks for it. */
static int punch_all (int fd, const struct object_mark *m, int64_t segment,
                      struct err *err)
{
    struct segment f = { .fd = fd, .number = segment };
    struct punching p = { .fd = fd, .block = 4096 };
    struct statvfs fs;
    struct stat st;
    uint64_t size;
    int rc;

    if (fstatvfs (fd, &fs) == 0 && fs.f_bsize > p.block)
        p.block = fs.f_bsize;
    if (fstat (fd, &st) < 0)
        return err_sys (err, errno, "cannot look at segment %lld",
                        (long long)segment);
    size = (uint64_t)st.st_size < m->size ? (uint64_t)st.st_size : m->size;
    rc = record_scan (&f, 0, size, true, punch, &p, err);      // it may be cut
    (void)futimens (fd, (struct timespec[]){ st.st_atim, st.st_mtim });
    return p.error ? err_sys (err, p.error, "cannot free bytes of segment %lld",
                              (long long)segment) : rc;
}

static bool is_linked (int fd)
{
    struct stat st;

    return fstat (fd, &st) < 0 || st.st_nlink > 1;
}

/* The mark comes first: a backup that links the file after this looks at it.  1:
 * a backup has linked it.
 */
static int let_go (const struct cache *c, int64_t segment, int fd,
                   struct object_mark *m, struct err *err)
{
    bool was = m->evicted;      // an earlier process has begun
    int rc;

    m->evicted = true;
    if ((rc = object_mark_set (c->root, segment, m, err)) < 0)
        return rc;
    rc = is_linked (fd) ? 1 : punch_all (fd, m, segment, err);
    m->freed = rc == 0;
    if (rc == 1 || rc == -EOPNOTSUPP)
        m->evicted = was;       // nothing was punched
    if (rc >= 0 || rc == -EOPNOTSUPP)
        (void)object_mark_set (c->root, segment, m, NULL);
    return rc;
}

/* Whether the object is still the one that was compared: 1, 0. */
static int look (const struct cache *c, int64_t segment,
                 const struct object_mark *m, struct err *err)
{
    char key[OBJECT_MARK_KEY_MAX];
    struct object_facts f;
    int rc;

    object_mark_key (c->id, segment, key);
    rc = object_head (c->store, key, &f, err);
    return rc == -ENOENT ? 0
           : rc < 0 ? rc : f.size == m->size && strcmp (f.etag, m->etag) == 0;
}

/* 0: it went; 1: it stays; 2: its object is not there; -ESTALE: it was collected
 * meanwhile.
 */
static int evict_file (const struct cache *c, int64_t segment, int fd,
                       struct object_mark *m, struct store_extent *lost,
                       struct err *err)
{
    int rc = look (c, segment, m, err);

    if (rc < 0)
        return rc;
    if (rc > 0)
        return let_go (c, segment, fd, m, err);
    if (m->evicted)             // a check says what is lost
        return 1;
    m->state = OBJECT_BEGUN;
    *lost = (struct store_extent){ segment, m->size };
    rc = object_mark_set (c->root, segment, m, err);
    return rc < 0 ? rc : 2;
}

/* What a backup has linked stays, and is no reason to ask the store. */
static int evict (const struct cache *c, int64_t segment,
                  struct cache_state *ret, struct store_extent *lost,
                  struct err *err)
{
    char path[PATH_MAX];
    struct object_mark m;
    int fd, rc = object_mark_read (c->root, segment, &m, err);

    if (rc < 0 || m.state != OBJECT_WHOLE || m.freed ||
        strcmp (m.url, object_store_url (c->store)) != 0)
        return rc < 0 ? rc : 1;
    store_segment_path (c->root, segment, path);
    fd = open (path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return errno == ENOENT ? 1 : err_sys (err, errno, "cannot open %s",
                                              path);
    rc = is_linked (fd) ? 1 : evict_file (c, segment, fd, &m, lost, err);
    ret->linked += rc == 1 && is_linked (fd);
    (void)close (fd);
    return rc == -ESTALE ? 1 : rc;
}

/* ---- all ---- */

/* What a segment has here: packed, where the file system packs. */
static uint64_t bytes_of (const char *root, int64_t segment)
{
    char path[PATH_MAX];
    struct stat st;

    store_segment_path (root, segment, path);
    return stat (path, &st) < 0 ? 0 : (uint64_t)st.st_blocks * 512;
}

static int trim (const struct cache *c, const int64_t *numbers, size_t n,
                 struct cache_state *ret, struct store_extent *lost,
                 struct err *err)
{
    int rc = 0;

    for (size_t i = 0; i < n && ret->local > c->most && rc < 2; i++) {
        uint64_t had = bytes_of (c->root, numbers[i]), has;

        if (atomic_load (c->stop))
            return 0;
        if ((rc = evict (c, numbers[i], ret, lost, err)) < 0)
            return rc;
        has = bytes_of (c->root, numbers[i]);
        ret->local -= has < had ? had - has : 0;
        ret->evicted += has < had;
    }
    return rc == 2;
}

static uint64_t sum (const char *root, const int64_t *numbers, size_t n)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < n; i++)
        bytes += bytes_of (root, numbers[i]);
    return bytes;
}

int cache_count (const char *root, uint64_t *ret, struct err *err)
{
    int64_t *numbers = NULL;
    size_t n = 0;
    int rc = store_list_segments (root, &numbers, &n, err);

    if (rc == 0)
        *ret = sum (root, numbers, n);
    free (numbers);
    return rc;
}

int cache_trim (const struct cache *c, struct cache_state *ret,
                struct store_extent *lost, struct err *err)
{
    int64_t *numbers = NULL;
    size_t n = 0;
    int rc;

    ret->local = ret->linked = 0;
    if ((rc = store_list_segments (c->root, &numbers, &n, err)) == 0) {
        ret->local = sum (c->root, numbers, n);
        if (c->most > 0)
            rc = trim (c, numbers, n, ret, lost, err);
    }
    free (numbers);
    return rc;
}

/* ---- marks that were lost ---- */

static int look_and_mark (const struct cache *c, struct segment *f,
                          uint64_t size, struct err *err)
{
    struct object_mark m = { .state = OBJECT_WHOLE, .size = size,
                             .evicted = true };
    char key[OBJECT_MARK_KEY_MAX];
    struct object_facts there;
    size_t bad = 0;
    int rc;

    object_mark_key (c->id, f->number, key);
    rc = object_head (c->store, key, &there, err);
    f->far = f->check_far = true;
    if (rc == 0 && there.size == size)
        rc = record_count_bad (f, size, &bad, err);
    if (rc < 0 && rc != -ENOENT)
        return rc;
    if (rc == -ENOENT || there.size != size || bad > 0)
        return err_set (err, EBADMSG, "segment %lld is damaged, and %s does not "
                        "have all of it", (long long)f->number,
                        object_store_url (c->store));
    PRINT (m.url, "%s", object_store_url (c->store));
    PRINT (m.etag, "%s", there.etag);
    rc = object_mark_set (c->root, f->number, &m, err);
    return rc < 0 ? rc : 1;
}

int cache_adopt (const struct cache *c, const struct store_extent *e, int fd,
                 struct err *err)
{
    struct segment f = { .fd = fd, .number = e->segment };
    off_t hole = lseek (fd, 0, SEEK_HOLE);
    size_t bad = 0;
    int rc;

    if (hole < 0 || (uint64_t)hole >= e->end)
        return 0;
    rc = record_count_bad (&f, e->end, &bad, err);
    if (rc < 0 || bad == 0)
        return rc;
    if ((rc = segments_create (c->root, &f.of, err)) == 0) {
        segments_stop_on (f.of, c->stop);
        rc = look_and_mark (c, &f, e->end, err);
    }
    segments_destroy (f.of);
    free (f.ahead);
    return rc;
}
