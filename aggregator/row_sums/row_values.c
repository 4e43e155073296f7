/* aggregator/row_sums/row_values.c - one number for each row of a table
 *
 * Numbers are stored negated, even zeros, so the zeros of a new file mean "not
 * set".
 */
#include "row_sums/row_values.h"

#include "base/vec.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int row_values_create (struct row_values *w, const char *path, int64_t rows,
                       struct err *err)
{
    size_t size = (size_t)rows * sizeof (double);
    int fd = open (path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    void *map = MAP_FAILED;
    int rc = 0;

    if (fd < 0)
        return err_sys (err, errno, "cannot create %s", path);
    (void)unlink (path);
    // allocate now: a full disk would raise SIGBUS later
    if ((rc = -posix_fallocate (fd, 0, (off_t)size)) == 0)
        map = mmap (NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (rc == 0 && map == MAP_FAILED)
        rc = -errno;
    (void)close (fd);
    if (rc < 0)
        return err_sys (err, -rc, "cannot allocate a file for waits beside %s",
                        path);
    w->by_row = map;
    w->rows = rows;
    return 0;
}

void row_values_fini (struct row_values *w)
{
    if (w->by_row)
        (void)munmap (w->by_row, (size_t)w->rows * sizeof (double));
    w->by_row = NULL;
    free (w->runs);
    w->runs = NULL;
    w->nruns = 0;
}

int row_values_add (struct row_values *w, int64_t rowid, struct err *err)
{
    const struct row_run *last = w->nruns ? &w->runs[w->nruns - 1] : NULL;
    struct row_run *run;

    if (!last || (uint64_t)rowid - (uint64_t)last->rowid !=
                 (uint64_t)(w->used - last->row)) {
        if (!(run = vec_add (&w->runs, &w->nruns, sizeof (*run))))
            return err_set (err, ENOMEM, "no memory for waits");
        *run = (struct row_run){ rowid, w->used };
    }
    w->used++;
    return 0;
}

/* The place of a rowid, or NULL if it was not added. */
static double *place_of (const struct row_values *w, int64_t rowid)
{
    size_t low = 0, high = w->nruns;
    const struct row_run *run;
    uint64_t behind;
    int64_t end;

    while (low < high) {
        size_t mid = (low + high) / 2;

        if (w->runs[mid].rowid <= rowid)
            low = mid + 1;
        else
            high = mid;
    }
    if (low == 0)
        return NULL;
    end = low < w->nruns ? w->runs[low].row : w->used;
    run = &w->runs[low - 1];
    behind = (uint64_t)rowid - (uint64_t)run->rowid;
    if (end > w->rows)
        end = w->rows;
    return run->row < end && behind < (uint64_t)(end - run->row)
               ? &w->by_row[run->row + (int64_t)behind] : NULL;
}

void row_values_set (struct row_values *w, int64_t rowid, double ms)
{
    double *place = place_of (w, rowid);

    if (place)
        *place = -fabs (ms);
}

double row_values_get (const struct row_values *w, int64_t rowid)
{
    const double *place = place_of (w, rowid);

    return place && signbit (*place) ? fabs (*place) : NAN;
}
