/* node_agent/sealer.c - captures into sealed shipments, in a thread */
#include "sealer.h"

#include "analyse/analyser.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/fileio.h"
#include "base/thread.h"
#include "extract/extract.h"
#include "guard/bulk.h"
#include "guard/manifest.h"
#include "model/shipment.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#define RAW_DEPTH_MAX 32

struct node {
    struct sealed s;
    int64_t added_ns;
    struct node *next;
};

struct sealer {
    struct loop *loop;
    struct bulk *bulk;
    bool raw, manifests;
    void (*done) (void *arg, struct sealed *s);
    void *arg;
    pthread_t thread;
    bool started;
    pthread_mutex_t lock;       // over the lists and 'ending'
    pthread_cond_t changed;
    struct node *todo, *ready;
    struct node *current;       // in the thread
    bool ending;
    int wake_fd;
    size_t pending;             // the loop's own count
};

/* ---- in the thread ---- */

static struct spool_new *add_item (struct sealed *s, enum item_kind kind,
                                   const char *path)
{
    struct spool_new *p;

    if ((s->nitems & (s->nitems - 1)) == 0) {   // full at powers of two
        p = realloc (s->items, (s->nitems ? 2 * s->nitems : 1) * sizeof (*p));
        if (!p)
            return NULL;
        s->items = p;
    }
    p = &s->items[s->nitems];
    memset (p, 0, sizeof (*p));
    p->kind = kind;
    p->number = (unsigned)s->nitems;
    content_hash_init (&p->hash);
    if (!(p->path = strdup (path)))
        return NULL;
    s->nitems++;
    return p;
}

static void drop_last (struct sealed *s)
{
    struct spool_new *p = &s->items[--s->nitems];

    content_hash_fini (&p->hash);
    free (p->path);
}

static int rest (struct bulk *bulk, struct err *err)
{
    int rc = bulk_rest (bulk);

    return rc < 0 ? err_set (err, -rc, "the agent is ending") : 0;
}

static int rest_chunk (void *bulk)
{
    return bulk_rest (bulk);
}

/* A file's hash, with a rest between chunks. */
static int hash_file (int fd, struct spool_new *item, struct bulk *bulk,
                      struct err *err)
{
    return content_hash_file (fd, item->size, &item->hash, rest_chunk, bulk,
                              err);
}

/* Rows on their way into the shipment, with a rest between batches. */
struct resting {
    const struct row_sink *to;
    struct bulk *bulk;
};

static int rest_rows (void *arg, const struct batch *b, struct err *err)
{
    struct resting *r = arg;
    int rc = rest (r->bulk, err);

    return rc < 0 ? rc : r->to->rows (r->to->arg, b, err);
}

static int rest_forget (void *arg, enum table_id table, struct err *err)
{
    struct resting *r = arg;

    return r->to->forget (r->to->arg, table, err);
}

static int write_rows (struct sealed *s, struct shipment_writer *w,
                       struct spool_new *item, struct bulk *bulk,
                       struct err *err)
{
    struct resting resting = { shipment_sink (w), bulk };
    struct row_sink sink = { rest_rows, rest_forget, &resting };
    struct capture c;
    int rc;

    capture_init (&c);
    rc = extract_capture (s->what.path, NULL, &sink, &c, err);
    if (c.rank == CAPTURE_NO_RANK && s->what.rank_hint >= 0)
        c.rank = s->what.rank_hint;
    if (s->analysis[0])
        analyser_tell (&c, s->analysis, s->analysis_failed);
    s->rank = c.rank;
    (void)snprintf (s->state, sizeof (s->state), "%s",
                    capture_state_name (c.state));
    (void)snprintf (s->name, sizeof (s->name), "%s", c.name);
    if (rc == 0 && (rc = FAULT ("agent.seal.write")) < 0)
        rc = err_sys (err, -rc, "cannot write %s", s->file);
    if (rc == 0)
        rc = shipment_finish (w, &c, &item->size, err);
    capture_fini (&c);
    return rc;
}

static int seal_rows (struct sealed *s, int fd, struct bulk *bulk,
                      struct err *err)
{
    struct shipment_writer *w = shipment_writer_create (fd);
    struct spool_new *item = add_item (s, ITEM_ROWS, "");
    int rc;

