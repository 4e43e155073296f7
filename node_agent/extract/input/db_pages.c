/* node_agent/extract/input/db_pages.c - read rows from the pages of a database
 *
 * A table is a tree of pages; its leaves, from left to right, have the rows in
 * order.  They are mostly adjacent, so several are read at once, with PADDING
 * after them, so that a number can be loaded from any position.
 */
#include "extract/input/db_pages.h"
#include "extract/input/plain_schema.h"

#include <endian.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEPTH_MAX 20u           // the limit of SQLite
#define WINDOW 65536u           // bytes that are read at once; at least a page
#define PADDING 16u             // bytes; a number takes up to 9
#define NOT_WANTED PLAIN_NOT_WANTED

#define HEADER_BYTES 100u       // size of the header of the file
#define LEAF 13                 // kinds of pages
#define INNER 5
#define CELL_BYTES 6u           // minimum, with its pointer

struct page {
    const uint8_t *bytes;       // a leaf is in the window
    uint8_t *copy;              // another one is copied here
    uint32_t cells, next;
    uint32_t where;             // offset of the cell pointers, 2 bytes each
    bool leaf;
};

struct db_pages {
    int fd;
    uint32_t page_bytes, usable;
    uint32_t pages, visited;
    uint8_t *window;
    uint32_t window_page, window_pages; // which pages are in it
    struct page path[DEPTH_MAX];        // from the root on
    unsigned depth;
    struct plain_columns columns;       // which ones are wanted, and where
    uint32_t texts;             // set of slots that are texts
    bool numbers;               // other values need not be integers
    bool utf8;                  // the texts of the file
    uint32_t root;
};

static uint32_t be16 (const uint8_t *p)
{
    return (uint32_t)p[0] << 8 | p[1];
}

static uint32_t be32 (const uint8_t *p)
{
    return be16 (p) << 16 | be16 (p + 2);
}

/* Decode up to 9 bytes; the last one has 8 bits. */
static const uint8_t *long_varint (const uint8_t *p, uint64_t *ret)
{
    uint64_t v = 0;

    for (int i = 0; i < 8; i++, p++) {
        v = v << 7 | (*p & 127);
        if (*p < 128) {
            *ret = v;
            return p + 1;
        }
    }
    *ret = v << 8 | *p;
    return p + 1;
}

static inline const uint8_t *varint (const uint8_t *p, uint64_t *ret)
{
    *ret = *p;                  // nearly all numbers have one byte
    return *p < 128 ? p + 1 : long_varint (p, ret);
}

/* ---- which columns, and where ---- */

static const char columns_sql[] =
    "SELECT s.rootpage, x.cid, x.name, x.hidden, "
    "x.type LIKE '%INT%' OR x.type = 'NUMERIC' COLLATE NOCASE, "
    // such a key is the row number, unless it needed an index
    "x.pk = 1 AND x.type = 'INTEGER' COLLATE NOCASE AND NOT EXISTS (SELECT 1 "
    "FROM pragma_index_list(t.name) WHERE origin = 'pk') "
    "FROM pragma_table_list(?1) t, pragma_table_xinfo(t.name) x, "
    "sqlite_schema s WHERE t.type = 'table' AND t.schema = 'main' AND "
    "s.type = 'table' AND s.name = t.name AND t.wr = 0";

/* Take a row of that query. */
static bool take_column (struct db_pages *p, sqlite3_stmt *st,
                         const char *const *names, const bool *have, unsigned n)
{
    unsigned id = (unsigned)sqlite3_column_int (st, 1);
    const char *name = (const char *)sqlite3_column_text (st, 2);

    if (id >= PLAIN_COLUMNS_MAX || !name || sqlite3_column_int (st, 3) != 0)
        return false;           // its position in records differs from its
                                // number
    p->root = (uint32_t)sqlite3_column_int64 (st, 0);
    p->columns.n = id >= p->columns.n ? id + 1 : p->columns.n;
    for (unsigned i = 0; i < n; i++) {
        if (!have[i] || sqlite3_stricmp (names[i], name) != 0)
            continue;
        if (!sqlite3_column_int (st, 4))
            return false;       // a query would convert it
        p->columns.slot[id] = (uint8_t)i;
        p->columns.least = id + 1 > p->columns.least ? id + 1
                                                     : p->columns.least;
        if (sqlite3_column_int (st, 5))
            p->columns.key = (uint8_t)i;
    }
    return true;
}

