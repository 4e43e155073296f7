/* common/pages/page_writer.c - write rows into the leaves of a table
 *
 * A writer fills PAGE_RUN pages in memory and takes numbers for them when it
 * writes them.  To take rows back it returns to the mark: leaves written since
 * then go back to the file, and the page of the mark is still in memory, or was
 * kept when it was written.
 */
#include "pages/page_private.h"

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
    uint8_t *buffer;            // PAGE_RUN pages
    uint32_t waiting;           // full ones of them: the last of 'leaves'
    struct page_image image;    // of the page behind these
    int64_t first, last;        // rowids in it
    struct page_leaf *leaves;
    size_t nleaves;
    struct mark mark;
    uint8_t *kept;              // the page of the mark, once it is written
    struct page_range *spills;  // overflow pages since the mark
    size_t nspills;
    int rc;                     // what failed
    struct err why;
};

static int writer_failed (struct page_writer *w, int rc, struct err *err)
{
    if (rc < 0 && w->rc == 0)
        w->rc = rc;
    if (w->rc < 0 && err)
        *err = w->why;
    return w->rc;
}

static void begin_leaf (struct page_writer *w)
{
    uint32_t size = w->tree->file->page_size;

    page_image_begin (&w->image, w->buffer + (size_t)w->waiting * size, size,
                      TABLE_LEAF);
}

int page_writer_open (struct page_tree *t, struct page_writer **ret,
                      struct err *err)
{
    struct page_writer *w = calloc (1, sizeof (*w));
    size_t size = t->file->page_size;

    if (!w || !(w->buffer = malloc (PAGE_RUN * size)) ||
        !(w->kept = malloc (size))) {
        if (w)
            free (w->buffer);
        free (w);
        return err_set (err, ENOMEM, "no memory for pages of %s", t->name);
    }
    w->tree = t;
    begin_leaf (w);
    page_writer_mark (w);
    *ret = w;
    return 0;
}

/* Write the pages that are full. */
static int write_leaves (struct page_writer *w)
{
    struct page_file *f = w->tree->file;
    size_t written = w->nleaves - w->waiting;
    uint32_t page;
    int rc;

    if (w->waiting == 0)
        return 0;
    if (w->mark.nleaves >= written && w->mark.nleaves < w->nleaves)
        memcpy (w->kept, w->buffer + (w->mark.nleaves - written) * f->page_size,
                f->page_size);
    rc = page_file_take (f, w->waiting, &page, &w->why);
    if (rc == 0)
        rc = page_file_write (f, page, w->buffer, w->waiting, &w->why);
    if (rc < 0)
        return rc;
    for (uint32_t i = 0; i < w->waiting; i++)
        w->leaves[written + i].page = page + i;
    w->waiting = 0;
    return 0;
}

/* End the leaf, full or not; the next row begins another one. */
static int close_leaf (struct page_writer *w)
{
    struct page_leaf *more;
    int rc = 0;

    if (w->image.cells == 0)
        return 0;
    more = vec_one_more (w->leaves, w->nleaves, sizeof (*more));
    if (!more)
        return err_set (&w->why, ENOMEM, "no memory for pages");
    w->leaves = more;
    more[w->nleaves++] = (struct page_leaf){ w->first, w->last, 0 };
    page_image_end (&w->image, 0);
    if (++w->waiting == PAGE_RUN)
        rc = write_leaves (w);
    if (rc == 0)                // else the buffer may be full
        begin_leaf (w);
    return rc;
}

/* Copy the state that belongs to the row. */
static int keep_spill (struct page_writer *w)
{
    struct page_range *more = vec_one_more (w->spills, w->nspills,
                                            sizeof (*more));

    if (!more)
        return err_set (&w->why, ENOMEM, "no memory for pages");
    w->spills = more;
    more[w->nspills++] = w->cell.spill;
    return 0;
}

static int add_row (struct page_writer *w, int64_t rowid,
                    const struct page_value *values, unsigned n)
{
    uint8_t *to = NULL;
    int rc = page_cell_make (&w->cell, w->tree, rowid, values, n, &w->why);

    if (rc == 0 && w->cell.spill.n > 0)
        rc = keep_spill (w);
    if (rc == 0 && w->image.cells > 0 && rowid <= w->last)
        rc = close_leaf (w);
    if (rc == 0 && !(to = page_image_cell (&w->image, w->cell.size)) &&
        (rc = close_leaf (w)) == 0)
        to = page_image_cell (&w->image, w->cell.size);
    if (rc < 0)
        return rc;
    memcpy (to, w->cell.at, w->cell.size);
    if (w->image.cells == 1)
        w->first = rowid;
    w->last = rowid;
    return 0;
}

int page_writer_row (struct page_writer *w, int64_t rowid,
                     const struct page_value *values, unsigned n,
                     struct err *err)
{
    if (w->rc == 0)
        w->rc = add_row (w, rowid, values, n);
    return w->rc < 0 ? writer_failed (w, 0, err) : 0;
}

int page_writer_gap (struct page_writer *w, struct err *err)
{
    return writer_failed (w, w->rc < 0 ? w->rc : close_leaf (w), err);
}

void page_writer_mark (struct page_writer *w)
{
    w->mark = (struct mark){ w->nleaves, w->image, w->first, w->last };
    w->nspills = 0;
    free (w->spills);           // it begins as NULL again (base/vec.h)
    w->spills = NULL;
}

int page_writer_abandon (struct page_writer *w, struct err *err)
{
    const struct mark *m = &w->mark;
    size_t size = w->tree->file->page_size;
    size_t written = w->nleaves - w->waiting;
    int rc = w->rc;

    for (size_t i = m->nleaves; i < written && rc == 0; i++)
        rc = page_file_give (w->tree->file, w->leaves[i].page, 1, &w->why);
    for (size_t i = 0; i < w->nspills && rc == 0; i++)
        rc = page_file_give (w->tree->file, w->spills[i].first,
                             w->spills[i].n, &w->why);
    w->waiting = 0;
    if (m->nleaves >= written)
        w->waiting = (uint32_t)(m->nleaves - written);
    else if (m->image.cells > 0)
        memcpy (w->buffer, w->kept, size);
    w->nleaves = m->nleaves;
    w->image = m->image;
    w->image.bytes = w->buffer + w->waiting * size;
    w->first = m->first;
    w->last = m->last;
    page_writer_mark (w);
    return writer_failed (w, rc, err);
}

/* Hand the leaves over to the table. */
static int hand_over (struct page_writer *w)
{
    struct page_tree *t = w->tree;
    struct page_leaf *all;
    int rc = 0;

    (void)pthread_mutex_lock (&t->file->lock);
    all = realloc (t->leaves, (t->nleaves + w->nleaves) * sizeof (*all));
    if (all) {
        memcpy (all + t->nleaves, w->leaves, w->nleaves * sizeof (*all));
        t->leaves = all;
        t->nleaves += w->nleaves;
    } else {
        rc = err_set (&w->why, ENOMEM, "no memory for pages of %s", t->name);
    }
    (void)pthread_mutex_unlock (&t->file->lock);
    return rc;
}

int page_writer_close (struct page_writer *w, struct err *err)
{
    int rc;

    if (!w)
        return 0;
    rc = w->rc;
    if (rc == 0 && (rc = close_leaf (w)) == 0 && (rc = write_leaves (w)) == 0 &&
        w->nleaves > 0)
        rc = hand_over (w);
    rc = writer_failed (w, rc, err);
    free (w->cell.room);
    free (w->buffer);
    free (w->leaves);
    free (w->kept);
    free (w->spills);
    free (w);
    return rc;
}
