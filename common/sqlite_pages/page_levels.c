/* common/sqlite_pages/page_levels.c - fill pages, and build the levels above them
 *
 * A full page gives its last cell away: the cell's child becomes the page's
 * rightmost child, and its key moves up a level to separate the page from the
 * next. This holds for tables, whose separators are rowids, and for indexes, in
 * which each key is in one page only.
 */
#include "sqlite_pages/page_private.h"

#include <errno.h>
#include <stdlib.h>

/* ---- a page ---- */

void page_image_begin (struct page_image *g, uint8_t *bytes, uint32_t size,
                       enum page_type type)
{
    bool leaf = type == TABLE_LEAF || type == INDEX_LEAF;

    *g = (struct page_image){ .bytes = bytes, .size = size, .top = size,
                              .header = leaf ? LEAF_HEADER : INTERIOR_HEADER };
    bytes[0] = (uint8_t)type;
}

const uint8_t *page_image_pop (struct page_image *g, uint32_t *size)
{
    const uint8_t *cell = g->bytes + g->top;

    *size = g->before - g->top;
    g->top = g->before;
    g->cells--;
    return cell;
}

void page_image_end (struct page_image *g, uint32_t right)
{
    uint32_t used = g->header + 2 * g->cells;

    put2 (g->bytes + AT_FREEBLOCK, 0);
    put2 (g->bytes + AT_CELLS, g->cells);
    put2 (g->bytes + AT_CONTENT, g->top);       // 65536 is 0
    g->bytes[AT_FRAGMENTS] = 0;
    if (g->header == INTERIOR_HEADER)
        put4 (g->bytes + AT_RIGHT, right);
    memset (g->bytes + used, 0, g->top - used);
}

/* ---- levels ---- */

static void begin_level (struct page_levels *l, unsigned i, uint8_t *bytes)
{
    page_image_begin (&l->level[i], bytes, l->tree->file->page_size,
                      l->tree->index ? INDEX_INTERIOR : TABLE_INTERIOR);
}

static int new_level (struct page_levels *l, struct err *err)
{
    uint8_t *bytes = l->n < PAGE_DEPTH_MAX ? malloc (l->tree->file->page_size)
                                           : NULL;

    if (!bytes)
        return err_set (err, ENOMEM, "no memory for a page");
    begin_level (l, l->n++, bytes);
    return 0;
}

/* Write a level's full page and begin an empty one. */
static int close_level (struct page_levels *l, unsigned i, struct err *err)
{
    struct page_image *g = &l->level[i];
    uint32_t page, size;
    const uint8_t *cell = page_image_pop (g, &size);
    uint32_t right = get4 (cell);
    int rc = page_file_take (l->tree->file, 1, &page, err);

    if (rc == 0)
        rc = page_levels_add (l, i + 1, page, cell + 4, size - 4, err);
    if (rc < 0)
        return rc;
    page_image_end (g, right);
    rc = page_file_write (l->tree->file, page, g->bytes, 1, err);
    begin_level (l, i, g->bytes);
    return rc;
}

int page_levels_add (struct page_levels *l, unsigned level, uint32_t child,
                     const uint8_t *key, uint32_t size, struct err *err)
{
    uint8_t *cell = NULL;
    int rc = level == l->n ? new_level (l, err) : 0;

    if (rc == 0 && !(cell = page_image_cell (&l->level[level], 4 + size)) &&
        (rc = close_level (l, level, err)) == 0)
        cell = page_image_cell (&l->level[level], 4 + size);
    if (rc < 0)
        return rc;
    put4 (cell, child);
    memcpy (cell + 4, key, size);
    return 0;
}

int page_levels_end (struct page_levels *l, uint32_t last, struct err *err)
{
    int rc = 0;

    for (unsigned i = 0; i < l->n && rc == 0; i++) {
        uint32_t page = l->tree->root;

        if (i + 1 < l->n)
            rc = page_file_take (l->tree->file, 1, &page, err);
        page_image_end (&l->level[i], last);
        if (rc == 0)
            rc = page_file_write (l->tree->file, page, l->level[i].bytes, 1,
                                  err);
        last = page;
    }
    return rc;
}

void page_levels_fini (struct page_levels *l)
{
    for (unsigned i = 0; i < l->n; i++)
        free (l->level[i].bytes);
    l->n = 0;
}
