/* common/sqlite_pages/page_file.c - which pages of a file are taken, and by whom
 *
 * Pages are taken when they are written, in runs, so that there are no holes
 * but what was abandoned, and what lies before the lock page.  Such pages are
 * in a pool, for whoever wants no more; the rest becomes SQLite's freelist.
 */
#include "sqlite_pages/page_private.h"

#include "base/cmp.h"
#include "base/fault.h"
#include "base/vec.h"
#include "store/db_rows.h"
#include "store/fileio.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- pages ---- */

/* Add pages to the pool.  If they are at the end of the file, shorten it
 * instead.
 */
static int pool_add (struct page_file *f, uint32_t first, uint32_t n)
{
    struct page_range *last = f->npool ? &f->pool[f->npool - 1] : NULL;

    if (n == 0)
        return 0;
    if (first + n == f->next)
        f->next = first;
    else if (last && last->first + last->n == first)
        last->n += n;
    else
        return vec_push (&f->pool, &f->npool, &(struct page_range){ first, n },
                         sizeof (*f->pool));
    return 0;
}

int page_file_give (struct page_file *f, uint32_t first, uint32_t n,
                    struct err *err)
{
    int rc;

    (void)pthread_mutex_lock (&f->lock);
    rc = pool_add (f, first, n);
    (void)pthread_mutex_unlock (&f->lock);
    return rc < 0 ? err_set (err, ENOMEM, "no memory for free pages") : 0;
}

/* Take pages from the first range that is long enough; 0: there is none. */
static uint32_t pool_take (struct page_file *f, uint32_t n)
{
    for (size_t i = 0; i < f->npool; i++) {
        struct page_range *r = &f->pool[i];
        uint32_t first = r->first;

        if (r->n < n)
            continue;
        r->first += n;
        r->n -= n;
        if (r->n == 0)
            *r = f->pool[--f->npool];
        return first;
    }
    return 0;
}

/* Take pages at the end of the file. */
static int take_next (struct page_file *f, uint32_t n, uint32_t *ret,
                      struct err *err)
{
    uint32_t lock = lock_page (f->page_size), next = f->next;
    int rc = 0;

    *ret = next <= lock && n > lock - next ? lock + 1 : next;
    if (n > PAGE_COUNT_MAX - *ret)
        rc = -EFBIG;
    else
        f->next = *ret + n;
    if (rc == 0 && *ret > next)
        rc = pool_add (f, next, lock - next);
    return rc < 0 ? err_sys (err, -rc, "%s: no page to take", f->path) : 0;
}

/* Take pages from the owner of the file, more than are needed now. */
static int take_extent (struct page_file *f, uint32_t n, uint32_t *ret,
                        struct err *err)
{
    uint32_t some = n < PAGE_EXTENT ? PAGE_EXTENT : n;
    int rc = f->port->take (f->port->arg, some, ret, err);

    if (rc == 0 && pool_add (f, *ret + n, some - n) < 0)
        rc = err_set (err, ENOMEM, "no memory for free pages");
    return rc;
}

int page_file_take (struct page_file *f, uint32_t n, uint32_t *ret,
                    struct err *err)
{
    int rc = 0;

    (void)pthread_mutex_lock (&f->lock);
    if (!(*ret = pool_take (f, n)))
        rc = f->port ? take_extent (f, n, ret, err)
                     : take_next (f, n, ret, err);
    (void)pthread_mutex_unlock (&f->lock);
    return rc;
}

int page_file_read (const struct page_file *f, uint32_t page, uint8_t *bytes,
                    struct err *err)
{
    int rc = fileio_pread_all (f->fd, bytes, f->page_size,
                               (off_t)(page - 1) * f->page_size);

    return rc < 0 ? err_sys (err, -rc, "cannot read page %u of %s", page,
                             f->path) : 0;
}

