/* aggregator/job_build/job_member.c - a job's shipments, read by several
 * processes
 */
#include "job_build/job_member.h"

#include "job_build/job_build_private.h"
#include "model/shipment.h"
#include "store/fileio.h"
#include "store/object_mark.h"
#include "store/root.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define KEPT_SEGMENT (-1)       // of a chunk that rank 0 has had from the store:
                                // it gives it, too, and nobody asks again

/* What tells this root from another of the same path: the identity of its ledger,
 * which changes with each commit.  Then shipments come through rank 0.
 */
struct root_mark {
    uint64_t ino, size;
    int64_t mtime_ns;
};

static bool mark_root (const char *root, struct root_mark *ret)
{
    char path[PATH_MAX];
    struct stat st;

    if (!fileio_join (path, sizeof (path), root, "ledger.db") ||
        stat (path, &st) < 0)
        return false;
    *ret = (struct root_mark){ st.st_ino, (uint64_t)st.st_size,
                               st.st_mtim.tv_sec * INT64_C (1000000000) +
                                   st.st_mtim.tv_nsec };
    return true;
}

/* ---- rank 0 ---- */

/* Where the root's object store is, if it has one. */
static void put_place (struct buf *out, const char *root, bool *has_store)
{
    struct object_place p = { "", "", "", "", "" };
    char id[ROOT_ID_SIZE] = "";

    *has_store = object_place_read (root, &p, NULL) == 0 &&
                 root_read_id (root, id, NULL) == 0;
    wire_put_text (out, *has_store ? p.url : "");
    wire_put_text (out, p.endpoint);
    wire_put_text (out, p.region);
    wire_put_text (out, p.ca_file);
    wire_put_text (out, p.proxy);
    wire_put_text (out, id);
}

/* Whether a content has to come from the store, and all of it can. */
static bool is_far (const struct job_build *b, const struct store_content *c)
{
    struct object_mark mark = { .state = OBJECT_UNMARKED };
    int64_t segment = -1;
    bool far = false;

    for (size_t i = 0; i < c->n && b->has_store; i++) {
        const struct ledger_place *p = &store_chunk_at (c, i)->place;

        if (p->segment != segment &&
            (object_mark_read (store_root (b->store), p->segment, &mark,
                               NULL) < 0 || mark.state != OBJECT_WHOLE))
            return false;
        segment = p->segment;
        far = far || mark.evicted;
    }
    return far;
}

int job_build_settings (void *arg, struct buf *out, struct err *err)
{
    struct job_build *b = arg;
    struct root_mark m = { 0, 0, 0 };
    char root[PATH_MAX] = "";

    (void)err;
    // no mark: nobody sees it
    if (realpath (store_root (b->store), root) && !mark_root (root, &m))
        root[0] = '\0';
    wire_put_text (out, root);
    wire_put_u64 (out, m.ino);
    wire_put_u64 (out, m.size);
    wire_put_i64 (out, m.mtime_ns);
    put_place (out, store_root (b->store), &b->has_store);
    return 0;
}

static void put_chunk (struct buf *out, const struct store_chunk *c, bool kept)
{
    buf_put (out, c->id.bytes, sizeof (c->id.bytes));
    wire_put_i64 (out, kept ? KEPT_SEGMENT : c->place.segment);
    wire_put_u64 (out, c->place.offset);
    wire_put_u64 (out, c->place.stored);
    wire_put_u64 (out, c->place.size);
    wire_put_u8 (out, (uint8_t)c->place.form);
}

/* Whether the store has given a chunk for the metadata that are in it. */
static bool is_kept (const struct job_build *b, const struct store_chunk *c)
{
    return segments_have_kept (store_segments (b->store), c->place.segment,
                               (size_t)c->place.stored, c->place.offset);
}

int job_build_order (void *arg, size_t source, struct buf *out, struct err *err)
{
    const struct job_build *b = arg;
    const struct shipment_source *s = &b->sources[source];
    bool far = is_far (b, &s->chunks);

    (void)err;
    wire_put_u8 (out, s->lost);
    wire_put_i64 (out, s->broken);
    wire_put_i64 (out, s->rank);
    wire_put_text (out, s->capture);
    wire_put_u8 (out, far);
    wire_put_u64 (out, s->chunks.size);
    wire_put_u64 (out, s->chunks.n);
    for (size_t i = 0; i < s->chunks.n; i++) {
        const struct store_chunk *c = store_chunk_at (&s->chunks, i);

        put_chunk (out, c, far && is_kept (b, c));
    }
    return 0;
}

