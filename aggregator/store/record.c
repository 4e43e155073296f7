/* aggregator/store/record.c - the records in segments: encode, decode, scan */
#include "store/record.h"

#include "base/wire.h"
#include "store/fileio.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAGIC UINT32_C (0x31524352)     // "RCR1"
#define HEAD_SIZE 9                     // magic, size, kind
#define SUM_SIZE 8                      // bytes of a SHA-256, at the end
#define SEARCH_BYTES (1u << 20)         // read at once to find a record

static void put_item (struct buf *b, const struct record *r)
{
    const struct ledger_item *i = &r->item;

    wire_put_u8 (b, (uint8_t)i->kind);
    wire_put_i64 (b, i->rank);
    wire_put_i64 (b, i->received_ns);
    wire_put_i64 (b, i->newest_ns);
    buf_put (b, i->content.bytes, DIGEST_SIZE);
    wire_put_u64 (b, i->place.size);
    wire_put_i64 (b, r->kind == RECORD_REFER ? i->place.segment : 0);
    wire_put_u64 (b, r->kind == RECORD_REFER ? i->place.offset : 0);
    wire_put_text (b, *i->dir ? i->scope : i->job);
    wire_put_text (b, i->capture);
    wire_put_text (b, i->path);
    wire_put_text (b, i->host);
    wire_put_text (b, i->dir);
    wire_put_text (b, i->who);
}

static void put_assignment (struct buf *b, const struct ledger_assignment *a)
{
    wire_put_text (b, a->scope);
    wire_put_text (b, a->dir);
    wire_put_i64 (b, a->rank);
    wire_put_text (b, a->capture);
    wire_put_i64 (b, a->newest_ns);
    wire_put_text (b, a->job);
    wire_put_i64 (b, a->at_ns);
    wire_put_u8 (b, a->assumed);
    wire_put_text (b, a->why);
}

static void put_bound (struct buf *b, const struct ledger_bound *k)
{
    wire_put_text (b, k->who);
    wire_put_text (b, k->host);
    wire_put_i64 (b, k->since_ns);
}

static void put_word (struct buf *b, const struct size_claim *w)
{
    wire_put_i64 (b, w->world_size);
    wire_put_u8 (b, (uint8_t)w->by);
    wire_put_text (b, w->who);
    wire_put_text (b, w->host);
}

int record_encode (const struct record *r, struct buf *out)
{
    struct digest sum;
    struct buf b;
    int rc = 0;

    buf_init (&b, RECORD_MAX);
    if (r->kind == RECORD_JOB) {
        wire_put_text (&b, r->item.job);
        put_word (&b, &r->word);
    } else if (r->kind == RECORD_ASSIGN) {
        put_assignment (&b, &r->assignment);
    } else if (r->kind == RECORD_BOUND) {
        put_bound (&b, &r->bound);
    } else {
        put_item (&b, r);
    }
    size_t begin = out->size;
    wire_put_u32 (out, MAGIC);
    wire_put_u32 (out, (uint32_t)(HEAD_SIZE + b.size + SUM_SIZE));
    wire_put_u8 (out, (uint8_t)r->kind);
    buf_put (out, b.data, b.size);
    if (b.failed || out->failed ||
        digest_of (out->data + begin, out->size - begin, &sum) < 0)
        rc = -ENOMEM;
    else
        buf_put (out, sum.bytes, SUM_SIZE);
    buf_fini (&b);
    return out->failed ? -ENOMEM : rc;
}

static void get_item (struct wire *w, struct record *r)
{
    struct ledger_item *i = &r->item;
    const void *id;

    i->kind = wire_u8 (w);
    i->rank = wire_i64 (w);
    i->received_ns = wire_i64 (w);
    i->newest_ns = wire_i64 (w);
    if ((id = wire_bytes (w, DIGEST_SIZE)))
        memcpy (i->content.bytes, id, DIGEST_SIZE);
    i->place.size = wire_u64 (w);
    i->place.segment = wire_i64 (w);
    i->place.offset = wire_u64 (w);
    wire_text (w, i->job, sizeof (i->job));
    wire_text (w, i->capture, sizeof (i->capture));
    wire_text (w, i->path, sizeof (i->path));
    wire_text (w, i->host, sizeof (i->host));
    wire_text (w, i->dir, sizeof (i->dir));
    wire_text (w, i->who, sizeof (i->who));
    if (*i->dir)                // else its job's id was given
        memcpy (i->scope, i->job, sizeof (i->scope));
}

