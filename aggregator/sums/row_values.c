/* aggregator/sums/row_values.c - one number for each row of a table
 *
 * What was never set is the zero of a new file; what was has a minus before it,
 * also a zero.
 */
#include "sums/row_values.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
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
    // room now: a full disk would be a SIGBUS later
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
}

void row_values_set (struct row_values *w, int64_t row, double ms)
{
    if (row >= 0 && row < w->rows)
        w->by_row[row] = -fabs (ms);
}

double row_values_get (const struct row_values *w, int64_t row)
{
    return row >= 0 && row < w->rows && signbit (w->by_row[row])
               ? fabs (w->by_row[row]) : NAN;
}
