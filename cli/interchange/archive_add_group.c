/* cli/interchange/archive_add_group.c - captures that are read at one time */
#include "archive_add_private.h"

#include "base/thread.h"
#include "base/vec.h"
#include "discovery/raw_files.h"
#include "store/fileio.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define GROUP_FILES 8192        // raw files that are under way, ...
#define GROUP_CAPTURES 256      // ... and captures: what memory is for
#define READ_TRIES 3            // of a capture that somebody writes to

/* ---- listing ---- */

static void leave_out (void *arg, const char *path, const char *why)
{
    const struct add_group *g = arg;

    add_tell (g->all, g->captures[g->n - 1].path, path, why);
}

static void skip (void *arg, const char *path, const char *why)
{
    const struct add_group *g = arg;

    add_note (g->all, g->captures[g->n - 1].path, path, why);
}

static int note_file (void *arg, int dirfd, const char *name, const char *path,
                      struct err *err)
{
    struct add_group *g = arg;
    struct add_file *f;

    if (g->captures[g->n - 1].nfiles++ >= RAW_FILES_MAX) {
        leave_out (g, path, "it has more files than can be stored");
        return 0;
    }
    f = vec_add (&g->files, &g->nfiles, sizeof (*f));
    if (!f || !(f->path = strdup (path)))
        return err_set (err, ENOMEM, "no memory for raw files");
    f->capture = g->n - 1;
    if (fstatat (dirfd, name, &f->st, AT_SYMLINK_NOFOLLOW) < 0)
        f->rc = -errno;
    return 0;
}

static int pass_over (void *arg, const char *path, int rc, struct err *err)
{
    (void)err;
    leave_out (arg, path, strerror (-rc));
    return 0;
}

static int list_files (struct add_group *g, struct add_capture *c,
                       struct err *err)
{
    const struct raw_files files = { .file = note_file, .pass_over = pass_over,
                                     .leave_out = leave_out, .skip = skip,
                                     .arg = g };

    c->failed = false;
    c->nfiles = 0;
    (void)extract_measure (c->held, &c->look);
    return g->all->a->opt->no_raw ? 0 : raw_files_each (c->held, &files, err);
}

/* Since the search, the owner of a directory may have put a link in its place:
 * from now on it is held.
 */
static int hold (struct add_capture *c, struct err *err)
{
    struct tree above = { .fd = -1 };
    size_t n = (size_t)(c->name - c->path);

    PRINT (above.path, "%.*s", n > 1 ? (int)n - 1 : (int)n, c->path);
    above.fd = c->parent = tree_open_real (above.path, O_PATH | O_DIRECTORY |
                                                           O_CLOEXEC);
    if (above.fd < 0)
        return err_sys (err, -above.fd, "cannot open %s", above.path);
    return tree_hold (&above, c->name, c->held, err) < 0
               ? -ENAMETOOLONG : tree_can_hold (&above, err);
}

static int open_capture (struct add_group *g, const struct found *found,
                         struct err *err)
{
    struct add_capture *c = vec_add (&g->captures, &g->n, sizeof (*c));
    struct err why = { "" };
    int rc;

    if (!c)
        return err_set (err, ENOMEM, "no memory for captures");
    c->path = found->path;
    c->name = found->name;
    if ((rc = hold (c, &why)) < 0) {
        fileio_close (c->parent);
        g->n--;
        if (rc == -ENOSYS)      // it is so for all
            return err_set (err, ENOSYS, "%s", why.text);
        add_tell (g->all, c->path, NULL, why.text);
        return 0;
    }
    recall_capture (&g->all->marks, c->parent, c->name, &c->recalled);
    if (!g->all->told_of_mark && recall_broken (&c->recalled, c->path, &why)) {
        (void)cli_fail (g->all->a->opt->command, 0, "%s", why.text);
        g->all->told_of_mark = true;
    }
    if (!message_valid_name (c->recalled.job))
        c->recalled.job[0] = '\0';
    PRINT (c->job, "%s", g->all->a->opt->job ? g->all->a->opt->job
                                             : c->recalled.job);
    return list_files (g, c, err);
}

/* ---- reading ---- */

