/* common/model/shipment.c - the rows of one capture, packed to travel */
#include "model/shipment.h"

#include "base/pack.h"
#include "base/wire.h"
#include "store/fileio.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAGIC "RCSHIP\r\n"
#define END_MAGIC "RCSHEND\n"
#define MAGIC_SIZE 8u
#define HEADER_SIZE 16u         // magic, u16 version, u16 and u32 zero
#define PART_SIZE 12u           // u8 kind, u8 codec, u16 zero, u32 stored, raw
#define FOOTER_SIZE 16u         // u64 offset of the metadata part, magic
#define CODEC_LZ4 1

enum part_kind { PART_ROWS = 1, PART_FORGET = 2, PART_META = 3 };

struct shipment_writer {
    int fd;
    uint64_t size;
    struct row_sink sink;
    struct buf raw, packed;
};

/* ---- writing ---- */

static int put_bytes (struct shipment_writer *w, const struct buf *b,
                      struct err *err)
{
    int rc = fileio_write_all (w->fd, b->data, b->size);

    if (rc < 0)
        return err_sys (err, -rc, "cannot write a shipment");
    w->size += b->size;
    return 0;
}

/* w->raw as one part. */
static int put_part (struct shipment_writer *w, enum part_kind kind,
                     struct err *err)
{
    uint8_t head[PART_SIZE];
    struct buf h;
    int rc;

    if (w->raw.failed)
        return err_set (err, ENOMEM, "no memory for a shipment");
    buf_clear (&w->packed);
    (void)buf_extend (&w->packed, PART_SIZE);
    rc = pack_frame (w->raw.data, w->raw.size, &w->packed, err);
    if (rc < 0)
        return rc;
    buf_init (&h, PART_SIZE);
    wire_put_u8 (&h, (uint8_t)kind);
    wire_put_u8 (&h, CODEC_LZ4);
    wire_put_u16 (&h, 0);
    wire_put_u32 (&h, (uint32_t)(w->packed.size - PART_SIZE));
    wire_put_u32 (&h, (uint32_t)w->raw.size);
    if (h.failed) {
        buf_fini (&h);
        return err_set (err, ENOMEM, "no memory for a shipment");
    }
    memcpy (head, h.data, PART_SIZE);
    buf_fini (&h);
    memcpy (w->packed.data, head, PART_SIZE);
    return put_bytes (w, &w->packed, err);
}

static void put_real (struct buf *b, double v)
{
    uint64_t bits;

    memcpy (&bits, &v, sizeof (bits));
    wire_put_u64 (b, bits);
}

static int take_rows (void *arg, const struct batch *b, struct err *err)
{
    struct shipment_writer *w = arg;
    const struct table *t = schema_table (b->table);

    buf_clear (&w->raw);
    wire_put_u8 (&w->raw, (uint8_t)b->table);
    wire_put_u32 (&w->raw, b->nrows);
    wire_put_u32 (&w->raw, b->bytes_used);
    buf_put (&w->raw, b->bytes, b->bytes_used);
    for (unsigned c = 0; c < t->ncolumns; c++) {
        for (uint32_t i = 0; i < b->nrows; i++) {
            if (b->text[c])
                wire_put_u32 (&w->raw, b->text[c][i]);
            else
                put_real (&w->raw, b->real[c][i]);
        }
    }
    return put_part (w, PART_ROWS, err);
}

static int forget_rows (void *arg, enum table_id table, struct err *err)
{
    struct shipment_writer *w = arg;

    buf_clear (&w->raw);
    wire_put_u8 (&w->raw, (uint8_t)table);
    return put_part (w, PART_FORGET, err);
}

struct shipment_writer *shipment_writer_create (int fd)
{
    struct shipment_writer *w = calloc (1, sizeof (*w));

    if (!w)
        return NULL;
    w->fd = fd;
    w->sink = (struct row_sink){ take_rows, forget_rows, w };
    buf_init (&w->raw, SHIPMENT_META_MAX);
    buf_init (&w->packed, 2 * (size_t)SHIPMENT_META_MAX);
    buf_put (&w->packed, MAGIC, MAGIC_SIZE);
    wire_put_u16 (&w->packed, SHIPMENT_VERSION);
    wire_put_u16 (&w->packed, 0);
    wire_put_u32 (&w->packed, 0);
    if (w->packed.failed || put_bytes (w, &w->packed, NULL) < 0) {
        shipment_writer_destroy (w);
        return NULL;
    }
    return w;
}

void shipment_writer_destroy (struct shipment_writer *w)
{
    if (!w)
        return;
    buf_fini (&w->raw);
    buf_fini (&w->packed);
    free (w);
}

const struct row_sink *shipment_sink (struct shipment_writer *w)
{
    return &w->sink;
}

