/* common/sqlite_pages/page_private.h - what the files of this folder share */
#ifndef ROLLCALL_SQLITE_PAGES_PAGE_PRIVATE_H
#define ROLLCALL_SQLITE_PAGES_PAGE_PRIVATE_H

#include "sqlite_pages/page_format.h"
#include "sqlite_pages/page_share.h"
#include "sqlite_pages/page_source.h"

#include <pthread.h>
#include <string.h>

/* ---- the file, and which pages of it are taken (page_file.c) ---- */

struct page_tree {
    struct page_file *file;
    char *name;
    uint32_t root;
    bool index;
    struct page_leaf *leaves;   // of writers that are closed
    size_t nleaves;
};

struct page_range {
    uint32_t first, n;          // less than 2^30, as numbers of pages are
};

struct page_file {
    int fd;                     // -1: pages are written by the port
    const struct page_port *port;       // NULL: the file is our own
    char *path;
    uint32_t page_size;
    uint8_t *page;              // room for one, for whoever opens or finishes
    struct page_tree *trees;
    size_t ntrees;
    pthread_mutex_t lock;       // over what follows, and leaves of trees
    uint32_t next;              // the first page behind all that are taken
    struct page_range *pool;    // pages before it that are not
    size_t npool;
};

/* As page_file_open, but read-only, so there may be free pages. */
int page_file_begin (const char *path, bool write, struct page_file **ret,
                     struct err *err);

/* page_share.c: a table of a file that is another process's. */
int page_file_shared_tree (struct page_file *f, const char *name,
                           struct page_tree **ret, struct err *err);

/* Hand leaves over to a table. */
int page_tree_join (struct page_tree *t, const struct page_leaf *leaves,
                    size_t n, struct err *err);

/* Take n adjacent pages; *ret is the first. */
int page_file_take (struct page_file *f, uint32_t n, uint32_t *ret,
                    struct err *err);
int page_file_give (struct page_file *f, uint32_t first, uint32_t n,
                    struct err *err);

int page_file_read (const struct page_file *f, uint32_t page, uint8_t *bytes,
                    struct err *err);
int page_file_write (const struct page_file *f, uint32_t page,
                     const uint8_t *bytes, uint32_t n, struct err *err);

/* Write the part of a payload that does not fit into its cell; 'spill' says
 * where.
 */
int page_file_spill (struct page_file *f, const uint8_t *bytes, size_t size,
                     struct page_range *spill, struct err *err);

/* ---- a b-tree page that is being filled (page_levels.c) ---- */

struct page_image {
    uint8_t *bytes;
    uint32_t size;              // of a page
    uint32_t header;            // bytes
    uint32_t cells;
    uint32_t top;               // where cells begin
    uint32_t before;            // where they began before the last one
};

void page_image_begin (struct page_image *g, uint8_t *bytes, uint32_t size,
                       enum page_type type);

/* Room for a cell; NULL if the page is full. */
static inline uint8_t *page_image_cell (struct page_image *g, uint32_t size)
{
    uint32_t pointer = g->header + 2 * g->cells;

    if (size < CELL_LEAST)
        size = CELL_LEAST;
    if (pointer + 2 + size > g->top)
        return NULL;
    g->before = g->top;
    g->top -= size;
    put2 (g->bytes + pointer, g->top);
    g->cells++;
    return g->bytes + g->top;
}

/* Remove the last cell; it stays in memory until page_image_end. */
const uint8_t *page_image_pop (struct page_image *g, uint32_t *size);

/* Write the header and clear the free bytes.  'right': for interior pages only.
 */
void page_image_end (struct page_image *g, uint32_t right);

/* ---- the interior pages of a tree, from left to right (page_levels.c) ---- */

#define PAGE_DEPTH_MAX 20       // SQLite reads no more levels

struct page_levels {
    struct page_tree *tree;
    unsigned n;
    struct page_image level[PAGE_DEPTH_MAX];
};

/* Add a child and the key that separates it from the next one. */
int page_levels_add (struct page_levels *l, unsigned level, uint32_t child,
                     const uint8_t *key, uint32_t size, struct err *err);

/* Add the last child, at the right of all, and write the root. */
int page_levels_end (struct page_levels *l, uint32_t last, struct err *err);
void page_levels_fini (struct page_levels *l);

/* ---- cells of leaves (page_cell.c) ---- */

struct page_cell {
    uint8_t *room;
    size_t cap;
    uint8_t *at;                // the cell, in 'room'
    uint32_t size;
    struct page_range spill;    // n is 0: all is in the cell
};

/* Make the cell of a row, or of a key, and write its overflow. */
int page_cell_make (struct page_cell *c, struct page_tree *t, int64_t rowid,
                    const struct page_value *values, unsigned n,
                    struct err *err);

/* Turn the cell of a key into that of the next rowid; false: it would have
 * another size.
 */
bool page_cell_next (struct page_cell *c, int64_t rowid);

/* ---- records that are read (page_key.c) ---- */

#define PAGE_KEY_SLACK 8u       // bytes behind a record that are read, not used

struct page_key {
    const uint8_t *bytes;       // NULL: none
    uint64_t size;
    uint8_t *own;               // NULL: it is in its page
};

/* Whether the record has the length that its header implies. */
bool page_key_is_sound (const struct page_key *k);

/* Whether a record has the same types as a sound one, so that it is sound. */
bool page_key_is_alike (const struct page_key *a, const struct page_key *b);

/* Compare sound records: negative, 0 or positive. */
int page_key_compare (const struct page_key *a, const struct page_key *b);

/* ---- a file that is read (page_source.c) ---- */

struct page_source {
    int fd;
    const atomic_bool *cancel;  // or NULL
    uint32_t page_size, usable, pages, version;
    const struct page_sums *sums;       // or NULL
    struct page_join *join;             // or NULL
};

static inline bool page_source_has (const struct page_source *s, uint32_t page)
{
    return page >= 1 && page <= s->pages;
}

/* Read n pages; compare one with its sum, if sums are known. */
int page_source_read (const struct page_source *s, uint32_t page, uint32_t n,
                      uint8_t *to, struct err *err);
int page_source_check (const struct page_source *s, uint32_t page,
                       const uint8_t *data, struct err *err);

/* -EBADMSG, with a sentence. */
int page_damaged (struct err *err, uint32_t page, const char *what);

/* ---- tables whose rows lie in other files (page_join.c) ---- */

/* Stands for the root page of such a table; 0: the join has none of that name.
 */
uint32_t page_join_root (const struct page_source *s, const char *table);
bool page_join_has (const struct page_source *s, uint32_t root);

/* What lies in one file, of the rowids from 'first' to 'last'. */
struct page_piece {
    const struct page_source *source;
    uint32_t root;              // in it
    int64_t first, last;
};

/* The number of the piece in which 'rowid' is, or of the next one; and a piece:
 * 1, or 0 if none has these rowids.  Errors also of the join's 'open'.
 */
size_t page_join_first (const struct page_source *s, int64_t rowid);
int page_join_piece (const struct page_source *s, uint32_t root, size_t piece,
                     int64_t first, int64_t last, struct page_piece *ret,
                     struct err *err);

/* Name the file of a piece in the sentence for 'rc', which it returns. */
int page_join_tell (const struct page_source *s, size_t piece, int rc,
                    struct err *err);

#endif