int job_build_bytes (void *arg, size_t source, void *out, size_t n, uint64_t at,
                     struct err *err)
{
    struct job_build *b = arg;
    struct byte_source from;
    struct store_reader *r;
    int rc = store_reader_create (b->store, &b->sources[source].chunks, &r, err);

    if (rc < 0)
        return rc;
    from = store_reader_source (r);
    if ((rc = from.read (&from, out, n, at)) < 0)
        rc = store_reader_why (r, err_sys (err, -rc, "cannot read a shipment"),
                               err);
    store_reader_destroy (r);
    return rc;
}

/* ---- the others ---- */

struct member_root {
    struct store *store;        // NULL: the root is not here
    struct store *far;          // what its object store has; or NULL
    atomic_bool away;           // the store did not answer
    atomic_bool unread;         // something else could be read by rank 0 only
};

static int open_far (struct wire *w, struct store **ret, struct err *err)
{
    struct object_place p;
    char id[ROOT_ID_SIZE];

    wire_text (w, p.url, sizeof (p.url));
    wire_text (w, p.endpoint, sizeof (p.endpoint));
    wire_text (w, p.region, sizeof (p.region));
    wire_text (w, p.ca_file, sizeof (p.ca_file));
    wire_text (w, p.proxy, sizeof (p.proxy));
    wire_text (w, id, sizeof (id));
    return w->failed || !*p.url ? 0 : store_open_far (&p, id, ret, err);
}

static int member_open (struct wire *settings, void **state, bool *sees,
                        struct err *err)
{
    struct member_root *m = calloc (1, sizeof (*m));
    struct root_mark want, here;
    char root[PATH_MAX];

    if (!m)
        return err_set (err, ENOMEM, "no memory to read shipments");
    *state = m;
    wire_text (settings, root, sizeof (root));
    want.ino = wire_u64 (settings);
    want.size = wire_u64 (settings);
    want.mtime_ns = wire_i64 (settings);
    *sees = !settings->failed && *root && mark_root (root, &here) &&
            here.ino == want.ino && here.size == want.size &&
            here.mtime_ns == want.mtime_ns &&
            store_open_read (root, &m->store, err) == 0;
    return *sees ? 0 : open_far (settings, &m->far, err);
}

static void member_close (void *state)
{
    struct member_root *m = state;

    store_close (m->store);
    store_close (m->far);
    free (m);
}

static void get_chunk (struct wire *w, struct store_chunk *c)
{
    const void *id = wire_bytes (w, sizeof (c->id.bytes));

    if (id)
        memcpy (c->id.bytes, id, sizeof (c->id.bytes));
    c->place.segment = wire_i64 (w);
    c->place.offset = wire_u64 (w);
    c->place.stored = wire_u64 (w);
    c->place.size = wire_u64 (w);
    c->place.form = wire_u8 (w);
}

/* What an order names: the capture's name is borrowed. */
static int get_source (struct wire *w, char name[MESSAGE_NAME_MAX], bool *far,
                       struct shipment_source *s, struct err *err)
{
    struct store_content *c = &s->chunks;
    size_t n;

    memset (s, 0, sizeof (*s));
    s->lost = wire_u8 (w);
    s->broken = (int)wire_i64 (w);
    s->rank = wire_i64 (w);
    wire_text (w, name, MESSAGE_NAME_MAX);
    s->capture = name;
    *far = wire_u8 (w);
    c->size = wire_u64 (w);
    n = wire_u64 (w);
    if (w->failed || n > (size_t)(w->end - w->at))
        return err_set (err, EBADMSG, "rank 0 says what is not understood");
    if (n > 1 && !(c->list = calloc (n, sizeof (*c->list))))
        return err_set (err, ENOMEM, "no memory to read a content");
    for (c->n = 0; c->n < n; c->n++)
        get_chunk (w, c->list ? &c->list[c->n] : &c->one);
    return 0;
}

/* A content that its object store has, or the root, or else rank 0: bytes that
 * cannot be read here may be there.
 */
struct member_bytes {
    struct member_root *root;
    struct shipment_source *source;
    struct store_reader *reader;        // NULL: only rank 0
    bool far;                           // it reads from the object store
    bool asked;                         // rank 0
    struct byte_source near, through;
};

