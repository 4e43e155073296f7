/* aggregator/builder/split_rows.c - rows of a result, copied page by page */
#include "builder/split.h"

#include "model/schema.h"
#include "publish/rows_digest.h"
#include "sqlite_pages/page_scan.h"

#include <errno.h>
#include <fcntl.h>

/* Adjacent pages of the one file that are copied.  The first and the last leaf
 * of a range stay: who reads the range beside it looks into them.
 */
struct done_pages {
    int fd;                     // negative: all stay
    uint32_t first, n;
    bool begun;
};

static void give_back (struct done_pages *g)
{
    if (g->n > 0 && g->fd >= 0)
        (void)fallocate (g->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                         (off_t)(g->first - 1) * ROW_FILE_PAGE_SIZE,
                         (off_t)g->n * ROW_FILE_PAGE_SIZE);
    g->n = 0;
}

static void note_page (struct done_pages *g, uint32_t page)
{
    if (!g->begun) {
        g->begun = true;
        return;
    }
    if (g->n == 0 || page != g->first + g->n) {
        give_back (g);
        g->first = page;
    }
    g->n++;
}

/* Keys of rows that follow each other and are of one rank. */
struct keys {
    struct page_writer *writer; // NULL: the table has no index
    unsigned column;            // rank
    int64_t first;
    uint64_t n;
    struct page_value rank;
};

static int flush_keys (struct keys *k, struct err *err)
{
    uint64_t n = k->n;

    k->n = 0;
    return n > 0 ? page_writer_keys (k->writer, k->first, n, &k->rank, 1, err)
                 : 0;
}

static int add_key (struct keys *k, const struct page_scan *s, struct err *err)
{
    struct page_value rank = page_scan_value (s, k->column);
    int rc = 0;

    if (k->n > 0 && (s->rowid != k->first + (int64_t)k->n ||
                     rank.kind != k->rank.kind ||
                     (rank.kind == PAGE_INT && rank.number != k->rank.number)))
        rc = flush_keys (k, err);
    if (k->n++ == 0) {
        k->first = s->rowid;
        k->rank = rank;
    }
    return rc;
}

/* Copy the rows from 'first' to 'last', whole leaves where there are.  'rows'
 * is of tables that lie in parts, whose rows nobody else wants; else NULL.
 */
static int copy_range (const struct split_source *from, uint32_t root,
                       int64_t first, int64_t last, struct page_writer *w,
                       struct keys *keys, uint64_t *rows, struct err *err)
{
    struct done_pages done = { .fd = rows ? from->fd : -1 };
    int64_t end = INT64_MIN;
    struct page_scan s;
    int rc = page_scan_begin (&s, from->source, root, first, last, err);

    while (rc == 0 && (rc = page_scan_next (&s, err)) == 1) {
        const uint8_t *leaf = NULL;

        if (s.rowid > end)
            leaf = page_scan_whole_leaf (&s, last, &end);
        rc = leaf ? page_writer_leaf (w, s.rowid, end, leaf, err)
             : s.rowid > end ? page_scan_copy (&s, w, err) : 0;
        if (leaf)
            note_page (&done, s.leaf_page);
        if (rc == 0 && keys->writer)
            rc = add_key (keys, &s, err);
        if (rows)
            ++*rows;
        if (atomic_load (from->cancel))
            rc = err_set (err, EINTR, "interrupted");
    }
    done.n -= done.n > 0;
    if (rc == 0)
        give_back (&done);
    page_scan_end (&s);
    return rc;
}

/* Copy the rows of a part's units in a table: those without a rank first, as
 * the index has them, and each run of units at once.
 */
static int copy_units (const struct split_source *from, unsigned part,
                       uint32_t root, struct page_writer *w, struct keys *keys,
                       uint64_t *rows, struct err *err)
{
    const struct split_unit *u = from->split->units;
    int rc = 0;

    for (int ranked = 0; ranked < 2 && rc == 0; ranked++) {
        rc = page_writer_gap (w, err);
        for (size_t i = 0, end; i < from->split->nunits && rc == 0; i = end) {
            for (end = i + 1; end < from->split->nunits &&
                              u[end].part == u[i].part &&
                              (u[end].rank < 0) == (u[i].rank < 0);)
                end++;
            if (u[i].part == part && (u[i].rank >= 0) == ranked)
                rc = copy_range (from, root, split_first_row (&u[i]),
                                 split_last_row (&u[end - 1]), w, keys, rows,
                                 err);
        }
    }
    return rc;
}

int split_copy_part (const struct split_source *from, unsigned part,
                     unsigned table, struct page_file *f, uint64_t *nrows,
                     struct err *err)
{
    const bool indexed = table < ROW_FILE_INDEXED;
    struct keys keys = { .writer = NULL };
    struct page_tree *rows = NULL, *index = NULL;
    struct page_writer *w = NULL;
    char name[ROWS_TABLE_MAX + 8];
    uint32_t root = 0;
    int rc = page_source_root (from->source, parts_tables[table], &root, err);
    int end;

    PRINT (name, "%s_rank", parts_tables[table]);
    if (rc == 0)
        rc = page_file_tree (f, parts_tables[table], &rows, err);
    if (rc == 0 && indexed)
        rc = page_file_tree (f, name, &index, err);
    if (rc == 0)
        rc = page_writer_open (rows, &w, err);
    if (rc == 0 && indexed) {
        keys.column = schema_table (table)->ncolumns;
        rc = page_writer_open (index, &keys.writer, err);
    }
    if (rc == 0)
        rc = copy_units (from, part, root, w, &keys, nrows, err);
    if (rc == 0 && keys.writer)
        rc = flush_keys (&keys, err);
    end = page_writer_close (w, rc < 0 ? NULL : err);
    rc = rc < 0 ? rc : end;
    end = page_writer_close (keys.writer, rc < 0 ? NULL : err);
    return rc < 0 ? rc : end;
}

int split_copy_table (const struct split_source *from, const char *name,
                      struct page_file *f, struct err *err)
{
    struct keys none = { .writer = NULL };
    struct page_tree *tree = NULL;
    struct page_writer *w = NULL;
    uint32_t root = 0;
    int rc = page_source_root (from->source, name, &root, err), end;

    if (rc == 0)
        rc = page_file_tree (f, name, &tree, err);
    if (rc == 0)
        rc = page_writer_open (tree, &w, err);
    if (rc == 0)
        rc = copy_range (from, root, INT64_MIN, INT64_MAX, w, &none, NULL, err);
    end = page_writer_close (w, rc < 0 ? NULL : err);
    return rc < 0 ? rc : end;
}
