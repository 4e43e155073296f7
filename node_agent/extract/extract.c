/* node_agent/extract/extract.c - extract the rows of a capture */
#include "extract/extract.h"
#include "extract/registry.h"
#include "extract/sink/capture_facts.h"
#include "identity/capture_name.h"
#include "identity/identity.h"
#include "identity/other_files.h"

#include "base/clock.h"
#include "base/utf8.h"
#include "model/job_mark.h"
#include "model/owned_text.h"
#include "store/fileio.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DONE_MARKER "analyse.done"
#define TREE_DEPTH_MAX 32

/* ---- opening and looking ---- */

static void source_close (struct source *src)
{
    if (src->out >= 0)
        (void)close (src->out);
    if (src->analyze >= 0)
        (void)close (src->analyze);
    if (src->dir >= 0)
        (void)close (src->dir);
    src->out = src->analyze = src->dir = -1;
}

static bool is_link (int dir, const char *name)
{
    struct stat st;

    return fstatat (dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISLNK (st.st_mode);
}

static int cannot_open (struct source *src)
{
    source_transient_error (src, -errno);
    capture_reason (src->capture, "cannot open it: %s", strerror (errno));
    return -EACCES;
}

/* Open the directory of the results, which may be absent. */
static int open_results (struct source *src, const char *name)
{
    struct err err = { "" };

    (void)snprintf (src->out_name, sizeof (src->out_name), "%s", name);
    src->out = fileio_open_dir_at (src->dir, name, &err);
    source_transient_error (src, src->out);
    if (src->out >= 0 || src->out == -ENOENT) {
        src->out = src->out < 0 ? -1 : src->out;
        return 0;
    }
    src->out = -1;
    if (is_link (src->dir, name))       // open(2) reports "not a directory"
        capture_reason (src->capture, "%s is a symbolic link, which is not "
                        "followed", name);
    else
        capture_reason (src->capture, "%s", err.text);
    return -EACCES;
}

/* For msprof: where it writes results now, otherwise where it did in 2023. */
static int open_msprof (struct source *src)
{
    char name[64];
    int rc = open_results (src, "mindstudio_profiler_output"), fd;

    if (rc < 0 || src->out >= 0)
        return rc;
    fd = source_open_iterations (src, name);
    source_transient_error (src, fd == -ENOENT ? 0 : fd);
    if (fd < 0)
        return 0;               // it was apparently never exported
    src->out = fd;
    src->iterations = src->own_clock = true;    // times are since the host
                                                // started
    (void)snprintf (src->out_name, sizeof (src->out_name), "%s", name);
    return 0;
}

/* Open the directory of a file. */
static int open_above (const char *path, const char *slash)
{
    char dir[PATH_MAX];

    if (!slash)
        return open (".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    (void)snprintf (dir, sizeof (dir), "%.*s", (int)(slash - path + 1), path);
    return open (dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* Open a capture.  If that fails, the capture is failed, with the reason. */
static int source_open (struct source *src)
{
    const char *slash = strrchr (src->path, '/');
    const char *name = slash ? slash + 1 : src->path;
    struct stat st;

    if (lstat (src->path, &st) < 0)
        return cannot_open (src);
    src->capture->owner = st.st_uid;
    if (S_ISREG (st.st_mode)) {
        src->form = FORM_TRACE;
        src->file = name;
        src->dir = open_above (src->path, slash);
        return src->dir < 0 ? cannot_open (src) : 0;
    }
    src->dir = open (src->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC |
                                    O_NOFOLLOW);
    if (src->dir < 0 || fstat (src->dir, &st) < 0)
        return cannot_open (src);
    src->capture->owner = st.st_uid;    // of what was opened
    if (strcmp (capture_name_parse (name).framework, "msprof") != 0)
        return open_results (src, OUTPUT_DIR);
    src->form = FORM_MSPROF;
    src->analyze = fileio_open_dir_at (src->dir, "analyze", NULL);
    source_transient_error (src, src->analyze);
    return open_msprof (src);
}

static void hash_mix (uint64_t *sum, uint64_t word)
{
    *sum = (*sum ^ word) * UINT64_C (0x9e3779b97f4a7c15);
    *sum ^= *sum >> 32;
}

/* Add a file to the sums.  Its permissions count only by whether it can be
 * read.  If a file replaces another one, the ctime of its directory changes,
 * whatever its dates are; its own ctime does not count, since links of the
 * spool change it.
 */
static void add_entry (struct extract_look *look, const char *name,
                       const struct stat *st)
{
    int64_t mtime = clock_ns (&st->st_mtim);
    uint64_t sum = 0;

    if (mtime > look->newest_ns)
        look->newest_ns = mtime;
    if (S_ISREG (st->st_mode) && mtime > look->newest_file_ns) {
        look->newest_file_ns = mtime;
        (void)snprintf (look->newest_file, sizeof (look->newest_file), "%s",
                        name);
    }
    for (const char *c = name; *c; c++)
        hash_mix (&sum, (unsigned char)*c);
    hash_mix (&sum, S_ISREG (st->st_mode) ? (uint64_t)st->st_size : 0);
    hash_mix (&sum, (uint64_t)mtime);
    if (S_ISDIR (st->st_mode))
        hash_mix (&sum, (uint64_t)st->st_ctim.tv_sec * UINT64_C (1000000000) +
                            (uint64_t)st->st_ctim.tv_nsec);
    hash_mix (&sum, st->st_mode & (S_IFMT | S_IRUSR | S_IRGRP | S_IROTH));
    hash_mix (&sum, (uint64_t)st->st_uid << 32 | st->st_gid);
    look->tree_sum += sum;              // independent of the order
}

/* Add a tree.  Entries at the top are also recorded. */
static void add_tree (struct source *src, int dirfd, unsigned depth,
                      struct extract_look *look)
{
    DIR *dir = fdopendir (dirfd);
    struct dirent *e;
    struct stat st;
    int rc;

    if (!dir) {
        source_transient_error (src, -errno);
        (void)close (dirfd);
        return;
    }
    while ((e = fileio_next_entry (dir, &rc))) {
        uint64_t before = look->tree_bytes;

        if (depth == TREE_DEPTH_MAX && job_mark_is_ours (e->d_name))
            continue;
        if (fstatat (dirfd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
            source_transient_error (src, -errno);
            continue;
        }
        add_entry (look, e->d_name, &st);
        if (S_ISDIR (st.st_mode) && depth > 0) {
            int fd = fileio_open_dir_at (dirfd, e->d_name, NULL);

            source_transient_error (src, fd);
            if (fd >= 0)
                add_tree (src, fd, depth - 1, look);
        } else if (S_ISREG (st.st_mode)) {
            look->tree_files++;
            look->tree_bytes += (uint64_t)st.st_size;
        }
        if (depth == TREE_DEPTH_MAX &&
            (S_ISDIR (st.st_mode) || S_ISREG (st.st_mode)))
            other_files_top (src, e->d_name, S_ISDIR (st.st_mode),
                             look->tree_bytes - before);
    }
    source_transient_error (src, rc);
    (void)closedir (dir);
}

static void measure (struct source *src, struct extract_look *look)
{
    struct stat st;
    int fd;

    if (src->form == FORM_TRACE) {
        if (fstatat (src->dir, src->file, &st, AT_SYMLINK_NOFOLLOW) < 0) {
            source_transient_error (src, -errno);
            return;
        }
        look->tree_files = 1;
        look->tree_bytes = (uint64_t)st.st_size;
        add_entry (look, "", &st);
        return;
    }
    fd = fileio_open_dir_at (src->dir, ".", NULL);
    source_transient_error (src, fd);
    if (fstat (src->dir, &st) == 0)
        add_entry (look, "", &st);
    if (fd >= 0)
        add_tree (src, fd, TREE_DEPTH_MAX, look);
    look->done_marker = src->out >= 0 &&
                        fstatat (src->out, DONE_MARKER, &st,
                                 AT_SYMLINK_NOFOLLOW) == 0;
}

/* Set the state of a capture that has nothing to read yet, with the reason;
 * complete if there is something to read.
 */
static void judge_progress (struct source *src)
{
    struct capture *c = src->capture;

    if (extractors_any (src) || src->has_done) {
        c->state = CAPTURE_COMPLETE;
    } else if (src->form == FORM_TRACE) {
        c->state = CAPTURE_FAILED;      // it is gone
        capture_reason (c, "the file cannot be read");
    } else if (src->out >= 0 || src->analyze >= 0) {
        c->state = CAPTURE_ANALYSING;
        capture_reason (c, "its analysis began but gave no result: %s has none "
                        "of the files",
                        src->form == FORM_MSPROF ? "it" : OUTPUT_DIR);
    } else if (src->form == FORM_MSPROF) {
        c->state = src->has_prof ? CAPTURE_RAW : CAPTURE_COLLECTING;
        capture_reason (c, src->has_prof
                               ? "never analysed: there is no result; run "
                                 "msprof --export=on --output=DIR on its node"
                               : "not finished: there is no host and no "
                                 "device_* in it");
    } else if (src->info_name[0]) {
        c->state = CAPTURE_RAW;
        capture_reason (c, "never analysed: there is no " OUTPUT_DIR "; run "
                        "%s.profiler.profiler.analyse on its node",
                        strcmp (c->framework, "ascend_ms") == 0
                            ? "mindspore" : "torch_npu");
    } else {
        c->state = CAPTURE_COLLECTING;
        capture_reason (c, "not finished: there is no profiler_info*.json");
    }
}

static int look_at (struct source *src, struct extract_look *look,
                    struct err *err)
{
    int rc;

    memset (look, 0, sizeof (*look));
    src->capture->state = CAPTURE_FAILED;
    source_name (src);
    rc = source_open (src);
    if (src->dir >= 0) {
        struct err why = { "" };
        int found = source_identify (src, extractors_any, &why);

        source_transient_error (src, found);
        if (found == -ENOMEM)
            return err_set (err, ENOMEM, "%s", why.text);
        if (found < 0)
            capture_reason (src->capture, "%s", why.text);
        if (!src->glance || src->capture->order_ns == 0)
            measure (src, look);
        if (src->capture->order_ns == 0)
            src->capture->order_ns = look->newest_ns;
        src->capture->raw_bytes = look->tree_bytes;
        look->work_bytes = extractors_input_bytes (src);
        if (rc == 0 && found == 0)
            judge_progress (src);
    }
    return 0;
}

/* Make a reason valid UTF-8: it quotes names and content of files. */
static void tidy_reason (struct capture *c)
{
    char fixed[3 * CAPTURE_REASON_MAX];
    uint64_t bad = 0;
    size_t n = utf8_repair (c->reason, strlen (c->reason), fixed, &bad);

    if (bad == 0)
        return;
    n = utf8_cut (fixed, n, CAPTURE_REASON_MAX - 1);
    (void)owned_text_set (&c->reason, fixed, n);
}

static void source_init (struct source *src, const char *path,
                         struct capture *c)
{
    *src = (struct source){ .path = path, .dir = -1, .out = -1, .analyze = -1,
                            .event_dir = -1, .capture = c,
                            .communication_us = NAN };
}

int extract_glance (const char *path, struct capture *c,
                    struct extract_look *look, struct err *err)
{
    struct source src;
    int rc;

    source_init (&src, path, c);
    src.glance = true;
    rc = look_at (&src, look, err);
    source_close (&src);
    return rc;
}

int extract_measure (const char *path, struct extract_look *look)
{
    struct capture c;
    struct source src;
    int rc;

    capture_init (&c);
    source_init (&src, path, &c);
    memset (look, 0, sizeof (*look));
    if (source_open (&src) == 0)
        measure (&src, look);
    source_close (&src);
    rc = c.transient_error;
    capture_fini (&c);
    return rc;
}

int extract_look (const char *path, struct capture *c,
                  struct extract_look *look, struct err *err)
{
    struct source src;
    int rc;

    source_init (&src, path, c);
    rc = look_at (&src, look, err);
    source_close (&src);
    tidy_reason (c);
    return rc;
}

int extract_capture (const char *path, const struct steps_filter *steps,
                     const struct row_sink *sink, struct capture *c,
                     struct err *err)
{
    struct extract_look look;
    struct source src;
    int rc;

    source_init (&src, path, c);
    src.sink = sink;
    src.steps = steps;
    if (!(src.extras = capture_facts_new ()))
        return err_set (err, ENOMEM, "no memory for a capture");
    rc = look_at (&src, &look, err);
    if (rc == 0 && c->state == CAPTURE_COMPLETE)
        rc = extractors_run (&src, err);
    capture_facts_free (src.extras);
    free (src.group_keys);
    source_close (&src);
    tidy_reason (c);
    return rc;
}