int shipment_finish (struct shipment_writer *w, const struct capture *c,
                     uint64_t *size, struct err *err)
{
    struct json *j = capture_to_json (c);
    char *text = json_print (j, false);
    uint64_t at = w->size;
    int rc;

    json_free (j);
    if (!text)
        return err_set (err, ENOMEM, "no memory for a shipment");
    buf_clear (&w->raw);
    buf_put (&w->raw, text, strlen (text));
    free (text);
    if ((rc = put_part (w, PART_META, err)) < 0)
        return rc;
    buf_clear (&w->packed);
    wire_put_u64 (&w->packed, at);
    buf_put (&w->packed, END_MAGIC, MAGIC_SIZE);
    if ((rc = put_bytes (w, &w->packed, err)) < 0)
        return rc;
    *size = w->size;
    return 0;
}

/* ---- reading ---- */

struct reader {
    const struct byte_source *from;
    uint64_t size, at;
    uint64_t meta_at;
    enum part_kind kind;
    struct buf stored, raw;
    struct batch batches[TABLE_COUNT];
    bool have_batch[TABLE_COUNT];
};

static int shipment_damaged (const struct reader *r, const char *what,
                             struct err *err)
{
    return err_set (err, EBADMSG, "damaged shipment: byte %llu: %s",
                    (unsigned long long)r->at, what);
}

static int get_bytes (struct reader *r, void *out, uint64_t n, struct err *err)
{
    int rc;

    if (n > r->size - r->at)
        return shipment_damaged (r, "it is cut short", err);
    rc = r->from->read (r->from, out, (size_t)n, r->at);
    if (rc == -ENODATA)
        return shipment_damaged (r, "it is cut short", err);
    if (rc == -EBADMSG)
        return shipment_damaged (r, "a chunk does not unpack", err);
    if (rc < 0)
        return err_sys (err, -rc, "cannot read a shipment");
    r->at += n;
    return 0;
}

static int read_footer (struct reader *r, struct err *err)
{
    uint8_t foot[FOOTER_SIZE];
    struct wire w;
    int rc;

    if (r->size < HEADER_SIZE + PART_SIZE + FOOTER_SIZE)
        return shipment_damaged (r, "it is too short", err);
    r->at = r->size - FOOTER_SIZE;
    if ((rc = get_bytes (r, foot, sizeof (foot), err)) < 0)
        return rc;
    w = wire_reader (foot, 8);
    r->meta_at = wire_u64 (&w);
    r->at = 0;
    if (memcmp (foot + 8, END_MAGIC, MAGIC_SIZE) != 0)
        return shipment_damaged (r, "this is not a shipment", err);
    if (r->meta_at < HEADER_SIZE || r->meta_at >= r->size - FOOTER_SIZE)
        return shipment_damaged (r, "its footer points outside", err);
    return 0;
}

static int read_header (struct reader *r, struct err *err)
{
    uint8_t head[HEADER_SIZE];
    struct wire w;
    int rc;

    r->at = 0;
    if ((rc = get_bytes (r, head, sizeof (head), err)) < 0)
        return rc;
    if (memcmp (head, MAGIC, MAGIC_SIZE) != 0)
        return shipment_damaged (r, "this is not a shipment", err);
    w = wire_reader (head + MAGIC_SIZE, HEADER_SIZE - MAGIC_SIZE);
    if (wire_u16 (&w) != SHIPMENT_VERSION)
        return shipment_damaged (r, "its version is not known here", err);
    if (wire_u16 (&w) != 0 || wire_u32 (&w) != 0)
        return shipment_damaged (r, "reserved bytes are not zero", err);
    return 0;
}

int shipment_find_meta (const struct byte_source *from, uint64_t *ret,
                        struct err *err)
{
    struct reader r = { .from = from, .size = from->size };
    int rc;

    if ((rc = read_footer (&r, err)) == 0 && (rc = read_header (&r, err)) == 0)
        *ret = r.meta_at;
    return rc;
}

/* The next part, unpacked into r->raw. */
static int next_part (struct reader *r, struct err *err)
{
    uint8_t head[PART_SIZE];
    uint32_t stored, raw;
    unsigned codec, zero;
    struct wire w;
    void *in, *out;
    int rc = get_bytes (r, head, sizeof (head), err);

    if (rc < 0)
        return rc;
    w = wire_reader (head, sizeof (head));
    r->kind = wire_u8 (&w);
    codec = wire_u8 (&w);
    zero = wire_u16 (&w);
    stored = wire_u32 (&w);
    raw = wire_u32 (&w);
    if (codec != CODEC_LZ4 || zero != 0)
        return shipment_damaged (r, "its codec is not known here", err);
    if (raw > (r->kind == PART_META ? SHIPMENT_META_MAX : SHIPMENT_RAW_MAX) ||
        stored > r->stored.max || stored > r->size - r->at)
        return shipment_damaged (r, "a part is too large", err);
    buf_clear (&r->stored);
    buf_clear (&r->raw);
    in = buf_extend (&r->stored, stored);
    out = buf_extend (&r->raw, raw);
    if (!in || !out)
        return err_set (err, ENOMEM, "no memory to read a shipment");
    if ((rc = get_bytes (r, in, stored, err)) < 0)
        return rc;
    if (pack_open (in, stored, out, raw, NULL) < 0)
        return shipment_damaged (r, "a part does not unpack", err);
    return 0;
}

