/* common/sqlite_pages/page_check.c - check that a database file is whole
 *
 * Each tree is read from its root; the subtrees below the children of roots are
 * divided among threads.
 */
#include "sqlite_pages/page_check.h"

#include "base/thread.h"
#include "base/vec.h"
#include "sqlite_pages/page_private.h"
#include "store/fileio.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#define WINDOW_BYTES (64u << 10)        // read at once: the largest page

/* What a page may have below it: rowids, or keys between two keys (excluded).
 */
struct span {
    int64_t least, most;
    struct page_key lo, hi;
};

/* A page, and all below it. */
struct task {
    unsigned tree;
    uint32_t page;
    int depth;
    struct span span;
};

struct check {
    struct page_file *file;
    uint32_t pages;
    uint64_t *sums;             // or NULL
    _Atomic uint64_t *seen;     // a bit for each page
    atomic_int *depths;         // of each tree's leaves; 0: not known yet
    struct task *tasks;
    size_t ntasks;
    atomic_size_t next;
    atomic_bool stop;
    pthread_mutex_t lock;       // over what follows
    int rc;                     // the first failure
    struct err why;
};

/* One thread. */
struct reader {
    struct check *c;
    pthread_t thread;
    bool started;
    uint8_t *window, *chain, *map;      // pages at hand; one; a byte for each
    uint32_t first, n;          // pages in the window
    struct err why;
};

struct cell {
    uint32_t child, bytes, local, overflow;
    int64_t rowid;
    struct page_key payload;    // the part that is in the page
};

static int damaged (struct reader *r, uint32_t page, const char *what)
{
    return err_set (&r->why, EBADMSG, "%s is damaged: page %u: %s",
                    r->c->file->path, page, what);
}

/* Record a reference to the page; each page may have only one. */
static int see_page (struct reader *r, uint32_t page)
{
    uint64_t bit = UINT64_C (1) << page % 64;

    if (page == 0 || page > r->c->pages ||
        page == lock_page (r->c->file->page_size))
        return damaged (r, page, "there can be no such page");
    if (atomic_fetch_or (&r->c->seen[page / 64], bit) & bit)
        return damaged (r, page, "it is referred to twice");
    return 0;
}

static void note_sum (const struct check *c, uint32_t page,
                      const uint8_t *bytes)
{
    if (c->sums)
        c->sums[page - 1] = page_sum (bytes, c->file->page_size);
}

/* The page, until the next one is read. */
static int read_page (struct reader *r, uint32_t page, const uint8_t **ret)
{
    uint32_t size = r->c->file->page_size, n = WINDOW_BYTES / size;
    int rc;

    if (page < r->first || page - r->first >= r->n) {
        if (n > r->c->pages - page + 1)
            n = r->c->pages - page + 1;
        rc = fileio_pread_all (r->c->file->fd, r->window, (size_t)n * size,
                               (off_t)(page - 1) * size);
        r->first = page;
        r->n = rc < 0 ? 0 : n;
        if (rc < 0)
            return err_sys (&r->why, -rc, "cannot read %s",
                            r->c->file->path);
    }
    *ret = r->window + (size_t)(page - r->first) * size;
    return 0;
}

/* ---- a page ---- */

static bool is_leaf (int type)
{
    return type == TABLE_LEAF || type == INDEX_LEAF;
}

