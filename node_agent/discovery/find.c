/* node_agent/discovery/find.c - find the captures below a directory
 *
 * This folder: finding captures, and seeing when they are finished.
 */
#include "discovery/find.h"

#include "base/clock.h"
#include "base/cmp.h"
#include "base/vec.h"
#include "identity/capture_name.h"
#include "identity/trace_kind.h"
#include "store/fileio.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

static bool ends_with (const char *s, const char *end)
{
    size_t n = strlen (s), m = strlen (end);

    return n >= m && strcmp (s + n - m, end) == 0;
}

static bool starts_with (const char *s, const char *start)
{
    return strncmp (s, start, strlen (start)) == 0;
}

static bool is_ignored (const char *name)
{
    return starts_with (name, "PLATFORM_") || ends_with (name, "_op_arg") ||
           ends_with (name, "_op_args") ||
           strcmp (name, "export_only_prof_dir") == 0 ||
           strcmp (name, "cluster_analysis_output") == 0;
}

/* Whether it is profiler_info.json or profiler_info_<digits>.json. */
static bool is_info (const char *s)
{
    size_t n;

    if (!starts_with (s, "profiler_info"))
        return false;
    s += strlen ("profiler_info");
    if (*s == '_' && (n = strspn (s + 1, "0123456789")) > 0)
        s += n + 1;
    return strcmp (s, ".json") == 0;
}

/* Whether the entry shows its directory to be a capture.  A PROF_ directory
 * does not: alone it is itself a capture, of msprof.
 */
static bool is_evidence (const char *name, int type)
{
    return type == DT_DIR ? strcmp (name, "FRAMEWORK") == 0 ||
                                strcmp (name, "ASCEND_PROFILER_OUTPUT") == 0
                          : is_info (name);
}

/* The framework of a capture that is a directory, or "". */
static const char *dir_framework (const char *name)
{
    return capture_name_is_trace (name) ? "" : capture_name_parse (name).framework;
}

/* Whether a subdirectory of this name shows that its parent only holds
 * captures.  A PROF_ directory does not, since it may be part of one.
 */
static bool is_named (const char *name)
{
    return strncmp (dir_framework (name), "ascend", 6) == 0;
}

// the texts of a problem before and after the path
#define CANNOT_READ "cannot read directory "
#define TOO_DEEP ": directories are not searched any deeper"

bool find_is_unsearched (const char *problem)
{
    size_t n = strlen (problem), tail = sizeof (TOO_DEEP) - 1;

    return strncmp (problem, CANNOT_READ, sizeof (CANNOT_READ) - 1) == 0 ||
           (n > tail && strcmp (problem + n - tail, TOO_DEEP) == 0);
}

static int cannot_read (struct found_list *list, const char *path, int errnum)
{
    list->unread = true;
    return vec_print_text (&list->problems, &list->nproblems,
                           CANNOT_READ "%s: %s", path, strerror (errnum));
}

static int identify (const char *path, int fd, struct find_id *id)
{
    struct statx x;

    if ((fd < 0 ? statx (AT_FDCWD, path, AT_SYMLINK_NOFOLLOW,
                         STATX_INO | STATX_BTIME, &x)
                : statx (fd, "", AT_EMPTY_PATH, STATX_INO | STATX_BTIME,
                         &x)) < 0)
        return -errno;
    id->dev = makedev (x.stx_dev_major, x.stx_dev_minor);
    id->ino = x.stx_ino;
    id->born_ns = x.stx_mask & STATX_BTIME
                      ? x.stx_btime.tv_sec * NS_PER_S + x.stx_btime.tv_nsec
                      : 0;
    return 0;
}

/* Which item an inode is; of several links within a root the first. */
struct found_place {
    uint64_t dev, ino;
    uint64_t index;
};

