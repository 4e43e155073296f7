/* node_agent/discovery/raw_files.c - the files of a capture */
#include "discovery/raw_files.h"

#include "model/beside.h"
#include "model/job_mark.h"
#include "store/fileio.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define IS_LINK "it is a symbolic link, which is not followed"

struct listing {
    const struct raw_files *to;
    const char *name;           // of the capture
};

static int list_dir (const struct listing *l, int parent, const char *name,
                     const char *path, unsigned depth, struct err *err);

static int list_entry (const struct listing *l, int dirfd, const char *name,
                       const char *prefix, unsigned depth, struct err *err)
{
    const struct raw_files *to = l->to;
    char path[RAW_FILES_PATH_MAX];
    struct stat st;
    int n = snprintf (path, sizeof (path), "%s%s%s", prefix,
                      *prefix ? "/" : "", name);
    int rc = to->rest ? to->rest (to->arg, err) : 0;

    if (rc < 0)
        return rc;
    if (n < 0 || (size_t)n >= sizeof (path)) {
        to->leave_out (to->arg, path, strerror (ENAMETOOLONG));
    } else if (fstatat (dirfd, name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
        rc = to->pass_over (to->arg, path, -errno, err);
    } else if (S_ISREG (st.st_mode)) {
        rc = to->file (to->arg, dirfd, name, path, err);
    } else if (S_ISDIR (st.st_mode) && !*prefix &&
               beside_begins (l->name, name)) {
        to->leave_out (to->arg, path, "its name is that of a file which a "
                       "profiler leaves beside the capture");
    } else if (S_ISDIR (st.st_mode) && depth == 0) {
        to->leave_out (to->arg, path, "directories are not read any deeper");
    } else if (S_ISDIR (st.st_mode)) {
        rc = list_dir (l, dirfd, name, path, depth - 1, err);
    } else if (to->skip) {
        to->skip (to->arg, path, S_ISLNK (st.st_mode)
                      ? IS_LINK
                      : "it is no regular file");
    }
    return rc;
}

static int list_dir (const struct listing *l, int parent, const char *name,
                     const char *path, unsigned depth, struct err *err)
{
    DIR *dir = fileio_list (parent, name);
    struct dirent *e;
    int rc = 0, listed = 0;

    if (!dir)
        return l->to->pass_over (l->to->arg, path, -errno, err);
    while (rc == 0 && (e = fileio_next_entry (dir, &listed))) {
        if (*path || !job_mark_is_ours (e->d_name))
            rc = list_entry (l, dirfd (dir), e->d_name, path, depth, err);
    }
    if (rc == 0 && listed < 0)
        rc = l->to->pass_over (l->to->arg, path, listed, err);
    (void)closedir (dir);
    return rc;
}

static bool is_kind (const char *path, mode_t kind)
{
    struct stat st;

    return lstat (path, &st) == 0 && (st.st_mode & S_IFMT) == kind;
}

/* Directories beside the capture, under their names. */
static int list_beside (const struct listing *l, const char *capture,
                        struct err *err)
{
    char path[PATH_MAX];
    int rc = 0;

    for (size_t i = 0; i < BESIDE_MAX && rc == 0; i++) {
        int n = snprintf (path, sizeof (path), "%s%s", capture,
                          beside_ends[i]);

        if (n < 0 || (size_t)n >= sizeof (path))
            continue;
        if (is_kind (path, S_IFDIR))
            rc = list_dir (l, AT_FDCWD, path, strrchr (path, '/') + 1,
                           RAW_FILES_DEPTH_MAX - 1, err);
        else if (l->to->skip && is_kind (path, S_IFLNK))
            l->to->skip (l->to->arg, strrchr (path, '/') + 1, IS_LINK);
    }
    return rc;
}

int raw_files_each (const char *path, const struct raw_files *files,
                    struct err *err)
{
    const char *slash = strrchr (path, '/');
    const struct listing l = { files, slash ? slash + 1 : path };
    int rc;

    if (is_kind (path, S_IFREG))
        return files->file (files->arg, AT_FDCWD, path, l.name, err);
    rc = list_dir (&l, AT_FDCWD, path, "", RAW_FILES_DEPTH_MAX, err);
    return rc < 0 || !slash ? rc : list_beside (&l, path, err);
}
