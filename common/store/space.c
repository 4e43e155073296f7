/* common/store/space.c - free space on file systems */
#include "store/space.h"

#include "base/units.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>

#define PPM 1000000             // millionths in a whole
#define DEFAULT_SHARE 10        // a default takes at most a tenth

int space_parse_limit (const char *text, struct space_limit *ret)
{
    size_t n = strlen (text);
    struct space_limit limit = { .set = true };
    double percent;

    if (n > 1 && text[n - 1] == '%') {
        if (units_real (text, n - 1, &percent) < 0 || percent < 0 ||
            percent > 100)
            return -EINVAL;
        limit.ppm = (int32_t)(percent * (PPM / 100));
    } else if (units_bytes (text, &limit.bytes) < 0) {
        return -EINVAL;
    }
    *ret = limit;
    return 0;
}

uint64_t space_limit_bytes (const struct space_limit *limit,
                            uint64_t total_bytes, uint64_t fallback)
{
    uint64_t most = total_bytes / DEFAULT_SHARE;

    if (!limit->set)
        return fallback < most ? fallback : most;
    if (limit->ppm > 0)
        return total_bytes / PPM * (uint64_t)limit->ppm;
    return (uint64_t)limit->bytes;
}

/* Cut off the last component.  False: there is none. */
static bool go_up (char *path)
{
    char *slash = strrchr (path, '/');

    if (strcmp (path, "/") == 0 || strcmp (path, ".") == 0)
        return false;
    if (slash)
        slash[slash == path] = '\0';
    else
        (void)strcpy (path, ".");
    return true;
}

int space_of (const char *path, struct space *ret, struct err *err)
{
    char at[PATH_MAX];
    struct statvfs v;
    int n = snprintf (at, sizeof (at), "%s", path);

    if (n < 0 || (size_t)n >= sizeof (at))
        return err_set (err, ENAMETOOLONG, "path is too long: %s", path);
    while (statvfs (at, &v) < 0) {
        if (errno != ENOENT || !go_up (at))
            return err_sys (err, errno, "cannot determine the free space of "
                                        "%s", path);
    }
    ret->free_bytes = (uint64_t)v.f_bavail * v.f_frsize;
    ret->total_bytes = (uint64_t)v.f_blocks * v.f_frsize;
    ret->free_inodes = v.f_files ? v.f_favail : UINT64_MAX;
    ret->id = v.f_fsid;
    return 0;
}

void space_text (const struct space *s, char out[SPACE_TEXT_MAX])
{
    char bytes[16];

    units_bytes_text (s->free_bytes, bytes);
    if (s->free_inodes < SPACE_FEW_INODES)
        (void)snprintf (out, SPACE_TEXT_MAX, "room for %u more file%s",
                        (unsigned)s->free_inodes,
                        units_s (s->free_inodes));
    else
        (void)snprintf (out, SPACE_TEXT_MAX, "%s free", bytes);
}

int space_check_floor (struct space_floor *f, const char *path,
                       struct err *why)
{
    char have[16], want[16];
    struct space s;
    uint64_t floor;
    int rc = space_of (path, &s, why);

    if (rc < 0)
        return rc;
    floor = space_limit_bytes (&f->limit, s.total_bytes, SPACE_FLOOR_DEFAULT);
    f->below = s.free_bytes < floor + (f->below ? floor / 20 : 0);
    if (!f->below)
        return 1;
    units_bytes_text (s.free_bytes, have);
    units_bytes_text (floor, want);
    (void)err_set (why, ENOSPC, "%s has only %s free, %s must stay free "
                   "(--disk-floor)", path, have, want);
    return 0;
}