    if (!w || !item) {
        shipment_writer_destroy (w);
        return err_set (err, ENOMEM, "cannot begin a shipment in %s", s->file);
    }
    item->own = true;
    rc = write_rows (s, w, item, bulk, err);
    shipment_writer_destroy (w);
    if (rc == 0 && (rc = FAULT ("agent.seal.fsync")) < 0)
        rc = err_sys (err, -rc, "cannot fsync %s", s->file);
    if (rc == 0 && fsync (fd) < 0)
        rc = err_sys (err, errno, "cannot fsync %s", s->file);
    return rc < 0 ? rc : hash_file (fd, item, bulk, err);
}

static void link_path (const struct sealed *s, unsigned number,
                       char out[PATH_MAX])
{
    size_t n = strlen (s->file) - 1;    // without the 0 of the shipment

    (void)snprintf (out, PATH_MAX, "%.*s%u", (int)n, s->file, number);
}

/* A link in the spool keeps a file that its owner deletes.  Without one (it is
 * on another file system, or belongs to somebody else) the file is read where
 * it lies.
 */
static bool link_file (const struct sealed *s, int dirfd, const char *name,
                       const struct stat *st, unsigned number)
{
    char path[PATH_MAX];
    struct stat made;

    link_path (s, number, path);
    (void)unlink (path);        // of a file that was left out after all
    if (FAULT ("agent.seal.link") < 0 ||
        linkat (dirfd, name, AT_FDCWD, path, 0) < 0)
        return false;
    if (lstat (path, &made) == 0 && made.st_ino == st->st_ino &&
        made.st_dev == st->st_dev)
        return true;
    (void)unlink (path);        // exchanged for another file meanwhile
    return false;
}

/* Raw files on their way into the items. */
struct raw {
    struct sealed *s;
    struct bulk *bulk;
};

/* Something cannot be delivered; the first reason stands for all. */
static void leave_out (const struct raw *r, const char *path, const char *why)
{
    r->s->missed = true;
    if (r->s->skipped++ == 0)
        (void)err_set (&r->s->skipped_why, EIO, "%s: %s",
                       *path ? path : "all of it", why);
}

/* Whether a file's disk cannot read it.  It may be able to another time, so it
 * is waited for once.
 */
static bool is_unreadable (const struct sealed *s, int rc)
{
    return s->again && (rc == -EIO || rc == -ESTALE || rc == -ETIMEDOUT);
}

static void drop_raw (struct sealed *s, const struct spool_new *item)
{
    char made[PATH_MAX];

    link_path (s, item->number, made);
    if (item->own)
        (void)unlink (made);
    drop_last (s);
}

static int hash_raw (const struct raw *r, int fd, int dirfd, const char *name,
                     const char *path, const struct stat *st, struct err *err)
{
    struct spool_new *item = add_item (r->s, ITEM_RAW, path);
    int rc;

    if (!item)
        return err_set (err, ENOMEM, "no memory for raw files");
    item->size = (uint64_t)st->st_size;
    item->own = link_file (r->s, dirfd, name, st, item->number);
    rc = hash_file (fd, item, r->bulk, err);
    if (rc == -ENODATA) {       // it shrank: it will be seen as changed
        drop_raw (r->s, item);
        r->s->missed = true;
        rc = 0;
    } else if (is_unreadable (r->s, rc)) {
        drop_raw (r->s, item);
        leave_out (r, path, strerror (-rc));
        rc = 0;
    }
    return rc < 0 ? err_prefix (err, rc, "%s", path) : 0;
}

static int seal_file (const struct raw *r, int dirfd, const char *name,
                      const char *path, struct err *err)
{
    struct stat st;
    int fd, rc = 0;

    if (r->s->nitems > SEALER_RAW_MAX) {
        leave_out (r, path, "it has more files than are shipped");
        return 0;
    }
    if ((fd = fileio_open_at (dirfd, name, NULL)) < 0) {
        r->s->missed = true;
        if (fd != -ENOENT)      // it was just removed
            leave_out (r, path, strerror (-fd));
        return 0;
    }
    if (fstat (fd, &st) < 0)
        leave_out (r, path, strerror (errno));
    else
        rc = hash_raw (r, fd, dirfd, name, path, &st, err);
    (void)close (fd);
    return rc;
}

static int seal_dir (const struct raw *r, int parent, const char *name,
                     const char *path, unsigned depth, struct err *err);

