/* node_agent/agent/sealer.c - captures into sealed shipments, in a thread */
#include "agent/sealer.h"

#include "agent/seal_items.h"
#include "offline_analysis/analyser.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/thread.h"
#include "discovery/raw_files.h"
#include "extract/extract.h"
#include "model/shipment.h"
#include "spool/manifest.h"
#include "throttle/bulk.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

struct node {
    struct sealed s;
    int64_t added_ns;
    struct node *next;
};

struct sealer {
    struct loop *loop;
    struct bulk *bulk;
    bool raw, manifests, owners;        // kept by the loop
    const char *host, *job;     // for the evidence, or NULL
    const struct job_origin *about;     // the same
    void (*done) (void *arg, struct sealed *s);
    void *arg;
    pthread_t thread;
    bool started;
    pthread_mutex_t lock;       // of the lists and 'ending'
    pthread_cond_t changed;
    struct node *todo, *ready;
    struct node *current;       // in the thread
    bool ending;
    int wake_fd;                // counts those that are ready
    size_t pending;             // kept by the loop
};

/* ---- in the thread ---- */

/* Rows on their way into the shipment, with a pause between batches. */
struct resting {
    const struct row_sink *to;
    struct bulk *bulk;
};

static int rest_rows (void *arg, const struct batch *b, struct err *err)
{
    struct resting *r = arg;
    int rc = seal_pause (r->bulk, err);

    return rc < 0 ? rc : r->to->rows (r->to->arg, b, err);
}

static int rest_forget (void *arg, enum table_id table, struct err *err)
{
    struct resting *r = arg;

    return r->to->forget (r->to->arg, table, err);
}

/* A capture whose writer had not finished lacks something, whatever can be
 * read.
 */
static void tell_unfinished (struct capture *c)
{
    if (c->state == CAPTURE_COMPLETE)
        c->state = CAPTURE_PARTIAL;
    capture_reason (c, "%s", SEALER_UNFINISHED);
}

/* ---- whose it is ---- */

static int see_owner (void *arg, int dirfd, const char *name, const char *path,
                      struct err *err)
{
    struct capture *c = arg;
    struct stat st;

    (void)path;
    (void)err;
    if (fstatat (dirfd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
        st.st_uid != c->owner)
        c->many_owners = true;
    return 0;
}

static int ignore (void *arg, const char *path, int rc, struct err *err)
{
    (void)arg;
    (void)path;
    (void)rc;
    (void)err;
    return 0;
}

static void ignore_left (void *arg, const char *path, const char *why)
{
    (void)ignore (arg, path, 0, NULL);
    (void)why;
}

/* The owner of a capture is its user, unless a file of it is another's: whoever
 * may move that into his directory must not get to see it.
 */
static void find_user (struct sealed *s, struct capture *c)
{
    const struct raw_files files = { .file = see_owner, .pass_over = ignore,
                                     .leave_out = ignore_left, .arg = c };
    struct passwd user, *found = NULL;
    char text[1024];

    if (s->raw && raw_files_each (s->what.path, &files, NULL) < 0)
        return;
    if (c->owner < 0 || c->many_owners ||
        getpwuid_r ((uid_t)c->owner, &user, text, sizeof (text), &found) != 0 ||
        !found || !evidence_about (&c->evidence))
        return;
    PRINT (c->evidence.about->user, "%s", found->pw_name);
    s->user = c->owner;
}

/* Add on which host it was found, and for which job; not its directory, so that
 * the rows of a copy are the same.
 */
static void sign (const struct sealer *x, struct sealed *s, struct capture *c)
{
    struct evidence *e = &c->evidence;

    if (!x->about)
        find_user (s, c);
    else if (evidence_about (e))
        *e->about = *x->about;
    if (x->host)
        PRINT (e->host_key, "%s", x->host);
    if (x->job)
        PRINT (e->job, "%s", x->job);
}

static int write_rows (struct sealer *x, struct sealed *s,
                       struct shipment_writer *w, struct spool_new *item,
                       struct err *err)
{
    struct resting resting = { shipment_sink (w), x->bulk };
    struct row_sink sink = { rest_rows, rest_forget, &resting };
    struct capture c;
    int rc;

