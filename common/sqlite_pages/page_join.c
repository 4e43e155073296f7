/* common/sqlite_pages/page_join.c - tables whose rows lie in several files */
#include "sqlite_pages/page_source.h"

#include "sqlite_pages/page_private.h"

#include "base/cmp.h"

#include <errno.h>
#include <string.h>

#define ROOT_JOINED 0x80000000u // and the number of a table of the join; no
                                // file has so many pages

void page_source_join (struct page_source *s, struct page_join *join)
{
    s->join = join;
}

uint32_t page_join_root (const struct page_source *s, const char *table)
{
    for (unsigned i = 0; s->join && i < s->join->ntables; i++) {
        if (strcmp (s->join->tables[i], table) == 0)
            return ROOT_JOINED + i;
    }
    return 0;
}

/* A damaged file may name any page as a root. */
bool page_join_has (const struct page_source *s, uint32_t root)
{
    return s->join && root >= ROOT_JOINED &&
           root - ROOT_JOINED < s->join->ntables;
}

static int by_last (const void *stretch, const void *rowid)
{
    return cmp_int64 (&((const struct page_stretch *)stretch)->last, rowid);
}

size_t page_join_first (const struct page_source *s, int64_t rowid)
{
    return cmp_place (&rowid, s->join->stretches, s->join->n,
                      sizeof (*s->join->stretches), by_last);
}

int page_join_piece (const struct page_source *s, uint32_t root, size_t piece,
                     int64_t first, int64_t last, struct page_piece *ret,
                     struct err *err)
{
    const struct page_join *j = s->join;
    const struct page_stretch *x = &j->stretches[piece];
    const uint32_t *roots;
    int rc;

    if (piece == j->n || x->first > last)
        return 0;
    if ((rc = j->open (j, x->file, &ret->source, &roots, err)) < 0)
        return rc;
    if (ret->source->page_size != s->page_size)
        return j->tell (j, x->file,
                        err_set (err, EBADMSG, "its pages have another size"),
                        err);
    ret->root = roots[root - ROOT_JOINED];
    ret->first = first > x->first ? first : x->first;
    ret->last = x->last < last ? x->last : last;
    return 1;
}

int page_join_tell (const struct page_source *s, size_t piece, int rc,
                    struct err *err)
{
    return s->join->tell (s->join, s->join->stretches[piece].file, rc, err);
}