static bool find_columns (struct db_pages *p, struct profiler_db *db,
                          const char *table, const char *const *names,
                          const bool *have, unsigned n)
{
    sqlite3_stmt *st = NULL;
    int rc = SQLITE_ERROR;

    p->columns = (struct plain_columns){ .key = NOT_WANTED };
    memset (p->columns.slot, NOT_WANTED, sizeof (p->columns.slot));
    if (sqlite3_prepare_v2 (db->sql, columns_sql, -1, &st, NULL) == SQLITE_OK) {
        (void)sqlite3_bind_text (st, 1, table, -1, SQLITE_STATIC);
        while ((rc = sqlite3_step (st)) == SQLITE_ROW) {
            if (!take_column (p, st, names, have, n))
                break;
        }
    }
    (void)sqlite3_finalize (st);
    return rc == SQLITE_DONE && p->columns.n > 0;
}

/* Read the schema: the same without SQLite.  All of it must be plain, or just
 * the table if SQLite has accepted the rest.
 */
static bool read_schema (struct db_pages *p, const char *table,
                         const char *const *names, unsigned n,
                         struct plain_columns *found, uint32_t *root)
{
    struct db_row row = { .integers = 0 };
    int rc;

    *root = 0;
    while ((rc = db_pages_next (p, &row)) == 1) {
        struct plain_columns c;
        int is_it = plain_schema_row (&row, table, names, n, &c);

        if ((is_it < 0 && (p->numbers || plain_schema_names (&row, table))) ||
            (is_it > 0 && *root != 0))
            return false;
        if (is_it > 0) {
            *found = c;
            *root = (uint32_t)row.value[PLAIN_ROOT];
        }
    }
    return rc == 0 && *root > 1;
}

static bool find_plain (struct db_pages *p, const char *table,
                        const char *const *names, unsigned n)
{
    struct plain_columns found;
    uint32_t texts = p->texts, root;
    bool good;

    if (!p->utf8)
        return false;
    plain_schema_columns (&p->columns);
    p->texts = PLAIN_SCHEMA_TEXTS;
    p->root = 1;
    good = read_schema (p, table, names, n, &found, &root);
    p->texts = texts;
    p->visited = p->depth = 0;
    if (!good || (found.converted && !p->numbers))
        return false;
    p->columns = found;
    p->root = root;
    return true;
}

/* ---- pages ---- */

static bool read_at (const struct db_pages *p, uint8_t *buf, size_t n,
                     uint64_t at)
{
    return pread (p->fd, buf, n, (off_t)at) == (ssize_t)n;
}

/* Read the header, and check all of it that SQLite checks. */
static bool read_header (struct db_pages *p, const struct profiler_db *db)
{
    uint64_t file_bytes = (uint64_t)db->file.st.st_size;
    uint8_t h[HEADER_BYTES];

    p->fd = db->file.fd;
    if (!read_at (p, h, sizeof (h), 0) ||
        memcmp (h, "SQLite format 3", 16) != 0)
        return false;
    p->page_bytes = be16 (h + 16) == 1 ? 65536 : be16 (h + 16);
    if (p->page_bytes < 512 || p->page_bytes & (p->page_bytes - 1) ||
        h[18] > 2 || h[19] > 2 || h[20] > 32 || h[21] != 64 || h[22] != 32 ||
        h[23] != 32 || be32 (h + 44) > 4)
        return false;
    p->utf8 = be32 (h + 56) == 1;
    p->usable = p->page_bytes - h[20];
    p->pages = be32 (h + 28);
    p->window = malloc (WINDOW + PADDING);
    return p->window && (uint64_t)p->pages * p->page_bytes == file_bytes;
}

/* Where the bytes of a page are; NULL: it cannot be read.  If it is next to the
 * last one, others behind it are read, too.
 */
static const uint8_t *page_bytes (struct db_pages *p, uint32_t number)
{
    uint32_t at = number - p->window_page;

    if (number < p->window_page || at >= p->window_pages) {
        uint32_t n = at == p->window_pages ? WINDOW / p->page_bytes : 1;

        n = n < p->pages - number + 1 ? n : p->pages - number + 1;
        p->window_pages = 0;
        if (!read_at (p, p->window, (size_t)n * p->page_bytes,
                      (uint64_t)(number - 1) * p->page_bytes))
            return NULL;
        p->window_page = number;
        p->window_pages = n;
        at = 0;
    }
    return p->window + (size_t)at * p->page_bytes;
}