/* A piece of work: the rows of a capture, or after those a raw file. */
static int add_piece (void *state, size_t piece, struct err *err)
{
    struct content_writer *w = state;
    struct add_group *g = content_writer_arg (w);

    if (atomic_load (&cli_cancelled))
        return err_set (err, EINTR, "interrupted");
    if (piece < g->n)
        return g->captures[piece].done ? 0
                   : add_read_rows (&g->captures[piece], w, err);
    piece -= g->n;
    return g->captures[g->files[piece].capture].done
               ? 0 : add_read_file (g, &g->files[piece], w, err);
}

static void drop_files (struct add_group *g)
{
    for (size_t i = 0; i < g->nfiles; i++)
        free (g->files[i].path);
    free (g->files);
    g->files = NULL;
    g->nfiles = 0;
}

static void drop_group (struct add_group *g)
{
    drop_files (g);
    for (size_t i = 0; i < g->n; i++)
        fileio_close (g->captures[i].parent);
    free (g->captures);
    g->captures = NULL;
    g->n = 0;
}

/* Whether it is still what it was when its files were listed. */
static bool has_changed (const struct add_group *g, size_t i)
{
    const struct add_capture *c = &g->captures[i];
    struct extract_look now = { .newest_ns = 0 };

    for (size_t k = 0; k < g->nfiles; k++) {
        if (g->files[k].capture == i && g->files[k].rc == -EAGAIN)
            return true;
    }
    return extract_measure (c->held, &now) < 0 ||
           now.tree_sum != c->look.tree_sum ||
           now.newest_ns != c->look.newest_ns ||
           now.tree_bytes != c->look.tree_bytes ||
           now.tree_files != c->look.tree_files;
}

/* Put the captures that did not change meanwhile; the others are read again. */
static int settle (struct add_group *g, bool last, size_t *again,
                   struct err *err)
{
    int rc = 0;

    *again = 0;
    for (size_t i = 0; i < g->n && rc == 0; i++) {
        struct add_capture *c = &g->captures[i];

        if (c->done)
            continue;
        c->changed = has_changed (g, i);
        c->done = last || !c->changed;
        *again += !c->done;
        if (!c->done)
            continue;
        if (c->changed)
            add_tell (g->all, c->path, NULL, "it changes while it is read; it "
                      "was not added");
        else if (c->failed)
            add_tell (g->all, c->path, NULL, c->why.text);
        else
            rc = add_items (g, i, err);
    }
    return rc;
}

static int read_once (struct add_group *g, struct err *err)
{
    const struct thread_pieces pieces = { .n = g->n + g->nfiles,
                                          .work = add_piece };
    void *states[ADD_THREADS_MAX];

    for (unsigned t = 0; t < g->all->threads; t++) {
        states[t] = g->all->writers[t];
        content_writer_set_arg (g->all->writers[t], g);
    }
    return thread_each (&pieces, states, g->all->threads, err);
}

/* List the files of the captures that changed once more. */
static int list_again (struct add_group *g, struct err *err)
{
    size_t all = g->n;
    int rc = 0;

    drop_files (g);
    for (g->n = 1; g->n <= all && rc == 0; g->n++) {
        if (!g->captures[g->n - 1].done)
            rc = list_files (g, &g->captures[g->n - 1], err);
    }
    g->n = all;
    return rc;
}

static int read_group (struct add_group *g, struct err *err)
{
    size_t again = g->n;
    int rc = 0;

    for (unsigned i = 1; rc == 0 && again > 0; i++) {
        if (i > 1)
            rc = list_again (g, err);
        if (rc == 0)
            rc = read_once (g, err);
        if (rc == 0)
            rc = settle (g, i == READ_TRIES, &again, err);
    }
    return rc;
}

int add_found (struct adding_all *all, const struct found_list *found,
               struct err *err)
{
    struct add_group g = { .all = all };
    int rc = 0;

    for (size_t i = 0; i < found->n && rc == 0; i++) {
        rc = open_capture (&g, &found->items[i], err);
        if (rc == 0 && (i + 1 == found->n || g.nfiles >= GROUP_FILES ||
                        g.n >= GROUP_CAPTURES)) {
            rc = read_group (&g, err);
            drop_group (&g);
        }
    }
    drop_group (&g);
    return rc < 0 ? rc : intake_flush (all->a->in, err);
}