int page_file_write (const struct page_file *f, uint32_t page,
                     const uint8_t *bytes, uint32_t n, struct err *err)
{
    off_t at = (off_t)(page - 1) * f->page_size, size = (off_t)n * f->page_size;
    int rc = FAULT ("aggregator.pages.write");

    if (rc == 0 && f->fd < 0)
        return f->port->write (f->port->arg, page, bytes, n, err);
    if (rc == 0)
        rc = fileio_pwrite_all (f->fd, bytes, (size_t)size, at);
    // let the disk begin, so that the fsync in the end is short
    if (rc == 0 && n == PAGE_RUN)
        (void)sync_file_range (f->fd, at, size, SYNC_FILE_RANGE_WRITE);
    return rc < 0 ? err_sys (err, -rc, "cannot write %s", f->path) : 0;
}

/* "Cell Payload Overflow Pages": a chain; here its pages are adjacent. */
int page_file_spill (struct page_file *f, const uint8_t *bytes, size_t size,
                     struct page_range *spill, struct err *err)
{
    size_t room = f->page_size - 4;
    uint8_t *page = malloc (f->page_size);
    int rc;

    if (!page)
        return err_set (err, ENOMEM, "no memory for a page");
    spill->n = (uint32_t)((size + room - 1) / room);
    rc = page_file_take (f, spill->n, &spill->first, err);
    for (uint32_t i = 0; i < spill->n && rc == 0; i++) {
        size_t some = size < room ? size : room;

        put4 (page, i + 1 < spill->n ? spill->first + i + 1 : 0);
        memcpy (page + 4, bytes, some);
        memset (page + 4 + some, 0, room - some);
        rc = page_file_write (f, spill->first + i, page, 1, err);
        bytes += some;
        size -= some;
    }
    free (page);
    return rc;
}

/* ---- opening ---- */

/* What the schema has, and the schema itself. */
static int read_roots (struct page_file *f, struct err *err)
{
    const char *name;
    struct page_tree t = { .file = f };
    struct db_rows r;
    sqlite3 *db = NULL;
    int rc;

    if (db_open (f->path, SQLITE_OPEN_READONLY, &db) != SQLITE_OK) {
        rc = db_error (db, f->path, err);
        (void)sqlite3_close (db);
        return rc;
    }
    r = db_rows (db, err, "SELECT 'sqlite_schema', 1, 0 UNION ALL SELECT name,"
                          " rootpage, type='index' OR sql LIKE '%WITHOUT ROWID"
                          "%' FROM sqlite_schema WHERE rootpage>0");
    while (db_row (&r, name, t.root, t.index)) {
        t.name = strdup (name);
        if (!t.name || vec_push (&f->trees, &f->ntrees, &t, sizeof (t)) < 0) {
            free (t.name);
            r.rc = err_set (err, ENOMEM, "no memory for the tables of %s",
                            f->path);
        }
    }
    rc = db_end (&r);
    (void)sqlite3_close (db);
    return rc;
}

/* The problem of a header, or NULL. */
static const char *file_refusal (const uint8_t *h, uint32_t page_size,
                                 uint64_t bytes)
{
    if (memcmp (h, HEADER_MAGIC, sizeof (HEADER_MAGIC)) != 0 ||
        page_size < 512 || (page_size & (page_size - 1)) != 0)
        return "it is no SQLite database";
    if (h[HEADER_WRITE_VERSION] != 1)
        return "it has a WAL";
    if (h[HEADER_RESERVED] != 0)
        return "its pages have reserved bytes";
    if (get4 (h + HEADER_AUTO_VACUUM) != 0 ||
        get4 (h + HEADER_INCREMENTAL) != 0)
        return "it has auto_vacuum";
    if (get4 (h + HEADER_ENCODING) != 1)
        return "its texts are not UTF-8";
    if (get4 (h + HEADER_SCHEMA_FORMAT) != 4)
        return "its schema is of an old format";
    if ((uint64_t)get4 (h + HEADER_PAGE_COUNT) * page_size != bytes ||
        get4 (h + HEADER_CHANGES) != get4 (h + HEADER_VALID_FOR))
        return "its header does not say how many pages it has";
    return NULL;
}