/* What is at an offset; false if it is not in the page. */
static bool parse_cell (const struct check *c, const uint8_t *page, int type,
                        uint32_t at, struct cell *cell)
{
    uint32_t size = c->file->page_size, n = 0;
    const uint8_t *p = page + at, *end = page + size;
    uint64_t v = 0;

    *cell = (struct cell){ 0 };
    if (at + CELL_LEAST > size)
        return false;
    if (!is_leaf (type)) {
        cell->child = get4 (p);
        p += 4;
    }
    if (type != TABLE_INTERIOR) {
        if ((n = varint_get (p, end, &cell->payload.size)) == 0)
            return false;
        p += n;
    }
    if (type == TABLE_LEAF || type == TABLE_INTERIOR) {
        if ((n = varint_get (p, end, &v)) == 0)
            return false;
        p += n;
        cell->rowid = (int64_t)v;
    }
    cell->payload.bytes = p;
    cell->local = payload_local (size, type == TABLE_LEAF, cell->payload.size);
    if (type == TABLE_INTERIOR)
        cell->local = 0;
    n = cell->local < cell->payload.size ? 4 : 0;
    if (cell->local + n > (size_t)(end - p))
        return false;
    p += cell->local;
    if (n > 0)
        cell->overflow = get4 (p);
    cell->bytes = (uint32_t)(p + n - (page + at));
    if (cell->bytes < CELL_LEAST)
        cell->bytes = CELL_LEAST;
    return true;
}

static bool cover (uint8_t *map, uint32_t at, uint32_t n, uint32_t content,
                   uint32_t end)
{
    if (at < content || n > end - at || memchr (map + at, 1, n))
        return false;
    memset (map + at, 1, n);
    return true;
}

/* Check that cells and free blocks do not overlap, and that the rest is what
 * the header counts as fragments.
 */
static int check_cover (struct reader *r, uint32_t number, const uint8_t *page,
                        uint32_t from, uint32_t content)
{
    uint32_t size = r->c->file->page_size;
    uint32_t cells = get2 (page + from + AT_CELLS);
    uint32_t at = get2 (page + from + AT_FREEBLOCK), fragments = 0;
    int type = page[from];
    const uint8_t *pointers = page + from +
                              (is_leaf (type) ? LEAF_HEADER : INTERIOR_HEADER);
    struct cell cell;

    memset (r->map, 0, size);
    for (uint32_t i = 0; i < cells; i++) {
        uint32_t offset = get2 (pointers + 2 * i);

        if (!parse_cell (r->c, page, type, offset, &cell) ||
            !cover (r->map, offset, cell.bytes, content, size))
            return damaged (r, number, "cells overlap");
    }
    while (at != 0) {
        uint32_t n = at + CELL_LEAST <= size ? get2 (page + at + 2) : 0;
        uint32_t next = n >= CELL_LEAST ? get2 (page + at) : 0;

        if (n < CELL_LEAST || (next != 0 && next < at + n + 4) || at > size ||
            !cover (r->map, at, n, content, size))
            return damaged (r, number, "free blocks overlap");
        at = next;
    }
    for (uint32_t i = content; i < size; i++)
        fragments += r->map[i] == 0;
    return fragments == page[from + AT_FRAGMENTS]
               ? 0 : damaged (r, number, "bytes of it belong to nothing");
}

/* The whole of a cell's payload into *key. */
static int read_payload (struct reader *r, uint32_t page,
                         const struct cell *cell, struct page_key *key)
{
    uint64_t size = cell->payload.size, at = cell->local;
    uint32_t room = r->c->file->page_size - 4, next = cell->overflow;
    int rc;

    *key = cell->payload;
    if (at == size)
        return 0;
    if (size > (uint64_t)r->c->pages * r->c->file->page_size)
        return damaged (r, page, "a row is larger than the file");
    if (!(key->own = malloc (size + PAGE_KEY_SLACK)))
        return err_set (&r->why, ENOMEM, "no memory for a row");
    memcpy (key->own, key->bytes, at);
    key->bytes = key->own;
    for (; at < size; at += room) {
        if ((rc = see_page (r, next)) < 0 ||
            (rc = page_file_read (r->c->file, next, r->chain, &r->why)) < 0)
            return rc;
        note_sum (r->c, next, r->chain);
        memcpy (key->own + at, r->chain + 4,
                size - at < room ? size - at : room);
        next = get4 (r->chain);
    }
    return next ? damaged (r, page, "a row's overflow goes on") : 0;
}

/* Check that a cell's key is within the span, but for span->hi; the caller
 * always frees *key.
 */
static int check_key (struct reader *r, uint32_t page, int type,
                      const struct cell *cell, const struct span *span,
                      struct page_key *key)
{
    int rc = 0;