/* Say once, for all threads, why rank 0 is asked for more than it should be. */
static void tell (atomic_bool *told, const char *what, const char *where,
                  const char *why)
{
    char host[HOST_NAME_MAX + 1] = "";

    if (atomic_exchange (told, true))
        return;
    (void)gethostname (host, sizeof (host) - 1);
    (void)fprintf (stderr, "rollcall build: a process on %s reads through rank 0 "
                   "%s%s: %s\n", host, what, where, why);
}

/* The store is of no use here. */
static void tell_away (struct member_bytes *f)
{
    struct err why = { "" };

    (void)store_reader_why (f->reader, -EREMOTEIO, &why);
    tell (&f->root->away, "what is in the object store", "", why.text);
}

/* It is not rank 0's disk that is at fault. */
static void tell_unread (struct member_root *m, int rc)
{
    tell (&m->unread, "what it cannot read itself of ",
          m->store ? store_root (m->store) : "the object store",
          rc == -EBADMSG || rc == -ENODATA ? "other bytes are there"
                                           : strerror (-rc));
}

/* Some bytes of one chunk. */
static int read_chunk (struct member_bytes *f, void *out, size_t n, uint64_t at)
{
    const struct store_chunk *c = store_chunk_at (&f->source->chunks,
                                                  (size_t)(at / CONTENT_CHUNK));
    bool here = f->reader && c->place.segment != KEPT_SEGMENT &&
                !(f->far && atomic_load (&f->root->away));
    int near = here ? f->near.read (&f->near, out, n, at) : 0, rc;

    if (here && near == 0)
        return 0;
    if (near == -EREMOTEIO)
        tell_away (f);
    // rank 0 says what is wrong with it: -EIO is of its disk
    rc = f->through.read (&f->through, out, n, at);
    f->source->unread = f->source->unread || rc == -EIO;
    f->asked = true;
    if (rc == 0 && near < 0 && near != -EREMOTEIO)
        tell_unread (f->root, near);
    return rc;
}

static int read_member (const struct byte_source *from, void *out, size_t n,
                        uint64_t at)
{
    int rc = 0;

    if (n > from->size || at > from->size - n)
        return -ENODATA;
    while (n > 0 && rc == 0) {
        uint64_t left = CONTENT_CHUNK - at % CONTENT_CHUNK;
        size_t some = n < left ? n : (size_t)left;

        rc = read_chunk (from->arg, out, some, at);
        out = (char *)out + some;
        at += some;
        n -= some;
    }
    return rc;
}

/* What is damaged here is read once more, through rank 0 alone: a capture has
 * failed if that fails.
 */
static int feed_source (struct member_root *m, struct shipment_source *s,
                        bool far, const struct byte_source *remote,
                        const struct row_sink *sink, struct capture *c,
                        struct err *err)
{
    const struct store *near = m->store || !far ? m->store : m->far;
    struct job_build b = { .sources = s };
    struct member_bytes first = { .root = m, .source = s, .far = far,
                                  .through = *remote }, again;
    struct byte_source from = { .read = read_member, .arg = &first, .fd = -1,
                                .size = s->chunks.size }, only;
    int rc = 0;

    first.through.size = s->chunks.size;
    again = first;
    only = from;
    only.arg = &again;
    if (near && !(far && atomic_load (&m->away)) &&
        (rc = store_reader_create (near, &s->chunks, &first.reader, err)) == 0)
        first.near = store_reader_source (first.reader);
    if (rc == 0)
        rc = job_build_feed_from (&b, 0, &from, first.reader ? &only : NULL,
                                  sink, c, err);
    if (rc == 0 && again.asked && c->state != CAPTURE_FAILED)
        tell_unread (m, -EBADMSG);
    store_reader_destroy (first.reader);
    return rc;
}

static int member_feed (void *state, struct wire *order,
                        const struct byte_source *remote,
                        const struct row_sink *sink, struct capture *c,
                        struct err *err)
{
    struct shipment_source s;
    char name[MESSAGE_NAME_MAX];
    bool far = false;
    int rc = get_source (order, name, &far, &s, err);

    if (rc == 0)
        rc = feed_source (state, &s, far, remote, sink, c, err);
    store_content_fini (&s.chunks);
    return rc;
}

const struct build_member job_member = {
    .open = member_open, .may_ask = true, .feed = member_feed,
    .close = member_close,
};
