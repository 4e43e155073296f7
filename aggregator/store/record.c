/* aggregator/store/record.c - the records in segments: encode, decode, scan */
#include "store/record.h"

#include "base/wire.h"
#include "store/checksum.h"
#include "store/fileio.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAGIC UINT32_C (0x31524352)     // "RCR1"
#define HEAD_SIZE 9                     // magic, size, kind
#define SUM_SIZE 8                      // bytes of a SHA-256, at the end
#define SEARCH_BYTES (1u << 20)         // read at once to find a record

_Static_assert (CONTENT_CHUNK == PACK_ROOM, "there is room to unpack a chunk");
_Static_assert (RECORD_CONTENT_SIZE == HEAD_SIZE + DIGEST_SIZE + 8 + 8 + 1 + 4 +
                SUM_SIZE, "put_content writes that much");

static void put_content (struct buf *b, const struct record *r)
{
    buf_put (b, r->id.bytes, DIGEST_SIZE);
    wire_put_u64 (b, r->place.size);
    wire_put_u64 (b, r->place.stored);
    wire_put_u8 (b, (uint8_t)r->place.form);
    wire_put_u32 (b, r->sum);
}

static void put_item (struct buf *b, const struct ledger_item *i)
{
    wire_put_u8 (b, (uint8_t)i->kind);
    wire_put_i64 (b, i->rank);
    wire_put_i64 (b, i->received_ns);
    wire_put_i64 (b, i->newest_ns);
    message_put_facts (b, &i->facts);
    buf_put (b, i->content.bytes, DIGEST_SIZE);
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

static void put_fact (struct buf *b, const struct ledger_fact *f)
{
    wire_put_text (b, f->job);
    wire_put_text (b, f->key);
    wire_put_text (b, f->value);
    wire_put_i64 (b, f->at_ns);
    wire_put_text (b, f->by);
    wire_put_u8 (b, f->gone);
}

static void put_deletion (struct buf *b, const struct ledger_deletion *d)
{
    wire_put_text (b, d->scope);
    wire_put_text (b, d->dir);
    wire_put_i64 (b, d->rank);
    wire_put_text (b, d->capture);
    wire_put_i64 (b, d->newest_ns);
    wire_put_text (b, d->job);
    wire_put_i64 (b, d->at_ns);
    wire_put_text (b, d->by);
    wire_put_u8 (b, d->gone);
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
    } else if (r->kind == RECORD_FACT) {
        put_fact (&b, &r->fact);
    } else if (r->kind == RECORD_DELETION) {
        put_deletion (&b, &r->deletion);
    } else if (r->kind == RECORD_ITEM) {
        put_item (&b, &r->item);
    } else {
        put_content (&b, r);
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

static void get_digest (struct wire *w, struct digest *ret)
{
    const void *id = wire_bytes (w, DIGEST_SIZE);

    if (id)
        memcpy (ret->bytes, id, DIGEST_SIZE);
}

static void get_content (struct wire *w, struct record *r)
{
    get_digest (w, &r->id);
    r->place.size = wire_u64 (w);
    r->place.stored = wire_u64 (w);
    r->place.form = wire_u8 (w);
    r->sum = wire_u32 (w);
}

static void get_item (struct wire *w, struct ledger_item *i)
{
    i->kind = wire_u8 (w);
    i->rank = wire_i64 (w);
    i->received_ns = wire_i64 (w);
    i->newest_ns = wire_i64 (w);
    message_get_facts (w, &i->facts);
    get_digest (w, &i->content);
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

static void get_fact (struct wire *w, struct ledger_fact *f)
{
    wire_text (w, f->job, sizeof (f->job));
    wire_text (w, f->key, sizeof (f->key));
    wire_text (w, f->value, sizeof (f->value));
    f->at_ns = wire_i64 (w);
    wire_text (w, f->by, sizeof (f->by));
    f->gone = wire_u8 (w) != 0;
}

static void get_deletion (struct wire *w, struct ledger_deletion *d)
{
    wire_text (w, d->scope, sizeof (d->scope));
    wire_text (w, d->dir, sizeof (d->dir));
    d->rank = wire_i64 (w);
    wire_text (w, d->capture, sizeof (d->capture));
    d->newest_ns = wire_i64 (w);
    wire_text (w, d->job, sizeof (d->job));
    d->at_ns = wire_i64 (w);
    wire_text (w, d->by, sizeof (d->by));
    d->gone = wire_u8 (w) != 0;
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
    if (r->kind == RECORD_FACT)
        return ledger_valid_fact (&r->fact);
    if (r->kind == RECORD_DELETION)
        return ledger_valid_deletion (&r->deletion);
    if (r->kind == RECORD_JOB)
        return message_valid_name (r->item.job) && size_claim_valid (&r->word);
    return r->kind == RECORD_ITEM
               ? ledger_valid_item (&r->item)
               : ledger_valid_form (&r->place) &&
                     (r->kind == RECORD_LIST) == (r->place.form == FORM_LIST);
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
    } else if (r->kind == RECORD_FACT) {
        get_fact (&w, &r->fact);
    } else if (r->kind == RECORD_DELETION) {
        get_deletion (&w, &r->deletion);
    } else if (r->kind == RECORD_ITEM) {
        get_item (&w, &r->item);
    } else {
        get_content (&w, r);
    }
    if (!wire_ended (&w) || r->kind < RECORD_CHUNK ||
        r->kind > RECORD_DELETION || !plausible (r))
        return err_set (err, EBADMSG, "a record has an unknown form");
    return 0;
}

/* ---- the bytes behind a record ---- */

int record_reader_init (struct record_reader *b)
{
    b->stored = malloc (RECORD_CONTENT_SIZE + CONTENT_CHUNK);
    b->plain = malloc (CONTENT_CHUNK);
    if (b->stored && b->plain)
        return 0;
    record_reader_fini (b);
    return -ENOMEM;
}

void record_reader_fini (struct record_reader *b)
{
    free (b->stored);
    free (b->plain);
    b->stored = b->plain = NULL;
}

static int read_chunk (struct record_reader *b, struct segment *f,
                 const struct ledger_place *place, const struct digest *id,
                 const void **ret)
{
    struct digest got;
    int rc;

    if (place->form == FORM_LIST || !ledger_valid_form (place))
        return -EBADMSG;
    rc = segment_read (f, b->stored, (size_t)place->stored, place->offset);
    if (rc == 0)
        rc = pack_chunk_open ((enum chunk_codec)place->form, b->stored,
                              (size_t)place->stored, b->plain,
                              (size_t)place->size, !id, ret);
    if (rc < 0 || !id)
        return rc;
    rc = digest_of (*ret, (size_t)place->size, &got);
    return rc < 0 || digest_is (&got, id) ? rc : -EBADMSG;
}

/* What came wrong from a store may come right. */
int record_read (struct record_reader *b, struct segment *f,
                 const struct ledger_place *place, const struct digest *id,
                 const void **ret)
{
    int rc = read_chunk (b, f, place, id, ret);

    if (rc != -EBADMSG || !f->far)
        return rc;
    segment_forget (f);
    return read_chunk (b, f, place, id, ret);
}

int record_read_list (struct segment *f, const struct ledger_place *place,
                      const struct digest *id, struct digest **ret)
{
    struct digest *list, got;
    int rc;

    if (place->form != FORM_LIST || !ledger_valid_form (place))
        return -EBADMSG;
    if (!(list = malloc ((size_t)place->stored)))
        return -ENOMEM;
    rc = segment_read (f, list, (size_t)place->stored, place->offset);
    if (rc == 0)
        rc = content_list_id (list, (size_t)place->stored / DIGEST_SIZE, &got);
    if (rc == 0 && !digest_is (&got, id))
        rc = -EBADMSG;
    if (rc < 0)
        free (list);
    else
        *ret = list;
    return rc;
}

int record_check (struct record_reader *b, struct segment *f,
                  const struct ledger_place *place, const struct digest *id)
{
    struct digest *list;
    const void *bytes;
    int rc;

    if (place->form != FORM_LIST) {
        rc = record_read (b, f, place, id, &bytes);
    } else if ((rc = record_read_list (f, place, id, &list)) == 0) {
        free (list);
    }
    return rc == -ENODATA ? -EBADMSG : rc;
}

/* Whether it is the record of this content here; *sum is what it says. */
static int read_head (const void *bytes, const struct ledger_place *place,
                      const struct digest *id, uint32_t *sum)
{
    struct record *r = malloc (sizeof (*r));
    int rc = r ? record_decode (r, bytes, RECORD_CONTENT_SIZE, NULL) : -ENOMEM;

    if (rc == 0 && (record_inside (r) != place->stored ||
                    r->place.size != place->size ||
                    r->place.form != place->form || !digest_is (&r->id, id)))
        rc = -EBADMSG;
    if (rc == 0)
        *sum = r->sum;
    free (r);
    return rc == -ENODATA ? -EBADMSG : rc;
}

static int check_sum (struct record_reader *b, struct segment *f,
                      const struct ledger_place *place,
                      const struct digest *id)
{
    uint64_t at = place->offset - RECORD_CONTENT_SIZE;
    uint64_t end = place->offset + place->stored;
    size_t head = RECORD_CONTENT_SIZE;
    uint32_t want = 0, sum = 0;
    int rc = place->offset < head ? -EBADMSG : 0;

    while (rc == 0 && at < end) {
        size_t n = head + CONTENT_CHUNK;

        n = end - at < n ? (size_t)(end - at) : n;
        rc = segment_read (f, b->stored, n, at);
        if (rc == 0 && head > 0)
            rc = read_head (b->stored, place, id, &want);
        if (rc == 0)
            sum = checksum_add (sum, (const char *)b->stored + head, n - head);
        at += n;
        head = 0;
    }
    return rc == -ENODATA || (rc == 0 && sum != want) ? -EBADMSG : rc;
}

int record_check_stored (struct record_reader *b, struct segment *f,
                         const struct ledger_place *place,
                         const struct digest *id)
{
    int rc = check_sum (b, f, place, id);

    if (rc == -EBADMSG && f->far) {
        segment_forget (f);
        rc = check_sum (b, f, place, id);
    }
    return rc;
}

/* ---- scanning ---- */

struct scan {
    struct segment *f;
    uint64_t at, to, gap;       // gap: the start of bytes that are no record
    bool deep;
    struct record_reader reader;        // once there is a content
    record_fn *fn;
    void *arg;
};

static int end_gap (struct scan *s)
{
    struct ledger_place gap = { .segment = s->f->number, .offset = s->gap,
                                .stored = s->at - s->gap };

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

        if ((rc = fileio_pread_all (s->f->fd, block, n, (off_t)at)) < 0)
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

/* The bytes behind a record: as record_check. */
static int check_behind (struct scan *s, const struct record *r)
{
    int rc = 0;

    if (record_inside (r) > s->to - s->at)
        return -EBADMSG;
    if (!s->f->check_far &&
        segment_is_far (s->f, r->place.stored, r->place.offset))
        return 0;
    if (!s->reader.stored)
        rc = record_reader_init (&s->reader);
    if (rc == 0)
        rc = record_check_stored (&s->reader, s->f, &r->place, &r->id);
    return rc < 0 || !s->deep ? rc : record_check (&s->reader, s->f, &r->place,
                                                   &r->id);
}

static int record_give (struct scan *s, struct record *r, struct err *err)
{
    int rc = end_gap (s), bad = 0;

    if (r->kind == RECORD_CHUNK || r->kind == RECORD_LIST) {
        r->place.segment = s->f->number;
        r->place.offset = s->at + r->size;
        bad = check_behind (s, r);
        if (bad == -ENOTSUP)
            return err_set (err, ENOTSUP, "a content is packed with zstd, which "
                            "this build of rollcall does not have");
        if (bad == -EREMOTEIO) {
            segments_why (s->f->of, err);
            return bad;
        }
        if (bad < 0 && bad != -EBADMSG)
            return err_sys (err, -bad, "cannot verify a content");
    }
    if (rc >= 0)
        rc = s->fn (s->arg, r, bad, NULL);
    s->at += r->size + record_inside (r);
    if (s->at > s->to)          // the record is cut short
        s->at = s->to;
    s->gap = s->at;
    return rc;
}

int record_scan (struct segment *f, uint64_t from, uint64_t to, bool deep,
                 record_fn *fn, void *arg, struct err *err)
{
    struct scan s = { .f = f, .at = from, .to = to, .gap = from, .deep = deep,
                      .fn = fn, .arg = arg };
    uint8_t head[RECORD_MAX];
    struct record *r = malloc (sizeof (*r));
    int rc = r ? 0 : err_set (err, ENOMEM, "no memory to read a segment");

    while (rc >= 0 && s.at < to) {
        size_t n = to - s.at < sizeof (head) ? (size_t)(to - s.at)
                                             : sizeof (head);

        if ((rc = fileio_pread_all (f->fd, head, n, (off_t)s.at)) < 0)
            rc = err_sys (err, -rc, "cannot read a segment");
        else if (record_decode (r, head, n, NULL) == 0)
            rc = record_give (&s, r, err);
        else
            rc = find_magic (&s, err);
    }
    record_reader_fini (&s.reader);
    free (r);
    return rc < 0 ? rc : end_gap (&s);
}

static int count_bad (void *arg, const struct record *r, int bad,
                      const struct ledger_place *gap)
{
    (void)gap;
    *(size_t *)arg += !r || bad < 0;
    return 0;
}

int record_count_bad (struct segment *f, uint64_t size, size_t *ret,
                      struct err *err)
{
    *ret = 0;
    return record_scan (f, 0, size, true, count_bad, ret, err);
}