static bool valid_text (const struct batch *b, uint32_t ref)
{
    uint32_t n;

    if (ref == BATCH_NULL_TEXT)
        return true;
    if (ref < 4 || ref >= b->bytes_used)
        return false;
    memcpy (&n, b->bytes + ref - 4, sizeof (n));
    return n < b->bytes_used - ref && b->bytes[ref + n] == '\0';
}

/* The rows of a part into a batch; texts are little-endian lengths, as in
 * memory here.
 */
static int take_batch (struct reader *r, struct batch *b, struct wire *w,
                       struct err *err)
{
    const struct table *t = schema_table (b->table);
    uint32_t nrows = wire_u32 (w), size = wire_u32 (w);
    const void *bytes = wire_bytes (w, size);

    if (w->failed || nrows > BATCH_ROWS || size > BATCH_TEXT_MAX)
        return shipment_damaged (r, "a part has impossible sizes", err);
    if (size > b->bytes_cap) {
        char *p = realloc (b->bytes, size);

        if (!p)
            return err_set (err, ENOMEM, "no memory to read a shipment");
        b->bytes = p;
        b->bytes_cap = size;
    }
    memcpy (b->bytes, bytes, size);
    b->bytes_used = size;
    for (unsigned c = 0; c < t->ncolumns; c++) {
        for (uint32_t i = 0; i < nrows; i++) {
            if (b->text[c]) {
                b->text[c][i] = wire_u32 (w);
                if (!valid_text (b, b->text[c][i]))
                    return shipment_damaged (r, "a text lies outside", err);
            } else {
                uint64_t bits = wire_u64 (w);

                memcpy (&b->real[c][i], &bits, sizeof (bits));
            }
        }
    }
    b->nrows = nrows;
    return wire_ended (w) ? 0 : shipment_damaged (r, "a part has a wrong size",
                                                  err);
}

static int give_rows (struct reader *r, const struct row_sink *sink,
                      struct err *err)
{
    struct wire w = wire_reader (r->raw.data, r->raw.size);
    unsigned table = wire_u8 (&w);
    struct batch *b;
    int rc;

    if (w.failed || table >= TABLE_COUNT)
        return shipment_damaged (r, "a part is of no known table", err);
    if (r->kind == PART_FORGET)
        return sink->forget (sink->arg, table, err);
    b = &r->batches[table];
    if (!r->have_batch[table] && (rc = batch_init (b, table, err)) < 0)
        return rc;
    r->have_batch[table] = true;
    if ((rc = take_batch (r, b, &w, err)) < 0)
        return rc;
    return sink->rows (sink->arg, b, err);
}

static int take_meta (struct reader *r, struct capture *c, struct err *err)
{
    int rc = capture_from_json (c, (const char *)r->raw.data, r->raw.size, err);

    return err_prefix (err, rc, "damaged shipment");
}

/* The header of one whose metadata are wanted comes last: the metadata lie beside
 * the footer, and it is elsewhere.
 */
static int read_all (struct reader *r, const struct row_sink *sink,
                     struct capture *c, struct err *err)
{
    int rc = read_footer (r, err);

    if (rc == 0 && sink)
        rc = read_header (r, err);
    while (rc == 0 && sink && r->at < r->meta_at) {
        rc = next_part (r, err);
        if (rc == 0 && r->kind != PART_ROWS && r->kind != PART_FORGET)
            rc = shipment_damaged (r, "a part is of no known kind", err);
        if (rc == 0)
            rc = give_rows (r, sink, err);
    }
    if (rc < 0)
        return rc;
    if (sink && r->at != r->meta_at)
        return shipment_damaged (r, "its footer is wrong", err);
    r->at = r->meta_at;
    if ((rc = next_part (r, err)) < 0)
        return rc;
    if (r->kind != PART_META || r->at != r->size - FOOTER_SIZE)
        return shipment_damaged (r, "its footer is wrong", err);
    if (!sink && (rc = read_header (r, err)) < 0)
        return rc;
    return take_meta (r, c, err);
}

int shipment_replay (const struct byte_source *from,
                     const struct row_sink *sink, struct capture *c,
                     struct err *err)
{
    struct reader r = { .from = from, .size = from->size };
    int rc;

    buf_init (&r.stored, 2 * (size_t)SHIPMENT_META_MAX);
    buf_init (&r.raw, SHIPMENT_META_MAX);
    rc = read_all (&r, sink, c, err);
    for (unsigned i = 0; i < TABLE_COUNT; i++) {
        if (r.have_batch[i])
            batch_fini (&r.batches[i]);
    }
    buf_fini (&r.stored);
    buf_fini (&r.raw);
    return rc;
}

int shipment_read_meta (const struct byte_source *from, struct capture *c,
                        struct err *err)
{
    return shipment_replay (from, NULL, c, err);
}
