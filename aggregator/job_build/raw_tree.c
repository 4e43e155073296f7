/* aggregator/job_build/raw_tree.c - restore the directory trees of a job's raw
 * files
 */
#include "job_build/raw_tree.h"

#include "base/fault.h"
#include "base/vec.h"
#include "model/beside.h"
#include "store/fileio.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NO_RANK_DIR "no-rank"
#define PART_NAME ".rollcall-raw.part"  // in DIR: the file being written

struct raw_file {
    struct digest content;
    struct file_facts facts;
    struct store_content chunks;
    bool lost;
    int broken;                 // 0, or why there are no chunks
    int64_t rank, newest_ns;
    size_t at;                  // order of arrival
    char *capture;              // its name, and the memory of the next three
    char *dir, *host;           // as in struct ledger_item
    char *path;                 // below DIR
    size_t top;                 // size of the capture's own part of it
    bool beside;                // ... or of the part beside the capture
};

/* ---- collecting ---- */

/* Whether a capture's name is that of a rank directory. */
static bool is_rank_dir (const char *name)
{
    return strcmp (name, NO_RANK_DIR) == 0 ||
           (strncmp (name, "rank", 4) == 0 &&
            name[4 + strspn (name + 4, "0123456789")] == '\0');
}

/* The path of a raw file below DIR, in the directory of its capture. */
static int place_file (struct raw_file *f, const struct ledger_item *item)
{
    size_t beside = beside_size (item->capture, item->path);
    char between[32] = "";

    if (!item->shared_name && !is_rank_dir (item->capture))
        ;                       // its name is enough
    else if (item->rank < 0)
        PRINT (between, NO_RANK_DIR "/");
    else
        PRINT (between, "rank%lld/", (long long)item->rank);
    f->beside = beside > 0;
    if (asprintf (&f->capture, "%s%c%s%c%s%c%s%s%s%s%s%s", item->capture, '\0',
                  item->dir, '\0', item->host, '\0', item->dir,
                  *item->dir ? "/" : "", between,
                  f->beside ? "" : item->capture, f->beside ? "" : "/",
                  item->path) < 0)
        return -ENOMEM;
    f->dir = f->capture + strlen (f->capture) + 1;
    f->host = f->dir + strlen (f->dir) + 1;
    f->path = f->host + strlen (f->host) + 1;
    f->top = strlen (f->dir) + (*f->dir ? 1 : 0) + strlen (between) +
             (f->beside ? beside : strlen (f->capture));
    return 0;
}

struct collecting {
    struct raw_tree *tree;
    struct ledger *ledger;
};

static void raw_file_free (struct raw_file *f)
{
    store_content_fini (&f->chunks);
    free (f->capture);
}

static int raw_tree_collect (void *arg, const struct ledger_item *item)
{
    const struct collecting *c = arg;
    struct raw_tree *t = c->tree;
    struct raw_file *p = vec_add (&t->files, &t->n, sizeof (*p));

    if (!p)
        return -ENOMEM;
    p->content = item->content;
    p->facts = item->facts;
    p->lost = item->lost;
    if (!item->lost)
        p->broken = store_find_chunks (t->store, c->ledger, &item->content,
                                       &item->place, &p->chunks, NULL);
    p->rank = item->rank;
    p->newest_ns = item->newest_ns;
    p->at = t->n;
    if (place_file (p, item) == 0)
        return 0;
    store_content_fini (&p->chunks);
    t->n--;
    return -ENOMEM;
}

int raw_tree_create (struct ledger *ledger, struct store *store,
                     const char *job, struct raw_tree **ret, struct err *err)
{
    struct raw_tree *t = calloc (1, sizeof (*t));
    struct collecting c = { t, ledger };
    int rc = -ENOMEM;

    if (t) {
        t->store = store;
        rc = ledger_each (ledger, job, ITEM_RAW, raw_tree_collect, &c, err);
    }
    if (rc == -ENOMEM)
        (void)err_set (err, ENOMEM, "no memory for the raw files of %s", job);
    if (rc < 0) {
        raw_tree_destroy (t);
        return rc;
    }
    *ret = t;
    return 0;
}

