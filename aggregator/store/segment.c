/* aggregator/store/segment.c - a segment to read from, here or in an object store
 */
#include "store/segment.h"

#include "base/clock.h"
#include "base/cmp.h"
#include "base/vec.h"
#include "object_store/object_store.h"
#include "store/fileio.h"
#include "store/object_mark.h"
#include "store/record.h"
#include "store/root.h"
#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HOLE_BLOCK 4096         // bytes, at least, of a hole, and where it begins
#define IDLE_MAX 32             // connections that are kept
#define KEPT_MAX ((uint64_t)1 << 30)    // bytes
#define QUICK_TRIES 2
#define QUICK_SILENCE_S 5
#define QUICK_RATE (128u << 10) // bytes/s, at least
#define QUICK_REST_NS (30 * NS_PER_S)   // after it was away

struct segments {
    char *root;                 // NULL: it is not here, and this is known of it:
    struct object_place place;
    char id[ROOT_ID_SIZE];
    enum segments_how how;
    const atomic_bool *stop;    // or NULL
    pthread_mutex_t lock;       // of all below
    bool keeping;
    int kept_fd;                // -1: nothing was kept
    uint64_t kept_end;
    struct kept {               // in order once 'keeping' is over
        int64_t segment;
        uint64_t at, n, where;
    } *kept;
    size_t nkept;
    struct object_store *idle[IDLE_MAX];
    size_t n;
    bool failed;                // the last question: then each is asked once
    int64_t rests_ns;           // (monotonic) until then who hurries asks nothing
    struct err why;
};

int segments_create (const char *root, struct segments **ret, struct err *err)
{
    struct segments *s = calloc (1, sizeof (*s));

    if (!s || !(s->root = strdup (root))) {
        free (s);
        return err_set (err, ENOMEM, "no memory to read segments");
    }
    s->kept_fd = -1;
    (void)pthread_mutex_init (&s->lock, NULL);
    *ret = s;
    return 0;
}

int segments_create_far (const struct object_place *place, const char *root_id,
                         struct segments **ret, struct err *err)
{
    int rc = segments_create ("", ret, err);

    if (rc < 0)
        return rc;
    free ((*ret)->root);
    (*ret)->root = NULL;
    (*ret)->place = *place;
    PRINT ((*ret)->id, "%s", root_id);
    return 0;
}

void segments_destroy (struct segments *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->n; i++)
        object_store_close (s->idle[i]);
    segments_keep (s, SEGMENTS_FORGET);
    (void)pthread_mutex_destroy (&s->lock);
    free (s->root);
    free (s);
}

void segments_ask (struct segments *s, enum segments_how how)
{
    s->how = how;
}

void segments_stop_on (struct segments *s, const atomic_bool *stop)
{
    s->stop = stop;
}

void segments_why (struct segments *s, struct err *err)
{
    (void)pthread_mutex_lock (&s->lock);
    (void)err_set (err, EREMOTEIO, "%s", s->why.text);
    (void)pthread_mutex_unlock (&s->lock);
}

/* ---- a segment ---- */

static void look_at_mark (struct segment *f)
{
    struct object_mark mark;

    if (!f->far)
        f->far = object_mark_read (f->of->root, f->number, &mark, NULL) < 0 ||
                 mark.evicted;
}

int segment_open (struct segments *of, int64_t number, struct segment *ret,
                  struct err *err)
{
    char path[PATH_MAX];

    *ret = (struct segment){ .of = of, .fd = -1, .number = number,
                             .far = !of->root };
    if (ret->far)
        return 0;
    store_segment_path (of->root, number, path);
    ret->fd = open (path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (ret->fd < 0) {
        *ret = (struct segment)SEGMENT_NONE;
        return err_sys (err, errno, "cannot open %s", path);
    }
    look_at_mark (ret);
    return 0;
}

void segment_close (struct segment *f)
{
    fileio_close (f->fd);
    free (f->ahead);
    *f = (struct segment)SEGMENT_NONE;
}

void segment_forget (struct segment *f)
{
    f->n = 0;
    f->again = true;
}

/* The mark comes before the first hole: without it, what was read before this is
 * right, and a hole is zeros, as in a copy of a root.  A mark that cannot be read
 * may be one.
 */
bool segment_is_far (struct segment *f, uint64_t n, uint64_t at)
{
    off_t hole;

    if (!f->of || n == 0)
        return false;
    if (!f->of->root)
        return true;
    look_at_mark (f);
    hole = f->far ? lseek (f->fd, (off_t)at, SEEK_HOLE) : -1;
    return hole >= 0 && (uint64_t)hole < at + n;
}

/* Holes have whole blocks.  To look for one in a file can take much longer than
 * to read.
 */
static bool may_have_hole (const char *bytes, size_t n, uint64_t at)
{
    for (size_t i = 0, left; i < n; i += left) {
        left = HOLE_BLOCK - (size_t)((at + i) % HOLE_BLOCK);
        if (left > n - i)
            left = n - i;
        if (!bytes[i] && memcmp (bytes + i, bytes + i + 1, left - 1) == 0)
            return true;
    }
    return false;
}

/* ---- the store ---- */

static int connect_to (struct segments *s, bool failed, struct object_store **ret,
                       struct err *err)
{
    struct object_place place = s->place;
    struct object_options opt = {
        .tries = failed ? 1 : s->how == SEGMENTS_HURRY ? QUICK_TRIES : 0,
        .silence_s = s->how == SEGMENTS_HURRY ? QUICK_SILENCE_S : 0,
        .least_rate = s->how == SEGMENTS_HURRY ? QUICK_RATE : 0,
        .cancel = s->stop,
    };
    int rc = s->root ? object_place_read (s->root, &place, err) : 0;

