/* aggregator/row_sums/op_runs.c - rows of ops: in rank by rank, out op by op */
#include "row_sums/op_runs.h"

#include "base/vec.h"
#include "store/fileio.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RUN_ROWS 16384          // rows that are sorted at once: 768 KiB
#define BUFFER_BYTES (1u << 20) // what is written at once: two such runs
#define CURSORS_BYTES (1u << 20)        // of a piece: what is read at once
#define CURSOR_ROWS_MAX 512u
#define CURSOR_ROWS_MIN 4u
#define NO_MEMORY "no memory for ops"

// A row as it is kept; without rowids only its beginning.
struct packed {
    uint64_t key;
    double start_us, elapse_ms;
    int64_t row;
};

// Rows of a rank in one step of a group, sorted by key and row.
struct slice {
    const struct op_runs *runs;
    uint64_t first;             // row in the store
    uint32_t n;
    uint32_t group, size, step;
    uint32_t rank : 24, by_start : 1, guessed : 1;
};

struct op_runs {
    struct op_row *rows;        // not sorted yet
    size_t nrows;
    size_t width;               // bytes of a packed row
    char path[PATH_MAX];
    bool named;                 // the path is the caller's, not a template
    int fd;                     // -1: all is in the buffer
    uint8_t *buffer;            // the rows behind those in the file
    uint64_t written, nbuffer;
    struct slice *slices;
    size_t nslices, numbered;
};

/* ---- the store ---- */

int op_runs_create (const char *path, bool rows, struct op_runs **ret,
                    struct err *err)
{
    struct op_runs *x = calloc (1, sizeof (*x));

    if (!x)
        return err_set (err, ENOMEM, NO_MEMORY);
    x->fd = -1;
    x->named = path;
    x->width = rows ? sizeof (struct packed) : offsetof (struct packed, row);
    if (path)
        (void)snprintf (x->path, sizeof (x->path), "%s", path);
    else
        (void)snprintf (x->path, sizeof (x->path), "%s/rollcall.XXXXXX",
                        fileio_temp_dir ());
    x->rows = malloc (RUN_ROWS * sizeof (*x->rows));
    x->buffer = malloc (BUFFER_BYTES);
    if (!x->rows || !x->buffer) {
        op_runs_destroy (x);
        return err_set (err, ENOMEM, NO_MEMORY);
    }
    *ret = x;
    return 0;
}

void op_runs_destroy (struct op_runs *x)
{
    if (!x)
        return;
    if (x->fd >= 0)
        (void)close (x->fd);
    free (x->rows);
    free (x->buffer);
    free (x->slices);
    free (x);
}

static int create_file (struct op_runs *x, struct err *err)
{
    x->fd = x->named ? open (x->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC,
                             0600)
                     : mkostemp (x->path, O_CLOEXEC);
    if (x->fd < 0)
        return err_sys (err, errno, "cannot create %s", x->path);
    (void)unlink (x->path);
    return 0;
}

static int write_buffer (struct op_runs *x, struct err *err)
{
    int rc = x->fd < 0 ? create_file (x, err) : 0;

    if (rc < 0)
        return rc;
    rc = fileio_write_all (x->fd, x->buffer, x->nbuffer * x->width);
    if (rc < 0)
        return err_sys (err, -rc, "cannot write a temporary file");
    x->written += x->nbuffer;
    x->nbuffer = 0;
    return 0;
}

/* Read rows of one slice, which is in the file or in the buffer as a whole. */
static int read_rows (const struct op_runs *x, uint64_t first, size_t n,
                      uint8_t *to, struct err *err)
{
    int rc = 0;

    if (first >= x->written)
        memcpy (to, x->buffer + (first - x->written) * x->width, n * x->width);
    else
        rc = fileio_pread_all (x->fd, to, n * x->width,
                               (off_t)(first * x->width));
    return rc < 0 ? err_sys (err, -rc, "cannot read a temporary file") : 0;
}

/* ---- runs ---- */

#define ORDER(x, y) \
    do { \
        if ((x) != (y)) \
            return (x) < (y) ? -1 : 1; \
    } while (0)

static int compare_rows (const void *pa, const void *pb)
{
    const struct op_row *a = pa, *b = pb;

    ORDER (a->group, b->group);
    ORDER (a->step, b->step);
    ORDER (a->rank, b->rank);
    ORDER (a->by_start, b->by_start);
    ORDER (a->guessed, b->guessed);
    ORDER (a->key, b->key);
    ORDER (a->row, b->row);
    return 0;
}

static bool same_slice (const struct op_row *a, const struct slice *s)
{
    return a->group == s->group && a->step == s->step &&
           a->rank == s->rank && a->by_start == s->by_start && a->guessed == s->guessed;
}

