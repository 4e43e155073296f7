/* aggregator/archive/archive.c - list and read the contents of an aggregator's
 * root
 */
#include "archive/archive.h"

#include "base/thread.h"
#include "base/vec.h"
#include "store/fileio.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MIN_PIECES 2            // that are worth a thread

struct checked {
    uint64_t id[DIGEST_SIZE / 8];
    int64_t rc;
};

static int open_root (const char *root, bool contents, struct archive *a,
                      struct err *err)
{
    char path[PATH_MAX];
    int rc;

    memset (a, 0, sizeof (*a));
    a->lease.fd = -1;
    a->checked = (struct map)MAP (struct checked, DIGEST_SIZE / 8);
    if (!fileio_join (path, sizeof (path), root, "ledger.db"))
        return err_set (err, ENAMETOOLONG, "path is too long: %s", root);
    PRINT (a->root, "%s", root);
    if (contents && access (path, F_OK) == 0)
        (void)lease_take (root, "a reader of the archive", &a->lease, NULL);
    rc = ledger_open_read (path, &a->ledger, err);
    if (rc == 0)
        rc = store_open_read (root, &a->store, err);
    if (rc < 0)
        archive_close (a);
    return rc;
}

int archive_open (const char *root, struct archive *a, struct err *err)
{
    return open_root (root, true, a, err);
}

int archive_open_lists (const char *root, struct archive *a, struct err *err)
{
    return open_root (root, false, a, err);
}

void archive_close (struct archive *a)
{
    store_reader_destroy (a->in);
    for (unsigned t = 0; t < ARCHIVE_THREADS - 1; t++)
        store_reader_destroy (a->more[t]);
    memset (a->more, 0, sizeof (a->more));
    store_content_fini (&a->content);
    store_close (a->store);
    ledger_close (a->ledger);
    map_fini (&a->checked);
    lease_end (&a->lease);
    a->in = NULL;
    a->store = NULL;
    a->ledger = NULL;
}

/* ---- lists ---- */

struct names {
    char **names;
    size_t n;
};

static int add_job (void *arg, const struct ledger_job *job)
{
    struct names *list = arg;

    return vec_add_text (&list->names, &list->n, job->id);
}

/* Remove those of others. */
static int keep_visible (struct archive *a, struct names *list,
                         struct err *err)
{
    size_t kept = 0;
    int rc = 0;

    for (size_t i = 0; i < list->n; i++) {
        int own = rc < 0 ? 0 : ledger_is_of_user (a->ledger, list->names[i],
                                                  a->visible_to, err);

        if (own == 1)
            list->names[kept++] = list->names[i];
        else
            free (list->names[i]);
        rc = own < 0 ? own : rc;
    }
    list->n = kept;
    return rc;
}

int archive_jobs (struct archive *a, char ***names, size_t *n,
                  struct err *err)
{
    struct names list = { NULL, 0 };
    int rc = ledger_begin_read (a->ledger, err);

    if (rc == 0)
        rc = ledger_each_job (a->ledger, ITEM_RAW, add_job, &list, err);
    if (rc == 0 && a->visible_to)
        rc = keep_visible (a, &list, err);
    ledger_end_read (a->ledger);
    *names = list.names;
    *n = list.n;
    return rc == -ENOMEM ? err_set (err, ENOMEM, "no memory for a list") : rc;
}

/* ---- content ---- */

/* For a->in. */
static int open_content (struct archive *a, const struct ledger_item *item,
                         struct err *err)
{
    int rc;

    if (item->lost)
        return err_set (err, ENOENT, ARCHIVE_SET_ASIDE, a->root);
    store_content_fini (&a->content);
    rc = store_find_chunks (a->store, a->ledger, &item->content, &item->place,
                            &a->content, err);
    return rc < 0 || a->in ? rc : store_reader_create (a->store, &a->content,
                                                       &a->in, err);
}