static int read_header (struct page_file *f, uint32_t *nfree, struct err *err)
{
    uint8_t h[HEADER_BYTES];
    const char *refusal;
    off_t end;
    int rc = fileio_pread_all (f->fd, h, sizeof (h), 0);

    if (rc < 0 || (end = lseek (f->fd, 0, SEEK_END)) < 0)
        return err_sys (err, rc < 0 ? -rc : errno, "cannot read %s", f->path);
    f->page_size = get2 (h + HEADER_PAGE_SIZE);
    if (f->page_size == 1)
        f->page_size = 65536;
    if ((refusal = file_refusal (h, f->page_size, (uint64_t)end)))
        return err_set (err, EINVAL, "%s: %s", f->path, refusal);
    f->next = get4 (h + HEADER_PAGE_COUNT) + 1;
    *nfree = get4 (h + HEADER_FREE_COUNT);
    f->page = malloc (f->page_size);
    return f->page ? 0 : err_set (err, ENOMEM, "no memory for a page");
}

int page_file_begin (const char *path, bool write, struct page_file **ret,
                     struct err *err)
{
    struct page_file *f = calloc (1, sizeof (*f));
    uint32_t nfree = 0;
    int rc;

    if (!f || !(f->path = strdup (path))) {
        free (f);
        return err_set (err, ENOMEM, "no memory for %s", path);
    }
    (void)pthread_mutex_init (&f->lock, NULL);
    f->fd = -1;
    rc = read_roots (f, err);
    if (rc == 0 && (f->fd = open (path, (write ? O_RDWR : O_RDONLY) |
                                  O_CLOEXEC | O_NOFOLLOW)) < 0)
        rc = err_sys (err, errno, "cannot open %s", path);
    if (rc == 0)
        rc = read_header (f, &nfree, err);
    if (rc == 0 && write && nfree > 0)
        rc = err_set (err, EINVAL, "%s has free pages", path);
    if (rc < 0)
        page_file_close (f);
    else
        *ret = f;
    return rc;
}

int page_file_open (const char *path, struct page_file **ret, struct err *err)
{
    return page_file_begin (path, true, ret, err);
}

void page_file_close (struct page_file *f)
{
    if (!f)
        return;
    if (f->fd >= 0)
        (void)close (f->fd);
    for (size_t i = 0; i < f->ntrees; i++) {
        free (f->trees[i].name);
        free (f->trees[i].leaves);
    }
    free (f->trees);
    free (f->page);
    free (f->pool);
    free (f->path);
    (void)pthread_mutex_destroy (&f->lock);
    free (f);
}

int page_file_tree (struct page_file *f, const char *name,
                    struct page_tree **ret, struct err *err)
{
    struct page_tree *t = f->trees, *end = t + f->ntrees;
    int rc;

    if (f->port)
        return page_file_shared_tree (f, name, ret, err);
    while (t < end && strcmp (t->name, name) != 0)
        t++;
    if (t == end)
        return err_set (err, ENOENT, "%s has no %s", f->path, name);
    *ret = t;
    (void)pthread_mutex_lock (&f->lock);
    rc = page_file_read (f, t->root, f->page, err);
    if (rc == 0 && (f->page[0] != (t->index ? INDEX_LEAF : TABLE_LEAF) ||
                    get2 (f->page + AT_CELLS) != 0))
        rc = err_set (err, ENOTEMPTY, "%s: %s is not empty", f->path, name);
    (void)pthread_mutex_unlock (&f->lock);
    return rc;
}

int page_tree_join (struct page_tree *t, const struct page_leaf *leaves,
                    size_t n, struct err *err)
{
    struct page_leaf *all;
    int rc = 0;

    if (n == 0)
        return 0;
    (void)pthread_mutex_lock (&t->file->lock);
    all = realloc (t->leaves, (t->nleaves + n) * sizeof (*all));
    if (all) {
        memcpy (all + t->nleaves, leaves, n * sizeof (*all));
        t->leaves = all;
        t->nleaves += n;
    } else {
        rc = err_set (err, ENOMEM, "no memory for pages of %s", t->name);
    }
    (void)pthread_mutex_unlock (&t->file->lock);
    return rc;
}

/* ---- finishing ---- */

/* A single leaf becomes the root itself. */
static int leaf_to_root (struct page_tree *t, struct err *err)
{
    struct page_file *f = t->file;
    int rc = page_file_read (f, t->leaves[0].page, f->page, err);

    if (rc == 0)
        rc = page_file_write (f, t->root, f->page, 1, err);
    return rc < 0 ? rc : page_file_give (f, t->leaves[0].page, 1, err);
}

