/* aggregator/waits/arrivals.c - all rows of a job, op by op
 *
 * The temporary file consists of blocks.  Each block has rows of one part, and
 * a list in memory says which.  A job of 100 million rows has some 75,000
 * blocks.
 */
#include "waits/arrivals.h"

#include "base/vec.h"

#include "store/fileio.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PART_ROWS (UINT64_C (32) * 1024 * 1024 / sizeof (struct arrival))
#define PARTS_MAX 1024
#define BLOCK_ROWS 1360         // 64 KiB; PARTS_MAX of them are in memory

struct part {
    struct arrival *rows;       // with a file: room for a block
    size_t n, room;
    uint64_t all;               // including those in the file
};

struct arrivals {
    struct part *parts;
    unsigned nparts;
    uint64_t rows;              // expected rows
    int fd;                     // -1: all is in memory
    uint16_t *blocks;           // the part of each block of the file
    size_t nblocks;
};

int arrivals_create (uint64_t rows, const char *path, struct arrivals **ret,
                     struct err *err)
{
    struct arrivals *x = calloc (1, sizeof (*x));
    uint64_t parts = rows / PART_ROWS + 1;

    if (!x)
        return err_set (err, ENOMEM, "no memory for waits");
    x->fd = -1;
    x->nparts = parts > PARTS_MAX ? PARTS_MAX : (unsigned)parts;
    x->rows = rows;
    if (!(x->parts = calloc (x->nparts, sizeof (*x->parts)))) {
        arrivals_destroy (x);
        return err_set (err, ENOMEM, "no memory for waits");
    }
    if (x->nparts > 1) {
        x->fd = open (path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (x->fd < 0) {
            int rc = err_sys (err, errno, "cannot create %s", path);

            arrivals_destroy (x);
            return rc;
        }
        (void)unlink (path);
    }
    *ret = x;
    return 0;
}

void arrivals_destroy (struct arrivals *x)
{
    if (!x)
        return;
    for (unsigned i = 0; x->parts && i < x->nparts; i++)
        free (x->parts[i].rows);
    if (x->fd >= 0)
        (void)close (x->fd);
    free (x->parts);
    free (x->blocks);
    free (x);
}

static int write_block (struct arrivals *x, unsigned part, struct err *err)
{
    struct part *p = &x->parts[part];
    size_t size = BLOCK_ROWS * sizeof (*p->rows);
    uint16_t *blocks = x->blocks;
    int rc;

    blocks = vec_one_more (blocks, x->nblocks, sizeof (*blocks));
    if (!blocks)
        return err_set (err, ENOMEM, "no memory for waits");
    x->blocks = blocks;
    rc = fileio_write_all (x->fd, p->rows, size);
    if (rc < 0)
        return err_sys (err, -rc, "cannot write a temporary file");
    blocks[x->nblocks++] = (uint16_t)part;
    p->n = 0;
    return 0;
}

static int make_room (struct arrivals *x, unsigned part, struct err *err)
{
    struct part *p = &x->parts[part];
    size_t room = x->fd >= 0     ? BLOCK_ROWS
                  : p->room == 0 ? (size_t)x->rows + 1
                                 : 2 * p->room;
    struct arrival *rows;

    if (p->room > 0 && x->fd >= 0)
        return write_block (x, part, err);
    if (!(rows = realloc (p->rows, room * sizeof (*rows))))
        return err_set (err, ENOMEM, "no memory for waits");
    p->rows = rows;
    p->room = room;
    return 0;
}

int arrivals_add (struct arrivals *x, const struct arrival *a, struct err *err)
{
    uint64_t h = (a->key ^ (uint64_t)a->group << 32 ^ a->step) *
                 UINT64_C (0x9e3779b97f4a7c15);
    unsigned part = x->nparts > 1 ? (unsigned)((h >> 32) % x->nparts) : 0;
    struct part *p = &x->parts[part];
    int rc = p->n == p->room ? make_room (x, part, err) : 0;

    if (rc < 0)
        return rc;
    p->rows[p->n++] = *a;
    p->all++;
    return 0;
}

/* Read the rows of a part, from the file and from memory. */
static int arrivals_load (struct arrivals *x, unsigned part,
                          struct arrival **ret,
                          struct err *err)
{
    struct part *p = &x->parts[part];
    struct arrival *rows = malloc ((p->all + 1) * sizeof (*rows));
    size_t n = 0, size = BLOCK_ROWS * sizeof (*rows);
    int rc = 0;

    if (!rows)
        return err_set (err, ENOMEM, "no memory for waits");
    for (size_t i = 0; i < x->nblocks && rc == 0; i++) {
        if (x->blocks[i] != part)
            continue;
        rc = fileio_pread_all (x->fd, rows + n, size, (off_t)(i * size));
        n += BLOCK_ROWS;
    }
    if (rc < 0) {
        free (rows);
        return err_sys (err, -rc, "cannot read a temporary file");
    }
    if (p->n > 0)
        memcpy (rows + n, p->rows, p->n * sizeof (*rows));
    *ret = rows;
    return 0;
}

static int each_op (struct arrival *rows, size_t n, arrivals_fn *fn, void *arg,
                    struct err *err)
{
    int rc = 0;

    qsort (rows, n, sizeof (*rows), arrival_compare);
    for (size_t i = 0, end; i < n && rc == 0; i = end) {
        for (end = i + 1; end < n; end++) {
            if (!arrival_same_op (&rows[i], &rows[end]))
                break;
        }
        rc = fn (arg, &rows[i], end - i, err);
    }
    return rc;
}

int arrivals_each (struct arrivals *x, arrivals_fn *fn, void *arg,
                   uint64_t *dropped, struct err *err)
{
    int rc = 0;

    *dropped = 0;
    for (unsigned i = 0; i < x->nparts && rc == 0; i++) {
        struct arrival *rows = x->parts[i].rows;
        uint64_t n = x->parts[i].all;

        if (n == 0)
            continue;
        if (n > ARRIVALS_PART_MAX / sizeof (*rows)) {
            *dropped += n;
            continue;
        }
        if (x->fd >= 0 && (rc = arrivals_load (x, i, &rows, err)) < 0)
            break;
        rc = each_op (rows, (size_t)n, fn, arg, err);
        if (x->fd >= 0)
            free (rows);
    }
    return rc;
}