    if (type != TABLE_INTERIOR) {
        rc = read_payload (r, page, cell, key);
        if (rc == 0 && !(span->lo.bytes &&
                         page_key_is_alike (&span->lo, key)) &&
            !page_key_is_sound (key))
            rc = damaged (r, page, "a record is not as long as it says");
    }
    if (rc < 0)
        return rc;
    if (type == TABLE_LEAF || type == TABLE_INTERIOR)
        return cell->rowid < span->least || cell->rowid > span->most
                   ? damaged (r, page, "a rowid is out of order") : 0;
    if (span->lo.bytes && page_key_compare (&span->lo, key) >= 0)
        return damaged (r, page, "a key is out of order");
    return 0;
}

static int check_page (struct reader *r, const struct task *t);

static int copy_key (struct page_key *k)
{
    k->own = NULL;
    if (!k->bytes)
        return 0;
    if (!(k->own = malloc (k->size + PAGE_KEY_SLACK)))
        return -ENOMEM;
    k->bytes = memcpy (k->own, k->bytes, k->size);
    return 0;
}

/* Check a subtree: at once, or below a root by whichever thread is free. */
static int check_child (struct reader *r, const struct task *t, uint32_t child,
                        struct span span)
{
    struct task below = { t->tree, child, t->depth + 1, span };
    struct check *c = r->c;
    struct task *more;

    if (t->depth > 0)
        return check_page (r, &below);
    more = vec_one_more (c->tasks, c->ntasks, sizeof (*more));
    if (more) {
        c->tasks = more;
        if (copy_key (&below.span.lo) == 0 && copy_key (&below.span.hi) == 0) {
            more[c->ntasks++] = below;
            return 0;
        }
        free (below.span.lo.own);
    }
    return err_set (&r->why, ENOMEM, "no memory to check pages");
}

/* Check a cell and its subtree; the span then begins after its key. */
static int check_cell (struct reader *r, const struct task *t, int type,
                       const struct cell *cell, struct span *span)
{
    struct page_key key = { NULL, 0, NULL };
    int rc = check_key (r, t->page, type, cell, span, &key);

    if (rc == 0 && !is_leaf (type)) {
        struct span left = *span;

        left.most = cell->rowid;
        left.hi = key;
        rc = check_child (r, t, cell->child, left);
    }
    if (type == TABLE_LEAF || type == TABLE_INTERIOR) {
        free (key.own);
        if (cell->rowid == INT64_MAX)
            span->most = INT64_MIN;     // there is none behind
        else
            span->least = cell->rowid + 1;
    } else {
        free (span->lo.own);
        span->lo = key;
    }
    return rc;
}

static int check_cells (struct reader *r, const struct task *t,
                        const uint8_t *page, uint32_t from)
{
    uint32_t size = r->c->file->page_size, packed = size;
    const uint8_t *head = page + from;
    uint32_t cells = get2 (head + AT_CELLS), content = get2 (head + AT_CONTENT);
    uint32_t pointers = is_leaf (head[0]) ? LEAF_HEADER : INTERIOR_HEADER;
    struct span span = t->span;
    int rc = 0;

    if (content == 0)
        content = 65536;
    if (from + pointers + 2 * cells > content || content > size)
        return damaged (r, t->page, "it has more cells than room");
    span.lo.own = NULL;         // it is the caller's
    for (uint32_t i = 0; i < cells && rc == 0; i++) {
        uint32_t at = get2 (head + pointers + 2 * i);
        struct cell cell;

        if (!parse_cell (r->c, page, head[0], at, &cell))
            rc = damaged (r, t->page, "a cell is not in it");
        else
            rc = check_cell (r, t, head[0], &cell, &span);
        packed = rc == 0 && at + cell.bytes == packed ? at : 0;
    }
    // keys ascend, so the last one is enough
    if (rc == 0 && span.lo.bytes && span.hi.bytes &&
        page_key_compare (&span.lo, &span.hi) >= 0)
        rc = damaged (r, t->page, "a key is out of order");
    if (rc == 0 && !is_leaf (head[0]))
        rc = check_child (r, t, get4 (head + AT_RIGHT), span);
    free (span.lo.own);
    // our pages are packed from the end, one cell after the other
    if (rc == 0 && (packed != content || get2 (head + AT_FREEBLOCK) != 0 ||
                    head[AT_FRAGMENTS] != 0))
        rc = check_cover (r, t->page, page, from, content);
    return rc;
}

