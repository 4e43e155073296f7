/* cli/check/check_disk.c - check whether captures can be written somewhere */
#include "check/check.h"

#include "base/units.h"
#include "store/fileio.h"
#include "store/space.h"
#include "store/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define INODES_MIN 10000        // of some captures; each has 100 files or so
#define UMASK_WANTED 0027

/* The directory, or its nearest existing parent. */
static void existing (const char *dir, char out[PATH_MAX])
{
    char *slash;

    (void)snprintf (out, PATH_MAX, "%s", dir);
    while (access (out, F_OK) < 0 && (slash = strrchr (out, '/')))
        slash[slash == out] = '\0';
    if (access (out, F_OK) < 0)
        (void)strcpy (out, ".");
}

struct check check_exists (const char *dir)
{
    struct check c = { .name = "exists" };
    char at[PATH_MAX];

    existing (dir, at);
    if (access (dir, F_OK) < 0)
        SAY (c, CHECK_WARNING, "%.230s does not exist: the file system of "
             "%.230s was checked", dir, at);
    else
        SAY (c, CHECK_OK, "%.250s exists", dir);
    return c;
}

/* Only trying tells: root may write against the mode, but not on a read-only
 * file system.  The file has no name if the file system supports that, and is
 * removed in any case.
 */
static int try_to_write (const char *dir)
{
    struct tree t;
    int rc = tree_open (&t, dir, NULL), fd;

    if (rc < 0)
        return rc;
    fd = tree_try_file (&t);
    tree_close (&t);
    if (fd < 0)
        return fd;
    (void)close (fd);
    return 0;
}

struct check check_writable (const char *dir)
{
    struct check c = { .name = "writable" };
    char at[PATH_MAX];
    int rc;

    existing (dir, at);
    rc = try_to_write (at);
    if (rc == 0) {
        SAY (c, CHECK_OK, "%.250s can be written", at);
        return c;
    }
    SAY (c, CHECK_PROBLEM, rc == -ENOTDIR
                ? "%.250s is not a directory: choose another one"
                : "%.250s cannot be written by user %u: %.100s: make it that "
                  "user's, or choose another directory",
         at, (unsigned)geteuid (), strerror (-rc));
    return c;
}

struct check check_room (const char *dir, int64_t expect_bytes)
{
    struct check c = { .name = "room" };
    struct space_limit unset = { .set = false };
    char free_text[16], allows[16], wanted[16];
    struct err err = { "" };
    struct space s;
    uint64_t want = expect_bytes < INT64_MAX / CHECK_RAW_FACTOR
                        ? (uint64_t)expect_bytes * CHECK_RAW_FACTOR
                        : INT64_MAX;

    if (space_of (dir, &s, &err) < 0) {
        SAY (c, CHECK_PROBLEM, "%.400s", err.text);
        return c;
    }
    units_bytes_text (s.free_bytes, free_text);
    units_bytes_text (s.free_bytes / CHECK_RAW_FACTOR, allows);
    units_bytes_text (want, wanted);
    if (want > s.free_bytes)
        SAY (c, CHECK_WARNING, "%.250s has %s free, but an Ascend profiler "
             "wants %s, %d times the raw data: make room, or collect fewer "
             "steps", dir, free_text, wanted, CHECK_RAW_FACTOR);
    else if (s.free_bytes < space_limit_bytes (&unset, s.total_bytes,
                                               SPACE_FLOOR_DEFAULT))
        SAY (c, CHECK_PROBLEM, "%.250s has only %s free: make room, or choose "
             "another directory", dir, free_text);
    else
        SAY (c, CHECK_OK, "%.250s has %s free, enough for %s of raw data "
             "(Ascend profilers want %d times as much while they analyse; a "
             "trace of torch.profiler takes its own size)", dir, free_text,
             allows, CHECK_RAW_FACTOR);
    return c;
}

struct check check_inodes (const char *dir)
{
    struct check c = { .name = "inodes" };
    struct err err = { "" };
    struct space s;

    if (space_of (dir, &s, &err) < 0)
        SAY (c, CHECK_PROBLEM, "%.400s", err.text);
    else if (s.free_inodes == UINT64_MAX)
        SAY (c, CHECK_OK, "%.250s does not limit them", dir);
    else
        SAY (c, s.free_inodes < INODES_MIN ? CHECK_WARNING : CHECK_OK,
             "%.250s has %llu free%s", dir, (unsigned long long)s.free_inodes,
             c.state ? " inodes, one for each file: remove small files" : "");
    return c;
}

struct check check_local (const char *dir)
{
    struct check c = { .name = "local" };
    char at[PATH_MAX];
    const char *remote;

    existing (dir, at);
    if ((remote = fileio_remote_fs (at)))
        SAY (c, CHECK_WARNING, "%.250s is on a shared file system (%s), and "
             "writing captures there stalls jobs: choose a local directory",
             dir, remote);
    else
        SAY (c, CHECK_OK, "%.250s is on a local disk", dir);
    return c;
}

struct check check_umask (unsigned mask)
{
    struct check c = { .name = "umask" };

    SAY (c, (mask & UMASK_WANTED) == UMASK_WANTED ? CHECK_OK : CHECK_WARNING,
         "%04o%s%s%s", mask, c.state ? ": " : "",
         !c.state         ? ""
         : !(mask & 0002) ? "others can read and write"
         : !(mask & 0004) ? "others can read"
         : !(mask & 0020) ? "the group can write"
                          : "others can reach",
         c.state ? " captures that are made without rollcall run, which makes "
                   "it 0027 at least" : "");
    return c;
}
