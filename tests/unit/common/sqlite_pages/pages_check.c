/* tests/unit/common/sqlite_pages/pages_check.c - rows by SQLite, and by pages */
#include "common/sqlite_pages/pages_check.h"

#include "base/vec.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- files ---- */

static void run (sqlite3 *db, const char *sql)
{
    struct err err = { "" };

    if (db_exec (db, sql, &err) < 0)
        fail_msg ("%s: %s", sql, err.text);
}

static sqlite3 *open_db (const char *path)
{
    sqlite3 *db = NULL;

    assert_int_equal (db_open (path, SQLITE_OPEN_READWRITE |
                                     SQLITE_OPEN_CREATE, &db), SQLITE_OK);
    run (db, "PRAGMA synchronous=OFF");
    return db;
}

void pages_sql (const char *path, const char *sql)
{
    sqlite3 *db = open_db (path);

    run (db, sql);
    assert_int_equal (sqlite3_close (db), SQLITE_OK);
}

char *pages_ask (const char *path, const char *sql)
{
    sqlite3 *db = open_db (path);
    sqlite3_stmt *st = NULL;
    struct err err = { "" };
    char *text = strdup ("");

    if (db_prepare (db, sql, &st, &err) < 0)
        fail_msg ("%s: %s", sql, err.text);
    while (sqlite3_step (st) == SQLITE_ROW) {
        const char *s = (const char *)sqlite3_column_text (st, 0);
        char *more = NULL;

        assert_true (asprintf (&more, "%s%s%s", text, *text ? "\n" : "",
                               s ? s : "NULL") >= 0);
        free (text);
        text = more;
    }
    assert_int_equal (sqlite3_finalize (st), SQLITE_OK);
    assert_int_equal (sqlite3_close (db), SQLITE_OK);
    return text;
}

int64_t pages_number (const char *path, const char *sql)
{
    char *text = pages_ask (path, sql);
    int64_t v = strtoll (text, NULL, 10);

    free (text);
    return v;
}

void pages_start (struct pages *p, unsigned page_size, const char *schema)
{
    char sql[1024];

    *p = (struct pages){ .dir = "/tmp/pages.XXXXXX",
                         .seed = page_size + UINT64_C (88172645463325252) };
    assert_non_null (mkdtemp (p->dir));
    (void)snprintf (p->own, sizeof (p->own), "%s/own", p->dir);
    (void)snprintf (p->sqlite, sizeof (p->sqlite), "%s/sqlite", p->dir);
    (void)snprintf (sql, sizeof (sql), "PRAGMA page_size=%u;%s", page_size,
                    schema);
    pages_sql (p->own, sql);
    pages_sql (p->sqlite, sql);
}

void pages_end (struct pages *p)
{
    (void)unlink (p->own);
    (void)unlink (p->sqlite);
    (void)rmdir (p->dir);
    for (size_t i = 0; i < p->ntexts; i++)
        free (p->texts[i]);
    free (p->texts);
    free (p->rows);
}

/* ---- rows ---- */

uint32_t pages_random (struct pages *p, uint32_t below)
{
    p->seed ^= p->seed << 13;
    p->seed ^= p->seed >> 7;
    p->seed ^= p->seed << 17;
    return (uint32_t)((p->seed >> 32) * below >> 32);
}

const char *pages_bytes (struct pages *p, uint32_t size)
{
    char *s = malloc (size + 1);
    char **more = vec_one_more (p->texts, p->ntexts, sizeof (*more));

    assert_non_null (s);
    assert_non_null (more);
    p->texts = more;
    more[p->ntexts++] = s;
    for (uint32_t i = 0; i < size; i += sizeof (p->seed)) {
        (void)pages_random (p, 1);
        memcpy (s + i, &p->seed,
                size - i < sizeof (p->seed) ? size - i : sizeof (p->seed));
    }
    s[size] = '\0';
    return s;
}

static struct row *new_row (struct pages *p, int64_t rowid)
{
    struct row *more = vec_one_more (p->rows, p->nrows, sizeof (*more));

    assert_non_null (more);
    p->rows = more;
    more[p->nrows] = (struct row){ .rowid = rowid };
    return &more[p->nrows++];
}

/* Around each width. */
static int64_t some_int (struct pages *p)
{
    unsigned bits = pages_random (p, 65);
    uint64_t v = bits == 64 ? 0 : UINT64_C (1) << bits;

    v += pages_random (p, 5);
    return (int64_t)(v - 2);
}

