/* node_agent/identity/other_files.c - list the files that no reader takes */
#include "identity/other_files.h"

#include "extract/sink/capture_facts.h"
#include "identity/capture_name.h"
#include "model/beside.h"
#include "store/fileio.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEPTH_MAX 8             // of directories among the results

/* Whether the entry is the directory that is open as 'fd', or -1. */
static bool is_open_as (const struct source *src, const char *name, int fd)
{
    struct stat st, open;

    return fd >= 0 && fstat (fd, &open) == 0 &&
           fstatat (src->dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           st.st_ino == open.st_ino && st.st_dev == open.st_dev;
}

void other_files_top (struct source *src, const char *name, bool directory,
                      uint64_t bytes)
{
    char path[NAME_MAX + 2];

    if (!directory) {
        if (strcmp (name, src->info_name) != 0 &&
            strcmp (name, "profiler_metadata.json") != 0)
            capture_facts_file (src, name, bytes);
        return;
    }
    if (is_open_as (src, name, src->out) ||
        is_open_as (src, name, src->analyze))
        return;                 // its files are recorded one by one
    PRINT (path, "%s/", name);
    capture_facts_file (src, path, bytes);
}

/* A walk over the regular files of a directory and its subdirectories. */
struct walk {
    struct source *src;
    char path[PATH_MAX];        // of the directory, with a slash at its end
    bool (*known) (const char *name);   // whether a reader takes such a file
    bool sum;                   // only add up the sizes
    uint64_t bytes;
};

static void walk_dir (struct walk *w, int fd, unsigned depth);

static bool is_read (const struct walk *w, const char *name)
{
    return w->known (name) || strcmp (name, w->src->event_db) == 0;
}

static void walk_entry (struct walk *w, int dirfd, const char *name,
                        unsigned depth)
{
    size_t n = strlen (w->path), size = strlen (name);
    struct stat st;
    int fd;

    if (n + size + 2 > sizeof (w->path) ||
        fstatat (dirfd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return;
    memcpy (w->path + n, name, size + 1);
    if (S_ISREG (st.st_mode)) {
        w->bytes += (uint64_t)st.st_size;
        if (!w->sum && (depth < DEPTH_MAX || !is_read (w, name)))
            capture_facts_file (w->src, w->path, (uint64_t)st.st_size);
    } else if (S_ISDIR (st.st_mode) && depth > 0) {
        fd = fileio_open_dir_at (dirfd, name, NULL);
        source_transient_error (w->src, fd);
        memcpy (w->path + n + size, "/", 2);
        if (fd >= 0)
            walk_dir (w, fd, depth - 1);
    }
    w->path[n] = '\0';
}

/* Closes 'fd'. */
static void walk_dir (struct walk *w, int fd, unsigned depth)
{
    DIR *dir = fdopendir (fd);
    struct dirent *e;
    int rc;

    if (!dir) {
        (void)close (fd);
        return;
    }
    while ((e = fileio_next_entry (dir, &rc)))
        walk_entry (w, dirfd (dir), e->d_name, depth);
    (void)closedir (dir);
}

static void note_results (struct source *src, int dir, const char *name,
                          bool (*known) (const char *name))
{
    struct walk w = { .src = src, .known = known };
    int fd = fileio_open_dir_at (dir, ".", NULL);

    source_transient_error (src, fd);
    PRINT (w.path, "%s/", name);
    if (fd >= 0)
        walk_dir (&w, fd, DEPTH_MAX);
}

/* The profiler dumps the arguments of operators into a directory beside the
 * capture.
 */
static void note_op_args (struct source *src)
{
    const char *slash = strrchr (src->path, '/');

    for (size_t i = 0; i < BESIDE_MAX; i++) {
        struct walk w = { .src = src, .sum = true };
        char name[PATH_MAX];
        int fd, n = snprintf (name, sizeof (name), "../%s%s",
                              slash ? slash + 1 : src->path, beside_ends[i]);

        if (n < 0 || (size_t)n + 2 > sizeof (name))
            continue;
        fd = openat (src->dir, name,
                     O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0)
            continue;
        walk_dir (&w, fd, DEPTH_MAX);
        memcpy (name + n, "/", 2);
        capture_facts_file (src, name, w.bytes);
    }
}

/* The size of the part of a trace's name with which other files of the same
 * process begin.
 */
static size_t stem_size (const char *name)
{
    static const char *const ends[] = { ".gz", ".json", ".trace", ".pt" };
    size_t n = strlen (name);

    for (size_t i = 0; i < sizeof (ends) / sizeof (ends[0]); i++) {
        size_t size = strlen (ends[i]);

        if (n > size && strncmp (name + n - size, ends[i], size) == 0)
            n -= size;
    }
    return n;
}

/* Record files whose name begins with that of the trace: "rank0_memory.json"
 * belongs to "rank0.pt.trace.json", "rank01.json" does not.
 */
static void note_beside (struct source *src)
{
    size_t stem = stem_size (src->file);
    DIR *dir = fileio_list (src->dir, ".");
    struct dirent *e;
    struct stat st;
    int rc;

    if (!dir) {
        source_transient_error (src, -errno);
        return;
    }
    while ((e = fileio_next_entry (dir, &rc))) {
        const char *name = e->d_name;

        if (strncmp (name, src->file, stem) == 0 &&
            !isalnum ((unsigned char)name[stem]) &&
            !capture_name_is_trace (name) && strcmp (name, src->file) != 0 &&
            fstatat (src->dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG (st.st_mode))
            capture_facts_file (src, name, (uint64_t)st.st_size);
    }
    (void)closedir (dir);
}

void other_files_note (struct source *src, bool (*known) (const char *name))
{
    if (src->form == FORM_TRACE) {
        note_beside (src);
        return;
    }
    if (src->out >= 0)
        note_results (src, src->out, src->out_name, known);
    if (src->analyze >= 0)
        note_results (src, src->analyze, "analyze", known);
    note_op_args (src);
}
