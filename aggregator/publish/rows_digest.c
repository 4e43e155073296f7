/* aggregator/publish/rows_digest.c - one SHA-256 over all rows of a result
 *
 * The rows of a capture in a table are a block.  Threads hash blocks, and the
 * digests of blocks are hashed in order.
 */
#include "publish/rows_digest.h"

#include "base/cmp.h"
#include "base/thread.h"
#include "base/vec.h"
#include "publish/result_parts.h"
#include "sqlite_pages/page_format.h"
#include "sqlite_pages/page_scan.h"
#include "store/db_rows.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define TOGETHER 16             // captures of a piece
#define BUFFER_BYTES (64u << 10)
#define ROW_HEAD (12 + 4 * PAGE_SCAN_COLUMNS)

// Rows of a table that one thread hashes.
struct piece {
    size_t table;
    int64_t first, last;        // rowids
};

struct table {
    char *name;
    uint32_t root;
};

struct block {
    uint64_t number;
    struct digest digest;
};

struct hashing {
    struct page_source *source;
    struct table *tables;
    struct piece *pieces;
    size_t ntables, npieces;
    struct digester *all;
    const atomic_bool *cancel;  // or NULL
    const struct rows_blocks *known;
    struct rows_blocks found;
};

// A thread.
struct hash_worker {
    struct hashing *h;
    struct digester *digester;
    struct block *blocks;       // of the current piece
    size_t nblocks;
    bool open;                  // the last of them has no digest yet
    uint8_t *buffer;            // rows that are not hashed yet
    size_t used;
};

static int no_memory (struct err *err)
{
    return err_set (err, ENOMEM, "no memory to hash a result");
}

/* ---- rows ---- */

static int flush_rows (struct hash_worker *w, struct err *err)
{
    int rc = digest_add (w->digester, w->buffer, w->used);

    w->used = 0;
    return rc < 0 ? no_memory (err) : 0;
}

static int add_bytes (struct hash_worker *w, const void *bytes, size_t n,
                      struct err *err)
{
    int rc = w->used + n > BUFFER_BYTES ? flush_rows (w, err) : 0;

    if (rc < 0)
        return rc;
    if (n > BUFFER_BYTES)
        return digest_add (w->digester, bytes, n) < 0 ? no_memory (err) : 0;
    memcpy (w->buffer + w->used, bytes, n);
    w->used += n;
    return 0;
}

/* Its rowid, the types of its columns, and its values as they are stored. */
static int hash_row (struct hash_worker *w, const struct page_scan *p,
                     struct err *err)
{
    uint64_t rowid = htole64 ((uint64_t)p->rowid);
    uint32_t n = htole32 (p->ncolumns);
    uint8_t head[ROW_HEAD];
    size_t size = 0, at = 12;
    int rc;

    memcpy (head, &rowid, sizeof (rowid));
    memcpy (head + 8, &n, sizeof (n));
    for (unsigned i = 0; i < p->ncolumns; i++, at += 4) {
        uint32_t serial = htole32 (p->serial[i]);

        memcpy (head + at, &serial, sizeof (serial));
        size += serial_bytes (p->serial[i]);
    }
    rc = add_bytes (w, head, at, err);
    return rc < 0 || size == 0 ? rc : add_bytes (w, p->value[0], size, err);
}

/* Which program built it, when and from which directory says nothing of the
 * rows.
 */
static bool is_of_this_build (const struct table *t, const struct page_scan *p)
{
    static const char *const keys[] = { "built_at", "inputs",
                                        "rollcall_version" };
    size_t n;
    const char *key = page_scan_text (p, 0, &n);

    if (strcmp (t->name, "Job") != 0 || !key)
        return false;
    for (size_t i = 0; i < sizeof (keys) / sizeof (keys[0]); i++) {
        if (n == strlen (keys[i]) && memcmp (key, keys[i], n) == 0)
            return true;
    }
    return false;
}

/* ---- blocks ---- */

static int end_block (struct hash_worker *w, struct err *err)
{
    int rc = w->open ? flush_rows (w, err) : 0;

    if (rc < 0 || !w->open)
        return rc;
    w->open = false;
    return digest_end (w->digester, &w->blocks[w->nblocks - 1].digest) < 0
               ? no_memory (err) : 0;
}

static int take_row (struct hash_worker *w, const struct page_scan *p,
                     struct err *err)
{
    uint64_t number = (uint64_t)(p->rowid >> ROWS_BLOCK_BITS);
    struct block *b;
    int rc;

    if (!w->open || w->blocks[w->nblocks - 1].number != number) {
        if ((rc = end_block (w, err)) < 0)
            return rc;
        if (!(b = vec_add (&w->blocks, &w->nblocks, sizeof (*b))))
            return no_memory (err);
        b->number = number;
        w->open = true;
    }
    return hash_row (w, p, err);
}