/* Keep a page that is no leaf, since the window goes on. */
static bool copy_page (const struct db_pages *p, struct page *page)
{
    if (!page->copy && !(page->copy = calloc (1, p->page_bytes + PADDING)))
        return false;
    memcpy (page->copy, page->bytes, p->page_bytes);
    page->bytes = page->copy;
    return true;
}

/* Descend to a page. */
static bool db_pages_enter (struct db_pages *p, uint32_t number)
{
    struct page *page = &p->path[p->depth];
    uint32_t head = number == 1 ? HEADER_BYTES : 0;

    // a page is only once in a tree, and the first one is a root
    if (p->depth == DEPTH_MAX || number < 1 + (p->depth > 0) ||
        number > p->pages || ++p->visited > p->pages ||
        !(page->bytes = page_bytes (p, number)))
        return false;
    page->leaf = page->bytes[head] == LEAF;
    page->cells = be16 (page->bytes + head + 3);
    page->next = 0;
    page->where = head + (page->leaf ? 8 : 12);
    p->depth++;
    return (page->leaf || (page->bytes[head] == INNER && copy_page (p, page))) &&
           (page->cells > 0 || (page->leaf && p->depth == 1)) &&
           page->cells <= (p->page_bytes - 8) / CELL_BYTES;
}

/* The next cell of a page, which has at least 'least' bytes.  NULL: it is
 * invalid.
 */
static const uint8_t *next_cell (const struct db_pages *p, struct page *page,
                                 uint32_t least)
{
    uint32_t at = be16 (page->bytes + page->where + 2 * page->next++);

    return at >= page->where + 2 * page->cells && at + least <= p->usable
               ? page->bytes + at
               : NULL;
}

/* Go to the next leaf: 1; 0 after the last one; -1: invalid. */
static int next_leaf (struct db_pages *p)
{
    while (p->depth > 0) {
        struct page *page = &p->path[p->depth - 1];
        const uint8_t *cell = page->bytes + page->where - 4;    // the child
                                                                // after all
                                                                // cells
        uint64_t id;

        if (page->leaf || page->next > page->cells) {
            p->depth--;
            continue;
        }
        if (page->next == page->cells)
            page->next++;
        else if (!(cell = next_cell (p, page, 5)) ||
                 varint (cell + 4, &id) > page->bytes + p->usable)
            return -1;
        if (!db_pages_enter (p, be32 (cell)))
            return -1;
        if (p->path[p->depth - 1].leaf)
            return 1;
    }
    return 0;
}

/* ---- records ---- */

static int64_t integer (const uint8_t *at, unsigned bytes)
{
    uint64_t v;

    memcpy (&v, at, sizeof (v));
    return (int64_t)be64toh (v) >> (64 - 8 * bytes);
}

/* What a record has. */
struct values {
    uint32_t integers, reals, texts;    // sets of slots
};

/* Take a number of a wanted column.  False: it is left to a query. */
static inline bool take_number (const struct db_pages *p, unsigned slot,
                                uint64_t type, const uint8_t *at,
                                unsigned size, struct db_row *row,
                                struct values *v)
{
    int64_t number = (int64_t)type - 8; // 0 and 1 are types

    if (type == 0) {
        row->value[slot] = 0;
        row->real[slot] = (double)NAN;
        return true;
    }
    if (type == 7) {
        row->value[slot] = 0;
        number = integer (at, 8);
        memcpy (&row->real[slot], &number, sizeof (number));
        v->reals |= 1u << slot;
        return p->numbers && isfinite (row->real[slot]);
    }
    if (type > 9)
        return false;
    if (type < 7)
        number = integer (at, size);
    row->value[slot] = number;
    row->real[slot] = (double)number;
    v->integers |= 1u << slot;
    return true;
}

/* The same of a column of texts. */
static inline bool take_text (unsigned slot, uint64_t type, const uint8_t *at,
                              unsigned size, struct db_row *row,
                              struct values *v)
{
    row->value[slot] = 0;
    if (type < 13 || !(type & 1))
        return type == 0;
    row->text[slot] = (const char *)at;
    row->size[slot] = size;
    v->texts |= 1u << slot;
    return true;
}

