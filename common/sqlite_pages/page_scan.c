/* common/sqlite_pages/page_scan.c - read the rows of a table from its pages */
#include "sqlite_pages/page_scan.h"

#include "sqlite_pages/page_private.h"

#include <endian.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WINDOW (256u << 10)     // bytes that are read at once, at most
#define READ_AHEAD 2u           // the next window has so many times the pages

/* An interior page, and which of its children is being read. */
struct page_level {
    uint8_t *data;
    uint32_t page;
    unsigned child, ncells;     // child ncells is the rightmost one
};

/* ---- pages ---- */

/* Pages of a table are mostly adjacent.  From the second adjacent page on, read
 * several at once, and more each time: most tables are small.
 */
static int read_leaf (struct page_scan *p, uint32_t page, const uint8_t **ret,
                      struct err *err)
{
    const struct page_source *s = p->source;
    uint32_t at = page - p->window_page;
    int rc;

    if (page < p->window_page || at >= p->window_pages) {
        uint32_t n = at > 0 && at == p->window_pages ? READ_AHEAD * at : 1;

        if (n > WINDOW / s->page_size)
            n = WINDOW / s->page_size;
        if (n > s->pages - page + 1)
            n = s->pages - page + 1;
        p->window_pages = 0;
        if ((rc = page_source_read (s, page, n, p->window, err)) < 0)
            return rc;
        p->window_page = page;
        p->window_pages = n;
        at = 0;
    }
    *ret = p->window + (size_t)at * s->page_size;
    return page_source_check (s, page, *ret, err);
}

/* The kind of a page and its number of cells; 0: not a page of a table. */
static uint8_t page_kind (const struct page_source *s, const uint8_t *data,
                          uint32_t page, unsigned *ncells)
{
    const uint8_t *head = data + (page == 1 ? HEADER_BYTES : 0);
    unsigned n = get2 (head + AT_CELLS);
    size_t size = (size_t)(head - data) + INTERIOR_HEADER + 2u * n;

    *ncells = n;
    if (size > s->usable ||
        (*head != TABLE_LEAF && *head != TABLE_INTERIOR))
        return 0;
    return *head;
}

/* The address of a cell in its page; NULL: it lies outside. */
static const uint8_t *cell_at (const struct page_source *s,
                               const uint8_t *data, uint32_t page,
                               unsigned header, unsigned cell)
{
    const uint8_t *head = data + (page == 1 ? HEADER_BYTES : 0);
    unsigned at = get2 (head + header + 2u * cell);

    return at >= header && at < s->usable ? data + at : NULL;
}

/* ---- down the tree ---- */

/* The rowid of an interior page's cell: the largest one below that child. */
static int interior_key (const struct page_scan *p, const struct page_level *l,
                         unsigned cell, int64_t *key, struct err *err)
{
    const struct page_source *s = p->source;
    const uint8_t *at = cell_at (s, l->data, l->page, INTERIOR_HEADER,
                                 cell);
    uint64_t v = 0;

    if (!at || at + 4 >= l->data + s->usable ||
        !varint_get (at + 4, l->data + s->usable, &v))
        return page_damaged (err, l->page, "a cell lies outside");
    *key = (int64_t)v;
    return 0;
}

static int child_page (const struct page_scan *p, const struct page_level *l,
                       uint32_t *ret, struct err *err)
{
    const struct page_source *s = p->source;
    const uint8_t *head = l->data + (l->page == 1 ? HEADER_BYTES : 0);
    const uint8_t *at = head + AT_RIGHT;

    if (l->child < l->ncells)
        at = cell_at (s, l->data, l->page, INTERIOR_HEADER, l->child);
    if (!at || at + 4 > l->data + s->usable)
        return page_damaged (err, l->page, "a cell lies outside");
    *ret = get4 (at);
    return page_source_has (s, *ret)
               ? 0 : page_damaged (err, l->page, "no such child");
}

/* Find the child of this level that has the rowid, by binary search. */
static int find_child (struct page_scan *p, struct page_level *l,
                       int64_t rowid, struct err *err)
{
    unsigned low = 0, high = l->ncells;

    while (low < high) {
        unsigned mid = (low + high) / 2;
        int64_t key = 0;
        int rc = interior_key (p, l, mid, &key, err);

        if (rc < 0)
            return rc;
        if (key < rowid)
            low = mid + 1;
        else
            high = mid;
    }
    l->child = low;
    return 0;
}

