/* aggregator/build/oldfile.c - what stands under the name of a new result
 *
 * First SQLite itself is asked to bring the old database to rest: it rolls a
 * hot journal back and writes the log into the main file, as for anybody who
 * opens it.  After that the main file is all there is, and a crash between two
 * renames loses nothing.  Files that remain (the database is open elsewhere,
 * may not be written, is damaged or is none) are moved behind it.
 */
#include "build/oldfile.h"

#include "base/db.h"
#include "base/fileio.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define KEPT_MAX 1000           // names that are tried
#define LOCKS_AT 0x40000000     // SQLite's lock bytes in the main file
#define LOCKS_SIZE 512
#define WAL_LOCKS_AT 120        // and in -shm: writer, checkpointer, recovery
#define WAL_LOCKS_SIZE 3

// The main file first: until it has moved, nobody misses the others.
static const char *const parts[] = { "", "-journal", "-wal", "-shm" };

#define PARTS (sizeof (parts) / sizeof (parts[0]))

/* "PATH-wal" and so on; false if it does not fit. */
static bool name_part (const char *path, size_t part, char out[PATH_MAX])
{
    int n = snprintf (out, PATH_MAX, "%s%s", path, parts[part]);

    return n >= 0 && n < PATH_MAX;
}

static bool exists (const char *path)
{
    struct stat st;

    return lstat (path, &st) == 0;
}

/* Whether one of the parts, from 'first' on, is there. */
static bool any_part (const char *path, size_t first)
{
    char name[PATH_MAX];

    for (size_t i = first; i < PARTS; i++) {
        if (name_part (path, i, name) && exists (name))
            return true;
    }
    return false;
}

/* ---- who writes it ---- */

/* The process with a write lock in this range; 0 if none can be told. */
static pid_t lock_holder (const char *path, off_t at, off_t size)
{
    struct flock l = { .l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = at,
                       .l_len = size };
    int fd = open (path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    bool held = fd >= 0 && fcntl (fd, F_GETLK, &l) == 0 &&
                l.l_type != F_UNLCK && l.l_pid > 0;

    if (fd >= 0)
        (void)close (fd);
    return held ? l.l_pid : 0;
}

static int tell_busy (const char *path, struct err *err)
{
    char who[64] = "perhaps a viewer or a profiler", shm[PATH_MAX];
    pid_t pid = lock_holder (path, LOCKS_AT, LOCKS_SIZE);

    if (pid == 0 && name_part (path, 3, shm))
        pid = lock_holder (shm, WAL_LOCKS_AT, WAL_LOCKS_SIZE);
    if (pid > 0)
        (void)snprintf (who, sizeof (who), "process %ld", (long)pid);
    return err_set (err, EBUSY, "another process (%s) is writing %s: end it, "
                    "or choose another output directory", who, path);
}

/* Of another file SQLite would delete what looks like an old log of it. */
static bool is_database (const char *path)
{
    static const char magic[16] = "SQLite format 3";
    char head[sizeof (magic)];
    int fd = fileio_open_at (AT_FDCWD, path, NULL);
    bool same = fd >= 0 &&
                fileio_pread_all (fd, head, sizeof (head), 0) == 0 &&
                memcmp (head, magic, sizeof (head)) == 0;

    if (fd >= 0)
        (void)close (fd);
    return same;
}

/* Bring a database to rest, as far as it can be.  -EBUSY if it is written. */
static int settle (const char *path, struct err *err)
{
    sqlite3 *db = NULL;
    int rc = -EIO;

    if (!is_database (path))
        return 0;
    if (sqlite3_open_v2 (path, &db, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK)
        rc = db_exec (db, "BEGIN IMMEDIATE;COMMIT", NULL);
    if (rc == 0)                // readers may hold some of it back: no matter
        (void)sqlite3_wal_checkpoint_v2 (db, NULL, SQLITE_CHECKPOINT_TRUNCATE,
                                         NULL, NULL);
    (void)sqlite3_close (db);
    return rc == -EBUSY ? tell_busy (path, err) : 0;
}

/* ---- making way ---- */

/* The first PATH.before-rollcall[.N] of which no part is there. */
static int choose_name (const char *path, char kept[PATH_MAX],
                        struct err *err)
{
    for (int i = 0; i < KEPT_MAX; i++) {
        int n = i == 0 ? snprintf (kept, PATH_MAX, "%s.before-rollcall", path)
                       : snprintf (kept, PATH_MAX, "%s.before-rollcall.%d",
                                   path, i);

        if (n < 0 || n >= PATH_MAX)
            break;
        if (!any_part (kept, 0))
            return 0;
    }
    kept[0] = '\0';
    return err_set (err, EEXIST, "%s is in the way, and so are all names for "
                    "keeping it", path);
}

static int keep_other (const char *path, char kept[PATH_MAX], struct err *err)
{
    int rc = choose_name (path, kept, err);

    for (size_t i = 0; i < PARTS && rc == 0; i++) {
        char from[PATH_MAX], to[PATH_MAX];

        if (!name_part (path, i, from) || !name_part (kept, i, to))
            return err_set (err, ENAMETOOLONG, "path is too long: %s", path);
        if (!exists (from))
            continue;
        if (renameat2 (AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) < 0)
            rc = err_sys (err, errno, "cannot rename %s, which is to be "
                          "kept", from);
    }
    return rc;
}

static int drop_logs (const char *path, struct err *err)
{
    for (size_t i = 1; i < PARTS; i++) {
        char name[PATH_MAX];

        if (!name_part (path, i, name))
            return err_set (err, ENAMETOOLONG, "path is too long: %s", path);
        if (unlink (name) < 0 && errno != ENOENT)
            return err_sys (err, errno, "cannot remove %s, which would spoil "
                            "the new result", name);
    }
    return 0;
}

static int sync_parent (const char *path, struct err *err)
{
    char dir[PATH_MAX];
    const char *slash = strrchr (path, '/');

    (void)snprintf (dir, sizeof (dir), "%.*s",
                    slash ? (int)(slash - path) : 1, slash ? path : ".");
    return fileio_sync_dir (dir[0] ? dir : "/", err);
}

int oldfile_make_way (const char *path, bool ours, char kept[PATH_MAX],
                      struct err *err)
{
    int rc;

    kept[0] = '\0';
    if (!any_part (path, 0))
        return 0;
    if ((rc = settle (path, err)) < 0)
        return rc;
    if (ours && !any_part (path, 1))
        return 0;
    rc = ours ? drop_logs (path, err) : keep_other (path, kept, err);
    return rc < 0 ? rc : sync_parent (path, err);
}