static int check_page (struct reader *r, const struct task *t)
{
    uint32_t from = t->page == 1 ? HEADER_BYTES : 0;
    bool index = r->c->file->trees[t->tree].index;
    const uint8_t *page = NULL;
    uint8_t *own = NULL;
    int type, none = 0, depth = t->depth + 1;
    int rc = see_page (r, t->page);

    if (rc < 0 || (rc = read_page (r, t->page, &page)) < 0)
        return rc;
    note_sum (r->c, t->page, page);
    type = page[from];
    if (type != (index ? INDEX_LEAF : TABLE_LEAF) &&
        type != (index ? INDEX_INTERIOR : TABLE_INTERIOR))
        return damaged (r, t->page, "it is of another kind");
    if (depth > PAGE_DEPTH_MAX)
        return damaged (r, t->page, "it is too deep");
    if (is_leaf (type)) {
        if (!atomic_compare_exchange_strong (&r->c->depths[t->tree], &none,
                                             depth) && none != depth)
            return damaged (r, t->page, "it is not as deep as others");
        return check_cells (r, t, page, from);
    }
    if (!(own = malloc (r->c->file->page_size + PAGE_KEY_SLACK)))
        return err_set (&r->why, ENOMEM, "no memory for a page");
    memcpy (own, page, r->c->file->page_size);
    rc = check_cells (r, t, own, from);
    free (own);
    return rc;
}

/* ---- all pages ---- */

static int check_freelist (struct reader *r)
{
    uint32_t size = r->c->file->page_size, count = 0, trunk;
    uint8_t h[HEADER_BYTES];
    int rc = fileio_pread_all (r->c->file->fd, h, sizeof (h), 0);

    if (rc < 0)
        return err_sys (&r->why, -rc, "cannot read %s", r->c->file->path);
    for (trunk = get4 (h + HEADER_FREE_FIRST); trunk != 0;) {
        uint32_t at = trunk, n;

        if ((rc = see_page (r, at)) < 0 ||
            (rc = page_file_read (r->c->file, at, r->chain, &r->why)) < 0)
            return rc;
        trunk = get4 (r->chain);
        n = get4 (r->chain + 4);
        if (n > TRUNK_PAGES_MAX (size))
            return damaged (r, at, "it lists more free pages than it can");
        count += n + 1;
        for (uint32_t i = 0; i < n && rc == 0; i++)
            rc = see_page (r, get4 (r->chain + 8 + 4 * i));
        if (rc < 0)
            return rc;
    }
    return count == get4 (h + HEADER_FREE_COUNT)
               ? 0 : damaged (r, 1, "there are not so many free pages");
}

/* Check that every page is referenced. */
static int check_seen (struct reader *r)
{
    for (uint32_t page = 1; page <= r->c->pages; page++) {
        uint64_t seen = atomic_load (&r->c->seen[page / 64]);

        if (!(seen >> page % 64 & 1) &&
            page != lock_page (r->c->file->page_size))
            return damaged (r, page, "nothing refers to it");
    }
    return 0;
}

/* Check the roots; the subtrees below them become tasks. */
static int check_roots (struct reader *r)
{
    struct task schema = { 0, 1, 0, { INT64_MIN, INT64_MAX, { 0 }, { 0 } } };
    int rc = check_freelist (r);

    for (size_t i = 0; i < r->c->file->ntrees && rc == 0; i++) {
        struct task t = schema;

        t.tree = (unsigned)i;
        t.page = r->c->file->trees[i].root;
        rc = check_page (r, &t);
    }
    return rc;
}

