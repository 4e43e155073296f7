/* common/pages/page_index.c - write sorted keys into an index
 *
 * A run of pages is reserved before its leaves are written, since the level
 * above needs their numbers.  Unused pages of a run are returned.
 */
#include "pages/page_private.h"

#include <errno.h>
#include <stdlib.h>

struct page_index {
    struct page_levels above;   // with the tree
    struct page_cell cell;
    uint8_t *buffer;            // PAGE_RUN pages
    uint32_t run, taken;        // pages that were taken for them
    uint32_t waiting;           // full pages in the buffer
    uint32_t leaves;            // that are written
    struct page_image image;    // of the page behind these
    int rc;                     // what failed
    struct err why;
};

static void begin_leaf (struct page_index *x)
{
    uint32_t size = x->above.tree->file->page_size;

    page_image_begin (&x->image, x->buffer + (size_t)x->waiting * size, size,
                      INDEX_LEAF);
}

int page_index_open (struct page_tree *t, struct page_index **ret,
                     struct err *err)
{
    struct page_index *x = calloc (1, sizeof (*x));

    if (!x || !(x->buffer = malloc ((size_t)PAGE_RUN * t->file->page_size))) {
        free (x);
        return err_set (err, ENOMEM, "no memory for pages of %s", t->name);
    }
    x->above.tree = t;
    begin_leaf (x);
    *ret = x;
    return 0;
}

static int write_leaves (struct page_index *x)
{
    int rc = 0;

    if (x->waiting > 0)
        rc = page_file_write (x->above.tree->file, x->run, x->buffer,
                              x->waiting, &x->why);
    x->run += x->waiting;
    x->taken -= x->waiting;
    x->leaves += x->waiting;
    x->waiting = 0;
    return rc;
}

/* The leaf is full: its last key goes into the level above. */
static int close_leaf (struct page_index *x)
{
    const uint8_t *key;
    uint32_t size;
    int rc = 0;

    if (x->taken == 0) {        // at most as many as there are
        x->taken = x->leaves < PAGE_RUN ? x->leaves + 1 : PAGE_RUN;
        rc = page_file_take (x->above.tree->file, x->taken, &x->run, &x->why);
    }
    if (rc < 0)
        return rc;
    key = page_image_pop (&x->image, &size);
    rc = page_levels_add (&x->above, 0, x->run + x->waiting, key, size,
                          &x->why);
    if (rc < 0)
        return rc;
    page_image_end (&x->image, 0);
    if (++x->waiting == x->taken)
        rc = write_leaves (x);
    begin_leaf (x);
    return rc;
}

/* Add the key in x->cell. */
static int add_cell (struct page_index *x)
{
    uint8_t *to = NULL;
    int rc = 0;

    if (!(to = page_image_cell (&x->image, x->cell.size)) &&
        (rc = close_leaf (x)) == 0)
        to = page_image_cell (&x->image, x->cell.size);
    if (rc == 0)
        memcpy (to, x->cell.at, x->cell.size);
    return rc;
}

int page_index_key (struct page_index *x, const struct page_value *values,
                    unsigned n, int64_t rowid, struct err *err)
{
    return page_index_keys (x, values, n, rowid, 1, err);
}

int page_index_keys (struct page_index *x, const struct page_value *values,
                     unsigned n, int64_t rowid, uint64_t rows,
                     struct err *err)
{
    for (uint64_t i = 0; i < rows && x->rc == 0; i++) {
        int64_t id = rowid + (int64_t)i;

        if (i == 0 || !page_cell_next (&x->cell, id))
            x->rc = page_cell_make (&x->cell, x->above.tree, id, values, n,
                                    &x->why);
        if (x->rc == 0)
            x->rc = add_cell (x);
    }
    if (x->rc < 0 && err)
        *err = x->why;
    return x->rc;
}

/* Write the last leaf and the levels above; a single leaf is the root itself.
 */
static int end_index (struct page_index *x)
{
    struct page_file *f = x->above.tree->file;
    uint32_t last;
    int rc = 0;

    page_image_end (&x->image, 0);
    if (x->above.n == 0)
        return page_file_write (f, x->above.tree->root, x->image.bytes, 1,
                                &x->why);
    if (x->taken == 0) {
        x->taken = 1;
        rc = page_file_take (f, 1, &x->run, &x->why);
    }
    last = x->run + x->waiting++;
    if (rc == 0)
        rc = write_leaves (x);
    if (rc == 0)
        rc = page_file_give (f, x->run, x->taken, &x->why);
    return rc < 0 ? rc : page_levels_end (&x->above, last, &x->why);
}

int page_index_close (struct page_index *x, struct err *err)
{
    int rc;

    if (!x)
        return 0;
    if (x->rc == 0)
        x->rc = end_index (x);
    if (x->rc < 0 && err)
        *err = x->why;
    rc = x->rc;
    page_levels_fini (&x->above);
    free (x->cell.room);
    free (x->buffer);
    free (x);
    return rc;
}