static int add_slice (struct op_runs *x, const struct op_row *a,
                      struct err *err)
{
    struct slice *s = vec_add (&x->slices, &x->nslices, sizeof (*s));

    if (!s)
        return err_set (err, ENOMEM, NO_MEMORY);
    *s = (struct slice){ .runs = x, .first = x->written + x->nbuffer,
                         .group = a->group, .size = a->size, .step = a->step,
                         .rank = a->rank, .by_start = a->by_start,
                         .guessed = a->guessed };
    return 0;
}

int op_runs_end (struct op_runs *x, struct err *err)
{
    size_t begun = x->nslices;
    int rc = 0;

    if (x->nrows > 0)
        qsort (x->rows, x->nrows, sizeof (*x->rows), compare_rows);
    if ((x->nbuffer + x->nrows) * x->width > BUFFER_BYTES)
        rc = write_buffer (x, err);
    for (size_t i = 0; i < x->nrows && rc == 0; i++) {
        const struct op_row *a = &x->rows[i];
        const struct packed one = { a->key, a->start_us, a->elapse_ms,
                                    a->row };

        if (x->nslices == begun ||
            !same_slice (a, &x->slices[x->nslices - 1]))
            rc = add_slice (x, a, err);
        if (rc < 0)
            break;
        x->slices[x->nslices - 1].n++;
        memcpy (x->buffer + x->nbuffer++ * x->width, &one, x->width);
    }
    x->nrows = 0;
    return rc;
}

int op_runs_add (struct op_runs *x, const struct op_row *row, struct err *err)
{
    int rc = x->nrows == RUN_ROWS ? op_runs_end (x, err) : 0;

    if (rc == 0)
        x->rows[x->nrows++] = *row;
    return rc;
}

void op_runs_number_steps (struct op_runs *x, const uint32_t *numbers)
{
    for (; x->numbered < x->nslices; x->numbered++) {
        struct slice *s = &x->slices[x->numbered];

        s->step = numbers[s->step];
    }
}

/* ---- merging ---- */

struct op_merge {
    struct slice *slices;
    size_t n;
    size_t *pieces;             // where each begins, and the end of all
    size_t npieces;
};

// The next row of a slice.
struct cursor {
    const struct slice *slice;
    struct packed row;
    uint8_t *rows;              // those that were read
    size_t at, have;
    uint32_t read;              // of the slice
};

struct merging {
    struct cursor *cursors;
    uint32_t *heap;             // the cursor with the first row is on top
    size_t n, room;             // in the heap; rows that a cursor reads
    uint8_t *bytes;
    struct op_row *rows;        // of one op
    size_t nrows, rows_room;
};

static int compare_slices (const void *pa, const void *pb)
{
    const struct slice *a = pa, *b = pb;

    ORDER (a->group, b->group);
    ORDER (a->step, b->step);
    ORDER (a->rank, b->rank);
    ORDER (a->runs, b->runs);
    ORDER (a->first, b->first);
    return 0;
}

static bool same_piece (const struct slice *a, const struct slice *b)
{
    return a->group == b->group && a->step == b->step;
}

static int find_pieces (struct op_merge *m, struct err *err)
{
    for (size_t i = 0; i <= m->n; i++) {
        size_t *begins;

        if (i > 0 && i < m->n && same_piece (&m->slices[i], &m->slices[i - 1]))
            continue;
        begins = vec_add (&m->pieces, &m->npieces, sizeof (*begins));
        if (!begins)
            return err_set (err, ENOMEM, NO_MEMORY);
        *begins = i;
    }
    m->npieces--;               // the last is the end
    return 0;
}

int op_merge_create (struct op_runs *const *runs, unsigned n,
                     struct op_merge **ret, struct err *err)
{
    struct op_merge *m = calloc (1, sizeof (*m));
    size_t all = 0;
    int rc = 0;

    for (unsigned i = 0; i < n; i++)
        all += runs[i]->nslices;
    if (!m || !(m->slices = malloc ((all + 1) * sizeof (*m->slices))))
        rc = err_set (err, ENOMEM, NO_MEMORY);
    for (unsigned i = 0; i < n && rc == 0; i++) {
        if (runs[i]->nslices > 0)
            memcpy (m->slices + m->n, runs[i]->slices,
                    runs[i]->nslices * sizeof (*m->slices));
        m->n += runs[i]->nslices;
    }
    if (rc == 0 && m->n > 0)
        qsort (m->slices, m->n, sizeof (*m->slices), compare_slices);
    if (rc == 0)
        rc = find_pieces (m, err);
    if (rc < 0)
        op_merge_destroy (m);
    else
        *ret = m;
    return rc;
}

void op_merge_destroy (struct op_merge *m)
{
    if (!m)
        return;
    free (m->slices);
    free (m->pieces);
    free (m);
}

size_t op_merge_pieces (const struct op_merge *m)
{
    return m->npieces;
}