/* 'fd' is -1 for what was not opened: reading it reports what is wrong. */
static int add_found (struct found_list *list, const char *path, int fd)
{
    struct found *f;
    char *copy;
    struct found_place *place;
    struct find_id id;
    const char *slash;
    bool is_new;
    int rc;

    if (list->n == FIND_CAPTURES_MAX)
        return -E2BIG;
    if ((rc = identify (path, fd, &id)) < 0)
        return rc == -ENOENT ? 0 : rc;          // it was removed just now
    if (!list->places.words)
        list->places = (struct map)MAP (struct found_place, 2);
    place = map_put (&list->places, &(struct found_place){ id.dev, id.ino, 0 },
                     &is_new);
    if (!place)
        return -ENOMEM;
    if (is_new)
        place->index = list->n;
    else if (place->index < list->nfrom_earlier_roots)
        return 0;               // roots may overlap
    if (!(copy = strdup (path)) ||
        !(f = vec_add (&list->items, &list->n, sizeof (*f)))) {
        free (copy);
        return -ENOMEM;
    }
    slash = strrchr (copy, '/');
    *f = (struct found){ .path = copy, .name = slash ? slash + 1 : copy,
                         .id = id };
    return 0;
}

static size_t drop_profs (char **names, size_t n)
{
    size_t kept = 0;

    for (size_t i = 0; i < n; i++) {
        if (strcmp (dir_framework (names[i]), "msprof") == 0)
            free (names[i]);
        else
            names[kept++] = names[i];
    }
    return kept;
}

static bool may_be_trace (const char *name, const struct found_list *list)
{
    return capture_name_is_trace (name) ||
           (!list->names_only && trace_may_be (name));
}