static void *check_tasks (void *arg)
{
    struct reader *r = arg;
    struct check *c = r->c;
    size_t i;
    int rc = 0;

    while (rc == 0 && !atomic_load (&c->stop) &&
           (i = atomic_fetch_add (&c->next, 1)) < c->ntasks)
        rc = check_page (r, &c->tasks[i]);
    if (rc < 0) {
        atomic_store (&c->stop, true);
        (void)pthread_mutex_lock (&c->lock);
        if (c->rc == 0) {
            c->rc = rc;
            c->why = r->why;
        }
        (void)pthread_mutex_unlock (&c->lock);
    }
    return NULL;
}

static int reader_init (struct reader *r, struct check *c)
{
    uint32_t size = c->file->page_size;

    *r = (struct reader){ .c = c };
    r->window = malloc (WINDOW_BYTES + PAGE_KEY_SLACK);
    r->chain = malloc (size);
    r->map = malloc (size);
    return r->window && r->chain && r->map
               ? 0 : err_set (&r->why, ENOMEM, "no memory to check pages");
}

static void reader_fini (struct reader *r)
{
    free (r->window);
    free (r->chain);
    free (r->map);
}

/* The first reader works in this thread.  If a thread cannot be started, the
 * others do its part.
 */
static int check_all (struct check *c, unsigned threads, struct err *err)
{
    struct reader readers[PAGE_CHECK_THREADS_MAX];
    unsigned n = 1;
    int rc = reader_init (&readers[0], c);

    if (rc == 0)
        rc = check_roots (&readers[0]);
    while (rc == 0 && n < threads && n < c->ntasks) {
        struct reader *r = &readers[n++];

        r->started = reader_init (r, c) == 0 &&
                     thread_start (&r->thread, check_tasks, r) == 0;
    }
    if (rc == 0)
        (void)check_tasks (&readers[0]);
    for (unsigned i = 1; i < n; i++) {
        if (readers[i].started)
            (void)pthread_join (readers[i].thread, NULL);
        reader_fini (&readers[i]);
    }
    if (rc == 0 && (rc = c->rc) == 0)
        rc = check_seen (&readers[0]);
    if (rc < 0 && err)
        *err = c->rc < 0 ? c->why : readers[0].why;
    reader_fini (&readers[0]);
    return rc;
}

/* Room for what is noted of each page. */
static bool make_room (struct check *c, struct page_sums *sums)
{
    c->pages = c->file->next - 1;
    c->seen = calloc (c->pages / 64 + 1, sizeof (*c->seen));
    c->depths = calloc (c->file->ntrees, sizeof (*c->depths));
    if (sums) {
        c->sums = calloc (c->pages, sizeof (*c->sums));
        *sums = (struct page_sums){ c->file->page_size, c->pages, c->sums };
    }
    return c->seen && c->depths && (!sums || c->sums);
}

int page_check_file (const char *path, unsigned threads, struct err *err)
{
    return page_check_sums (path, threads, NULL, err);
}

int page_check_sums (const char *path, unsigned threads, struct page_sums *ret,
                     struct err *err)
{
    struct check c = { 0 };
    int rc = page_file_begin (path, false, &c.file, err);

    if (ret)
        *ret = (struct page_sums){ 0 };
    if (rc < 0)
        return rc == -EINVAL ? -EBADMSG : rc;
    (void)pthread_mutex_init (&c.lock, NULL);
    if (threads > PAGE_CHECK_THREADS_MAX)
        threads = PAGE_CHECK_THREADS_MAX;
    rc = make_room (&c, ret) ? check_all (&c, threads, err)
                             : err_set (err, ENOMEM, "no memory for %s", path);
    for (size_t i = 0; i < c.ntasks; i++) {
        free (c.tasks[i].span.lo.own);
        free (c.tasks[i].span.hi.own);
    }
    free (c.tasks);
    free (c.seen);
    free (c.depths);
    page_file_close (c.file);
    (void)pthread_mutex_destroy (&c.lock);
    return rc;
}