void raw_tree_destroy (struct raw_tree *t)
{
    if (!t)
        return;
    for (size_t i = 0; i < t->n; i++)
        raw_file_free (&t->files[i]);
    free (t->files);
    free (t);
}

/* ---- choosing ---- */

static int compare_captures (const struct raw_file *a,
                             const struct raw_file *b)
{
    int order = strcmp (a->capture, b->capture);

    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    return order != 0 ? order : strcmp (a->dir, b->dir);
}

static int raw_tree_compare (const void *pa, const void *pb)
{
    const struct raw_file *a = pa, *b = pb;
    int order = compare_captures (a, b);

    if (order == 0)
        order = strcmp (a->path, b->path);
    return order != 0 ? order : a->at < b->at ? -1 : a->at > b->at;
}

/* A capture that is one file needs no directory.  This holds only if no version
 * has another file; otherwise its place would change.  (Names that begin with a
 * dot are excluded: we use one while writing a file.)
 */
static void place_capture (struct raw_file *f, size_t n)
{
    bool is_one = f->capture[0] != '.';

    for (size_t i = 0; i < n && is_one; i++)
        is_one = !f[i].beside &&
                 strcmp (f[i].path + f[i].top + 1, f[i].capture) == 0;
    for (size_t i = 0; i < n && is_one; i++)
        f[i].path[f[i].top] = '\0';
}

/* Which of the files of one path, in the order of arrival, is in 'version', or
 * NULL.  'had' is the version that is delivered: 'version' or an earlier one.
 */
static const struct raw_file *pick (const struct raw_file *f, size_t n,
                                    int64_t had, int64_t version)
{
    const struct raw_file *best = NULL;

    for (size_t i = 0; i < n; i++) {
        if (f[i].newest_ns == had)
            best = &f[i];
    }
    for (size_t i = 0; i < n && (!best || best->newest_ns != had); i++) {
        if (f[i].newest_ns > version &&
            (!best || f[i].newest_ns <= best->newest_ns))
            best = &f[i];
    }
    return best;
}

static bool is_same (const struct raw_file *a, const struct raw_file *b)
{
    return digest_is (&a->content, &b->content);
}

/* Choose among the files of one path; the tree's list is rebuilt in place. */
static void choose_path (struct raw_tree *t, size_t first, size_t n,
                         int64_t had, int64_t version)
{
    struct raw_file *f = t->files + first;
    const struct raw_file *best = pick (f, n, had, version);

    for (size_t i = 0; i < n; i++) {
        if (best && &f[i] == best)
            continue;
        t->left += !best || !is_same (&f[i], best);
        raw_file_free (&f[i]);
    }
    if (best)
        t->files[t->n++] = *best;
}

static void choose_capture (struct raw_tree *t, size_t first, size_t end,
                            int64_t version)
{
    const struct raw_file *f = t->files;
    int64_t had = INT64_MIN;

    for (size_t i = first; i < end; i++) {
        if (f[i].newest_ns <= version && f[i].newest_ns > had)
            had = f[i].newest_ns;
    }
    for (size_t i = first, next; i < end; i = next) {
        for (next = i + 1;
             next < end && strcmp (f[next].path, f[i].path) == 0;)
            next++;
        choose_path (t, i, next - i, had, version);
    }
}

void raw_tree_choose (struct raw_tree *t, raw_version_fn *version, void *arg)
{
    const struct raw_file *f = t->files;
    size_t n = t->n;

    if (n > 0)
        qsort (t->files, n, sizeof (*f), raw_tree_compare);
    t->n = t->left = 0;
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && compare_captures (f + end, f + i) == 0;)
            end++;
        place_capture (t->files + i, end - i);
        choose_capture (t, i, end, version ? version (arg, f[i].rank,
                                                      f[i].capture, f[i].dir)
                                           : INT64_MAX);
    }
}

int raw_tree_captures (const struct raw_tree *t,
                       struct job_mark_capture **ret, size_t *n)
{
    struct job_mark_capture *list = calloc (t->n + 1, sizeof (*list));