static int type_of (DIR *dir, const struct dirent *e)
{
    struct stat st;

    if (e->d_type != DT_UNKNOWN)
        return e->d_type;
    if (fstatat (dirfd (dir), e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return DT_UNKNOWN;
    return (int)IFTODT (st.st_mode);
}

/* List the directories in 'dir' and the files that may be traces, and whether
 * an entry shows 'dir' to be a capture.  A directory that holds captures is
 * none, whatever else is in it.  A link named like a capture is a problem.
 */
static int list_dir (const char *path, DIR *dir, struct found_list *list,
                     char ***ret, size_t *nret, bool *evidence)
{
    bool shown = false, parent = false;
    char **names = NULL;
    size_t n = 0;
    struct dirent *e;
    int rc;

    while ((e = fileio_next_entry (dir, &rc))) {
        bool named = is_named (e->d_name);
        int type;

        if (list->limit && !find_limit_entry (list->limit)) {
            find_limit_leave (list->limit, path);
            rc = 0;
            break;
        }
        if (e->d_name[0] == '.')
            continue;
        type = type_of (dir, e);
        shown = shown || is_evidence (e->d_name, type);
        parent = parent || (named && type == DT_DIR);
        if (type == DT_LNK && (named || capture_name_is_trace (e->d_name)) &&
            vec_print_text (&list->problems, &list->nproblems,
                            "%s/%s is a symbolic link, which is not followed",
                            path, e->d_name) < 0) {
            vec_free_texts (names, n);
            return -ENOMEM;
        }
        if (type != DT_DIR && !(type == DT_REG && may_be_trace (e->d_name,
                                                                list)))
            continue;
        if (vec_add_text (&names, &n, e->d_name) < 0) {
            vec_free_texts (names, n);
            return -ENOMEM;
        }
    }
    if (n > 0)
        qsort (names, n, sizeof (*names), cmp_text);
    if (parent)                 // other entries are rests of a capture
        n = drop_profs (names, n);
    *evidence = *evidence || (shown && !parent);
    *ret = names;
    *nret = n;
    return rc < 0 ? cannot_read (list, path, -rc) : 0;
}

/* Whether the directory is on a file system of the kernel, which is large and
 * has no captures.
 */
static bool is_pseudo (int fd)
{
    static const long types[] = {
        PROC_SUPER_MAGIC,    SYSFS_MAGIC,    CGROUP_SUPER_MAGIC,
        CGROUP2_SUPER_MAGIC, DEBUGFS_MAGIC,  TRACEFS_MAGIC,
        SECURITYFS_MAGIC,    BPF_FS_MAGIC,   DEVPTS_SUPER_MAGIC,
        PSTOREFS_MAGIC,
    };
    struct statfs fs;

    if (fstatfs (fd, &fs) < 0)
        return false;
    for (size_t i = 0; i < sizeof (types) / sizeof (types[0]); i++) {
        if ((long)fs.f_type == types[i])
            return true;
    }
    return false;
}

static int visit (const char *path, int fd, dev_t above, unsigned depth,
                  struct found_list *list);

/* Add the file if it is a trace; report it if it only looks like one. */
static int take_trace (struct found_list *list, int dir, const char *name,
                       const char *path)
{
    const char *why;

    if (trace_kind_at (dir, name, &why) != TRACE_OTHER)
        return add_found (list, path, -1);
    return why ? vec_print_text (&list->problems, &list->nproblems,
                                 "%s is not read as a trace: %s", path, why)
               : 0;
}

/* Queue a directory in a limited search. */
static int put_off (struct found_list *list, int dir, const char *name,
                    const char *path, dev_t above, unsigned depth)
{
    struct stat st;

    if (fstatat (dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT ? 0 : cannot_read (list, path, errno);
    return find_limit_wait (list->limit, path, above, depth,
                            clock_ns (&st.st_mtim));
}

static int visit_children (const char *path, DIR *dir, char **names, size_t n,
                           unsigned depth, struct found_list *list)
{
    char child[PATH_MAX];
    struct stat st, file;
    int rc = fstat (dirfd (dir), &st) < 0 ? -errno : 0;

    for (size_t i = 0; i < n && rc == 0; i++) {
        int fd;

        if (list->cancel && atomic_load (list->cancel))
            return -ECANCELED;
        if (is_ignored (names[i]))
            continue;
        if (!fileio_join (child, sizeof (child), path, names[i])) {
            rc = cannot_read (list, path, ENAMETOOLONG);
            continue;
        }
        // archive get lays a trace into a directory of its name
        if (may_be_trace (names[i], list) &&
            fstatat (dirfd (dir), names[i], &file, AT_SYMLINK_NOFOLLOW) == 0 &&
            !S_ISDIR (file.st_mode)) {
            rc = capture_name_is_trace (names[i])
                     ? add_found (list, child, -1)
                     : take_trace (list, dirfd (dir), names[i], child);
            continue;
        }
        if (*dir_framework (names[i])) {        // need not be opened
            rc = add_found (list, child, -1);
            continue;
        }
        if (list->limit) {
            rc = put_off (list, dirfd (dir), names[i], child, st.st_dev,
                          depth - 1);
            continue;
        }
        fd = fileio_open_dir_at (dirfd (dir), names[i], NULL);
        if (fd < 0)
            rc = cannot_read (list, child, -fd);
        else
            rc = visit (child, fd, st.st_dev, depth - 1, list);
    }
    return rc;
}

/* Closes 'fd'.  'above' is the device of the parent directory. */
static int visit (const char *path, int fd, dev_t above, unsigned depth,
                  struct found_list *list)
{
    const char *slash = strrchr (path, '/');
    bool capture = *dir_framework (slash ? slash + 1 : path);
    char **names = NULL;
    struct stat st;
    size_t n = 0;
    DIR *dir;
    int rc;

    if (fstat (fd, &st) == 0 && st.st_dev != above && is_pseudo (fd)) {
        (void)close (fd);
        return 0;
    }
    if (!(dir = fdopendir (fd))) {
        rc = -errno;
        (void)close (fd);
        return rc;
    }
    rc = list_dir (path, dir, list, &names, &n, &capture);
    if (rc == 0 && capture)
        rc = add_found (list, path, dirfd (dir));
    else if (rc == 0 && depth == 0)
        rc = n > 0 ? vec_print_text (&list->problems, &list->nproblems,
                                      "%s" TOO_DEEP, path) : 0;
    else if (rc == 0)
        rc = visit_children (path, dir, names, n, depth, list);
    vec_free_texts (names, n);
    (void)closedir (dir);
    return rc;
}

/* Add a root that is a file: a trace.  A link is followed here, since the user
 * named it.
 */
static int find_file (const char *root, struct found_list *list,
                      struct err *err)
{
    char path[PATH_MAX];
    const char *why = NULL;
    int fd, rc;

    if (!realpath (root, path))
        return err_sys (err, errno, "cannot resolve %s", root);
    if ((fd = open (path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)) < 0)
        return err_sys (err, errno, "cannot open %s", root);
    rc = capture_name_is_trace (path) || trace_kind_of (fd, &why) != TRACE_OTHER;
    (void)close (fd);
    if (!rc)
        return err_set (err, ENOTDIR, "%s is neither a directory nor a trace "
                        "of torch.profiler or torch_npu%s%s", root,
                        why ? ": " : "", why ? why : "");
    list->nfrom_earlier_roots = list->n;
    rc = add_found (list, path, -1);
    return rc < 0 ? err_sys (err, -rc, "cannot take %s", root) : 0;
}

/* Open a directory below 'top', component by component, so that no link is
 * followed even if somebody replaces a directory.
 */
static int open_below (int top, const char *path)
{
    char name[NAME_MAX + 1];
    int fd = top, above, n;

    do {
        path += strspn (path, "/");
        n = (int)strcspn (path, "/");
        if (snprintf (name, sizeof (name), "%.*s", n, path) >=
            (int)sizeof (name))
            return -ENAMETOOLONG;
        above = fd;
        fd = fileio_open_dir_at (above, name, NULL);
        if (above != top)
            (void)close (above);
        path += n;
    } while (fd >= 0 && *path);
    return fd;
}

/* Search the queued directories.  One that is gone by now is no problem. */
static int visit_waiting (const char *root, int top, struct found_list *list)
{
    struct find_waiting w;
    int rc = 0, fd;

    while (rc == 0 && find_limit_next (list->limit, &w)) {
        if (list->cancel && atomic_load (list->cancel))
            rc = -ECANCELED;
        else if ((fd = open_below (top, w.path + strlen (root))) >= 0)
            rc = visit (w.path, fd, w.above, w.depth, list);
        else
            rc = fd == -ENOENT ? 0 : cannot_read (list, w.path, -fd);
        free (w.path);
    }
    return rc;
}

static int visit_limited (const char *root, int fd, struct found_list *list)
{
    int top = fcntl (fd, F_DUPFD_CLOEXEC, 0);
    int rc = top < 0 ? -errno : 0;

    if (rc < 0) {
        (void)close (fd);
        return rc;
    }
    find_limit_begin (list->limit);
    rc = visit (root, fd, (dev_t)-1, FIND_DEPTH_MAX, list);
    if (rc == 0)
        rc = visit_waiting (root, top, list);
    (void)close (top);
    return rc;
}

int find_captures (const char *root, struct found_list *list, struct err *err)
{
    char path[PATH_MAX];
    int fd = open (root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct stat st;
    int rc;

    if (fd < 0 && errno == ENOTDIR && stat (root, &st) == 0 &&
        S_ISREG (st.st_mode))
        return find_file (root, list, err);
    if (fd < 0)
        return err_sys (err, errno, "cannot open directory %s", root);
    if (!realpath (root, path)) {
        rc = -errno;
        (void)close (fd);
        return err_sys (err, -rc, "cannot resolve %s", root);
    }
    list->nfrom_earlier_roots = list->n;
    rc = list->limit ? visit_limited (path, fd, list)
                     : visit (path, fd, (dev_t)-1, FIND_DEPTH_MAX, list);
    if (rc == -E2BIG)
        return err_set (err, E2BIG, "more than %u captures below %s",
                        FIND_CAPTURES_MAX, root);
    return rc < 0 ? err_sys (err, -rc, "cannot search %s", root) : 0;
}

void find_free (struct found_list *list)
{
    for (size_t i = 0; i < list->n; i++)
        free (list->items[i].path);
    free (list->items);
    vec_free_texts (list->problems, list->nproblems);
    map_fini (&list->places);
    memset (list, 0, sizeof (*list));
}
