/* aggregator/store/store_read.c - read contents: their chunks, one by one */
#include "store/store_private.h"

#include "base/clock.h"
#include "model/shipment.h"
#include "store/fileio.h"
#include "store/record.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SUM_NS (100 * NS_PER_MS)        // store_sum_later takes so long at a time,
#define SUM_SHARE 10                    // and then not for ten times as long
#define SLOW_SUM_NS (10 * NS_PER_S)     // or this, if the disk is slow

/* ---- which chunks ---- */

/* Chunk i of a content of this size: 0, -ENOENT, -EBADMSG. */
static int find_chunk (struct ledger *ledger, uint64_t size, size_t i,
                       struct store_chunk *chunk, struct err *err)
{
    uint64_t left = size - (uint64_t)i * CONTENT_CHUNK;
    int rc = ledger_find_content (ledger, &chunk->id, &chunk->place, err);

    if (rc < 0)
        return rc;
    if (rc == 0)
        return err_set (err, ENOENT, "a chunk of it is not there");
    if (chunk->place.form == FORM_LIST ||
        chunk->place.size != (left < CONTENT_CHUNK ? left : CONTENT_CHUNK))
        return err_set (err, EBADMSG, "its chunks have another size");
    return 0;
}

int store_each_chunk (const struct store *s, struct ledger *ledger,
                      const struct digest *id,
                      const struct ledger_place *place, store_chunk_fn *fn,
                      void *arg, struct err *err)
{
    struct digest *list = NULL;
    struct store_chunk chunk;
    size_t n = (size_t)place->stored / DIGEST_SIZE;
    struct segment f;
    int rc = segment_open (s->segments, place->segment, &f, err);

    if (rc == 0 && (rc = record_read_list (&f, place, id, &list)) < 0)
        rc = rc == -EBADMSG || rc == -ENODATA
                 ? err_set (err, EBADMSG, "the list of its chunks is damaged")
                 : err_sys (err, -rc, "cannot read a list of chunks");
    for (size_t i = 0; i < n && rc == 0; i++) {
        chunk.id = list[i];
        if ((rc = find_chunk (ledger, place->size, i, &chunk, err)) == 0)
            rc = fn (arg, &chunk);
    }
    free (list);
    segment_close (&f);
    return rc;
}

static int take_chunk (void *arg, const struct store_chunk *chunk)
{
    struct store_content *ret = arg;

    ret->list[ret->n++] = *chunk;
    return 0;
}

int store_find_chunks (const struct store *s, struct ledger *ledger,
                       const struct digest *id,
                       const struct ledger_place *place,
                       struct store_content *ret, struct err *err)
{
    int rc;

    *ret = (struct store_content){ .size = place->size, .n = 1,
                                   .one = { *id, *place } };
    if (place->form != FORM_LIST)
        return 0;
    ret->n = 0;
    ret->list = calloc ((size_t)place->stored / DIGEST_SIZE,
                        sizeof (*ret->list));
    if (!ret->list)
        return err_set (err, ENOMEM, "no memory to read a content");
    rc = store_each_chunk (s, ledger, id, place, take_chunk, ret, err);
    if (rc < 0)
        store_content_fini (ret);
    return rc;
}

void store_content_fini (struct store_content *c)
{
    free (c->list);
    c->list = NULL;
    c->n = 0;
}

/* ---- reading ---- */

struct store_reader {
    const struct store *store;
    const struct store_content *content;
    struct store_content own;   // of store_reader_open
    struct record_reader buffers;
    struct segment segment;     // the open one
    size_t loaded;              // the chunk in the buffers; SIZE_MAX: none
    const void *bytes;          // its bytes
    bool away;                  // a read has failed because of a store
    bool unread;                // ... or because of the disk
    struct err why;             // a segment could not be opened, or ""
};

int store_reader_create (const struct store *s, const struct store_content *c,
                         struct store_reader **ret, struct err *err)
{
    struct store_reader *r = calloc (1, sizeof (*r));

    if (!r || record_reader_init (&r->buffers) < 0) {
        free (r);
        return err_set (err, ENOMEM, "no memory to read a content");
    }
    r->store = s;
    r->content = c;
    r->segment = (struct segment)SEGMENT_NONE;
    r->loaded = SIZE_MAX;
    *ret = r;
    return 0;
}