static double some_real (struct pages *p)
{
    static const double odd[] = {
        0.0, -0.0, 1.0, -1.0, 0x1p63, -0x1p63, -0x1p62, 0x1p53, 0x1p47,
        140737488355327.0, -140737488355328.0, -140737488355329.0, 1e300,
        -1e-300, 0.1, 127.5, INFINITY, -INFINITY, NAN, 9223372036854774784.0,
    };

    switch (pages_random (p, 4)) {
    case 0:
        return odd[pages_random (p, sizeof (odd) / sizeof (odd[0]))];
    case 1:
        return (double)some_int (p);
    case 2:
        return pages_random (p, 1000);
    default:
        return pages_random (p, 1000000) / 1000.0;
    }
}

void pages_row (struct pages *p, int64_t rowid, uint32_t most)
{
    struct row *r = new_row (p, rowid);
    uint32_t size = pages_random (p, most + 1);

    r->v[0] = page_numeric (some_real (p));
    r->v[1] = page_real (some_real (p));
    r->v[2] = page_int (some_int (p));
    if (size > 0 || pages_random (p, 2))
        r->v[3] = page_text (pages_bytes (p, size), size);
    size = pages_random (p, 20);
    if (size > 0)
        r->v[4] = page_blob (pages_bytes (p, size), size);
    if (pages_random (p, 2))
        r->v[5] = page_int (rowid);
}

void pages_text_row (struct pages *p, int64_t rowid, uint32_t size)
{
    struct row *r = new_row (p, rowid);

    r->v[3] = page_text (pages_bytes (p, size), size);
}

/* ---- by pages ---- */

struct page_file *pages_open (struct pages *p)
{
    struct page_file *f = NULL;
    struct err err = { "" };

    if (page_file_open (p->own, &f, &err) < 0)
        fail_msg ("%s", err.text);
    return f;
}

struct page_tree *pages_tree (struct page_file *f, const char *name)
{
    struct page_tree *t = NULL;
    struct err err = { "" };

    if (page_file_tree (f, name, &t, &err) < 0)
        fail_msg ("%s", err.text);
    return t;
}

void pages_write (struct pages *p, struct page_writer *w, size_t from,
                  size_t end)
{
    struct err err = { "" };

    for (size_t i = from; i < end; i++) {
        if (page_writer_row (w, p->rows[i].rowid, p->rows[i].v, COLUMNS,
                             &err) < 0)
            fail_msg ("%s", err.text);
    }
}

/* Rows were made in the order of their rowids. */
static const struct row *find_row (const struct pages *p, int64_t rowid)
{
    size_t from = 0, end = p->nrows;

    while (end - from > 1) {
        size_t half = from + (end - from) / 2;

        if (p->rows[half].rowid <= rowid)
            from = half;
        else
            end = half;
    }
    assert_true (p->rows[from].rowid == rowid);
    return &p->rows[from];
}

void pages_index (struct pages *p, struct page_file *f)
{
    struct page_writer *x = NULL;
    sqlite3 *db = open_db (p->sqlite);
    sqlite3_stmt *st = NULL;
    struct err err = { "" };
    int rc;

    assert_int_equal (page_writer_open (pages_tree (f, "t_key"), &x, &err), 0);
    assert_int_equal (db_prepare (db, "SELECT rowid FROM t INDEXED BY t_key "
                                      "ORDER BY d, a, b", &st, &err), 0);
    while (sqlite3_step (st) == SQLITE_ROW) {
        const struct row *r = find_row (p, sqlite3_column_int64 (st, 0));
        const struct page_value v[3] = { r->v[3], r->v[0], r->v[1] };

        if (page_writer_keys (x, r->rowid, 1, v, 3, &err) < 0)
            fail_msg ("%s", err.text);
    }
    assert_int_equal (sqlite3_finalize (st), SQLITE_OK);
    assert_int_equal (sqlite3_close (db), SQLITE_OK);
    rc = page_writer_close (x, &err);
    if (rc < 0)
        fail_msg ("%s", err.text);
}

struct page_writer *pages_writer (struct page_file *f)
{
    struct page_writer *w = NULL;
    struct err err = { "" };

    if (page_writer_open (pages_tree (f, "t"), &w, &err) < 0)
        fail_msg ("%s", err.text);
    return w;
}

void pages_close (struct page_writer *w)
{
    struct err err = { "" };

    if (page_writer_close (w, &err) < 0)
        fail_msg ("%s", err.text);
}

/* ---- by SQLite ---- */