static int push_level (struct page_scan *p, uint32_t page, const uint8_t *data,
                       unsigned ncells, struct err *err)
{
    struct page_level *l = &p->levels[p->depth];

    if (p->depth == PAGE_SCAN_DEPTH)
        return page_damaged (err, page, "its tree is too deep");
    if (!l->data && !(l->data = malloc (p->source->page_size)))
        return err_set (err, ENOMEM, "no memory to read a table");
    memcpy (l->data, data, p->source->page_size);
    l->page = page;
    l->child = 0;
    l->ncells = ncells;
    p->depth++;
    return 0;
}

/* From a page down to the leaf that may have 'rowid'. */
static int descend (struct page_scan *p, uint32_t page, int64_t rowid,
                    struct err *err)
{
    for (;;) {
        const uint8_t *data;
        unsigned ncells;
        uint8_t kind;
        int rc;

        if (p->visited++ > p->source->pages)
            return page_damaged (err, page, "its tree is a circle");
        if ((rc = read_leaf (p, page, &data, err)) < 0)
            return rc;
        if (!(kind = page_kind (p->source, data, page, &ncells)))
            return page_damaged (err, page, "it is of no table");
        if (kind == TABLE_LEAF) {
            p->leaf = data;
            p->leaf_page = page;
            p->cell = 0;
            p->ncells = ncells;
            return 0;
        }
        if ((rc = push_level (p, page, data, ncells, err)) < 0 ||
            (rc = find_child (p, &p->levels[p->depth - 1], rowid, err)) < 0 ||
            (rc = child_page (p, &p->levels[p->depth - 1], &page, err)) < 0)
            return rc;
    }
}

/* Go to the next leaf: 1, or 0 after the last one. */
static int next_leaf (struct page_scan *p, struct err *err)
{
    const atomic_bool *cancel = p->whole->cancel;

    if (cancel && atomic_load (cancel))
        return err_set (err, EINTR, "interrupted");
    while (p->depth > 0) {
        struct page_level *l = &p->levels[p->depth - 1];
        uint32_t page;
        int rc;

        if (l->child == l->ncells) {
            p->depth--;
            continue;
        }
        l->child++;
        if ((rc = child_page (p, l, &page, err)) < 0 ||
            (rc = descend (p, page, INT64_MIN, err)) < 0)
            return rc;
        return 1;
    }
    return 0;
}

/* ---- rows ---- */

/* Skip a number.  NULL if it does not end. */
static inline const uint8_t *take_varint (const uint8_t *at,
                                          const uint8_t *end, uint64_t *ret)
{
    uint32_t n = varint_get (at, end, ret);

    return n ? at + n : NULL;
}

/* Put a row together whose end is on overflow pages. */
static int read_overflow (struct page_scan *p, const uint8_t *local,
                          size_t nlocal, uint64_t size, const uint8_t **ret,
                          struct err *err)
{
    const struct page_source *s = p->source;
    uint32_t page = get4 (local + nlocal);
    size_t have = nlocal;
    uint8_t *one;
    int rc;

    if (size > (uint64_t)s->pages * s->page_size)
        return page_damaged (err, p->leaf_page, "a row is larger than the file");
    if (size + s->page_size > p->spilled_room) {
        uint8_t *more = realloc (p->spilled, size + s->page_size);

        if (!more)
            return err_set (err, ENOMEM, "no memory for a row");
        p->spilled = more;
        p->spilled_room = size + s->page_size;
    }
    memcpy (p->spilled, local, nlocal);
    one = p->spilled + size;            // a page behind the row
    while (have < size) {
        size_t n = size - have < s->usable - 4 ? size - have : s->usable - 4;

        if (!page_source_has (s, page) || p->visited++ > s->pages)
            return page_damaged (err, p->leaf_page, "a row lacks its end");
        if ((rc = page_source_read (s, page, 1, one, err)) < 0 ||
            (rc = page_source_check (s, page, one, err)) < 0)
            return rc;
        memcpy (p->spilled + have, one + 4, n);
        page = get4 (one);
        have += n;
    }
    *ret = p->spilled;
    return 0;
}