    *ret = list;
    *n = 0;
    for (size_t i = 0; i < t->n && list; i++) {
        const struct raw_file *f = &t->files[i];

        if (!f->beside &&
            (*n == 0 || strncmp (list[*n - 1].path, f->path, f->top + 1) != 0))
            list[(*n)++] = (struct job_mark_capture){ f->path, f->top, f->host,
                                                      f->rank };
    }
    return list ? 0 : -ENOMEM;
}

/* ---- writing ---- */

struct put {
    struct raw_tree *tree;
    const struct tree *dir;
    const atomic_bool *cancel;
    struct err *err;
};

static int miss (struct put *p, const struct raw_file *f, const char *why)
{
    struct raw_tree *t = p->tree;

    if (t->missing < RAW_TREE_NAMED_MAX)
        (void)err_set (&t->named[t->missing], EIO, "raw file %s: %s", f->path,
                       why);
    t->missing++;
    return 0;
}

/* Move the file 'name' into a new directory of the same name, by way of the
 * temporary name.
 */
static int move_inside (struct put *p, int at, const char *name,
                        const char *inside)
{
    int part = p->dir->fd, dir, rc = 0;

    if (renameat (at, name, part, PART_NAME) < 0)
        return -errno;
    if (mkdirat (at, name, FILEIO_DIR_MODE) < 0) {
        rc = -errno;
        (void)renameat (part, PART_NAME, at, name);
        return rc;
    }
    dir = tree_openat (at, name, O_RDONLY | O_DIRECTORY, 0, true);
    if (dir < 0)
        return dir;
    if (renameat (part, PART_NAME, dir, inside) < 0)
        rc = -errno;
    (void)close (dir);
    return rc;
}

/* An earlier build knew only one file of a capture and took it for all of it.
 * Move that file into the directory that replaces it.  (It is not removed,
 * since it may be the only copy of its content.)
 */
static int make_room (struct put *p, const struct raw_file *f,
                      struct err *err)
{
    char top[PATH_MAX], *slash;
    const char *name;
    struct stat st;
    int at, rc = 0;

    PRINT (top, "./%.*s", (int)f->top, f->path);
    slash = strrchr (top, '/');
    *slash = '\0';
    name = slash + 1;
    if (f->path[f->top] == '\0' || f->beside)
        return 0;
    at = tree_openat (p->dir->fd, top, O_RDONLY | O_DIRECTORY, 0, true);
    if (at < 0)                 // nothing is in the way; other errors
        return 0;               // show when the file is written
    if (fstatat (at, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISREG (st.st_mode))
        rc = move_inside (p, at, name, f->capture);
    (void)close (at);
    return rc < 0 ? err_sys (err, -rc, "cannot make a directory of %s/%.*s",
                             p->dir->path, (int)f->top, f->path) : 0;
}

/* Whether the file is there from an earlier build: its name and size do not
 * prove that it is complete, so its hash is checked.
 */
static bool is_there (const struct put *p, const struct raw_file *f)
{
    int fd = tree_openat (p->dir->fd, f->path, O_RDONLY | O_NONBLOCK, 0,
                          false);
    struct digest id;
    struct stat st;
    bool same;

    if (fd < 0)
        return false;
    same = fstat (fd, &st) == 0 && S_ISREG (st.st_mode) &&
           (f->lost || (uint64_t)st.st_size == f->chunks.size) &&
           content_id_of_file (fd, (uint64_t)st.st_size, &id, NULL) == 0 &&
           digest_is (&id, &f->content);
    if (same)                   // somebody else's file stays as it is
        (void)file_facts_give (fd, &f->facts, false);
    (void)close (fd);
    return same;
}

static int write_bytes (void *arg, const void *bytes, size_t size)
{
    return fileio_write_all (*(const int *)arg, bytes, size);
}

static int write_part (struct put *p, const struct raw_file *f,
                       struct store_reader *in, struct err *err)
{
    int out, rc;