/* Decode the record in [at, end): first the types, then the values. */
static bool take_record (const struct db_pages *p, const uint8_t *at,
                         const uint8_t *end, struct db_row *row)
{
    static const uint8_t bytes[12] = { 0, 1, 2, 3, 4, 6, 8, 8, 0, 0, 0, 0 };
    const unsigned n = p->columns.n;
    struct values v = { 0, 0, 0 };
    const uint8_t *types, *body;
    uint64_t type, size;
    unsigned column = 0;

    types = varint (at, &size);
    if (size > (uint64_t)(end - at))
        return false;
    body = at + size;
    at = body;                  // the end of the types
    for (; types < at && column < n; column++, body += size) {
        unsigned slot = p->columns.slot[column];

        types = varint (types, &type);
        size = type < 12 ? bytes[type] : (type - 12) / 2;
        if (size > (uint64_t)(end - body) || type >> 1 == 5)
            return false;       // 10 and 11 are no types
        if (slot != NOT_WANTED &&
            !(p->texts >> slot & 1
                  ? take_text (slot, type, body, (unsigned)size, row, &v)
                  : take_number (p, slot, type, body, (unsigned)size, row,
                                 &v)))
            return false;
    }
    row->integers = v.integers;
    row->reals = v.reals;
    row->texts = v.texts;
    return types == at && body == end && column >= p->columns.least;
}

int db_pages_next (struct db_pages *p, struct db_row *row)
{
    struct page *page = p->depth > 0 ? &p->path[p->depth - 1] : NULL;
    const uint8_t *cell, *end;
    uint64_t size, id;
    int rc = 1;

    if (!page || page->next == page->cells) {
        if (p->root > 0)
            rc = db_pages_enter (p, p->root)
                     ? (p->path[0].leaf ? 1 : next_leaf (p))
                     : -1;
        else
            rc = next_leaf (p);
        p->root = 0;
        if (rc != 1)
            return rc;
        page = &p->path[p->depth - 1];
        if (page->cells == 0)
            return 0;           // the only leaf may be empty
    }
    end = page->bytes + p->usable;
    if (!(cell = next_cell (p, page, 4)))
        return -1;
    cell = varint (varint (cell, &size), &id);
    // a larger one continues on another page
    if (cell > end || size > p->usable - 35 ||
        size > (uint64_t)(end - cell))
        return -1;
    if (!take_record (p, cell, cell + size, row))
        return -1;
    if (p->columns.key != NOT_WANTED) {
        row->value[p->columns.key] = (int64_t)id;
        row->real[p->columns.key] = (double)(int64_t)id;
        row->integers |= 1u << p->columns.key;
    }
    row->numbers = row->integers;
    return 1;
}

/* ---- the outside ---- */

static struct db_pages *create (const struct profiler_db *db, unsigned n)
{
    struct db_pages *p = calloc (1, sizeof (*p));

    // a log may have other pages
    if (p && !db->has_log && n <= DB_ROW_COLUMNS && read_header (p, db))
        return p;
    db_pages_close (p);
    return NULL;
}

struct db_pages *db_pages_open (struct profiler_db *db, const char *table,
                                const char *const *names, const bool *have,
                                unsigned n, bool ordered)
{
    struct db_pages *p = create (db, n);

    if (p && (find_plain (p, table, names, n) ||
              find_columns (p, db, table, names, have, n)) &&
        (p->columns.key == 0 || !ordered))
        return p;
    db_pages_close (p);
    return NULL;
}

struct db_pages *db_pages_plain (struct profiler_db *db, const char *table,
                                 const char *const *names, unsigned n,
                                 uint32_t texts)
{
    struct db_pages *p = create (db, n);

    if (p) {
        p->texts = texts;
        p->numbers = true;
    }
    if (p && find_plain (p, table, names, n))
        return p;
    db_pages_close (p);
    return NULL;
}

uint32_t db_pages_columns (const struct db_pages *p)
{
    uint32_t set = 0;

    for (unsigned i = 0; i < p->columns.n; i++)
        set |= p->columns.slot[i] == NOT_WANTED ? 0
                                                : 1u << p->columns.slot[i];
    return set;
}

void db_pages_close (struct db_pages *p)
{
    if (!p)
        return;
    for (unsigned i = 0; i < DEPTH_MAX; i++)
        free (p->path[i].copy);
    free (p->window);
    free (p);
}