    capture_init (&c);
    rc = extract_capture (s->what.path, NULL, &sink, &c, err);
    sign (x, s, &c);
    if (c.rank == CAPTURE_NO_RANK && s->what.rank_hint >= 0)
        c.rank = s->what.rank_hint;
    if (rc == 0 && seal_may_pass (s, c.transient_error))
        rc = c.reason[0] ? err_set (err, -c.transient_error, "%s", c.reason)
                         : err_sys (err, -c.transient_error, "cannot read it");
    if (s->analysis[0])
        analyser_tell (&c, s->analysis, s->analysis_failed);
    if (!s->what.finished)
        tell_unfinished (&c);
    s->rank = c.rank;
    s->own = own_analysis_of (c.framework);
    PRINT (s->state, "%s", capture_state_name (c.state));
    PRINT (s->name, "%s", c.name);
    if (rc == 0 && (rc = FAULT ("agent.seal.write")) < 0)
        rc = err_sys (err, -rc, "cannot write %s", s->file);
    if (rc == 0)
        rc = shipment_finish (w, &c, &item->size, err);
    capture_fini (&c);
    return rc;
}

static int seal_rows (struct sealer *x, struct sealed *s, int fd,
                      struct err *err)
{
    struct shipment_writer *w = shipment_writer_create (fd);
    struct spool_new *item = seal_add_item (s, ITEM_ROWS, "");
    int rc;