static int hash_rows (struct hash_worker *w, const struct table *t,
                      int64_t first, int64_t last, struct err *err)
{
    struct page_scan p;
    int rc;

    if (first > last)
        return 0;
    rc = page_scan_begin (&p, w->h->source, t->root, first, last, err);
    while (rc == 0 && (rc = page_scan_next (&p, err)) == 1)
        rc = is_of_this_build (t, &p) ? 0 : take_row (w, &p, err);
    page_scan_end (&p);
    return rc < 0 ? rc : end_block (w, err);
}

static int compare_blocks (const void *pa, const void *pb)
{
    const struct rows_block *a = pa, *b = pb;
    int c = strcmp (a->table, b->table);

    return c ? c : (a->number > b->number) - (a->number < b->number);
}

/* Rows of blocks that are known need not be read. */
static int hash_piece (void *state, size_t piece, struct err *err)
{
    struct hash_worker *w = state;
    const struct piece *x = &w->h->pieces[piece];
    const struct table *t = &w->h->tables[x->table];
    const struct rows_blocks *known = w->h->known;
    int64_t first = x->first, from = first < 0 ? 0 : first >> ROWS_BLOCK_BITS;
    struct rows_block key = { .number = (uint64_t)from };
    int rc = 0;

    if (w->h->cancel && atomic_load (w->h->cancel))
        return err_set (err, EINTR, "interrupted");
    PRINT (key.table, "%s", t->name);
    for (size_t i = cmp_place (&key, known->list, known->n, sizeof (key),
                               compare_blocks); rc == 0 && i < known->n; i++) {
        const struct rows_block *k = &known->list[i];
        int64_t begin = (int64_t)(k->number << ROWS_BLOCK_BITS);
        struct block b = { k->number, k->digest };

        if (strcmp (k->table, t->name) != 0 || begin > x->last)
            break;
        rc = hash_rows (w, t, first, begin - 1, err);
        if (rc == 0 && vec_push (&w->blocks, &w->nblocks, &b, sizeof (b)) < 0)
            rc = no_memory (err);
        first = begin + (INT64_C (1) << ROWS_BLOCK_BITS);
    }
    return rc < 0 ? rc : hash_rows (w, t, first, x->last, err);
}

static int note_block (struct hashing *h, const char *table,
                       const struct block *b)
{
    struct rows_block x = { .number = b->number, .digest = b->digest };

    if (strlen (table) >= sizeof (x.table))
        return 0;
    PRINT (x.table, "%s", table);
    return vec_push (&h->found.list, &h->found.n, &x, sizeof (x));
}

static int add_blocks (void *state, size_t piece, struct err *err)
{
    struct hash_worker *w = state;
    const char *name = w->h->tables[w->h->pieces[piece].table].name;
    int rc = 0;

    for (size_t i = 0; i < w->nblocks && rc == 0; i++) {
        uint64_t number = htole64 (w->blocks[i].number);

        rc = note_block (w->h, name, &w->blocks[i]);
        if (rc == 0)
            rc = digest_add (w->h->all, name, strlen (name) + 1);
        if (rc == 0)
            rc = digest_add (w->h->all, &number, sizeof (number));
        if (rc == 0)
            rc = digest_add (w->h->all, w->blocks[i].digest.bytes,
                             DIGEST_SIZE);
    }
    free (w->blocks);
    w->blocks = NULL;
    w->nblocks = 0;
    return rc < 0 ? no_memory (err) : 0;
}

/* ---- what there is to hash ---- */

static int add_piece (struct hashing *h, size_t table, int64_t first,
                      int64_t last)
{
    struct piece x = { table, first, last };

    return vec_push (&h->pieces, &h->npieces, &x, sizeof (x));
}

/* Divide the rows of a table at each so many captures. */
static int divide_table (struct hashing *h, size_t table,
                         const int64_t *captures, size_t n)
{
    int64_t first = INT64_MIN;
    int rc = 0;

    for (size_t i = TOGETHER; i < n && rc == 0; i += TOGETHER) {
        int64_t next = (int64_t)((uint64_t)captures[i] << ROWS_BLOCK_BITS);

        rc = add_piece (h, table, first, next - 1);
        first = next;
    }
    return rc < 0 ? rc : add_piece (h, table, first, INT64_MAX);
}

static int list_captures (sqlite3 *db, int64_t **list, size_t *n,
                          struct err *err)
{
    struct db_rows r = db_rows (db, err, "SELECT id FROM Capture ORDER BY id");
    int64_t id;

