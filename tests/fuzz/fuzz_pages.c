/* tests/fuzz/fuzz_pages.c - rows, marks and abandoned rows, into pages
 *
 * Input: a byte for the page size, then steps of four bytes.  Two writers take
 * turns as the steps say; what they wrote and did not take back is the table
 * then, as SQLite reads it, and its index.
 */
#include "fuzz_dir.h"

#include "base/vec.h"
#include "sqlite_pages/page_check.h"
#include "sqlite_pages/sqlite_pages.h"
#include "store/db.h"

#include <stdlib.h>
#include <string.h>

#define WRITERS 2
#define BYTES_MAX (8u << 20)    // of one input's rows
#define NAME "pages.db"

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

struct row {
    int64_t rowid;
    struct page_value a, d;     // the text is owned
    unsigned writer;
};

struct job {
    struct page_file *f;
    struct page_writer *w[WRITERS];
    size_t mark[WRITERS];       // rows before it
    struct row *rows;
    size_t nrows, bytes;
    int64_t rowid;
    unsigned last;              // the writer whose row was the last one
    unsigned page_size;
};

static void must (int rc)
{
    if (rc < 0)
        abort ();
}

static struct page_tree *tree (struct job *j, const char *name)
{
    struct page_tree *t = NULL;

    must (page_file_tree (j->f, name, &t, NULL));
    return t;
}

static void create (struct job *j, char path[PATH_MAX])
{
    char sql[160];
    sqlite3 *db = NULL;

    fuzz_remove (NAME);
    must (-db_open (fuzz_path (path, NAME), SQLITE_OPEN_READWRITE |
                                            SQLITE_OPEN_CREATE, &db));
    (void)sqlite3_snprintf (sizeof (sql), sql, "PRAGMA synchronous=OFF;PRAGMA "
                            "page_size=%u;CREATE TABLE t (a NUMERIC, d TEXT);"
                            "CREATE INDEX i ON t(d, a)", j->page_size);
    must (db_exec (db, sql, NULL));
    (void)sqlite3_close (db);
    must (page_file_open (path, &j->f, NULL));
    for (unsigned k = 0; k < WRITERS; k++)
        must (page_writer_open (tree (j, "t"), &j->w[k], NULL));
    j->last = WRITERS;
}

static void add_row (struct job *j, unsigned k, const uint8_t step[4],
                     uint32_t size)
{
    struct row *more = vec_one_more (j->rows, j->nrows, sizeof (*more));
    char *text = malloc (size + 1);
    double real = (double)((int64_t)step[1] - 100);
    struct row *r;

    if (!more || !text || (j->bytes += size + 16) > BYTES_MAX) {
        free (text);
        j->rows = more ? more : j->rows;
        return;
    }
    memset (text, step[2], size);
    if (size >= 4)              // keys differ early, or late
        memcpy (text + step[3] % 2 * (size - 4), &j->nrows, 4);
    for (unsigned i = 0; i < step[2] % 64u; i++)
        real *= step[3] & 1 ? 2 : 0.5;
    j->rowid += 1 + step[3] % 7;
    j->rows = more;
    r = &more[j->nrows++];
    *r = (struct row){ j->rowid, page_numeric (real),
                       page_text (text, size), k };
    if (j->last != k)
        must (page_writer_gap (j->w[k], NULL));
    j->last = k;
    must (page_writer_row (j->w[k], r->rowid, &r->a, 2, NULL));
}

/* The rows of a writer behind its mark are no more. */
static void abandon (struct job *j, unsigned k)
{
    size_t kept = j->mark[k], other = j->mark[!k];

    for (size_t i = kept; i < j->nrows; i++) {
        if (i == other)
            j->mark[!k] = kept;
        if (j->rows[i].writer == k)
            free ((void *)(uintptr_t)j->rows[i].d.bytes);
        else
            j->rows[kept++] = j->rows[i];
    }
    if (other == j->nrows)
        j->mark[!k] = kept;
    j->nrows = kept;
    j->last = WRITERS;
    must (page_writer_abandon (j->w[k], NULL));
}