static void get_assignment (struct wire *w, struct ledger_assignment *a)
{
    wire_text (w, a->scope, sizeof (a->scope));
    wire_text (w, a->dir, sizeof (a->dir));
    a->rank = wire_i64 (w);
    wire_text (w, a->capture, sizeof (a->capture));
    a->newest_ns = wire_i64 (w);
    wire_text (w, a->job, sizeof (a->job));
    a->at_ns = wire_i64 (w);
    a->assumed = wire_u8 (w) != 0;
    wire_text (w, a->why, sizeof (a->why));
}

static void get_bound (struct wire *w, struct ledger_bound *k)
{
    wire_text (w, k->who, sizeof (k->who));
    wire_text (w, k->host, sizeof (k->host));
    k->since_ns = wire_i64 (w);
}

static void get_word (struct wire *w, struct size_claim *word)
{
    word->world_size = wire_i64 (w);
    word->by = wire_u8 (w);
    wire_text (w, word->who, sizeof (word->who));
    wire_text (w, word->host, sizeof (word->host));
}

/* The checksum is right, but somebody else may still have written the record.
 */
static bool plausible (const struct record *r)
{
    if (r->kind == RECORD_ASSIGN)
        return ledger_valid_assignment (&r->assignment);
    if (r->kind == RECORD_BOUND)
        return ledger_valid_bound (&r->bound);
    return r->kind == RECORD_JOB
               ? message_valid_name (r->item.job) && size_claim_valid (&r->word)
               : ledger_valid_item (&r->item) &&
                     ledger_valid_place (&r->item.place);
}

int record_decode (struct record *r, const void *bytes, size_t size,
                   struct err *err)
{
    struct wire w = wire_reader (bytes, size);
    uint32_t magic = wire_u32 (&w);
    struct digest sum;

    memset (r, 0, sizeof (*r));
    r->size = wire_u32 (&w);
    r->kind = wire_u8 (&w);
    if (w.failed)
        return -ENODATA;
    if (magic != MAGIC || r->size > RECORD_MAX ||
        r->size < HEAD_SIZE + SUM_SIZE)
        return err_set (err, EBADMSG, "there is no record");
    if (r->size > size)
        return -ENODATA;
    if (digest_of (bytes, r->size - SUM_SIZE, &sum) < 0)
        return err_set (err, ENOMEM, "no memory to hash");
    if (memcmp (sum.bytes, (const char *)bytes + r->size - SUM_SIZE,
                SUM_SIZE) != 0)
        return err_set (err, EBADMSG, "a record is damaged");
    w = wire_reader ((const char *)bytes + HEAD_SIZE,
                     r->size - HEAD_SIZE - SUM_SIZE);
    if (r->kind == RECORD_JOB) {
        wire_text (&w, r->item.job, sizeof (r->item.job));
        get_word (&w, &r->word);
    } else if (r->kind == RECORD_ASSIGN) {
        get_assignment (&w, &r->assignment);
    } else if (r->kind == RECORD_BOUND) {
        get_bound (&w, &r->bound);
    } else {
        get_item (&w, r);
    }
    if (!wire_ended (&w) || r->kind < RECORD_CONTENT ||
        r->kind > RECORD_BOUND || !plausible (r))
        return err_set (err, EBADMSG, "a record has an unknown form");
    return 0;
}

/* Hash the bytes and write them to 'to', if that is not negative. */
static int hash_and_write (int fd, const struct ledger_place *place, int to,
                           const atomic_bool *cancel, struct digest *ret)
{
    struct content_hash h;
    void *chunk = malloc (CONTENT_CHUNK);
    int rc = chunk ? 0 : -ENOMEM;

    content_hash_init (&h);
    for (uint64_t at = 0; at < place->size && rc == 0; at += CONTENT_CHUNK) {
        size_t n = place->size - at < CONTENT_CHUNK
                       ? (size_t)(place->size - at) : CONTENT_CHUNK;

        rc = cancel && atomic_load (cancel)
                 ? -EINTR
                 : fileio_pread_all (fd, chunk, n, (off_t)(place->offset + at));
        if (rc == 0)
            rc = content_hash_add (&h, chunk, n);
        if (rc == 0 && to >= 0)
            rc = fileio_write_all (to, chunk, n);
    }
    if (rc == 0)
        rc = content_hash_end (&h, ret);
    content_hash_fini (&h);
    free (chunk);
    return rc;
}