/* Find where the values of a record are. */
static int read_record (struct page_scan *p, const uint8_t *record,
                        size_t size, struct err *err)
{
    const uint8_t *end = record + size, *at, *body;
    unsigned column = 0;
    uint64_t head;

    p->ncolumns = 0;
    at = take_varint (record, end, &head);
    if (!at || head > size)
        return page_damaged (err, p->leaf_page, "a row's header");
    body = record + head;
    for (const uint8_t *last = body; at < last;) {
        uint64_t serial = *at;
        size_t n;

        if (serial < 0x80)
            at++;
        else if (!(at = take_varint (at, last, &serial)) || serial > UINT32_MAX)
            return page_damaged (err, p->leaf_page, "a row's header");
        n = serial_bytes ((uint32_t)serial);
        if (n > (size_t)(end - body))
            return page_damaged (err, p->leaf_page, "a row is too short");
        if (column < PAGE_SCAN_COLUMNS) {
            p->value[column] = body;
            p->serial[column++] = (uint32_t)serial;
        }
        body += n;
    }
    p->ncolumns = column;
    return 0;
}

/* Find the rowid of the next cell, and where its record begins. */
static int read_cell (struct page_scan *p, uint64_t *size, int64_t *rowid,
                      const uint8_t **record, struct err *err)
{
    const struct page_source *s = p->source;
    const uint8_t *end = p->leaf + s->usable;
    const uint8_t *at = cell_at (s, p->leaf, p->leaf_page, LEAF_HEADER,
                                 p->cell);
    uint64_t v = 0;

    if (!at || !(at = take_varint (at, end, size)) ||
        !(at = take_varint (at, end, &v)))
        return page_damaged (err, p->leaf_page, "a cell lies outside");
    *rowid = (int64_t)v;
    *record = at;
    return 0;
}

static int take_cell (struct page_scan *p, struct err *err)
{
    const struct page_source *s = p->source;
    const uint8_t *record, *end = p->leaf + s->usable;
    int64_t rowid;
    uint64_t size;
    size_t local;
    int rc = read_cell (p, &size, &rowid, &record, err);

    if (rc < 0)
        return rc;
    if (rowid <= p->rowid && p->rowid != INT64_MIN)
        return page_damaged (err, p->leaf_page, "rows are out of order");
    local = payload_local (s->usable, 1, size);
    if (local + (local < size ? 4 : 0) > (size_t)(end - record))
        return page_damaged (err, p->leaf_page, "a row lies outside");
    p->rowid = rowid;
    p->cell++;
    if (rowid > p->last)
        return 0;
    if (local < size)
        rc = read_overflow (p, record, local, size, &record, err);
    if (rc == 0)
        rc = read_record (p, record, size, err);
    return rc < 0 ? rc : 1;
}

static int next_piece (struct page_scan *p, struct err *err);

/* Say in which of several files it was. */
static int tell_file (const struct page_scan *p, int rc, struct err *err)
{
    return rc < 0 && p->source != p->whole && rc != -EINTR && rc != -ENOMEM
               ? page_join_tell (p->whole, p->piece - 1, rc, err) : rc;
}

int page_scan_next (struct page_scan *p, struct err *err)
{
    int rc;

    do {
        rc = 1;
        while (p->cell == p->ncells && (rc = next_leaf (p, err)) == 1)
            ;
        if (rc == 1)
            rc = take_cell (p, err);
        rc = tell_file (p, rc, err);
    } while (rc == 0 && page_join_has (p->whole, p->root) &&
             (rc = next_piece (p, err)) == 1);
    return rc;
}

const uint8_t *page_scan_whole_leaf (struct page_scan *p, int64_t last,
                                     int64_t *end)
{
    const struct page_source *s = p->source;
    const uint8_t *record;
    int64_t rowid, highest = 0;
    uint64_t size;
    bool whole = p->cell == 1 && p->leaf_page != 1 &&
                 !get2 (p->leaf + AT_FREEBLOCK) && !p->leaf[AT_FRAGMENTS];

    if (!whole)
        return NULL;
    for (p->cell = p->ncells; p->cell-- > 0 && whole;) {
        whole = read_cell (p, &size, &rowid, &record, NULL) == 0 &&
                rowid <= last && rowid <= p->last &&
                payload_local (s->usable, 1, size) >= size;
        if (p->cell + 1 == p->ncells)
            highest = rowid;
    }
    p->cell = 1;
    if (!whole)
        return NULL;
    *end = highest;
    return p->leaf;
}

const uint8_t *page_scan_leaf (struct page_scan *p, int64_t last, int64_t *end)
{
    const uint8_t *leaf = page_scan_whole_leaf (p, last, end);

    if (leaf) {
        p->cell = p->ncells;
        p->rowid = *end;
    }
    return leaf;
}

/* Find the first wanted cell of the leaf. */
static int find_cell (struct page_scan *p, int64_t first, struct err *err)
{
    while (p->cell < p->ncells) {
        const uint8_t *record;
        int64_t rowid;
        uint64_t size;
        int rc = read_cell (p, &size, &rowid, &record, err);

        if (rc < 0 || rowid >= first)
            return rc;
        p->cell++;
    }
    return 0;
}