static int check_new (struct archive *a, size_t i, struct err *err)
{
    const struct store_chunk *chunk = store_chunk_at (&a->content, i);
    const void *bytes;
    int rc = store_reader_check_stored (a->in, chunk, err);

    a->read += chunk->place.stored;
    return rc < 0 || !a->deep
               ? rc : store_reader_check_chunk (a->in, i, &bytes, err);
}

/* Check a chunk, unless that was done before. */
static int check_chunk (struct archive *a, size_t i, struct err *err)
{
    const struct store_chunk *chunk = store_chunk_at (&a->content, i);
    struct checked key = { { 0 }, 0 }, *c;
    bool is_new;

    memcpy (key.id, chunk->id.bytes, DIGEST_SIZE);
    if (!(c = map_put (&a->checked, &key, &is_new)))
        return err_set (err, ENOMEM, "no memory to verify");
    if (is_new || c->rc == -EREMOTEIO)
        return (int)(c->rc = check_new (a, i, err));
    return c->rc < 0 ? err_set (err, -(int)c->rc, "it has a chunk that is "
                                "damaged, as another file has") : 0;
}

int archive_check (struct archive *a, const struct ledger_item *item,
                   struct err *err)
{
    const struct store_chunk whole = { item->content, item->place };
    int rc = open_content (a, item, err);

    if (rc == 0 && a->content.list)
        rc = store_reader_check_stored (a->in, &whole, err);
    for (size_t i = 0; rc == 0 && i < a->content.n; i++)
        rc = check_chunk (a, i, err);
    return rc;
}

int archive_read (struct archive *a, const struct ledger_item *item,
                  store_bytes_fn *fn, void *arg, struct err *err)
{
    int rc = open_content (a, item, err);

    return rc < 0 ? rc : store_reader_check (a->in, fn, arg, NULL, err);
}

void archive_mark (const struct ledger_item *item, const char *job,
                   int64_t world_size, struct job_mark *ret)
{
    *ret = (struct job_mark){ "", item->rank, world_size > 0 ? world_size : -1,
                              "" };
    if (!ledger_is_open (item))
        PRINT (ret->job, "%s", job);
    PRINT (ret->host, "%s", item->host);
}

/* What a file is written with, and given. */
struct getting {
    archive_fill_fn *fill;
    void *arg;
    const struct file_facts *facts;
    bool owner;
};

static int fill (const struct getting *g, int out, struct err *err)
{
    int rc = g->fill (g->arg, out, err);

    if (rc < 0)
        return rc;
    rc = file_facts_give (out, g->facts, g->owner);
    return rc < 0 ? err_sys (err, -rc, "cannot set its owner, mode and time")
                  : 0;
}

/* The file has no name until it is whole. */
static int write_unnamed (const struct getting *g, int dir, int out,
                          const char *name, struct err *err)
{
    char self[32];
    int rc = fill (g, out, err);

    PRINT (self, "/proc/self/fd/%d", out);
    if (rc == 0 && linkat (AT_FDCWD, self, dir, name, AT_SYMLINK_FOLLOW) < 0)
        rc = err_sys (err, errno, "cannot name it");
    return rc;
}

/* On a file system without files that have no name, or without /proc. */
static int write_named (const struct getting *g, int dir, const char *name,
                        struct err *err)
{
    struct stat st = { .st_ino = 0 };
    char part[64];
    int out, rc;

    PRINT (part, ".rollcall-get-%ld", (long)getpid ());
    out = tree_openat (dir, part, O_WRONLY | O_CREAT | O_EXCL,
                       FILEIO_FILE_MODE, true);
    if (out < 0)
        return err_sys (err, -out, "cannot create it");
    rc = fstat (out, &st) < 0 ? err_sys (err, errno, "cannot stat it")
                              : fill (g, out, err);
    if (close (out) < 0 && rc == 0)
        rc = err_sys (err, errno, "cannot write it");
    if (rc == 0 && linkat (dir, part, dir, name, 0) < 0)
        rc = err_sys (err, errno, "cannot name it");
    (void)tree_remove (dir, part, &st);
    return rc;
}