static int seal_entry (const struct raw *r, int dirfd, const char *name,
                       const char *prefix, unsigned depth, struct err *err)
{
    char path[MESSAGE_PATH_MAX];
    struct stat st;
    int n = snprintf (path, sizeof (path), "%s%s%s", prefix,
                      *prefix ? "/" : "", name);
    int rc = rest (r->bulk, err);

    if (rc < 0)
        return rc;
    if (n < 0 || (size_t)n >= sizeof (path)) {
        leave_out (r, path, strerror (ENAMETOOLONG));
    } else if (fstatat (dirfd, name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
        r->s->missed = true;
        if (errno != ENOENT)
            leave_out (r, path, strerror (errno));
    } else if (S_ISREG (st.st_mode)) {
        rc = seal_file (r, dirfd, name, path, err);
    } else if (S_ISDIR (st.st_mode) && depth == 0) {
        leave_out (r, path, "directories are not read any deeper");
    } else if (S_ISDIR (st.st_mode)) {
        rc = seal_dir (r, dirfd, name, path, depth - 1, err);
    }
    return rc;
}

static int seal_dir (const struct raw *r, int parent, const char *name,
                     const char *path, unsigned depth, struct err *err)
{
    int fd = fileio_open_dir_at (parent, name, NULL), rc = 0, listed = 0;
    DIR *dir = fd < 0 ? NULL : fdopendir (fd);
    struct dirent *e;

    if (!dir) {
        r->s->missed = true;
        if (fd != -ENOENT)
            leave_out (r, path, strerror (fd < 0 ? -fd : errno));
        if (fd >= 0)
            (void)close (fd);
        return 0;
    }
    while (rc == 0 && (e = fileio_next_entry (dir, &listed)))
        rc = seal_entry (r, dirfd (dir), e->d_name, path, depth, err);
    if (rc == 0 && listed < 0)
        leave_out (r, path, strerror (-listed));
    (void)closedir (dir);
    return rc;
}

/* A capture that is one file is its own raw file. */
static int seal_tree (const struct raw *r, const char *path, struct err *err)
{
    const char *slash = strrchr (path, '/');
    struct stat st;

    if (lstat (path, &st) == 0 && S_ISREG (st.st_mode))
        return seal_file (r, AT_FDCWD, path, slash ? slash + 1 : path, err);
    return seal_dir (r, AT_FDCWD, path, "", RAW_DEPTH_MAX, err);
}

/* What a capture has before it is read.  A capture that cannot be described,
 * or of which not every file was sealed, is never released.  Their number alone
 * does not tell: a file that comes and goes makes up for one that is left out.
 */
static size_t take_manifest (struct sealed *s)
{
    size_t files = 0;

    if (manifest_take (s->what.path, &s->manifest, &files, &s->kept_why) < 0)
        buf_clear (&s->manifest);
    return files;
}

static void seal (struct sealed *s, struct bulk *bulk, bool raw,
                  bool manifest)
{
    size_t files;
    int fd;

    if ((s->rc = rest (bulk, &s->err)) < 0)
        return;                 // not begun: it waits for the next life
    fd = open (s->file, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    files = manifest ? take_manifest (s) : 0;
    if (fd < 0) {
        s->rc = err_sys (&s->err, errno, "cannot create %s", s->file);
        return;
    }
    s->rc = seal_rows (s, fd, bulk, &s->err);
    (void)close (fd);
    if (s->rc == 0 && raw)
        s->rc = seal_tree (&(struct raw){ s, bulk }, s->what.path, &s->err);
    if (raw && s->manifest.size > 0 &&
        (s->missed || s->nitems != files + 1)) {
        buf_clear (&s->manifest);
        (void)err_set (&s->kept_why, EIO, "%s: not all of its files are "
                       "delivered", s->what.path);
    }
}

static struct node *take_todo (struct sealer *x)
{
    struct node *n;

    (void)pthread_mutex_lock (&x->lock);
    while (!x->todo && !x->ending)
        (void)pthread_cond_wait (&x->changed, &x->lock);
    n = x->ending ? NULL : x->todo;
    if (n)
        x->todo = n->next;
    x->current = n;
    (void)pthread_mutex_unlock (&x->lock);
    return n;
}

static void append (struct node **list, struct node *n)
{
    n->next = NULL;
    while (*list)
        list = &(*list)->next;
    *list = n;
}

static void *work (void *arg)
{
    struct sealer *x = arg;
    uint64_t one = 1;
    struct node *n;
    ssize_t written;

    bulk_attach (x->bulk);
    while ((n = take_todo (x))) {
        seal (&n->s, x->bulk, x->raw, x->manifests);
        (void)pthread_mutex_lock (&x->lock);
        x->current = NULL;
        append (&x->ready, n);
        (void)pthread_mutex_unlock (&x->lock);
        written = write (x->wake_fd, &one, sizeof (one));
        (void)written;
    }
    return NULL;
}

/* ---- in the loop ---- */

static void node_free (struct node *n)
{
    free ((char *)n->s.what.path);
    while (n->s.nitems > 0)
        drop_last (&n->s);
    free (n->s.items);
    buf_fini (&n->s.manifest);
    free (n);
}

static void on_ready (void *arg)
{
    struct sealer *x = arg;
    uint64_t count;

    if (read (x->wake_fd, &count, sizeof (count)) < 0)
        return;
    for (;;) {
        struct node *n;

        (void)pthread_mutex_lock (&x->lock);
        if ((n = x->ready))
            x->ready = n->next;
        (void)pthread_mutex_unlock (&x->lock);
        if (!n)
            return;
        x->pending--;
        x->done (x->arg, &n->s);
        node_free (n);
    }
}

int sealer_add (struct sealer *x, const struct watch_settled *what,
                uint64_t id, const char *file, bool again,
                const struct sealer_analysis *analysis)
{
    struct node *n = calloc (1, sizeof (*n));

    if (!n)
        return -ENOMEM;
    n->s.what = *what;
    n->s.rank = -1;
    n->added_ns = clock_mono_ns ();
    buf_init (&n->s.manifest, MANIFEST_MAX);
    n->s.id = id;
    n->s.again = again;
    (void)snprintf (n->s.file, sizeof (n->s.file), "%s", file);
    (void)snprintf (n->s.analysis, sizeof (n->s.analysis), "%s",
                    analysis->why ? analysis->why : "");
    n->s.analysis_failed = analysis->failed;
    if (!(n->s.what.path = strdup (what->path))) {
        free (n);
        return -ENOMEM;
    }
    (void)pthread_mutex_lock (&x->lock);
    append (&x->todo, n);
    (void)pthread_cond_signal (&x->changed);
    (void)pthread_mutex_unlock (&x->lock);
    x->pending++;
    return 0;
}

int64_t sealer_oldest_ns (struct sealer *x)
{
    const struct node *n;
    int64_t oldest;

    (void)pthread_mutex_lock (&x->lock);
    n = x->current ? x->current : x->todo;
    oldest = n ? n->added_ns : 0;
    (void)pthread_mutex_unlock (&x->lock);
    return oldest;
}

size_t sealer_pending (const struct sealer *x)
{
    return x->pending;
}

int sealer_create (struct loop *loop, struct bulk *bulk, bool raw,
                   bool manifests,
                   void (*done) (void *arg, struct sealed *s), void *arg,
                   struct sealer **ret, struct err *err)
{
    struct sealer *x = calloc (1, sizeof (*x));
    int rc;

    if (!x)
        return err_set (err, ENOMEM, "no memory to extract");
    x->loop = loop;
    x->bulk = bulk;
    x->raw = raw;
    x->manifests = manifests;
    x->done = done;
    x->arg = arg;
    (void)pthread_mutex_init (&x->lock, NULL);
    (void)pthread_cond_init (&x->changed, NULL);
    x->wake_fd = eventfd (0, EFD_CLOEXEC | EFD_NONBLOCK);
    rc = x->wake_fd < 0 ? -errno : loop_add_fd (loop, x->wake_fd, on_ready, x);
    if (rc == 0) {
        rc = thread_start (&x->thread, work, x);
        x->started = rc == 0;
    }
    if (rc < 0) {
        sealer_destroy (x);
        return err_sys (err, -rc, "cannot start the extracting thread");
    }
    *ret = x;
    return 0;
}

static void free_list (struct node *n)
{
    while (n) {
        struct node *next = n->next;

        node_free (n);
        n = next;
    }
}

void sealer_destroy (struct sealer *x)
{
    if (!x)
        return;
    (void)pthread_mutex_lock (&x->lock);
    x->ending = true;
    (void)pthread_cond_signal (&x->changed);
    (void)pthread_mutex_unlock (&x->lock);
    if (x->started)
        (void)pthread_join (x->thread, NULL);
    if (x->wake_fd >= 0) {
        loop_del_fd (x->loop, x->wake_fd);
        (void)close (x->wake_fd);
    }
    free_list (x->todo);
    free_list (x->ready);
    (void)pthread_cond_destroy (&x->changed);
    (void)pthread_mutex_destroy (&x->lock);
    free (x);
}