    while (db_row (&r, id)) {
        if (id > 0 && id < INT64_C (1) << (63 - ROWS_BLOCK_BITS) &&
            vec_push (list, n, &id, sizeof (id)) < 0)
            r.rc = no_memory (err);
    }
    return db_end (&r);
}

static int add_table (struct hashing *h, const char *name, uint32_t root,
                      struct err *err)
{
    struct table *t = vec_add (&h->tables, &h->ntables, sizeof (*t));

    if (!t || !(t->name = strdup (name)))
        return no_memory (err);
    t->root = root;
    return 0;
}

static int compare_tables (const void *pa, const void *pb)
{
    const struct table *a = pa, *b = pb;

    return strcmp (a->name, b->name);
}

/* The tables of a result in one file, which has no index of parts. */
static int list_tables (struct hashing *h, sqlite3 *db, struct err *err)
{
    bool parts = parts_are_beside (db);
    struct db_rows r = db_rows (db, err, "SELECT name, rootpage FROM"
                                " sqlite_schema WHERE type='table' AND NOT"
                                " (?1 AND name IN ('Part', 'PartRange'))",
                                parts);
    const char *name;
    uint32_t root;
    int rc;

    while (db_row (&r, name, root))
        r.rc = add_table (h, name, root, err);
    rc = db_end (&r);
    for (unsigned i = 0; i < PARTS_TABLES && parts && rc == 0; i++) {
        rc = page_source_root (h->source, parts_tables[i], &root, err);
        if (rc == 0)
            rc = add_table (h, parts_tables[i], root, err);
    }
    if (rc == 0)
        qsort (h->tables, h->ntables, sizeof (*h->tables), compare_tables);
    return rc;
}

static int plan (struct hashing *h, const char *path, struct err *err)
{
    int64_t *captures = NULL;
    sqlite3 *db = NULL;
    size_t n = 0;
    int rc = db_open (path, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, &db);

    rc = rc == SQLITE_OK ? parts_source_of (db, h->cancel, &h->source, err)
                         : db_error (db, path, err);
    if (rc == 0)
        rc = list_tables (h, db, err);
    if (rc == 0)
        rc = list_captures (db, &captures, &n, err);
    (void)sqlite3_close (db);
    for (size_t i = 0; i < h->ntables && rc == 0; i++)
        rc = divide_table (h, i, captures, n) < 0 ? no_memory (err) : 0;
    free (captures);
    return rc;
}

/* ---- all of it ---- */

static void free_workers (struct hash_worker *w, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        digester_destroy (w[i].digester);
        free (w[i].blocks);
        free (w[i].buffer);
    }
    free (w);
}

static int hash_all (struct hashing *h, unsigned threads, struct err *err)
{
    struct thread_pieces pieces = { h->npieces, hash_piece, add_blocks };
    struct hash_worker *workers = calloc (threads, sizeof (*workers));
    void **states = calloc (threads, sizeof (*states));
    bool made = workers && states;
    int rc;

    for (unsigned i = 0; i < threads && made; i++) {
        struct hash_worker *w = states[i] = &workers[i];

        w->h = h;
        w->digester = digester_create ();
        w->buffer = malloc (BUFFER_BYTES);
        made = w->digester && w->buffer;
    }
    rc = made ? thread_each (&pieces, states, threads, err) : no_memory (err);
    free_workers (workers, workers ? threads : 0);
    free (states);
    return rc;
}

int rows_digest (const char *path, unsigned threads, const atomic_bool *cancel,
                 struct digest *ret, struct err *err)
{
    struct rows_blocks none = { NULL, 0 };
    int rc = rows_digest_blocks (path, threads, cancel, &none, ret, err);

    free (none.list);
    return rc;
}

int rows_digest_blocks (const char *path, unsigned threads,
                        const atomic_bool *cancel, struct rows_blocks *blocks,
                        struct digest *ret, struct err *err)
{
    struct hashing h = { .all = digester_create (), .cancel = cancel,
                         .known = blocks };
    struct err why = { "" };
    int rc = h.all ? plan (&h, path, err) : no_memory (err);

    if (rc == 0 && (rc = hash_all (&h, threads, &why)) < 0)
        rc = err_set (err, -rc, "%s: %s", path, why.text);
    if (rc == 0 && digest_end (h.all, ret) < 0)
        rc = no_memory (err);
    page_source_close (h.source);
    for (size_t i = 0; i < h.ntables; i++)
        free (h.tables[i].name);
    free (h.tables);
    free (h.pieces);
    free (rc == 0 ? blocks->list : h.found.list);
    if (rc == 0)
        *blocks = h.found;
    digester_destroy (h.all);
    return rc;
}
