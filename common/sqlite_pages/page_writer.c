/* common/sqlite_pages/page_writer.c - write rows into the leaves of a table, or sorted
 * keys into those of an index
 *
 * A writer fills PAGE_RUN pages in memory and takes numbers for them when it
 * writes them.  Leaves of a table are listed for page_file_finish.  A leaf of an
 * index gives its last key to the level above.
 *
 * To take rows back a writer returns to the mark: leaves written since then go
 * back to the file, and the page of the mark is still in memory, or was kept
 * when it was written.
 */
#include "sqlite_pages/page_private.h"

#include "base/vec.h"

#include <errno.h>
#include <stdlib.h>

struct mark {
    size_t nleaves;             // that were full
    struct page_image image;    // of the next one
    int64_t first, last;
};

struct page_writer {
    struct page_tree *tree;
    struct page_cell cell;
    uint8_t *buffer;            // PAGE_RUN pages, and 'kept'
    uint32_t waiting;           // full ones of them
    uint32_t end;               // the page behind those written last
    struct page_image images[PAGE_RUN]; // of these, and of the next page
    int rc;                     // what failed
    struct err why;

    size_t nleaves;             // all that were full
    struct page_levels above;   // of an index

    // of a table
    int64_t first, last;        // rowids in the next page
    struct page_leaf *leaves;   // nleaves; the last ones are waiting
    struct mark mark;
    uint8_t *kept;              // the page of the mark, once it is written
    struct page_range *spills;  // overflow pages since the mark
    size_t nspills;
};

/* Keep the first failure, and tell it. */
static int outcome (struct page_writer *w, int rc, struct err *err)
{
    if (w->rc == 0)
        w->rc = rc;
    if (w->rc < 0 && err)
        *err = w->why;
    return w->rc;
}

static void begin_leaf (struct page_writer *w)
{
    uint32_t size = w->tree->file->page_size;

    page_image_begin (&w->images[w->waiting],
                      w->buffer + (size_t)w->waiting * size, size,
                      w->tree->index ? INDEX_LEAF : TABLE_LEAF);
}

int page_writer_open (struct page_tree *t, struct page_writer **ret,
                      struct err *err)
{
    struct page_writer *w = calloc (1, sizeof (*w));
    size_t size = t->file->page_size;

    if (!w || !(w->buffer = malloc ((PAGE_RUN + 1) * size))) {
        free (w);
        return err_set (err, ENOMEM, "no memory for pages of %s", t->name);
    }
    w->kept = w->buffer + PAGE_RUN * size;
    w->tree = w->above.tree = t;
    begin_leaf (w);
    page_writer_mark (w);
    *ret = w;
    return 0;
}

/* Note where the waiting leaf is written. */
static int place_leaf (struct page_writer *w, uint32_t i, uint32_t page)
{
    const uint8_t *key;
    uint32_t size;

    if (!w->tree->index) {
        w->leaves[w->nleaves - w->waiting + i].page = page;
        return 0;
    }
    key = page_image_pop (&w->images[i], &size);
    return page_levels_add (&w->above, 0, page, key, size, &w->why);
}

/* Write the first n pages of the buffer: those that wait, or also the next. */
static int write_pages (struct page_writer *w, uint32_t n)
{
    struct page_file *f = w->tree->file;
    size_t written = w->nleaves - w->waiting, mark = w->mark.nleaves;
    uint32_t page;
    int rc = page_file_take (f, n, &page, &w->why);

    if (mark >= written && mark < w->nleaves)
        memcpy (w->kept, w->buffer + (mark - written) * f->page_size,
                f->page_size);
    for (uint32_t i = 0; i < n && rc == 0; i++) {
        if (i < w->waiting)
            rc = place_leaf (w, i, page + i);
        page_image_end (&w->images[i], 0);
    }
    if (rc == 0)
        rc = page_file_write (f, page, w->buffer, n, &w->why);
    w->end = page + n;
    w->waiting = 0;
    return rc;
}

/* End the leaf, full or not; the next row begins another one. */
static int close_leaf (struct page_writer *w)
{
    const struct page_leaf leaf = { w->first, w->last, 0 };
    int rc = 0;

    if (w->images[w->waiting].cells == 0)
        return 0;
    if (w->tree->index)
        w->nleaves++;
    else if (vec_push (&w->leaves, &w->nleaves, &leaf, sizeof (leaf)) < 0)
        return err_set (&w->why, ENOMEM, "no memory for pages");
    if (++w->waiting == PAGE_RUN)
        rc = write_pages (w, PAGE_RUN);
    begin_leaf (w);
    return rc;
}