void store_reader_destroy (struct store_reader *r)
{
    if (!r)
        return;
    segment_close (&r->segment);
    record_reader_fini (&r->buffers);
    store_content_fini (&r->own);
    free (r);
}

int store_reader_open (const struct store *s, struct ledger *ledger,
                       const struct digest *id,
                       const struct ledger_place *place,
                       struct store_reader **ret, struct err *err)
{
    struct store_content c;
    int rc = store_find_chunks (s, ledger, id, place, &c, err);

    if (rc < 0)
        return rc;
    if ((rc = store_reader_create (s, &c, ret, err)) < 0) {
        store_content_fini (&c);
        return rc;
    }
    (*ret)->own = c;
    (*ret)->content = &(*ret)->own;
    return 0;
}

const struct store_chunk *store_chunk_at (const struct store_content *c,
                                          size_t i)
{
    return c->list ? &c->list[i] : &c->one;
}

/* Where chunks that lie behind each other end: who reads the first one mostly
 * reads all of them, up to the end of a run.
 */
static uint64_t run_of (const struct store_content *c, size_t i)
{
    const struct ledger_place *p = &store_chunk_at (c, i)->place, *next;
    uint64_t from = p->offset, end = from + p->stored;

    for (i++; i < c->n && i % STORE_RUN != 0; i++) {
        next = &store_chunk_at (c, i)->place;
        if (next->segment != p->segment || next->offset < end ||
            next->offset - end > RECORD_MAX)
            break;
        end = next->offset + next->stored;
    }
    return end;
}

/* Open a segment. */
static int reach (struct store_reader *r, int64_t segment, struct err *err)
{
    if (r->segment.of && r->segment.number == segment)
        return 0;
    segment_close (&r->segment);
    return segment_open (r->store->segments, segment, &r->segment, err);
}

static int reach_chunk (struct store_reader *r, size_t i, struct err *err)
{
    const struct ledger_place *p = &store_chunk_at (r->content, i)->place;
    int rc = reach (r, p->segment, err);

    if (rc == 0 && r->segment.far)
        r->segment.until = run_of (r->content, i);
    return rc;
}

size_t store_reader_run (struct store_reader *r)
{
    return r->content->n > 0 && reach_chunk (r, 0, NULL) == 0 && r->segment.far
               ? STORE_RUN : 1;
}

/* Read a chunk into the buffers.  What comes from a store is checked, also if it
 * has been let go just now.
 */
static int load (struct store_reader *r, size_t i)
{
    const struct store_chunk *c = store_chunk_at (r->content, i);
    bool far;
    int rc;

    r->loaded = SIZE_MAX;
    do {
        far = r->segment.far;
        rc = record_read (&r->buffers, &r->segment, &c->place,
                          far ? &c->id : NULL, &r->bytes);
    } while (rc == 0 && far != r->segment.far);
    if (rc == 0)
        r->loaded = i;
    return rc;
}

/* Some bytes of one chunk; plain ones that are here are read where they belong.
 */
static int read_within (struct store_reader *r, size_t i, void *out, size_t n,
                        uint64_t at)
{
    const struct store_chunk *chunk = store_chunk_at (r->content, i);
    const struct ledger_place *p = &chunk->place;
    int rc = reach_chunk (r, i, &r->why);

    if (rc < 0)
        return rc;
    if (n > p->size || at > p->size - n)
        return -ENODATA;
    if (p->form == FORM_PLAIN && !r->segment.far) {
        rc = segment_read (&r->segment, out, n, p->offset + at);
        if (!r->segment.far)
            return rc;
    }
    if (r->loaded != i && (rc = load (r, i)) < 0)
        return rc;
    memcpy (out, (const char *)r->bytes + at, n);
    return 0;
}