    (void)unlinkat (p->dir->fd, PART_NAME, 0);  // left by a killed process
    out = tree_openat (p->dir->fd, PART_NAME, O_WRONLY | O_CREAT | O_EXCL,
                       FILEIO_FILE_MODE, true);
    rc = out < 0 ? out : FAULT ("aggregator.raw.write");

    if (rc == 0)
        rc = store_reader_check (in, write_bytes, &out, p->cancel, err);
    if (rc == 0)
        rc = file_facts_give (out, &f->facts, geteuid () == 0);
    return fileio_close_written (out, rc);
}

/* Write the file under a temporary name and rename it: nobody sees half of it.
 */
static int put_file (struct put *p, const struct raw_file *f,
                     struct store_reader *in, struct err *err)
{
    const char *name;
    int rc, dir = tree_make_parent (p->dir, f->path, FILEIO_DIR_MODE, &name,
                                    err);

    if (dir < 0)
        return dir;
    rc = write_part (p, f, in, err);
    if (rc == 0 && renameat (p->dir->fd, PART_NAME, dir, name) < 0)
        rc = -errno;
    (void)close (dir);
    if (rc == -EREMOTEIO)
        return rc;
    if (rc == -EBADMSG || rc == -ENOENT)
        return miss (p, f, "its stored data is damaged; after rollcall fsck "
                           "aggregator --repair an agent can deliver it again");
    if (rc == -EIO && store_reader_is_unread (in))
        return miss (p, f, "the disk did not give its bytes: Input/output "
                           "error");
    return rc < 0 ? err_sys (err, -rc, "cannot write %s/%s", p->dir->path,
                             f->path) : 0;
}

/* An error of one file only (its name, or another file in its way) does not
 * stop the others.
 */
static int end_file (struct put *p, const struct raw_file *f, int rc,
                     const struct err *why)
{
    if (rc == -ENAMETOOLONG || rc == -ENOTDIR || rc == -EISDIR ||
        rc == -EEXIST || rc == -ELOOP || rc == -EXDEV)
        return miss (p, f, why->text);
    return rc < 0 ? err_set (p->err, -rc, "%s", why->text) : 0;
}

static int raw_tree_write (struct put *p, const struct raw_file *f)
{
    char path[PATH_MAX];
    struct store_reader *in = NULL;
    struct err why = { "" };
    int rc;

    // readers have to name it as a whole
    if (!fileio_join (path, sizeof (path), p->dir->path, f->path))
        return miss (p, f, "its path is too long");
    if ((rc = make_room (p, f, &why)) < 0)
        return end_file (p, f, rc, &why);
    if (is_there (p, f))
        return 0;
    if (f->lost)
        return miss (p, f, "its stored data was damaged and moved to "
                           "quarantine/ in the aggregator's root");
    if (f->broken < 0)
        return miss (p, f, "its stored data is damaged or removed");
    if ((rc = store_reader_create (p->tree->store, &f->chunks, &in, &why)) == 0)
        rc = put_file (p, f, in, &why);
    store_reader_destroy (in);
    return end_file (p, f, rc, &why);
}

/* Sync all files and names of the tree at once: there may be 100,000. */
static int sync_tree (const struct tree *dir, struct err *err)
{
    int rc = FAULT ("aggregator.raw.fsync");

    if (rc == 0 && syncfs (dir->fd) < 0)
        rc = -errno;
    return rc < 0 ? err_sys (err, -rc, "cannot fsync %s", dir->path) : 0;
}

int raw_tree_put (struct raw_tree *t, const struct tree *dir,
                  const atomic_bool *cancel, struct err *err)
{
    struct put p = { t, dir, cancel, err };
    int rc = 0;

    t->missing = 0;
    for (size_t i = 0; i < t->n && rc == 0; i++)
        rc = atomic_load (cancel) ? -EINTR : raw_tree_write (&p, &t->files[i]);
    (void)unlinkat (dir->fd, PART_NAME, 0);
    if (rc == 0 && t->n > 0)
        rc = sync_tree (dir, err);
    return rc == -EINTR ? err_set (err, EINTR, "interrupted") : rc;
}