static void bind (sqlite3_stmt *st, int i, const struct page_value *v)
{
    if (v->kind == PAGE_INT)
        (void)sqlite3_bind_int64 (st, i, v->number);
    else if (v->kind == PAGE_NUMERIC || v->kind == PAGE_REAL)
        (void)sqlite3_bind_double (st, i, v->real);
    else if (v->kind == PAGE_TEXT)
        (void)sqlite3_bind_text (st, i, v->bytes, (int)v->size, SQLITE_STATIC);
    else if (v->kind == PAGE_BLOB)
        (void)sqlite3_bind_blob (st, i, v->bytes, (int)v->size, SQLITE_STATIC);
    else
        (void)sqlite3_bind_null (st, i);
}

void pages_insert (struct pages *p)
{
    sqlite3 *db = open_db (p->sqlite);
    sqlite3_stmt *st = NULL;
    struct err err = { "" };

    run (db, "BEGIN");
    assert_int_equal (db_prepare (db, "INSERT INTO t(rowid,a,b,c,d,e,f) VALUES "
                                      "(?1,?2,?3,?4,?5,?6,?7)", &st, &err), 0);
    for (size_t i = 0; i < p->nrows; i++) {
        (void)sqlite3_bind_int64 (st, 1, p->rows[i].rowid);
        for (int k = 0; k < COLUMNS; k++)
            bind (st, k + 2, &p->rows[i].v[k]);
        if (db_run (st, &err) < 0)
            fail_msg ("%s", err.text);
    }
    assert_int_equal (sqlite3_finalize (st), SQLITE_OK);
    run (db, "COMMIT");
    assert_int_equal (sqlite3_close (db), SQLITE_OK);
}

/* ---- compared ---- */

void pages_whole (const char *path)
{
    struct err err = { "" };
    char *text = pages_ask (path, "PRAGMA integrity_check");

    assert_string_equal (text, "ok");
    free (text);
    for (unsigned threads = 1; threads <= 3; threads += 2) {
        if (page_check_file (path, threads, &err) < 0)
            fail_msg ("%s", err.text);
    }
}

static void same_value (sqlite3_stmt *a, sqlite3_stmt *b, int i)
{
    int n = sqlite3_column_bytes (a, i);

    assert_int_equal (sqlite3_column_type (a, i), sqlite3_column_type (b, i));
    assert_int_equal (n, sqlite3_column_bytes (b, i));
    if (n > 0)
        assert_memory_equal (sqlite3_column_blob (a, i),
                             sqlite3_column_blob (b, i), (size_t)n);
}

void pages_same (const struct pages *p, const char *sql)
{
    sqlite3 *own = open_db (p->own), *sqlite = open_db (p->sqlite);
    sqlite3_stmt *a = NULL, *b = NULL;
    struct err err = { "" };
    int more;

    if (db_prepare (own, sql, &a, &err) < 0 ||
        db_prepare (sqlite, sql, &b, &err) < 0)
        fail_msg ("%s: %s", sql, err.text);
    do {
        more = sqlite3_step (a);
        assert_int_equal (more, sqlite3_step (b));
        for (int i = 0; more == SQLITE_ROW && i < sqlite3_column_count (a); i++)
            same_value (a, b, i);
    } while (more == SQLITE_ROW);
    assert_int_equal (more, SQLITE_DONE);
    (void)sqlite3_finalize (a);
    (void)sqlite3_finalize (b);
    (void)sqlite3_close (own);
    (void)sqlite3_close (sqlite);
}

void pages_finish (struct page_file *f)
{
    struct err err = { "" };

    if (page_file_finish (f, false, &err) < 0)
        fail_msg ("%s", err.text);
    page_file_close (f);
}

void pages_compare (struct pages *p)
{
    pages_whole (p->own);
    pages_same (p, "SELECT rowid, *, typeof (a), typeof (b) FROM t ORDER BY "
                   "rowid");
    pages_same (p, "SELECT * FROM none");
    // what a cell holds is as SQLite's own, to the byte
    pages_same (p, "SELECT name, sum (payload) FROM dbstat GROUP BY name");
    pages_same (p, "EXPLAIN QUERY PLAN SELECT * FROM t WHERE d=?1 AND a>?2");
    pages_same (p, "SELECT d, a, b, rowid FROM t INDEXED BY t_key ORDER BY d, "
                   "a, b, rowid");
    pages_same (p, "SELECT max (rowid), min (rowid), count (*) FROM t");
}