static int read_any (const struct byte_source *from, void *out, size_t n,
                     uint64_t at)
{
    struct store_reader *r = from->arg;
    int rc = 0;

    if (n > from->size || at > from->size - n)
        return -ENODATA;
    while (n > 0 && rc == 0) {
        uint64_t within = at % CONTENT_CHUNK, left = CONTENT_CHUNK - within;
        size_t part = n < left ? n : (size_t)left;

        rc = read_within (r, (size_t)(at / CONTENT_CHUNK), out, part, within);
        out = (char *)out + part;
        at += part;
        n -= part;
    }
    r->away = r->away || rc == -EREMOTEIO;
    r->unread = r->unread || rc == -EIO;
    return rc;
}

struct byte_source store_reader_source (struct store_reader *r)
{
    r->away = r->unread = false;
    r->why.text[0] = '\0';
    return (struct byte_source){ .read = read_any, .arg = r, .fd = -1,
                                 .size = r->content->size };
}

int store_reader_why (const struct store_reader *r, int rc, struct err *err)
{
    if (rc < 0 && rc != -ENOENT && r->why.text[0])
        return err_set (err, -rc, "%s", r->why.text);
    if (rc >= 0 || !r->away)
        return rc;
    segments_why (r->store->segments, err);
    return -EREMOTEIO;
}

bool store_reader_is_unread (const struct store_reader *r)
{
    return r->unread;
}

int store_reader_check_chunk (struct store_reader *r, size_t i,
                              const void **bytes, struct err *err)
{
    const struct store_chunk *chunk = store_chunk_at (r->content, i);
    int rc = reach_chunk (r, i, err);

    r->loaded = SIZE_MAX;
    if (rc < 0)
        return rc;
    rc = record_read (&r->buffers, &r->segment, &chunk->place, &chunk->id,
                      bytes);
    r->unread = rc == -EIO;
    if (rc == -EREMOTEIO) {
        segments_why (r->store->segments, err);
        return rc;
    }
    if (rc == -ENODATA)
        return err_set (err, EBADMSG, "it is cut short");
    if (rc == -EBADMSG)
        return err_set (err, EBADMSG, "its hash is wrong");
    if (rc == -ENOTSUP)
        return err_set (err, ENOTSUP, "it is packed with zstd, which this "
                        "build of rollcall does not have");
    return rc < 0 ? err_sys (err, -rc, "cannot read it") : 0;
}

int store_reader_check_stored (struct store_reader *r,
                               const struct store_chunk *chunk,
                               struct err *err)
{
    int rc = reach (r, chunk->place.segment, err);

    r->loaded = SIZE_MAX;
    if (rc < 0)
        return rc;
    rc = record_check_stored (&r->buffers, &r->segment, &chunk->place,
                              &chunk->id);
    if (rc == -EREMOTEIO) {
        segments_why (r->store->segments, err);
        return rc;
    }
    if (rc == -EBADMSG)
        return err_set (err, EBADMSG, "it is not stored as it was written");
    return rc < 0 ? err_sys (err, -rc, "cannot read it") : 0;
}

int store_reader_scan (struct store_reader *r, int64_t segment, uint64_t from,
                       uint64_t to, record_fn *fn, void *arg, struct err *err)
{
    int rc = reach (r, segment, err);

    return rc < 0 ? rc : record_scan (&r->segment, from, to, false, fn, arg,
                                      err);
}

int store_reader_check (struct store_reader *r, store_bytes_fn *fn, void *arg,
                        const atomic_bool *cancel, struct err *err)
{
    const struct store_content *c = r->content;
    const void *bytes;
    int rc = 0;

    for (size_t i = 0; i < c->n && rc == 0; i++) {
        if (cancel && atomic_load (cancel))
            return err_set (err, EINTR, "interrupted");
        rc = store_reader_check_chunk (r, i, &bytes, err);
        if (rc == 0 && fn &&
            (rc = fn (arg, bytes,
                      (size_t)store_chunk_at (c, i)->place.size)) < 0)
            return err_sys (err, -rc, "cannot copy");
    }
    return rc;
}

/* ---- in one go ---- */