    object_place_fill (&place, &opt);
    return rc < 0 ? rc : object_store_open (&opt, ret, err);
}

/* *once: it asks once only, and is not kept. */
static int take_client (struct segments *s, struct object_store **ret,
                        bool *once, struct err *err)
{
    *ret = NULL;
    (void)pthread_mutex_lock (&s->lock);
    *once = s->failed;
    if (s->n > 0 && !*once)
        *ret = s->idle[--s->n];
    (void)pthread_mutex_unlock (&s->lock);
    return *ret ? 0 : connect_to (s, *once, ret, err);
}

static void give_back (struct segments *s, struct object_store *client,
                       bool once, int rc, const struct err *err)
{
    (void)pthread_mutex_lock (&s->lock);
    s->failed = rc < 0;
    if (rc < 0)
        s->why = *err;
    if (rc == -EHOSTUNREACH || rc == -EAGAIN)
        s->rests_ns = clock_mono_ns () + QUICK_REST_NS;
    if (rc == 0 && !once && s->n < IDLE_MAX) {
        s->idle[s->n++] = client;
        client = NULL;
    }
    (void)pthread_mutex_unlock (&s->lock);
    object_store_close (client);
}

/* Then segments_why still says so. */
bool segments_rest (struct segments *s)
{
    bool ret;

    (void)pthread_mutex_lock (&s->lock);
    ret = s->how == SEGMENTS_HURRY && s->failed &&
          clock_mono_ns () < s->rests_ns;
    (void)pthread_mutex_unlock (&s->lock);
    return ret;
}

/* What to do about an object that is there no more: nobody has its bytes. */
static void name_repair (const struct segment *f,
                         const struct object_store *client, struct err *err)
{
    struct err why = *err;

    if (f->of->root)
        (void)err_set (err, ENOENT, "%.300s: rollcall fsck aggregator --repair "
                       "--store %s %s names what is lost", why.text,
                       object_store_url (client), f->of->root);
}

static int ask (struct segment *f, void *out, size_t n, uint64_t at)
{
    char id[ROOT_ID_SIZE] = "", key[OBJECT_MARK_KEY_MAX];
    struct object_store *client = NULL;
    struct err err = { "" };
    bool once = false;
    int rc = f->of->how == SEGMENTS_HERE
                 ? err_set (&err, EREMOTEIO, "the store is not asked")
                 : f->of->root ? root_read_id (f->of->root, id, &err) : 0;

    if (segments_rest (f->of))
        return -EREMOTEIO;
    if (rc == 0)
        rc = take_client (f->of, &client, &once, &err);
    if (rc == 0) {
        object_mark_key (f->of->root ? id : f->of->id, f->number, key);
        rc = object_get (client, key, at, out, n, &err);
    }
    if (rc < 0)
        (void)err_prefix (&err, rc, "segment %lld is not here any more",
                          (long long)f->number);
    if (rc == -ENOENT && client)
        name_repair (f, client, &err);
    give_back (f->of, client, once, rc, &err);
    return rc < 0 ? -EREMOTEIO : 0;
}

/* ---- what is read again ---- */

static int compare (const void *pa, const void *pb)
{
    const struct kept *a = pa, *b = pb;
    int rc = cmp_int64 (&a->segment, &b->segment);

    return rc ? rc : (a->at > b->at) - (a->at < b->at);
}

/* Not where /tmp is memory. */
static int unnamed_file (const char *root)
{
    int fd = open (root, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

    return fd >= 0 ? fd : open ("/var/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC,
                                0600);
}

void segments_keep (struct segments *s, enum segments_keep how)
{
    (void)pthread_mutex_lock (&s->lock);
    s->keeping = how == SEGMENTS_KEEP;
    if (how == SEGMENTS_KEPT && s->nkept > 0)
        qsort (s->kept, s->nkept, sizeof (*s->kept), compare);
    if (how == SEGMENTS_FORGET) {
        fileio_close (s->kept_fd);
        free (s->kept);
        s->kept = NULL;
        s->nkept = 0;
        s->kept_end = 0;
        s->kept_fd = -1;
    }
    (void)pthread_mutex_unlock (&s->lock);
}

static void keep (struct segment *f)
{
    struct segments *s = f->of;
    struct kept k = { f->number, f->at, f->n, 0 };

    (void)pthread_mutex_lock (&s->lock);
    k.where = s->kept_end;
    if (s->keeping && s->kept_fd < 0)
        s->kept_fd = unnamed_file (s->root);
    if (s->keeping && s->kept_fd >= 0 && k.where + k.n <= KEPT_MAX &&
        fileio_pwrite_all (s->kept_fd, f->ahead, f->n, (off_t)k.where) == 0 &&
        vec_push (&s->kept, &s->nkept, &k, sizeof (k)) == 0)
        s->kept_end += k.n;
    (void)pthread_mutex_unlock (&s->lock);
}

/* With the lock. */
static const struct kept *find_kept (const struct segments *s, int64_t segment,
                                     size_t n, uint64_t at)
{
    const struct kept key = { .segment = segment, .at = at }, *k = NULL;

    if (!s->keeping && s->nkept > 0)
        k = bsearch (&key, s->kept, s->nkept, sizeof (key), compare);
    return k && n <= k->n ? k : NULL;
}

static bool read_kept (struct segment *f, void *out, size_t n, uint64_t at)
{
    struct segments *s = f->of;
    const struct kept *k;
    bool ret;

    (void)pthread_mutex_lock (&s->lock);
    k = find_kept (s, f->number, n, at);
    ret = k && fileio_pread_all (s->kept_fd, out, n, (off_t)k->where) == 0;
    (void)pthread_mutex_unlock (&s->lock);
    return ret;
}

bool segments_have_kept (struct segments *s, int64_t segment, size_t n,
                         uint64_t at)
{
    bool ret;

    (void)pthread_mutex_lock (&s->lock);
    ret = find_kept (s, segment, n, at) != NULL;
    (void)pthread_mutex_unlock (&s->lock);
    return ret;
}

/* Where the next bytes that were kept begin; or 'until', if that comes first. */
static uint64_t before_kept (const struct segment *f, uint64_t at,
                             uint64_t until)
{
    struct segments *s = f->of;
    const struct kept key = { .segment = f->number, .at = at + 1 };
    size_t k;

    (void)pthread_mutex_lock (&s->lock);
    k = s->keeping ? s->nkept : cmp_place (&key, s->kept, s->nkept,
                                           sizeof (key), compare);
    if (k < s->nkept && s->kept[k].segment == f->number &&
        s->kept[k].at < until)
        until = s->kept[k].at;
    (void)pthread_mutex_unlock (&s->lock);
    return until;
}

/* How much to ask for: reads that follow each other get twice as much each time.
 */
static size_t choose (struct segment *f, size_t n, uint64_t at)
{
    bool follows = f->n > 0 && at > f->at && at <= f->at + f->n + RECORD_MAX;
    uint64_t until = f->until > at ? before_kept (f, at, f->until) : 0;
    size_t most = until > at ? (size_t)(until - at) : n;

    f->window = follows ? 2 * f->window : n;
    if (f->window > SEGMENT_AHEAD_MAX)
        f->window = SEGMENT_AHEAD_MAX;
    if (most > f->window)
        most = f->window;
    return most > n ? most : n;
}

/* The beginning may be there already: a question does not end where a record
 * does.
 */
static int read_far (struct segment *f, void *out, size_t n, uint64_t at)
{
    size_t within = at >= f->at && at - f->at < f->n ? (size_t)(at - f->at)
                                                     : f->n;
    size_t have = f->n - within, wanted;
    void *more;
    int rc;

    if (n <= have) {
        memcpy (out, (const char *)f->ahead + within, n);
        return 0;
    }
    if (!f->again && read_kept (f, out, n, at))
        return 0;
    wanted = choose (f, n, at);
    if (have > 0)
        memmove (f->ahead, (const char *)f->ahead + within, have);
    f->n = 0;
    if (!(more = realloc (f->ahead, wanted)))
        return -ENOMEM;
    f->ahead = more;
    if ((rc = ask (f, (char *)more + have, wanted - have, at + have)) < 0)
        return rc;
    f->at = at;
    f->n = wanted;
    f->again = false;
    keep (f);
    memcpy (out, f->ahead, n);
    return 0;
}

int segment_read (struct segment *f, void *out, size_t n, uint64_t at)
{
    int rc;

    if (f->of && !f->of->root)
        return read_far (f, out, n, at);
    rc = fileio_pread_all (f->fd, out, n, (off_t)at);
    return rc < 0 || !may_have_hole (out, n, at) || !segment_is_far (f, n, at)
               ? rc : read_far (f, out, n, at);
}
