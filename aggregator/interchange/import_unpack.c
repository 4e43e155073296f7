/* aggregator/interchange/import_unpack.c - an ordinary tar file into a directory
 */
#include "interchange/import_tar.h"

#include "store/fileio.h"
#include "store/space.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ROOM_BYTES (UINT64_C (16) << 20)        // written between two looks at
                                                // the free space

#define DEPTH_MAX 64            // names of a path
#define FILES_MAX 10000000      // of a tar file
#define FILES_ROOM 16           // between two looks at the free inodes, ...
#define INODES_FLOOR 2000       // ... which are more than these take, with
                                // DEPTH_MAX directories each

struct unpacking {
    struct tar_reader *from;
    const struct tree *to;
    bool owner;
    void (*refuse) (void *arg, const char *why);
    void *arg;
    const atomic_bool *cancel;
    struct space_floor floor;
    uint64_t unlooked;          // bytes since the last look
    uint64_t tried;             // files
    struct import_sums *sums;
    struct err *err;
    uint8_t block[65536];
};

static void refuse (struct unpacking *u, const char *name, const char *why)
{
    char text[PATH_MAX + 128];

    PRINT (text, "%s%s%s", name, *name ? ": " : "", why);
    u->refuse (u->arg, text);
    u->sums->refused++;
}

static int look_at_room (struct unpacking *u, size_t n)
{
    u->unlooked += n;
    if (u->unlooked < ROOM_BYTES)
        return 0;
    u->unlooked = 0;
    return space_check_floor (&u->floor, u->to->path, u->err) == 0 ? -ENOSPC
                                                                   : 0;
}

/* Files without bytes fill a disk, too. */
static int look_at_inodes (struct unpacking *u)
{
    struct space space;

    if (u->cancel && atomic_load (u->cancel))
        return err_set (u->err, EINTR, "interrupted");
    if (u->tried++ >= FILES_MAX)
        return err_set (u->err, EFBIG, "it has more than %d files", FILES_MAX);
    if (u->tried % FILES_ROOM != 1 ||
        space_of (u->to->path, &space, NULL) < 0 ||
        space.free_inodes > INODES_FLOOR)
        return 0;
    return err_set (u->err, ENOSPC, "the file system of %s has room for %llu "
                    "more files only", u->to->path,
                    (unsigned long long)space.free_inodes);
}

static int write_file (struct unpacking *u, int fd, const struct tar_member *m)
{
    uint64_t size = 0;
    ssize_t n = 0;
    int rc = 0;

    while (rc == 0 && (n = tar_reader_get (u->from, u->block, sizeof (u->block),
                                           u->err)) > 0) {
        if (u->cancel && atomic_load (u->cancel))
            return err_set (u->err, EINTR, "interrupted");
        if ((rc = fileio_write_all (fd, u->block, (size_t)n)) < 0)
            rc = err_sys (u->err, -rc, "cannot unpack %s", m->name);
        else
            rc = look_at_room (u, (size_t)n);
        size += (uint64_t)n;
    }
    if (rc < 0 || n < 0)
        return rc < 0 ? rc : (int)n;
    if (size != m->size)
        return err_set (u->err, EBADMSG, "the tar file is damaged: %s has "
                        "another size", m->name);
    rc = file_facts_give (fd, &m->facts, u->owner);
    return rc < 0 ? err_sys (u->err, -rc, "cannot set owner, mode and time of "
                             "%s", m->name) : 0;
}

static bool is_deep (const char *name)
{
    size_t depth = 1;

    while ((name = strchr (name, '/'))) {
        name++;
        depth++;
    }
    return depth > DEPTH_MAX;
}

static int take_file (struct unpacking *u, const struct tar_member *m)
{
    const char *name;
    int fd, dir, rc = look_at_inodes (u);

    if (rc < 0)
        return rc;
    if (is_deep (m->name)) {
        refuse (u, m->name, "it is in too many directories");
        return 0;
    }
    dir = tree_make_parent (u->to, m->name, 0700, &name, u->err);
    fd = dir < 0 ? dir : tree_openat (dir, name, O_WRONLY | O_CREAT | O_EXCL,
                                      0600, true);
    fileio_close (dir);
    if (fd == -EEXIST || fd == -EISDIR || fd == -ENOTDIR || fd == -ENAMETOOLONG) {
        refuse (u, m->name, fd == -ENOTDIR ? "a directory above it is a file"
                            : fd == -ENAMETOOLONG ? "its name is too long"
                                        : "another member has that name");
        return 0;
    }
    if (fd < 0)
        return err_sys (u->err, -fd, "cannot unpack %s", m->name);
    rc = write_file (u, fd, m);
    rc = fileio_close_written (fd, rc);
    u->sums->files++;
    u->sums->bytes += m->size;
    return rc;
}

/* The latest change below a directory, which each directory there gets: its own
 * is the time of unpacking, and captures are dated by it.
 */
static int date_dirs (int dirfd, int64_t *newest_ns)
{
    struct file_facts f = { .mode = S_IFREG | 0700 };
    DIR *dir = fileio_list (dirfd, ".");
    struct dirent *e;
    struct stat st;
    int64_t ns, latest = INT64_MIN;
    int rc = dir ? 0 : -errno;

    while (rc == 0 && (e = fileio_next_entry (dir, &rc))) {
        int fd = -1;

        if (fstatat (dirfd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
            rc = -errno;
        else if (!S_ISDIR (st.st_mode))
            ns = file_facts_of (&st, false).mtime_ns;
        else if ((fd = tree_openat (dirfd, e->d_name, O_RDONLY | O_DIRECTORY, 0,
                                    true)) < 0)
            rc = fd;
        else
            rc = date_dirs (fd, &ns);
        fileio_close (fd);
        if (rc == 0 && ns > latest)
            latest = ns;
    }
    fileio_close_dir (dir);
    *newest_ns = f.mtime_ns = latest == INT64_MIN ? 0 : latest;
    return rc < 0 ? rc : file_facts_give (dirfd, &f, false);
}

int import_unpack (struct tar_reader *from, struct tar_member *first,
                   const struct tree *to, bool owner,
                   void (*refuse_fn) (void *arg, const char *why), void *arg,
                   const atomic_bool *cancel, struct import_sums *ret,
                   struct err *err)
{
    struct unpacking *u = calloc (1, sizeof (*u));
    struct tar_member *m = first;
    int64_t newest_ns;
    int rc = 1;

    if (!u)
        return err_set (err, ENOMEM, "no memory for a tar file");
    u->from = from;
    u->to = to;
    u->owner = owner;
    u->refuse = refuse_fn;
    u->arg = arg;
    u->cancel = cancel;
    u->sums = ret;
    u->err = err;
    if (!m->refused[0] && !m->name[0] && !m->directory)
        rc = 0;                 // an empty file
    while (rc > 0) {
        rc = 0;
        if (m->refused[0])
            refuse (u, "", m->refused);
        else if (!m->directory)
            rc = take_file (u, m);
        if (rc == 0)
            rc = tar_reader_next (from, m, err);
    }
    free (u);
    if (rc == 0 && (rc = date_dirs (to->fd, &newest_ns)) < 0)
        rc = err_sys (err, -rc, "cannot date what was unpacked");
    return rc;
}
