/* tests/fuzz/fuzz_capture_db.c - a capture that is one database */
#include "fuzz_capture_db.h"

#include "fuzz_extract.h"
#include "store/fileio.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#define OUT "capture/ASCEND_PROFILER_OUTPUT"

/* How many files there are, and their bytes. */
static unsigned files (uint64_t *bytes)
{
    char path[PATH_MAX];
    DIR *dir = opendir (fuzz_path (path, OUT));
    struct dirent *e;
    struct stat st;
    unsigned n = 0;
    int rc;

    if (!dir)
        abort ();
    *bytes = 0;
    for (; (e = fileio_next_entry (dir, &rc)); n++) {
        if (fstatat (dirfd (dir), e->d_name, &st, 0) == 0)
            *bytes += (uint64_t)st.st_size;
    }
    (void)closedir (dir);
    return n;
}

uint64_t fuzz_capture_of_db (const char *name, struct fuzz_base base,
                             const uint8_t *data, size_t size, uint64_t *bytes)
{
    struct fuzz_rows_seen seen = { 0, 0 };
    char path[PATH_MAX];
    unsigned before;

    fuzz_remove ("capture");
    fuzz_mkdir (OUT);
    (void)snprintf (path, sizeof (path), OUT "/%s", name);
    fuzz_db_write (path, base, data, size);
    before = files (bytes);
    fuzz_extract (fuzz_path (path, "capture"), &seen);
    if (files (bytes) != before)
        abort ();
    return seen.rows;
}