int record_hash (int fd, const struct ledger_place *place, struct digest *ret)
{
    return hash_and_write (fd, place, -1, NULL, ret);
}

int record_copy (int fd, const struct ledger_place *place, int to,
                 const struct digest *id, const atomic_bool *cancel)
{
    struct digest got;
    int rc = hash_and_write (fd, place, to, cancel, &got);

    if (rc == 0 && !digest_is (&got, id))
        return -EBADMSG;
    return rc == -ENODATA ? -EBADMSG : rc;
}

int record_check_content (int fd, const struct digest *id,
                          const struct ledger_place *place, struct err *err)
{
    struct digest got;
    int rc = record_hash (fd, place, &got);

    if (rc == -ENODATA)
        return err_set (err, EBADMSG, "it is cut short");
    if (rc < 0)
        return err_sys (err, -rc, "cannot verify a content");
    if (!digest_is (&got, id))
        return err_set (err, EBADMSG, "its hash is wrong");
    return 0;
}

/* ---- scanning ---- */

struct scan {
    int fd;
    int64_t segment;
    uint64_t at, to, gap;       // gap: the start of bytes that are no record
    record_fn *fn;
    void *arg;
};

static int end_gap (struct scan *s)
{
    struct ledger_place gap = { s->segment, s->gap, s->at - s->gap };

    return s->at > s->gap ? s->fn (s->arg, NULL, -EBADMSG, &gap) : 0;
}

/* The next offset after the current one where the magic is found, or 'to'. */
static int find_magic (struct scan *s, struct err *err)
{
    static const uint8_t magic[4] = { 'R', 'C', 'R', '1' };
    uint8_t *block = malloc (SEARCH_BYTES);
    uint64_t at = s->at + 1;
    int rc = block ? 0 : -ENOMEM;

    while (rc == 0 && at < s->to) {
        size_t n = s->to - at < SEARCH_BYTES ? (size_t)(s->to - at)
                                             : SEARCH_BYTES;
        const uint8_t *hit;

        if ((rc = fileio_pread_all (s->fd, block, n, (off_t)at)) < 0)
            break;
        if ((hit = memmem (block, n, magic, sizeof (magic)))) {
            at += (uint64_t)(hit - block);
            break;
        }
        at = n < sizeof (magic) || at + n >= s->to ? s->to
                                                   : at + n - 3;
    }
    s->at = at < s->to ? at : s->to;
    free (block);
    return rc < 0 ? err_sys (err, -rc, "cannot read a segment") : 0;
}

static int record_give (struct scan *s, struct record *r, struct err *err)
{
    struct ledger_place *place = &r->item.place;
    uint64_t inside = r->kind == RECORD_CONTENT ? place->size : 0;
    struct err why;
    int rc = end_gap (s), bad = 0;

    if (r->kind == RECORD_CONTENT) {
        place->segment = s->segment;
        place->offset = s->at + r->size;
        bad = record_check_content (s->fd, &r->item.content, place, &why);
        if (bad < 0 && bad != -EBADMSG)
            return err_set (err, -bad, "%s", why.text);
    }
    if (rc >= 0)
        rc = s->fn (s->arg, r, bad, NULL);
    s->at += r->size + inside;
    if (s->at > s->to)          // the record is cut short
        s->at = s->to;
    s->gap = s->at;
    return rc;
}

int record_scan (int fd, int64_t segment, uint64_t from, uint64_t to,
                 record_fn *fn, void *arg, struct err *err)
{
    struct scan s = { fd, segment, from, to, from, fn, arg };
    uint8_t head[RECORD_MAX];
    struct record *r = malloc (sizeof (*r));
    int rc = r ? 0 : err_set (err, ENOMEM, "no memory to read a segment");

    while (rc >= 0 && s.at < to) {
        size_t n = to - s.at < sizeof (head) ? (size_t)(to - s.at)
                                             : sizeof (head);

        if ((rc = fileio_pread_all (fd, head, n, (off_t)s.at)) < 0)
            rc = err_sys (err, -rc, "cannot read a segment");
        else if (record_decode (r, head, n, NULL) == 0)
            rc = record_give (&s, r, err);
        else
            rc = find_magic (&s, err);
    }
    free (r);
    return rc < 0 ? rc : end_gap (&s);
}
