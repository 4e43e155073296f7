/* node_agent/sealer.c - captures into sealed shipments, in a thread */
#include "sealer.h"

#include "base/fileio.h"
#include "extract/extract.h"
#include "model/shipment.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#define RAW_DEPTH_MAX 32
#define RAW_FILES_MAX (1u << 20)

struct node {
    struct sealed s;
    struct node *next;
};

struct sealer {
    struct loop *loop;
    bool raw;
    void (*done) (void *arg, struct sealed *s);
    void *arg;
    pthread_t thread;
    bool started;
    pthread_mutex_t lock;       // over the lists and 'ending'
    pthread_cond_t changed;
    struct node *todo, *ready;
    bool ending;
    int wake_fd;
    size_t pending;             // the loop's own count
};

/* ---- in the thread ---- */

static struct spool_item *add_item (struct sealed *s)
{
    struct spool_item *p;

    if ((s->nitems & (s->nitems - 1)) == 0) {   // full at powers of two
        p = realloc (s->items, (s->nitems ? 2 * s->nitems : 1) * sizeof (*p));
        if (!p)
            return NULL;
        s->items = p;
    }
    p = &s->items[s->nitems++];
    memset (p, 0, sizeof (*p));
    return p;
}

static int seal_rows (struct sealed *s, int fd, struct err *err)
{
    struct shipment_writer *w = shipment_writer_create (fd);
    struct spool_item *item = add_item (s);
    struct capture c;
    int rc;

    if (!w || !item) {
        shipment_writer_destroy (w);
        return err_set (err, ENOMEM, "cannot begin a shipment in %s", s->temp);
    }
    capture_init (&c);
    rc = extract_capture (s->what.path, NULL, shipment_sink (w), &c, err);
    if (c.rank == CAPTURE_NO_RANK && s->what.rank_hint >= 0)
        c.rank = s->what.rank_hint;
    s->rank = c.rank;
    (void)snprintf (s->state, sizeof (s->state), "%s",
                    capture_state_name (c.state));
    item->kind = ITEM_ROWS;
    item->rank = c.rank;
    (void)snprintf (item->capture, sizeof (item->capture), "%s", c.name);
    (void)snprintf (item->file, sizeof (item->file), "%s", s->temp);
    if (rc == 0)
        rc = shipment_finish (w, &c, &item->size, err);
    shipment_writer_destroy (w);
    capture_fini (&c);
    if (rc == 0 && fsync (fd) < 0)
        rc = err_sys (err, errno, "cannot fsync %s", s->temp);
    return rc < 0 ? rc : content_id_of_file (fd, item->size, &item->content,
                                             err);
}

static int seal_file (struct sealed *s, int dirfd, const char *name,
                      const char *path, const struct stat *st,
                      struct err *err)
{
    struct spool_item *item = add_item (s);
    int fd = fileio_open_at (dirfd, name, err);
    int rc;

    if (!item) {
        if (fd >= 0)
            (void)close (fd);
        return err_set (err, ENOMEM, "no memory for raw files");
    }
    if (fd < 0) {               // vanished, or not to be read by us
        s->nitems--;
        return 0;
    }
    item->kind = ITEM_RAW;
    item->rank = s->rank;
    item->size = (uint64_t)st->st_size;
    memcpy (item->capture, s->items[0].capture, sizeof (item->capture));
    (void)snprintf (item->path, sizeof (item->path), "%s", path);
    (void)snprintf (item->file, sizeof (item->file), "%s/%s", s->what.path,
                    path);
    rc = content_id_of_file (fd, item->size, &item->content, err);
    (void)close (fd);
    if (rc == -ENODATA) {       // it shrank: it will be seen as changed
        s->nitems--;
        rc = 0;
    }
    return rc;
}

static int seal_raw (struct sealed *s, int fd, const char *prefix,
                     unsigned depth, struct err *err)
{
    DIR *dir = fdopendir (fd);
    struct dirent *e;
    int rc = 0;

    if (!dir) {
        (void)close (fd);
        return 0;
    }
    while (rc == 0 && s->nitems < RAW_FILES_MAX && (e = readdir (dir))) {
        char path[MESSAGE_PATH_MAX];
        struct stat st;
        int n = snprintf (path, sizeof (path), "%s%s%s", prefix,
                          *prefix ? "/" : "", e->d_name), child;

        if (strcmp (e->d_name, ".") == 0 || strcmp (e->d_name, "..") == 0 ||
            n < 0 || (size_t)n >= sizeof (path) ||
            fstatat (dirfd (dir), e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
            continue;
        if (S_ISREG (st.st_mode))
            rc = seal_file (s, dirfd (dir), e->d_name, path, &st, err);
        else if (S_ISDIR (st.st_mode) && depth > 0 &&
                 (child = fileio_open_dir_at (dirfd (dir), e->d_name,
                                              NULL)) >= 0)
            rc = seal_raw (s, child, path, depth - 1, err);
    }
    (void)closedir (dir);
    return rc;
}

static void seal (struct sealed *s, bool raw)
{
    int fd = open (s->temp, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    int dir;

    if (fd < 0) {
        s->rc = err_sys (&s->err, errno, "cannot create %s", s->temp);
        return;
    }
    s->rc = seal_rows (s, fd, &s->err);
    (void)close (fd);
    if (s->rc == 0 && raw &&
        (dir = fileio_open_dir_at (AT_FDCWD, s->what.path, NULL)) >= 0)
        s->rc = seal_raw (s, dir, "", RAW_DEPTH_MAX, &s->err);
    if (s->rc < 0)
        (void)unlink (s->temp);
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

    while ((n = take_todo (x))) {
        seal (&n->s, x->raw);
        (void)pthread_mutex_lock (&x->lock);
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
    free (n->s.items);
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
                const char *temp)
{
    struct node *n = calloc (1, sizeof (*n));

    if (!n)
        return -ENOMEM;
    n->s.what = *what;
    n->s.rank = -1;
    (void)snprintf (n->s.temp, sizeof (n->s.temp), "%s", temp);
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

size_t sealer_pending (const struct sealer *x)
{
    return x->pending;
}

static int start_thread (struct sealer *x)
{
    sigset_t all, old;
    int rc;

    (void)sigfillset (&all);
    (void)pthread_sigmask (SIG_SETMASK, &all, &old);
    rc = -pthread_create (&x->thread, NULL, work, x);
    (void)pthread_sigmask (SIG_SETMASK, &old, NULL);
    x->started = rc == 0;
    return rc;
}

int sealer_create (struct loop *loop, bool raw,
                   void (*done) (void *arg, struct sealed *s), void *arg,
                   struct sealer **ret, struct err *err)
{
    struct sealer *x = calloc (1, sizeof (*x));
    int rc;

    if (!x)
        return err_set (err, ENOMEM, "no memory to extract");
    x->loop = loop;
    x->raw = raw;
    x->done = done;
    x->arg = arg;
    (void)pthread_mutex_init (&x->lock, NULL);
    (void)pthread_cond_init (&x->changed, NULL);
    x->wake_fd = eventfd (0, EFD_CLOEXEC | EFD_NONBLOCK);
    rc = x->wake_fd < 0 ? -errno : loop_add_fd (loop, x->wake_fd, on_ready, x);
    if (rc == 0)
        rc = start_thread (x);
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