/* Copy the row or key in w->cell into the leaf. */
static int add_cell (struct page_writer *w, int64_t rowid)
{
    bool table = !w->tree->index;
    uint8_t *to = NULL;
    int rc = 0;

    if (table && w->cell.spill.n > 0 &&
        vec_push (&w->spills, &w->nspills, &w->cell.spill,
                  sizeof (w->cell.spill)) < 0)
        return err_set (&w->why, ENOMEM, "no memory for pages");
    if (table && w->images[w->waiting].cells > 0 && rowid <= w->last)
        rc = close_leaf (w);
    if (rc == 0 &&
        !(to = page_image_cell (&w->images[w->waiting], w->cell.size)) &&
        (rc = close_leaf (w)) == 0)
        to = page_image_cell (&w->images[w->waiting], w->cell.size);
    if (rc < 0)
        return rc;
    memcpy (to, w->cell.at, w->cell.size);
    if (w->images[w->waiting].cells == 1)
        w->first = rowid;
    w->last = rowid;
    return 0;
}

int page_writer_row (struct page_writer *w, int64_t rowid,
                     const struct page_value *values, unsigned n,
                     struct err *err)
{
    return page_writer_keys (w, rowid, 1, values, n, err);
}

int page_writer_leaf (struct page_writer *w, int64_t first, int64_t last,
                      const uint8_t *page, struct err *err)
{
    struct page_image *g;
    int rc = w->rc < 0 ? 0 : close_leaf (w);

    if (w->rc == 0 && rc == 0) {
        g = &w->images[w->waiting];
        memcpy (g->bytes, page, g->size);
        g->cells = get2 (page + AT_CELLS);
        g->top = get2 (page + AT_CONTENT);
        if (g->top == 0)
            g->top = 65536;
        w->first = first;
        w->last = last;
        rc = close_leaf (w);
    }
    return outcome (w, rc, err);
}

int page_writer_keys (struct page_writer *w, int64_t rowid, uint64_t rows,
                      const struct page_value *values, unsigned n,
                      struct err *err)
{
    for (uint64_t i = 0; i < rows && w->rc == 0; i++) {
        int64_t id = rowid + (int64_t)i;

        if (i == 0 || !page_cell_next (&w->cell, id))
            w->rc = page_cell_make (&w->cell, w->tree, id, values, n, &w->why);
        if (w->rc == 0)
            w->rc = add_cell (w, id);
    }
    return w->rc < 0 ? outcome (w, 0, err) : 0;
}

int page_writer_gap (struct page_writer *w, struct err *err)
{
    return outcome (w, w->rc < 0 ? 0 : close_leaf (w), err);
}

void page_writer_mark (struct page_writer *w)
{
    w->mark = (struct mark){ w->nleaves, w->images[w->waiting], w->first,
                             w->last };
    w->nspills = 0;
}

int page_writer_abandon (struct page_writer *w, struct err *err)
{
    const struct mark *m = &w->mark;
    struct page_file *f = w->tree->file;
    size_t written = w->nleaves - w->waiting;
    int rc = w->rc;

    for (size_t i = m->nleaves; i < written && rc == 0; i++)
        rc = page_file_give (f, w->leaves[i].page, 1, &w->why);
    for (size_t i = 0; i < w->nspills && rc == 0; i++)
        rc = page_file_give (f, w->spills[i].first, w->spills[i].n, &w->why);
    w->waiting = 0;
    if (m->nleaves >= written)
        w->waiting = (uint32_t)(m->nleaves - written);
    else if (m->image.cells > 0)
        memcpy (w->buffer, w->kept, f->page_size);
    w->nleaves = m->nleaves;
    w->images[w->waiting] = m->image;
    w->images[w->waiting].bytes = w->buffer + w->waiting * f->page_size;
    w->first = m->first;
    w->last = m->last;
    page_writer_mark (w);
    return outcome (w, rc, err);
}

/* Write the last leaf of an index, and the levels above; a single leaf is the
 * root itself.
 */
static int end_index (struct page_writer *w)
{
    struct page_image *last = &w->images[w->waiting];
    int rc;

    if (w->above.n == 0 && w->waiting == 0) {
        page_image_end (last, 0);
        return page_file_write (w->tree->file, w->tree->root, last->bytes, 1,
                                &w->why);
    }
    rc = write_pages (w, w->waiting + 1);
    return rc < 0 ? rc : page_levels_end (&w->above, w->end - 1, &w->why);
}

/* Write the last leaves of a table, and hand all over to it. */
static int end_table (struct page_writer *w)
{
    int rc = close_leaf (w);

    if (rc == 0 && w->waiting > 0)
        rc = write_pages (w, w->waiting);
    return rc < 0 ? rc : page_tree_join (w->tree, w->leaves, w->nleaves,
                                         &w->why);
}

int page_writer_close (struct page_writer *w, struct err *err)
{
    int rc;

    if (!w)
        return 0;
    if ((rc = w->rc) == 0)
        rc = w->tree->index ? end_index (w) : end_table (w);
    rc = outcome (w, rc, err);
    page_levels_fini (&w->above);
    free (w->cell.room);
    free (w->buffer);
    free (w->leaves);
    free (w->spills);
    free (w);
    return rc;
}