static void take_step (struct job *j, const uint8_t step[4])
{
    unsigned k = step[0] >> 4 & 1;

    switch (step[0] % 8) {
    case 0:
        add_row (j, k, step, (step[1] * 256u + step[2]) % (4 * j->page_size));
        break;
    case 1:
    case 2:
        add_row (j, k, step, step[1]);
        break;
    case 3:
    case 4:
        for (unsigned i = 0; i <= step[3]; i++)
            add_row (j, k, step, step[1] % 64u);
        break;
    case 5:
        page_writer_mark (j->w[k]);
        j->mark[k] = j->nrows;
        break;
    case 6:
        abandon (j, k);
        break;
    default:
        must (page_writer_gap (j->w[k], NULL));
    }
}

static int key_order (const void *pa, const void *pb)
{
    const struct row *a = pa, *b = pb;
    uint32_t n = a->d.size < b->d.size ? a->d.size : b->d.size;
    int order = memcmp (a->d.bytes, b->d.bytes, n);

    if (order == 0)
        order = (a->d.size > b->d.size) - (a->d.size < b->d.size);
    if (order == 0)
        order = (a->a.real > b->a.real) - (a->a.real < b->a.real);
    return order ? order : (a->rowid > b->rowid) - (a->rowid < b->rowid);
}

static void write_index (struct job *j)
{
    struct row *sorted = malloc ((j->nrows + 1) * sizeof (*sorted));
    struct page_writer *x = NULL;

    if (!sorted)
        abort ();
    if (j->nrows > 0) {
        memcpy (sorted, j->rows, j->nrows * sizeof (*sorted));
        qsort (sorted, j->nrows, sizeof (*sorted), key_order);
    }
    must (page_writer_open (tree (j, "i"), &x, NULL));
    for (size_t i = 0; i < j->nrows; i++) {
        const struct page_value v[2] = { sorted[i].d, sorted[i].a };

        must (page_writer_keys (x, sorted[i].rowid, 1, v, 2, NULL));
    }
    must (page_writer_close (x, NULL));
    free (sorted);
}

static void compare (const struct job *j, const char *path)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *st = NULL;

    must (page_check_file (path, 1, NULL));
    must (-db_open (path, SQLITE_OPEN_READONLY, &db));
    must (db_prepare (db, "PRAGMA integrity_check", &st, NULL));
    if (sqlite3_step (st) != SQLITE_ROW ||
        strcmp ((const char *)sqlite3_column_text (st, 0), "ok") != 0)
        abort ();
    (void)sqlite3_finalize (st);
    must (db_prepare (db, "SELECT rowid, a, d FROM t ORDER BY rowid", &st,
                      NULL));
    for (size_t i = 0; i < j->nrows; i++) {
        const struct row *r = &j->rows[i];

        if (sqlite3_step (st) != SQLITE_ROW ||
            sqlite3_column_int64 (st, 0) != r->rowid ||
            sqlite3_column_double (st, 1) < r->a.real ||
            sqlite3_column_double (st, 1) > r->a.real ||
            sqlite3_column_bytes (st, 2) != (int)r->d.size ||
            (r->d.size > 0 && memcmp (sqlite3_column_blob (st, 2), r->d.bytes,
                                      r->d.size) != 0))
            abort ();
    }
    if (sqlite3_step (st) != SQLITE_DONE)
        abort ();
    (void)sqlite3_finalize (st);
    (void)sqlite3_close (db);
}

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    struct job j = { .page_size = size ? 512u << data[0] % 8 : 512u };
    char path[PATH_MAX];

    create (&j, path);
    for (size_t at = 1; at + 4 <= size; at += 4)
        take_step (&j, data + at);
    for (unsigned k = 0; k < WRITERS; k++)
        must (page_writer_close (j.w[k], NULL));
    write_index (&j);
    must (page_file_finish (j.f, false, NULL));
    page_file_close (j.f);
    compare (&j, path);
    for (size_t i = 0; i < j.nrows; i++)
        free ((void *)(uintptr_t)j.rows[i].d.bytes);
    free (j.rows);
    fuzz_remove (NAME);
    return 0;
}