    if (!w || !item) {
        shipment_writer_destroy (w);
        return err_set (err, ENOMEM, "cannot begin a shipment in %s", s->file);
    }
    item->own = true;
    rc = write_rows (x, s, w, item, err);
    shipment_writer_destroy (w);
    if (rc == 0 && (rc = FAULT ("agent.seal.fsync")) < 0)
        rc = err_sys (err, -rc, "cannot fsync %s", s->file);
    if (rc == 0 && fsync (fd) < 0)
        rc = err_sys (err, errno, "cannot fsync %s", s->file);
    return rc < 0 ? rc : seal_hash (fd, item, x->bulk, err);
}

/* Describe the capture before it is read: a writer may return to it. */
static void take_manifest (struct sealed *s)
{
    if (!s->what.finished)
        (void)err_set (&s->kept_why, EBUSY, "%s: " SEALER_UNFINISHED,
                       s->what.path);
    else if (manifest_take (s->what.path, &s->manifest, NULL, &s->kept_why) < 0)
        buf_clear (&s->manifest);
}

/* Whether its raw files are those of the manifest.  Their number is not enough:
 * a temporary file may make up for one that was left out.
 */
static bool is_whole (const struct sealed *s)
{
    size_t n = s->nitems - 1;
    const char **paths = malloc ((n + 1) * sizeof (*paths));
    bool whole;

    for (size_t i = 0; paths && i < n; i++)
        paths[i] = s->items[i + 1].path;
    whole = paths && manifest_lists (s->manifest.data, s->manifest.size, paths,
                                     n);
    free (paths);
    return whole;
}

/* Hold the capture open, so that its inode number is not reused meanwhile.  -1:
 * it cannot be opened.
 */
static int hold (const struct sealed *s, struct err *err)
{
    int fd = open (s->what.path, O_PATH | O_NOFOLLOW | O_CLOEXEC);

    if (fd < 0 && (errno == ENOENT || seal_may_pass (s, -errno)))
        return err_sys (err, errno, "cannot open %s", s->what.path);
    return fd < 0 ? -1 : fd;
}

/* -ENOENT if another capture, or none, is at its path now: then what was read,
 * and what was missing, need not be this one's.
 */
static int check_place (const struct sealed *s, int held, struct err *err)
{
    struct stat was, now;

    if (held < 0)
        return 0;
    if (fstat (held, &was) < 0 || lstat (s->what.path, &now) < 0) {
        if (errno != ENOENT)
            return seal_may_pass (s, -errno)
                       ? err_sys (err, errno, "cannot stat %s",
                                  s->what.path) : 0;
    } else if (was.st_dev == now.st_dev && was.st_ino == now.st_ino) {
        return 0;
    }
    return err_set (err, ENOENT, "%s was moved, removed or exchanged while it "
                    "was read", s->what.path);
}

static void seal_capture (struct sealer *x, struct sealed *s)
{
    int fd;

    if (x->manifests)
        take_manifest (s);
    fd = open (s->file, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0) {
        s->rc = err_sys (&s->err, errno, "cannot create %s", s->file);
        return;
    }
    s->rc = seal_rows (x, s, fd, &s->err);
    if (s->rc == 0 && s->raw)
        s->rc = seal_raw (s, x->bulk, &s->err);
    if (s->rc == 0 && s->raw && s->manifest.size > 0 && !is_whole (s)) {
        buf_clear (&s->manifest);
        (void)err_set (&s->kept_why, EIO, "%s: not all of its files are "
                       "delivered", s->what.path);
    }
    (void)close (fd);
}

/* The rows were said to be the owner's before these files were looked at, or were
 * here: those of others are not for him to see.
 */
static void seal_wanted (struct sealer *x, struct sealed *s, int held)
{
    struct stat st;

    // of the one that is held: whoever exchanges it gains nothing
    if (!x->about)
        s->user = held >= 0 && fstat (held, &st) == 0 ? st.st_uid : UINT32_MAX;
    s->rc = seal_raw (s, x->bulk, &s->err);
}

/* A capture that cannot be described, or of which a file was not sealed, is
 * never released.
 */
static void seal (struct sealer *x, struct sealed *s)
{
    int held, rc;

    if ((s->rc = seal_pause (x->bulk, &s->err)) < 0)
        return;                 // not begun: the next agent seals it
    if ((held = hold (s, &s->err)) < -1) {
        s->rc = held;
        s->moved = held == -ENOENT;
        return;
    }
    if (s->wanted)
        seal_wanted (x, s, held);
    else
        seal_capture (x, s);
    if (s->rc != -ECANCELED && (rc = check_place (s, held, &s->err)) < 0) {
        s->rc = rc;
        s->moved = rc == -ENOENT;
    }
    if (s->rc < 0 && s->wanted)
        seal_remove_links (s, 0);
    if (held >= 0)
        (void)close (held);
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

static void sealer_append (struct node **list, struct node *n)
{
    n->next = NULL;
    while (*list)
        list = &(*list)->next;
    *list = n;
}

static void *sealer_work (void *arg)
{
    struct sealer *x = arg;
    uint64_t one = 1;
    struct node *n;
    ssize_t written;

    bulk_attach (x->bulk);
    while ((n = take_todo (x))) {
        seal (x, &n->s);
        (void)pthread_mutex_lock (&x->lock);
        x->current = NULL;
        sealer_append (&x->ready, n);
        (void)pthread_mutex_unlock (&x->lock);
        written = write (x->wake_fd, &one, sizeof (one));
        (void)written;
    }
    return NULL;
}

/* ---- in the loop ---- */

void sealer_sign (struct sealer *x, const char *host, const char *job,
                  const struct job_origin *about)
{
    x->about = about;
    x->host = host;
    x->job = job;
}

static void wanted_free (struct seal_wanted *w)
{
    if (w)
        spool_raw_list_fini (&w->known);
    free (w);
}

void sealer_keep_owners (struct sealer *x)
{
    x->owners = true;
}

static void node_free (struct node *n)
{
    wanted_free (n->s.wanted);
    free ((char *)n->s.what.path);
    while (n->s.nitems > 0)
        seal_drop_item (&n->s);
    free (n->s.items);
    buf_fini (&n->s.manifest);
    free (n);
}

/* Hand over one at a time: with thousands of them, the loop must serve others.
 */
static void on_ready (void *arg)
{
    struct sealer *x = arg;
    struct node *n;
    uint64_t one;

    if (read (x->wake_fd, &one, sizeof (one)) < 0)
        return;
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

static struct node *new_node (const char *path, uint64_t id, const char *file,
                              bool again)
{
    struct node *n = calloc (1, sizeof (*n));

    if (!n || !(n->s.what.path = strdup (path))) {
        free (n);
        return NULL;
    }
    n->s.rank = n->s.user = -1;
    n->added_ns = clock_mono_ns ();
    buf_init (&n->s.manifest, MANIFEST_MAX);
    n->s.id = id;
    n->s.again = again;
    PRINT (n->s.file, "%s", file);
    return n;
}

static void queue (struct sealer *x, struct node *n)
{
    n->s.owner = x->owners;
    (void)pthread_mutex_lock (&x->lock);
    sealer_append (&x->todo, n);
    (void)pthread_cond_signal (&x->changed);
    (void)pthread_mutex_unlock (&x->lock);
    x->pending++;
}

int sealer_add (struct sealer *x, const struct watch_settled *what,
                uint64_t id, const char *file, bool again,
                const struct sealer_analysis *analysis)
{
    struct node *n = new_node (what->path, id, file, again);
    const char *path = n ? n->s.what.path : NULL;

    if (!n)
        return -ENOMEM;
    n->s.what = *what;
    n->s.what.path = path;
    n->s.raw = x->raw;
    PRINT (n->s.analysis, "%s", analysis->why ? analysis->why : "");
    n->s.analysis_failed = analysis->failed;
    queue (x, n);
    return 0;
}

int sealer_add_wanted (struct sealer *x, const char *path, uint64_t id,
                       const char *file, bool again,
                       struct seal_wanted *wanted)
{
    struct node *n = new_node (path, id, file, again);

    if (!n) {
        wanted_free (wanted);
        return -ENOMEM;
    }
    n->s.wanted = wanted;
    queue (x, n);
    return 0;
}

void sealer_set_raw (struct sealer *x, bool raw)
{
    x->raw = raw;
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
    x->wake_fd = eventfd (0, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE);
    rc = x->wake_fd < 0 ? -errno : loop_add_fd (loop, x->wake_fd, on_ready, x);
    if (rc == 0) {
        rc = thread_start (&x->thread, sealer_work, x);
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