/* Go to the first wanted cell of a table of a file. */
static int begin_table (struct page_scan *p, const struct page_source *source,
                        uint32_t root, int64_t first, struct err *err)
{
    int rc;

    p->source = source;
    p->rowid = first - (first > INT64_MIN);
    p->depth = 0;
    p->visited = p->window_pages = 0;
    if (!page_source_has (source, root))
        return page_damaged (err, root, "there is none");
    rc = descend (p, root, first, err);
    return rc < 0 ? rc : find_cell (p, first, err);
}

/* Go to the next file of a join that has wanted rowids: 1; 0: there is none. */
static int next_piece (struct page_scan *p, struct err *err)
{
    struct page_piece x;
    int rc = page_join_piece (p->whole, p->root, p->piece, p->first, p->end, &x,
                              err);

    if (rc != 1)
        return rc;
    p->piece++;
    p->last = x.last;
    rc = begin_table (p, x.source, x.root, x.first, err);
    return rc < 0 ? tell_file (p, rc, err) : 1;
}

int page_scan_begin (struct page_scan *p, const struct page_source *source,
                     uint32_t root, int64_t first, int64_t last,
                     struct err *err)
{
    *p = (struct page_scan){ .source = source, .last = last, .whole = source,
                             .root = root, .first = first, .end = last,
                             .rowid = first - (first > INT64_MIN) };
    p->levels = calloc (PAGE_SCAN_DEPTH, sizeof (*p->levels));
    p->window = malloc (WINDOW);
    if (!p->levels || !p->window)
        return err_set (err, ENOMEM, "no memory to read a table");
    if (!page_join_has (source, root))
        return begin_table (p, source, root, first, err);
    p->piece = page_join_first (source, first);
    return 0;                   // page_scan_next opens the file
}

void page_scan_end (struct page_scan *p)
{
    for (unsigned i = 0; p->levels && i < PAGE_SCAN_DEPTH; i++)
        free (p->levels[i].data);
    free (p->levels);
    free (p->window);
    free (p->spilled);
}

/* ---- values ---- */

static int64_t integer_of (const uint8_t *at, size_t n)
{
    uint64_t v = n > 0 && (*at & 0x80) ? UINT64_MAX : 0;

    for (size_t i = 0; i < n; i++)
        v = v << 8 | at[i];
    return (int64_t)v;
}

bool page_scan_is_int (const struct page_scan *p, unsigned column,
                       int64_t *ret)
{
    uint32_t serial = column < p->ncolumns ? p->serial[column] : 0;

    if (serial == SERIAL_ZERO || serial == SERIAL_ONE)
        *ret = serial == SERIAL_ONE;
    else if (serial > 0 && serial < SERIAL_REAL)
        *ret = integer_of (p->value[column], serial_bytes (serial));
    else
        return false;
    return true;
}

int64_t page_scan_int (const struct page_scan *p, unsigned column,
                       int64_t fallback)
{
    int64_t v;

    return page_scan_is_int (p, column, &v) ? v : fallback;
}

double page_scan_real (const struct page_scan *p, unsigned column)
{
    uint32_t serial = column < p->ncolumns ? p->serial[column] : 0;
    uint64_t bits;
    double v;

    if (serial == 0 || serial > SERIAL_ONE)
        return NAN;
    if (serial != SERIAL_REAL)
        return (double)page_scan_int (p, column, 0);
    memcpy (&bits, p->value[column], sizeof (bits));
    bits = be64toh (bits);
    memcpy (&v, &bits, sizeof (v));
    return v;
}

struct page_value page_scan_value (const struct page_scan *p, unsigned column)
{
    uint32_t serial = column < p->ncolumns ? p->serial[column] : 0;

    if (serial == 0)
        return page_null ();
    if (serial == SERIAL_REAL)
        return page_real (page_scan_real (p, column));
    if (serial < SERIAL_BLOB)
        return page_int (page_scan_int (p, column, 0));
    return serial % 2 ? page_text (p->value[column], serial_bytes (serial))
                      : page_blob (p->value[column], serial_bytes (serial));
}

int page_scan_copy (const struct page_scan *p, struct page_writer *w,
                    struct err *err)
{
    struct page_value values[PAGE_SCAN_COLUMNS];

    for (unsigned i = 0; i < p->ncolumns; i++)
        values[i] = page_scan_value (p, i);
    return page_writer_row (w, p->rowid, values, p->ncolumns, err);
}