static int write_new (const struct getting *g, int dir, const char *name,
                      struct err *err)
{
    struct stat st;
    int out, rc;

    // before a large file is written in vain
    if (fstatat (dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
        return err_sys (err, EEXIST, "cannot create it");
    out = access ("/proc/self/fd", F_OK) < 0
              ? -1 : openat (dir, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC,
                             FILEIO_FILE_MODE);
    if (out < 0)
        return write_named (g, dir, name, err);
    rc = write_unnamed (g, dir, out, name, err);
    if (close (out) < 0 && rc == 0)
        rc = err_sys (err, errno, "cannot write it");
    return rc;
}

int archive_write (const struct tree *to, const char *path,
                   const struct file_facts *facts, bool owner,
                   archive_fill_fn *fn, void *arg, struct err *err)
{
    const struct getting g = { fn, arg, facts, owner };
    const char *name;
    int rc, dir = rc = tree_make_parent (to, path, FILEIO_DIR_MODE, &name, err);

    if (dir >= 0) {
        rc = write_new (&g, dir, name, err);
        (void)close (dir);
    }
    return rc;
}

/* What a thread writes. */
struct filling {
    struct store_reader *in;
    const struct store_content *content;
    int out;
    size_t run;                 // chunks of a piece
};

static int fill_piece (void *state, size_t piece, struct err *err)
{
    const struct filling *f = state;
    size_t end = (piece + 1) * f->run;
    const void *bytes;
    int rc = 0;

    for (size_t i = piece * f->run; i < end && i < f->content->n && rc == 0;
         i++) {
        size_t n = (size_t)store_chunk_at (f->content, i)->place.size;

        if ((rc = store_reader_check_chunk (f->in, i, &bytes, err)) == 0 &&
            (rc = fileio_pwrite_all (f->out, bytes, n,
                                     (off_t)i * CONTENT_CHUNK)) < 0)
            return err_sys (err, -rc, "cannot copy");
    }
    if (rc == -EIO)             // not of what is written: others may be well
        return err_set (err, EBADMSG, "the root's disk did not give its bytes: "
                        "Input/output error");
    return rc;
}

/* Threads that have some pieces each. */
static unsigned threads_for (const struct archive *a, size_t pieces)
{
    long n = a->threads > 0 ? (long)a->threads : (long)thread_processors ();
    size_t most = pieces / MIN_PIECES;

    n = n < ARCHIVE_THREADS ? n : ARCHIVE_THREADS;
    n = (size_t)n < most ? n : (long)most;
    return n > 0 ? (unsigned)n : 1;
}

static int fill_from_store (void *arg, int out, struct err *err)
{
    struct archive *a = arg;
    size_t run = store_reader_run (a->in);
    const struct thread_pieces pieces = { .n = (a->content.n + run - 1) / run,
                                          .work = fill_piece };
    struct filling each[ARCHIVE_THREADS] = { { a->in, &a->content, out, run } };
    void *states[ARCHIVE_THREADS] = { &each[0] };
    unsigned n = threads_for (a, pieces.n);
    int rc = 0;

    for (unsigned t = 1; t < n && rc == 0; t++) {
        if (!a->more[t - 1])
            rc = store_reader_create (a->store, &a->content, &a->more[t - 1],
                                      err);
        each[t] = (struct filling){ a->more[t - 1], &a->content, out,
                                      run };
        states[t] = &each[t];
    }
    return rc < 0 ? rc : thread_each (&pieces, states, n, err);
}

/* Apart from -EACCES, which is of the tree. */
static int fill_or_deny (void *arg, int out, struct err *err)
{
    int rc = fill_from_store (arg, out, err);

    return rc == -EACCES ? -EPERM : rc;
}

int archive_get (struct archive *a, const struct ledger_item *item,
                 const struct tree *to, const char *path, bool owner,
                 struct err *err)
{
    int rc = open_content (a, item, err);

    if (rc < 0)
        return rc == -EACCES ? -EPERM : rc;
    return archive_write (to, path, &item->facts, owner, fill_or_deny, a, err);
}