/* Go to the next row: 1, or 0 behind the last one. */
static int advance (struct cursor *c, size_t room, struct err *err)
{
    const struct slice *s = c->slice;
    size_t width = s->runs->width;

    if (c->at == c->have) {
        size_t left = s->n - c->read;
        int rc;

        c->at = 0;
        c->have = left < room ? left : room;
        if (c->have == 0)
            return 0;
        if ((rc = read_rows (s->runs, s->first + c->read, c->have, c->rows,
                             err)) < 0)
            return rc;
        c->read += (uint32_t)c->have;
    }
    memcpy (&c->row, c->rows + c->at++ * width, width);
    return 1;
}

static bool comes_before (const struct cursor *a, const struct cursor *b)
{
    if (a->row.key != b->row.key)
        return a->row.key < b->row.key;
    if (a->slice->rank != b->slice->rank)
        return a->slice->rank < b->slice->rank;
    return a->row.row != b->row.row ? a->row.row < b->row.row : a < b;
}

static void sift_down (struct merging *m, size_t i)
{
    uint32_t moved = m->heap[i];

    for (size_t child; (child = 2 * i + 1) < m->n; i = child) {
        if (child + 1 < m->n &&
            comes_before (&m->cursors[m->heap[child + 1]],
                          &m->cursors[m->heap[child]]))
            child++;
        if (!comes_before (&m->cursors[m->heap[child]], &m->cursors[moved]))
            break;
        m->heap[i] = m->heap[child];
    }
    m->heap[i] = moved;
}

static struct op_row unpack (const struct cursor *c)
{
    const struct slice *s = c->slice;

    return (struct op_row){ c->row.key, c->row.start_us, c->row.elapse_ms,
                            c->row.row, s->group, s->size, s->step, s->rank,
                            s->by_start, s->guessed };
}

static int make_room (struct merging *m, struct err *err)
{
    size_t room = m->rows_room ? 2 * m->rows_room : 64;
    struct op_row *rows = realloc (m->rows, room * sizeof (*rows));

    if (!rows)
        return err_set (err, ENOMEM, NO_MEMORY);
    m->rows = rows;
    m->rows_room = room;
    return 0;
}

static int take_top (struct merging *m, struct err *err)
{
    struct cursor *c = &m->cursors[m->heap[0]];
    int rc = m->nrows == m->rows_room && m->nrows < OP_ROWS_MAX
                 ? make_room (m, err) : 0;

    if (rc < 0)
        return rc;
    if (m->nrows < OP_ROWS_MAX)
        m->rows[m->nrows++] = unpack (c);
    if ((rc = advance (c, m->room, err)) == 0)
        m->heap[0] = m->heap[--m->n];
    if (m->n > 0)
        sift_down (m, 0);
    return rc < 0 ? rc : 0;
}

static int begin_merge (struct merging *m, const struct slice *slices,
                        size_t n, struct err *err)
{
    size_t room = CURSORS_BYTES / n / sizeof (struct packed);
    int rc = 1;

    m->room = room < CURSOR_ROWS_MIN   ? CURSOR_ROWS_MIN
              : room > CURSOR_ROWS_MAX ? CURSOR_ROWS_MAX : room;
    m->cursors = calloc (n, sizeof (*m->cursors));
    m->heap = malloc (n * sizeof (*m->heap));
    m->bytes = malloc (n * m->room * sizeof (struct packed));
    if (!m->cursors || !m->heap || !m->bytes)
        return err_set (err, ENOMEM, NO_MEMORY);
    for (size_t i = 0; i < n && rc == 1; i++) {
        m->cursors[i].slice = &slices[i];
        m->cursors[i].rows = m->bytes + i * m->room * sizeof (struct packed);
        m->heap[m->n++] = (uint32_t)i;
        rc = advance (&m->cursors[i], m->room, err);
    }
    for (size_t i = m->n / 2; i-- > 0;)
        sift_down (m, i);
    return rc < 0 ? rc : 0;
}

int op_merge_piece (const struct op_merge *m, size_t piece, op_merge_fn *fn,
                    void *arg, struct err *err)
{
    size_t first = m->pieces[piece], end = m->pieces[piece + 1];
    struct merging g = { .n = 0 };
    int rc = begin_merge (&g, m->slices + first, end - first, err);

    while (g.n > 0 && rc == 0) {
        uint64_t key = g.cursors[g.heap[0]].row.key;

        for (g.nrows = 0; g.n > 0 && rc == 0 &&
                          g.cursors[g.heap[0]].row.key == key;)
            rc = take_top (&g, err);
        if (rc == 0)
            rc = fn (arg, g.rows, g.nrows, err);
    }
    free (g.cursors);
    free (g.heap);
    free (g.bytes);
    free (g.rows);
    return rc;
}