static int join_leaves (struct page_tree *t, struct err *err)
{
    struct page_levels levels = { .tree = t };
    uint8_t key[VARINT_MAX];
    int rc = 0;

    if (t->nleaves <= 1)
        return t->nleaves ? leaf_to_root (t, err) : 0;
    qsort (t->leaves, t->nleaves, sizeof (*t->leaves), cmp_int64);
    for (size_t i = 0; i + 1 < t->nleaves && rc == 0; i++) {
        const struct page_leaf *a = &t->leaves[i], *b = a + 1;

        if (a->last >= b->first)
            rc = err_set (err, EEXIST, "%s: two have rows of one range: %lld "
                          "to %lld, and %lld to %lld", t->name,
                          (long long)a->first, (long long)a->last,
                          (long long)b->first, (long long)b->last);
        else
            rc = page_levels_add (&levels, 0, a->page, key,
                                  varint_put (key, (uint64_t)a->last), err);
    }
    if (rc == 0)
        rc = page_levels_end (&levels, t->leaves[t->nleaves - 1].page, err);
    page_levels_fini (&levels);
    return rc;
}

/* Cut the free pages at the end of the file off. */
static void trim_end (struct page_file *f)
{
    uint32_t lock = lock_page (f->page_size);

    if (f->npool > 0)
        qsort (f->pool, f->npool, sizeof (*f->pool), cmp_int32);
    for (;;) {
        struct page_range *last = f->npool ? &f->pool[f->npool - 1] : NULL;

        if (last && last->first + last->n == f->next) {
            f->next = last->first;
            f->npool--;
        } else if (f->next == lock + 1) {
            f->next = lock;
        } else {
            return;
        }
    }
}

/* Write a trunk with up to 'room' pages from the end of the pool; *next is the
 * trunk before.
 */
static int write_trunk (struct page_file *f, uint32_t *next, uint32_t *count,
                        struct err *err)
{
    uint8_t *page = f->page;
    uint32_t trunk = 0, n = 0;

    memset (page, 0, f->page_size);
    while (f->npool > 0 && n < TRUNK_PAGES (f->page_size)) {
        struct page_range *r = &f->pool[f->npool - 1];
        uint32_t number = r->first + --r->n;

        if (r->n == 0)
            f->npool--;
        if (trunk == 0)
            trunk = number;
        else
            put4 (page + 8 + 4 * n++, number);
    }
    put4 (page, *next);
    put4 (page + 4, n);
    *next = trunk;
    *count += n + 1;
    return page_file_write (f, trunk, page, 1, err);
}

/* Write the freelist, then the header. */
static int write_header (struct page_file *f, struct err *err)
{
    uint32_t trunk = 0, count = 0, changes;
    int rc = 0;

    while (f->npool > 0 && rc == 0)
        rc = write_trunk (f, &trunk, &count, err);
    if (rc < 0 || (rc = page_file_read (f, 1, f->page, err)) < 0)
        return rc;
    changes = get4 (f->page + HEADER_CHANGES) + 1;
    put4 (f->page + HEADER_PAGE_COUNT, f->next - 1);
    put4 (f->page + HEADER_FREE_FIRST, trunk);
    put4 (f->page + HEADER_FREE_COUNT, count);
    put4 (f->page + HEADER_CHANGES, changes);
    put4 (f->page + HEADER_VALID_FOR, changes);
    return page_file_write (f, 1, f->page, 1, err);
}

int page_file_finish (struct page_file *f, bool sync, struct err *err)
{
    int rc = 0;

    for (size_t i = 0; i < f->ntrees && rc == 0; i++)
        rc = join_leaves (&f->trees[i], err);
    if (rc < 0)
        return rc;
    trim_end (f);
    if ((rc = write_header (f, err)) == 0 &&
        (ftruncate (f->fd, (off_t)(f->next - 1) * f->page_size) < 0 ||
         (sync && fsync (f->fd) < 0)))
        rc = err_sys (err, errno, "cannot write %s", f->path);
    return rc;
}
