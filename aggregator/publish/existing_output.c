/* aggregator/publish/existing_output.c - files under the name of a new result
 *
 * First SQLite itself brings the old database to rest: it rolls a hot journal
 * back and writes the log into the main file, as whenever a database is opened.
 * Then all data is in the main file, and a crash between two renames loses
 * nothing.  Files that remain (the database is open elsewhere, is read-only or
 * damaged, or is no database) are moved after it.
 */
#include "publish/existing_output.h"

#include "store/db.h"
#include "store/fileio.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#define KEPT_MAX 1000           // names that are tried
#define LOCKS_AT 0x40000000     // SQLite's lock bytes in the main file
#define LOCKS_SIZE 512
#define WAL_LOCKS_AT 120        // and in -shm: writer, checkpointer, recovery
#define WAL_LOCKS_SIZE 3

// The main file first: until it has moved, nobody misses the others.
static const char *const parts[] = { "", "-journal", "-wal", "-shm" };

#define PARTS (sizeof (parts) / sizeof (parts[0]))

/* "NAME-wal" and so on; false if it does not fit. */
static bool name_part (const char *name, size_t part, char out[NAME_MAX + 1])
{
    int n = snprintf (out, NAME_MAX + 1, "%s%s", name, parts[part]);

    return n >= 0 && n <= NAME_MAX;
}

static bool exists (const struct tree *dir, const char *name)
{
    struct stat st;

    return fstatat (dir->fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Whether one of the parts, from 'first' on, is there. */
static bool any_part (const struct tree *dir, const char *name, size_t first)
{
    char part[NAME_MAX + 1];

    for (size_t i = first; i < PARTS; i++) {
        if (name_part (name, i, part) && exists (dir, part))
            return true;
    }
    return false;
}

/* ---- who writes it ---- */

/* The process with a write lock in this range; 0 if none can be told. */
static pid_t lock_holder (const struct tree *dir, const char *name, off_t at,
                          off_t size)
{
    struct flock l = { .l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = at,
                       .l_len = size };
    int fd = tree_openat (dir->fd, name, O_RDONLY | O_NONBLOCK, 0, true);
    bool held = fd >= 0 && fcntl (fd, F_GETLK, &l) == 0 &&
                l.l_type != F_UNLCK && l.l_pid > 0;

    fileio_close (fd);
    return held ? l.l_pid : 0;
}

static int tell_busy (const struct tree *dir, const char *name,
                      struct err *err)
{
    char who[64] = "perhaps a viewer or a profiler", shm[NAME_MAX + 1];
    pid_t pid = lock_holder (dir, name, LOCKS_AT, LOCKS_SIZE);

    if (pid == 0 && name_part (name, 3, shm))
        pid = lock_holder (dir, shm, WAL_LOCKS_AT, WAL_LOCKS_SIZE);
    if (pid > 0)
        PRINT (who, "process %ld", (long)pid);
    return err_set (err, EBUSY, "another process (%s) is writing %s/%s: end "
                    "it, or choose another output directory", who, dir->path,
                    name);
}

/* For a file that is no database, SQLite would delete what looks like an old
 * log.
 */
static bool is_database (const struct tree *dir, const char *name)
{
    static const char magic[16] = "SQLite format 3";

    return fileio_has_bytes (dir->fd, name, 0, magic, sizeof (magic));
}

/* Checkpoint a database, as far as possible.  -EBUSY if it is being written. */
static int existing_output_settle (const struct tree *dir, const char *name,
                                   struct err *err)
{
    char path[TREE_HELD_MAX];
    sqlite3 *db = NULL;
    int rc = -EIO;

    if (!is_database (dir, name))
        return 0;
    if (tree_hold (dir, name, path, NULL) == 0 &&
        db_open (path, SQLITE_OPEN_READWRITE, &db) == SQLITE_OK)
        // COMMIT would wait for all who read, though nothing was written
        rc = db_exec (db, "BEGIN IMMEDIATE;ROLLBACK", NULL);
    if (rc == 0)                // readers may delay some of it
        (void)sqlite3_wal_checkpoint_v2 (db, NULL, SQLITE_CHECKPOINT_TRUNCATE,
                                         NULL, NULL);
    (void)sqlite3_close (db);
    return rc == -EBUSY ? tell_busy (dir, name, err) : 0;
}

/* ---- moving it out of the way ---- */

/* The first free name NAME.before-rollcall[.N], of which no part exists. */
static int choose_name (const struct tree *dir, const char *name,
                        char kept[NAME_MAX + 1], struct err *err)
{
    for (int i = 0; i < KEPT_MAX; i++) {
        int n = i == 0 ? snprintf (kept, NAME_MAX + 1, "%s.before-rollcall",
                                   name)
                       : snprintf (kept, NAME_MAX + 1,
                                   "%s.before-rollcall.%d", name, i);

        if (n < 0 || n > NAME_MAX)
            break;
        if (!any_part (dir, kept, 0))
            return 0;
    }
    return err_set (err, EEXIST, "%s/%s exists and cannot be kept: all names "
                    "for a copy are taken", dir->path, name);
}

static int keep_other (const struct tree *dir, const char *name,
                       char kept[PATH_MAX], struct err *err)
{
    char other[NAME_MAX + 1], from[NAME_MAX + 1], to[NAME_MAX + 1];
    int rc = choose_name (dir, name, other, err);

    if (rc == 0 && !fileio_join (kept, PATH_MAX, dir->path, other))
        rc = err_set (err, ENAMETOOLONG, "path is too long: %s", dir->path);
    for (size_t i = 0; i < PARTS && rc == 0; i++) {
        if (!name_part (name, i, from) || !name_part (other, i, to))
            return err_set (err, ENAMETOOLONG, "path is too long: %s/%s",
                            dir->path, name);
        if (!exists (dir, from))
            continue;
        if (renameat2 (dir->fd, from, dir->fd, to, RENAME_NOREPLACE) < 0)
            rc = err_sys (err, errno, "cannot rename %s/%s, which is to be "
                          "kept", dir->path, from);
    }
    return rc;
}

static int drop_logs (const struct tree *dir, const char *name,
                      struct err *err)
{
    char part[NAME_MAX + 1];

    for (size_t i = 1; i < PARTS; i++) {
        if (name_part (name, i, part) && unlinkat (dir->fd, part, 0) < 0 &&
            errno != ENOENT)
            return err_sys (err, errno, "cannot remove %s/%s, which would "
                            "spoil the new result", dir->path, part);
    }
    return 0;
}

int existing_output_move_aside (const struct tree *dir, const char *name,
                                bool ours,
                                char kept[PATH_MAX], struct err *err)
{
    int rc;

    kept[0] = '\0';
    if (!any_part (dir, name, 0))
        return 0;
    if ((rc = existing_output_settle (dir, name, err)) < 0)
        return rc;
    if (ours && !any_part (dir, name, 1))
        return 0;
    rc = ours ? drop_logs (dir, name, err) : keep_other (dir, name, kept, err);
    if (rc == 0 && fsync (dir->fd) < 0)
        rc = err_sys (err, errno, "cannot fsync directory %s", dir->path);
    return rc;
}
