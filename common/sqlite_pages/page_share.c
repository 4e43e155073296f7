/* common/sqlite_pages/page_share.c - leaves of tables, written by several
 * processes
 */
#include "sqlite_pages/page_private.h"

#include "store/fileio.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

int page_file_share (const char *path, uint32_t page_size,
                     const struct page_port *port, struct page_file **ret,
                     struct err *err)
{
    struct page_file *f = calloc (1, sizeof (*f));
    const char *name = path ? path : "the file of the result";

    if (!f || !(f->path = strdup (name)) ||
        !(f->trees = calloc (PAGE_SHARED_TREES, sizeof (*f->trees)))) {
        if (f)
            free (f->path);
        free (f);
        return err_set (err, ENOMEM, "no memory for %s", name);
    }
    (void)pthread_mutex_init (&f->lock, NULL);
    f->page_size = page_size;
    f->port = port;
    f->fd = path ? open (path, O_RDWR | O_CLOEXEC | O_NOFOLLOW) : -1;
    if (path && f->fd < 0) {
        int rc = err_sys (err, errno, "cannot open %s", path);

        page_file_close (f);
        return rc;
    }
    *ret = f;
    return 0;
}

int page_file_shared_tree (struct page_file *f, const char *name,
                           struct page_tree **ret, struct err *err)
{
    struct page_tree *t = &f->trees[f->ntrees];

    if (f->ntrees == PAGE_SHARED_TREES)
        return err_set (err, E2BIG, "%s: too many tables are shared", f->path);
    *t = (struct page_tree){ .file = f, .name = strdup (name) };
    if (!t->name)
        return err_set (err, ENOMEM, "no memory for the tables of %s", f->path);
    f->ntrees++;
    *ret = t;
    return 0;
}

const struct page_leaf *page_tree_leaves (const struct page_tree *t, size_t *n)
{
    *n = t->nleaves;
    return t->leaves;
}

int page_file_unused (const struct page_file *f,
                      int (*fn) (void *arg, uint32_t first, uint32_t n),
                      void *arg)
{
    int rc = 0;

    for (size_t i = 0; i < f->npool && rc == 0; i++)
        rc = fn (arg, f->pool[i].first, f->pool[i].n);
    return rc;
}

int page_file_flush (struct page_file *f, struct err *err)
{
    return f->fd >= 0 && fsync (f->fd) < 0
               ? err_sys (err, errno, "cannot write %s", f->path) : 0;
}

/* ---- for the owner ---- */

uint32_t page_file_page_size (const struct page_file *f)
{
    return f->page_size;
}

int page_file_reserve (struct page_file *f, uint32_t n, uint32_t *first,
                       struct err *err)
{
    return n > 0 ? page_file_take (f, n, first, err)
                 : err_set (err, EINVAL, "no page is asked for");
}

/* Whether these are behind the schema, and were taken. */
static bool is_taken (struct page_file *f, uint32_t first, uint64_t n)
{
    bool taken;

    (void)pthread_mutex_lock (&f->lock);
    taken = first > 1 && n > 0 && first + n <= f->next;
    (void)pthread_mutex_unlock (&f->lock);
    return taken;
}

static int check_taken (struct page_file *f, uint32_t first, uint64_t n,
                        struct err *err)
{
    return is_taken (f, first, n) ? 0
        : err_set (err, EINVAL, "%s: %llu pages from %u on were not taken",
                   f->path, (unsigned long long)n, first);
}

int page_file_release (struct page_file *f, uint32_t first, uint32_t n,
                       struct err *err)
{
    int rc = check_taken (f, first, n, err);

    return rc < 0 ? rc : page_file_give (f, first, n, err);
}

int page_file_put (struct page_file *f, uint32_t page, const void *bytes,
                   size_t size, struct err *err)
{
    uint64_t n = size / f->page_size;
    int rc = check_taken (f, page, size % f->page_size == 0 ? n : 0, err);

    return rc < 0 ? rc : page_file_write (f, page, bytes, (uint32_t)n, err);
}

int page_file_peek (struct page_file *f, uint32_t page, void *bytes,
                    size_t size, struct err *err)
{
    int rc = check_taken (f, page, 1, err);

    if (rc == 0 &&
        (rc = fileio_pread_all (f->fd, bytes, size,
                                (off_t)(page - 1) * f->page_size)) < 0)
        rc = err_sys (err, -rc, "cannot read page %u of %s", page, f->path);
    return rc;
}

int page_tree_add (struct page_tree *t, const struct page_leaf *leaves,
                   size_t n, struct err *err)
{
    int rc = 0;

    for (size_t i = 0; i < n && rc == 0; i++)
        rc = check_taken (t->file, leaves[i].page, 1, err);
    return rc < 0 ? rc : page_tree_join (t, leaves, n, err);
}