int store_check_content (const struct store *s, struct ledger *ledger,
                         const struct digest *id,
                         const struct ledger_place *place, struct err *err)
{
    const struct store_chunk whole = { *id, *place };
    struct store_reader *r = NULL;
    int rc = store_reader_open (s, ledger, id, place, &r, err);

    if (rc == 0)
        rc = store_reader_check_stored (r, &whole, err);
    for (size_t i = 0; rc == 0 && i < r->own.n; i++)
        rc = store_reader_check_stored (r, store_chunk_at (&r->own, i), err);
    if (rc == 0)
        rc = store_reader_check (r, NULL, NULL, NULL, err);
    store_reader_destroy (r);
    return rc;
}

int store_read_meta (const struct store *s, struct ledger *ledger,
                     const struct digest *id,
                     const struct ledger_place *place, struct capture *ret,
                     struct err *err)
{
    struct byte_source from;
    struct store_reader *r = NULL;
    int rc = store_reader_open (s, ledger, id, place, &r, err);

    if (rc < 0)
        return rc;
    from = store_reader_source (r);
    rc = store_reader_why (r, shipment_read_meta (&from, ret, err), err);
    store_reader_destroy (r);
    return rc;
}

/* The id of the first 'size' bytes, were they a content. */
static int hash_beginning (const struct byte_source *from, uint64_t size,
                           struct digest *ret)
{
    void *chunk = malloc (CONTENT_CHUNK);
    struct content_hash h;
    int rc = chunk ? 0 : -ENOMEM;

    content_hash_init (&h);
    for (uint64_t at = 0; at < size && rc == 0; at += CONTENT_CHUNK) {
        size_t n = size - at < CONTENT_CHUNK ? (size_t)(size - at)
                                             : CONTENT_CHUNK;

        if ((rc = from->read (from, chunk, n, at)) == 0)
            rc = content_hash_add (&h, chunk, n);
    }
    if (rc == 0)
        rc = content_hash_end (&h, ret);
    content_hash_fini (&h);
    free (chunk);
    return rc;
}

int64_t store_sum_rows (struct store *s, struct ledger *ledger,
                        const struct ledger_item *item,
                        const struct ledger_place *place)
{
    struct digest digest = { { 0 } };
    struct byte_source from;
    struct store_reader *r;
    uint64_t size;
    int rc;

    if (!*item->who || item->kind != ITEM_ROWS || item->rank < 0 ||
        store_reader_open (s, ledger, &item->content, place, &r, NULL) < 0)
        return 0;
    from = store_reader_source (r);
    rc = shipment_find_meta (&from, &size, NULL);
    if (rc == 0)
        rc = hash_beginning (&from, size, &digest);
    s->unsummed = s->unsummed || (rc < 0 && r->away);
    store_reader_destroy (r);
    return rc < 0 ? 0 : digest_number (&digest);
}

struct summing {
    struct store *store;
    struct ledger *ledger;
    int64_t until_ns;           // (monotonic) the others: later
};

static int64_t sum_rows (void *arg, const struct ledger_item *item)
{
    const struct summing *s = arg;

    if (item->lost)
        return 0;
    if (clock_mono_ns () < s->until_ns)
        return store_sum_rows (s->store, s->ledger, item, &item->place);
    s->store->unsummed = true;
    return 0;
}

int store_sum_all_rows (struct store *s, struct ledger *ledger,
                        struct err *err)
{
    struct summing all = { s, ledger, INT64_MAX };

    return ledger_sum_rows (ledger, sum_rows, &all, err);
}

void store_sum_needed (struct store *s)
{
    s->unsummed = true;
}

int store_sum_later (struct store *s, struct ledger *ledger, struct err *err)
{
    int64_t now = clock_mono_ns ();
    struct summing some = { s, ledger, now + SUM_NS };
    int64_t took_ns;
    int rc;

    if (!s->unsummed || now < s->sum_ns || segments_rest (s->segments))
        return 0;
    s->unsummed = false;
    if ((rc = ledger_begin (ledger, err)) < 0)
        return rc;
    rc = ledger_finish (ledger, ledger_sum_rows (ledger, sum_rows, &some, err),
                        err);
    took_ns = clock_mono_ns () - now;
    s->sum_ns = now + took_ns + pace_pause (&s->sums, took_ns, SUM_SHARE, 0,
                                            SLOW_SUM_NS);
    return rc;
}
